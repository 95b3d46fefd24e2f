//! Folders of the host from several places: `--mount`, and the original's own variables. Runs can only be shown folders
//! that lie side by side.

use std::path::Path;

use sandbox::{Folder, FolderAccess, Refusal};

/// The same, without folders that are inside another one anyway. If a folder is named twice, the wider right counts.
pub(super) fn merged(folders: impl IntoIterator<Item = Folder>) -> Result<Vec<Folder>, Refusal> {
    let mut merged: Vec<Folder> = Vec::new();
    for folder in folders {
        if merged.iter().any(|known| has(known, &folder)) {
            continue;
        }
        merged.retain(|known| !has(&folder, known));
        let clashes = |known: &&Folder| {
            known.target().starts_with(folder.target()) || folder.target().starts_with(known.target())
        };
        if let Some(known) = merged.iter().find(clashes) {
            return Err(clash(known, &folder));
        }
        merged.push(folder);
    }
    Ok(merged)
}

/// Whether who sees `outer` has all of `inner` at the same place, with the same rights.
fn has(outer: &Folder, inner: &Folder) -> bool {
    let place = |path: &Path, root: &Path| path.strip_prefix(root).ok().map(Path::to_owned);
    let inside = place(inner.source(), outer.source());
    let is_as_free = outer.access() == FolderAccess::Write || inner.access() == FolderAccess::Read;
    is_as_free && inside.is_some() && inside == place(inner.target(), outer.target())
}

fn clash(one: &Folder, other: &Folder) -> Refusal {
    let [first, second] = [one, other].map(|folder| folder.target().display());
    if one.target() == other.target() {
        let [first_source, second_source] = [one, other].map(|folder| folder.source().display());
        let message = format!("programs cannot be shown both `{first_source}` and `{second_source}` at `{first}`");
        return Refusal::new("mount", message, "show one of them at another place");
    }
    let (inner, outer) = if one.target().starts_with(other.target()) { (first, second) } else { (second, first) };
    let message = format!("programs are shown `{outer}`, and `{inner}` in it cannot have rights of its own");
    Refusal::new("mount", message, "name folders that lie side by side, or the outer one alone")
}

#[cfg(test)]
mod tests {
    use super::*;

    use FolderAccess::{Read, Write};

    fn merge(folders: &[(&str, &str, FolderAccess)]) -> Result<Vec<String>, String> {
        let folder = |(source, target, access): &(&str, &str, FolderAccess)| {
            Folder::new(source.into(), target.into(), *access).expect("a folder")
        };
        let merged = merged(folders.iter().map(folder)).map_err(|refusal| refusal.message().to_owned())?;
        Ok(merged.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_in_another_one_is_left_out() {
        for (folders, expected) in [
            (&[("/srv", "/srv", Read), ("/srv", "/srv", Write)][..], &["folder /srv rw"][..]),
            (&[("/srv", "/srv", Write), ("/srv", "/srv", Read)], &["folder /srv rw"]),
            (&[("/srv/out", "/srv/out", Read), ("/srv", "/srv", Read)], &["folder /srv ro"]),
            (&[("/srv", "/data", Write), ("/srv/out", "/data/out", Write)], &["folder /data rw"]),
            (&[("/srv", "/srv", Read), ("/srv", "/data", Write)], &["folder /srv ro", "folder /data rw"]),
            (&[("/srv/a", "/srv/a", Read), ("/srv/ab", "/srv/ab", Write)], &["folder /srv/a ro", "folder /srv/ab rw"]),
        ] {
            assert_eq!(merge(folders).expect("merged"), expected);
        }
    }

    #[test]
    fn what_would_be_inside_another_one_is_refused() {
        let nested = "programs are shown `/srv`, and `/srv/out` in it cannot have rights of its own";
        for (folders, message) in [
            ([("/srv", "/srv", Read), ("/srv/out", "/srv/out", Write)], nested),
            ([("/srv/out", "/srv/out", Write), ("/srv", "/srv", Read)], nested),
            // A link, or another mount point.
            ([("/srv", "/srv", Write), ("/other", "/srv/out", Read)], nested),
            (
                [("/srv", "/data", Read), ("/other", "/data", Write)],
                "programs cannot be shown both `/srv` and `/other` at `/data`",
            ),
        ] {
            assert_eq!(merge(&folders), Err(message.to_owned()));
        }
    }
}
