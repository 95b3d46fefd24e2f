//! JavaScript's packages, with Deno.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sandbox::PackageVersion;
use serde::Deserialize;
use setup::Tool;

use crate::clients::{CACHE, Errand, LAYER, Surroundings};
use crate::policy::PackagePolicy;
use crate::store::{self, ClientFolder, Looked};

const INSTALLING: Duration = Duration::from_mins(10);

/// Files that tell Deno what to do, in the folder that it fills.
const MANIFEST: &str = "package.json";
const CONFIGURATION: &str = "deno.json";
const LOCK: &str = "deno.lock";

/// What all of Deno's errands have in common.
pub(crate) struct Deno<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) policy: &'a PackagePolicy,
    pub(crate) cache: ClientFolder,
}

impl Deno<'_> {
    /// Installs packages, written as `name@range`, into a folder.
    pub(crate) fn install(&self, specs: &[String], into: &Path) -> io::Result<Errand> {
        let dependencies: BTreeMap<&str, &str> = specs.iter().filter_map(|spec| spec.rsplit_once('@')).collect();
        let manifest = serde_json::json!({"private": true, "dependencies": dependencies});
        let mut configuration =
            BTreeMap::from([("nodeModulesDir", "manual".to_owned()), ("nodeModulesLinker", "hoisted".to_owned())]);
        if let Some(age) = self.policy.minimum_age {
            let newest = SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH);
            configuration.insert("minimumDependencyAge", humantime::format_rfc3339_seconds(newest).to_string());
        }
        std::fs::write(into.join(MANIFEST), manifest.to_string())?;
        std::fs::write(into.join(CONFIGURATION), serde_json::to_vec(&configuration)?)?;
        let mut arguments = vec!["install".to_owned()];
        if self.policy.offline {
            arguments.push("--cached-only".to_owned());
        }
        let own = [
            // Where its files are, the operator's `.npmrc` among them: it may hold a token, and the folder that is filled is for guests.
            ("HOME", "/box"),
            ("DENO_DIR", CACHE),
            ("DENO_NO_UPDATE_CHECK", "1"),
            ("DENO_TLS_CA_STORE", "system,mozilla"),
            ("NO_COLOR", "1"),
        ];
        let mut environment = self.surroundings.passed_on();
        environment.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let configured = self.surroundings.npm_configuration();
        Ok(Errand {
            program: self.tool.program.clone(),
            arguments,
            environment,
            files: configured.map(|text| (".npmrc".to_owned(), text)).into_iter().collect(),
            reads: self.surroundings.certificates(),
            cache: self.cache.path().to_owned(),
            layer: Some(into.to_owned()),
            changes: None,
            folder: Some(LAYER.into()),
            wall: INSTALLING,
        })
    }
}

/// What Deno installed.
#[derive(Debug)]
pub(crate) struct Installed {
    /// Its own record of it, which also names what is for other machines.
    pub(crate) record: String,
    /// What is there.
    pub(crate) packages: Vec<PackageVersion>,
    pub(crate) looked: Looked,
}

/// The largest record or manifest that is read.
const MOST_TEXT: u64 = 64 << 20;

/// Takes over what Deno left, then reads what it is; `None` without a record. The order matters: before, anything in it
/// may be a link to something of the host's, or to a folder above it.
pub(crate) fn take_over(folder: &Path) -> io::Result<Option<Installed>> {
    let looked = store::take_over(folder)?;
    let Some(record) = read(&folder.join(LOCK)).and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return Ok(None);
    };
    let mut packages = Vec::new();
    let mut pending = vec![folder.join("node_modules")];
    while let Some(modules) = pending.pop() {
        for entry in std::fs::read_dir(&modules).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name.starts_with('.') || !path.is_dir() {
                continue;
            }
            if name.starts_with('@') {
                pending.push(path);
                continue;
            }
            packages.extend(described(&path));
            pending.push(path.join("node_modules"));
        }
    }
    packages.sort();
    packages.dedup();
    Ok(Some(Installed { record, packages, looked }))
}

fn described(folder: &Path) -> Option<PackageVersion> {
    #[derive(Deserialize)]
    struct Manifest {
        name: String,
        version: String,
    }
    let Manifest { name, version } = serde_json::from_slice(&read(&folder.join(MANIFEST))?).ok()?;
    Some(PackageVersion { name, version })
}

/// A whole file, if it is not too large.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_TEXT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MOST_TEXT).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(folder.path().join(LOCK), "{}").expect("written");
        for (place, name, version) in [
            ("zod", "zod", "4.6.7"),
            ("@a/b", "@a/b", "1.0.0"),
            ("zod/node_modules/lodash", "lodash", "4.18.1"),
            (".bin", "bin", "1"),
        ] {
            let package = folder.path().join("node_modules").join(place);
            std::fs::create_dir_all(&package).expect("made");
            let manifest = serde_json::json!({"name": name, "version": version}).to_string();
            std::fs::write(package.join(MANIFEST), manifest).expect("written");
        }
        let installed = take_over(folder.path()).expect("ours").expect("a record");
        let shown: Vec<String> = installed.packages.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["@a/b 1.0.0", "lodash 4.18.1", "zod 4.6.7"]);
    }

    #[test]
    fn no_link_is_followed_to_read_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let secret = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(secret.path(), r#"{"name":"secret","version":"1"}"#).expect("written");
        let make = |path: &str| std::fs::create_dir_all(folder.path().join(path)).expect("made");
        let link = |to: &Path, path: &str| std::os::unix::fs::symlink(to, folder.path().join(path)).expect("linked");
        make("node_modules/theirs");
        link(secret.path(), "node_modules/theirs/package.json");
        // It never ends.
        make("node_modules/endless");
        link(Path::new("/dev/zero"), "node_modules/endless/package.json");
        // Each way down leads up again.
        for name in ["a", "b", "c"] {
            make(&format!("node_modules/{name}"));
            link(Path::new(".."), &format!("node_modules/{name}/node_modules"));
        }
        link(Path::new("/dev/zero"), LOCK);
        assert!(take_over(folder.path()).expect("ours").is_none(), "the record was a link");
        std::fs::write(folder.path().join(LOCK), "{}").expect("written");
        let installed = take_over(folder.path()).expect("ours").expect("a record");
        assert_eq!(installed.packages, []);
    }
}
