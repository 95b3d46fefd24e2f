//! JavaScript's packages, with Deno.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sandbox::PackageVersion;
use serde::Deserialize;
use setup::Tool;

use crate::clients::{CACHE, Errand, LAYER, Surroundings};
use crate::policy::PackagePolicy;

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
    pub(crate) cache: PathBuf,
}

impl Deno<'_> {
    /// Installs packages, written as `name@range`, into a folder.
    pub(crate) fn install(&self, specs: &[String], into: &Path) -> std::io::Result<Errand> {
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
            cache: self.cache.clone(),
            layer: Some(into.to_owned()),
            changes: None,
            folder: Some(LAYER.into()),
            wall: INSTALLING,
        })
    }
}

/// What Deno installed: its own record of it, and what is there in names and versions. The record also names what is for other machines.
pub(crate) fn installed(folder: &Path) -> Option<(String, Vec<PackageVersion>)> {
    let record = std::fs::read_to_string(folder.join(LOCK)).ok()?;
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
    Some((record, packages))
}

fn described(folder: &Path) -> Option<PackageVersion> {
    #[derive(Deserialize)]
    struct Manifest {
        name: String,
        version: String,
    }
    let text = std::fs::read(folder.join(MANIFEST)).ok()?;
    let Manifest { name, version } = serde_json::from_slice(&text).ok()?;
    Some(PackageVersion { name, version })
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
        let (_, packages) = installed(folder.path()).expect("read");
        let shown: Vec<String> = packages.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["@a/b 1.0.0", "lodash 4.18.1", "zod 4.6.7"]);
    }
}
