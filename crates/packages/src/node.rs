//! JavaScript's packages, with Deno.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
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
    let mut folders = Vec::new();
    let mut pending = vec![(folder.join("node_modules"), String::new())];
    while let Some((modules, scope)) = pending.pop() {
        for entry in std::fs::read_dir(&modules).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name.starts_with('.') || !path.is_dir() {
                continue;
            }
            if name.starts_with('@') {
                pending.push((path, format!("{name}/")));
                continue;
            }
            pending.push((path.join("node_modules"), String::new()));
            folders.push((format!("{scope}{name}"), path));
        }
    }
    let packages = packages(&record, &folders);
    Ok(packages.map(|packages| Installed { record, packages, looked }))
}

/// What the record says of the folders, which a package cannot forge as it can its own manifest. `None` if that cannot be read.
fn packages(record: &str, folders: &[(String, PathBuf)]) -> Option<Vec<PackageVersion>> {
    #[derive(Deserialize)]
    struct Record {
        #[serde(default)]
        npm: BTreeMap<String, Machines>,
    }
    /// Those that a package is for; all, where none is named.
    #[derive(Deserialize)]
    struct Machines {
        #[serde(default)]
        os: Vec<String>,
        #[serde(default)]
        cpu: Vec<String>,
    }
    let is_there: BTreeSet<&str> = folders.iter().map(|(name, _)| &**name).collect();
    let (mut packages, mut resolved) = (Vec::new(), BTreeSet::new());
    for (key, Machines { os, cpu }) in serde_json::from_str::<Record>(record).ok()?.npm {
        let package = of_key(&key)?;
        resolved.insert(package.name.clone());
        if is_there.contains(&*package.name) || (os.is_empty() && cpu.is_empty()) {
            packages.push(package);
        }
    }
    // What a package brings along in its own archive is not resolved: it is what its folder is called.
    let bundled = folders.iter().filter(|(name, _)| !resolved.contains(name));
    packages.extend(bundled.map(|(name, path)| PackageVersion { name: name.clone(), version: version_in(path) }));
    packages.sort();
    packages.dedup();
    Some(packages)
}

/// From `name@version`, and perhaps `_` with the versions of what it is used with.
fn of_key(key: &str) -> Option<PackageVersion> {
    // A name may begin with `@`.
    let (place, _) = key.match_indices('@').find(|(place, _)| *place > 0)?;
    let (name, version) = (key.get(..place)?, key.get(place + 1..)?);
    Some(PackageVersion { name: name.to_owned(), version: version.split('_').next()?.to_owned() })
}

/// What a folder's manifest says of its version.
fn version_in(folder: &Path) -> String {
    #[derive(Deserialize)]
    struct Manifest {
        version: String,
    }
    let manifest = read(&folder.join(MANIFEST)).and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok());
    manifest.map_or_else(|| "unknown".to_owned(), |manifest| manifest.version)
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
        let record = serde_json::json!({"version": "5", "npm": {
            "zod@4.6.7": {"integrity": "sha512-"},
            "@a/b@1.0.0_zod@4.6.7": {"dependencies": ["zod"]},
            "lodash@4.18.1": {},
            "lodash@3.0.0": {},
            "denied@1.0.0": {},
            "required@1.0.0": {"os": ["darwin"]},
            "@a/for-others@1.0.0": {"os": ["win32"], "cpu": ["x64"]},
        }});
        std::fs::write(folder.path().join(LOCK), record.to_string()).expect("written");
        for (place, manifest) in [
            ("zod", r#"{"name": "zod", "version": "4.6.7"}"#),
            ("@a/b", r#"{"name": "harmless", "version": "9.9.9"}"#),
            ("zod/node_modules/lodash", ""),
            ("denied", r#"{"name": "zod", "version": "4.6.7"}"#),
            ("required", "{}"),
            ("zod/node_modules/@a/bundled", r#"{"name": "harmless", "version": "2.0.0"}"#),
            ("zod/node_modules/nameless", "{}"),
            (".bin", r#"{"name": "bin", "version": "1"}"#),
        ] {
            let package = folder.path().join("node_modules").join(place);
            std::fs::create_dir_all(&package).expect("made");
            std::fs::write(package.join(MANIFEST), manifest).expect("written");
        }
        let installed = take_over(folder.path()).expect("ours").expect("a record");
        let shown: Vec<String> = installed.packages.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "@a/b 1.0.0",
                "@a/bundled 2.0.0",
                "denied 1.0.0",
                "lodash 3.0.0",
                "lodash 4.18.1",
                "nameless unknown",
                "required 1.0.0",
                "zod 4.6.7"
            ]
        );
        let denies = PackagePolicy { deny: vec!["denied".to_owned()], ..PackagePolicy::default() };
        assert!(denies.check_all(&installed.packages).is_err());
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
        let unread = |name: &str| PackageVersion { name: name.to_owned(), version: "unknown".to_owned() };
        assert_eq!(installed.packages, ["a", "b", "c", "endless", "theirs"].map(unread));
    }
}
