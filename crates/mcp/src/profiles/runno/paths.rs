//! Where a program and its files are: there at the root of the file system, here in a folder.

use std::collections::HashSet;

use crate::profiles::WORKSPACE;

/// What a program is called there.
const PROGRAM: &str = "/program";

/// A program with the names of its files as they are here. Each place in it is moved once, whatever the files are called.
pub(super) fn moved(code: &str, names: &HashSet<&str>) -> String {
    let mut moved = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((before, quote, after)) = split_at_quote(rest) {
        moved.push_str(before);
        moved.push(quote);
        rest = after;
        if let Some((name, after)) =
            after.split_once(quote).filter(|(name, _)| name.starts_with('/') && names.contains(name))
        {
            moved.extend([WORKSPACE, name]);
            moved.push(quote);
            rest = after;
        }
    }
    moved + rest
}

/// The output, in which the program and its files are where the original has them. What else it prints is its own, also what looks alike.
pub(super) fn moved_back(output: &str, program: &str, names: &HashSet<&str>) -> String {
    let mut places: Vec<(&str, String)> =
        names.iter().map(|name| name.trim_start_matches('/')).map(|name| (name, format!("/{name}"))).collect();
    places.push((program, PROGRAM.to_owned()));
    let mut moved = String::with_capacity(output.len());
    let mut rest = output;
    while let Some((before, after)) = rest.split_once(WORKSPACE) {
        moved.push_str(before);
        rest = after;
        let begins = !moved.ends_with(|last| goes_on(last) || matches!(last, '.' | '/'));
        let inside = after.strip_prefix('/').filter(|_| begins);
        let found = inside.and_then(|inside| {
            let after = |name| inside.strip_prefix(name).filter(|after| ends(after));
            places.iter().find_map(|(name, there)| Some((there, after(*name)?)))
        });
        match found {
            Some((there, after)) => {
                moved.push_str(there);
                rest = after;
            }
            None => moved.push_str(WORKSPACE),
        }
    }
    moved + rest
}

/// Whether a path is over before this. A full stop may be a sentence's.
fn ends(after: &str) -> bool {
    let mut rest = after.chars();
    match rest.next() {
        Some('.') => !rest.next().is_some_and(goes_on),
        Some('/') => false,
        other => !other.is_some_and(goes_on),
    }
}

/// Whether this is a part of a name, mostly.
fn goes_on(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

fn split_at_quote(text: &str) -> Option<(&str, char, &str)> {
    let at = text.find(['"', '\''])?;
    let (before, rest) = text.split_at_checked(at)?;
    let quote = rest.chars().next()?;
    Some((before, quote, rest.strip_prefix(quote)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_moved_once() {
        let names = HashSet::from(["/a", "/box/a", "/d/b.txt", "c"]);
        for (code, expected) in [
            ("open('/a')", "open('/box/a')"),
            ("open(\"/d/b.txt\", 'r')", "open(\"/box/d/b.txt\", 'r')"),
            ("'/a\" '/box/a' 'c' it's '/a'", "'/a\" '/box/box/a' 'c' it's '/box/a'"),
            ("''/a'", "''/box/a'"),
            ("\"", "\""),
        ] {
            assert_eq!(moved(code, &names), expected);
        }
    }

    #[test]
    fn only_the_program_and_its_files_are_moved_back() {
        let names = HashSet::from(["/data.csv", "/d/my file.txt", "out"]);
        for (printed, expected) in [
            ("  File \"/box/main.py\", line 1", "  File \"/program\", line 1"),
            ("/box/main.py:1: no such file '/box/data.csv'.", "/program:1: no such file '/data.csv'."),
            ("/box/d/my file.txt, /box/out and /box/data.csv.", "/d/my file.txt, /out and /data.csv."),
            ("/box/main.py,/box/main.py", "/program,/program"),
        ] {
            assert_eq!(moved_back(printed, "main.py", &names), expected);
        }
        for own in [
            "https://shop.example/box/1",
            "https://shop.example/box/main.py /srv/box/out //box/out ../box/out",
            "/box /box/ /box/main.pyc /box/main.py.bak /box/main.py/x /box/other /boxes/out",
            "/box/main.py/box/main.py",
            "/box/data.csv2 /box/output /box/d /box/d/my",
        ] {
            assert_eq!(moved_back(own, "main.py", &names), own);
        }
    }
}
