//! What the operator allows.

use std::time::Duration;

use sandbox::{Bytes, PackageVersion, Refusal};
use wanted::normalise;

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagePolicy {
    /// What is installed.
    pub installs: Installs,
    /// If there are any, only these, by name.
    pub allow: Vec<String>,
    /// Never these, by name.
    pub deny: Vec<String>,
    /// Whether nothing may be fetched: only what the clients have in their caches.
    pub offline: bool,
    /// Younger versions are treated as absent: what is wrong with a new one is mostly found in its first days.
    pub minimum_age: Option<Duration>,
    /// What all layers together, and the clients' caches, may take.
    pub most: Bytes,
    /// Registries in a private network, by host. Others are learned from the clients.
    pub private_registries: Vec<String>,
}

/// What is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installs {
    /// Nothing.
    Nothing,
    /// What somebody named.
    Named,
    /// That, and what a program imports although nobody named it.
    Imported,
}

impl Default for PackagePolicy {
    fn default() -> Self {
        Self {
            installs: Installs::Imported,
            allow: Vec::new(),
            deny: Vec::new(),
            offline: false,
            minimum_age: None,
            most: Bytes::gib(10),
            private_registries: Vec::new(),
        }
    }
}

impl PackagePolicy {
    /// Whether anything may be installed at all.
    pub(crate) fn check_enabled(&self) -> Result<(), Refusal> {
        match self.installs {
            Installs::Named | Installs::Imported => Ok(()),
            Installs::Nothing => {
                let message = "`packages` are not installed by this server";
                Err(Refusal::new("packages", message, "leave `packages` out"))
            }
        }
    }

    /// Whether a package of this name may be installed. Its dependencies are only checked against `deny`: whoever
    /// allows a package allows what it is made of.
    pub(crate) fn check(&self, name: &str, wanted: Wanted) -> Result<(), Refusal> {
        // npm keeps `.`, `_` and `-` apart, which no list relies on.
        let name = normalise(name);
        let is_in = |list: &[String]| list.iter().any(|listed| normalise(listed) == name);
        if is_in(&self.deny) {
            let message = match wanted {
                Wanted::Directly => format!("`packages` asks for `{name}`, which this server's operator has denied"),
                Wanted::ByAnother => format!("`packages` need `{name}`, which this server's operator has denied"),
            };
            return Err(Refusal::new("packages", message, "leave it out"));
        }
        if wanted == Wanted::Directly && !self.allow.is_empty() && !is_in(&self.allow) {
            let message = format!("`packages` asks for `{name}`, which is not on this server's list");
            return Err(Refusal::new("packages", message, format!("use {}", self.allow.join(", "))));
        }
        Ok(())
    }

    /// The same for everything that came of a resolution.
    pub(crate) fn check_all(&self, packages: &[PackageVersion]) -> Result<(), Refusal> {
        packages.iter().try_for_each(|package| self.check(&package.name, Wanted::ByAnother))
    }
}

/// Who wants a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Directly,
    ByAnother,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_go_by_name() {
        let allows = |policy: &PackagePolicy, name| policy.check(name, Wanted::Directly).is_ok();
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let policy = PackagePolicy { deny: list(&["Evil_Package"]), ..PackagePolicy::default() };
        assert!(allows(&policy, "pandas") && !allows(&policy, "evil.package"));
        let policy = PackagePolicy { allow: list(&["pandas"]), ..PackagePolicy::default() };
        assert!(allows(&policy, "Pandas") && !allows(&policy, "numpy"));
        assert!(policy.check("numpy", Wanted::ByAnother).is_ok());
    }
}
