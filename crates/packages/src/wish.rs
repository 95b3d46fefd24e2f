//! What a program wants, from its caller's words and its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use sandbox::{Imported, LayerKind, Plan, Principal, Refusal, Wanted};
use wanted::{NpmSpec, Requirement};

use crate::policy::{self, Installs, PackagePolicy};

/// The most packages that are looked for because a program imports them.
const MOST_IMPORTED: usize = 32;

/// Everything that the plan wants beside its language; `None` for nothing.
pub(crate) fn of(plan: &Plan, policy: &PackagePolicy) -> Result<Option<Wanted>, Refusal> {
    let Some(kind) = LayerKind::of(plan.language()) else { return Ok(None) };
    let code = String::from_utf8_lossy(plan.code());
    let mut wishes = Wishes::of(kind, plan.packages(), policy)?;
    match kind {
        LayerKind::Python => wishes.read_python(plan, &code)?,
        LayerKind::Node => wishes.read_javascript(plan, &code)?,
    }
    let wanted = wishes.into_wanted(plan.principal());
    if !wanted.named.is_empty() {
        policy.check_enabled()?;
    }
    let is_nothing = wanted.named.is_empty() && wanted.imported.is_empty() && wanted.requires_python.is_none();
    Ok((!is_nothing).then_some(wanted))
}

/// What somebody wants without a program.
pub(crate) fn named(
    kind: LayerKind,
    caller: &Principal,
    packages: &[String],
    policy: &PackagePolicy,
) -> Result<Wanted, Refusal> {
    policy.check_enabled()?;
    Ok(Wishes::of(kind, packages, policy)?.into_wanted(caller))
}

/// What is known so far of what somebody wants.
struct Wishes<'a> {
    kind: LayerKind,
    policy: &'a PackagePolicy,
    /// By the package's name.
    named: BTreeMap<String, String>,
    imported: BTreeMap<String, Imported>,
    requires_python: Option<String>,
}

impl<'a> Wishes<'a> {
    fn of(kind: LayerKind, packages: &[String], policy: &'a PackagePolicy) -> Result<Self, Refusal> {
        let mut wishes =
            Self { kind, policy, named: BTreeMap::new(), imported: BTreeMap::new(), requires_python: None };
        packages.iter().try_for_each(|package| wishes.name(package))?;
        Ok(wishes)
    }

    /// Somebody named a package.
    fn name(&mut self, text: &str) -> Result<(), Refusal> {
        let (name, written) = match self.kind {
            LayerKind::Python => {
                let requirement = Requirement::parse(text).map_err(|error| {
                    let hint = "name packages as PyPI does, such as `pandas` or `requests>=2,<3`";
                    Refusal::new("packages", error.to_string(), hint)
                })?;
                (requirement.name().to_owned(), requirement.to_string())
            }
            LayerKind::Node => {
                let spec = NpmSpec::parse(text).map_err(|error| {
                    let hint = "name packages as npm does, such as `lodash` or `zod@^3`";
                    Refusal::new("packages", error.to_string(), hint)
                })?;
                (spec.name().to_owned(), spec.to_string())
            }
        };
        self.policy.check(&name, policy::Wanted::Directly)?;
        self.imported.remove(&name);
        match self.named.get(&name) {
            Some(other) if *other != written && self.kind == LayerKind::Node => {
                let message = format!("`{other}` and `{written}` are two versions of one package");
                Err(Refusal::new("packages", message, "use one of them"))
            }
            // Both hold.
            Some(other) if *other != written => {
                self.named.insert(format!("{name} {written}"), written);
                Ok(())
            }
            _ => {
                self.named.insert(name, written);
                Ok(())
            }
        }
    }

    fn guesses(&self) -> bool {
        self.policy.installs == Installs::Imported
    }

    /// The program imports something that this package has.
    fn guess(&mut self, name: &str, imported: Imported) {
        let is_allowed = self.guesses() && self.policy.check(name, policy::Wanted::Directly).is_ok();
        if is_allowed && !self.named.contains_key(name) && self.imported.len() < MOST_IMPORTED {
            self.imported.entry(name.to_owned()).or_insert(imported);
        }
    }

    fn read_python(&mut self, plan: &Plan, code: &str) -> Result<(), Refusal> {
        let metadata = wanted::script_metadata(code).map_err(|error| {
            let message = format!("the program's own metadata cannot be read: {error}");
            Refusal::new("code", message, "see PEP 723: a `# /// script` block with TOML in comments")
        })?;
        if let Some(metadata) = metadata {
            self.requires_python = metadata.requires_python;
            metadata.dependencies.iter().try_for_each(|dependency| self.name(dependency))?;
        }
        if self.guesses() {
            for module in imports(plan, code) {
                if let Some(package) = wanted::distribution_for(&module).map(Cow::into_owned) {
                    self.guess(&package.clone(), Imported { module, package });
                }
            }
        }
        Ok(())
    }

    fn read_javascript(&mut self, plan: &Plan, code: &str) -> Result<(), Refusal> {
        let is_ours = |name: &str| {
            let place = format!("node_modules/{name}/");
            plan.files().iter().any(|file| file.path.as_str().starts_with(&place))
        };
        for specifier in wanted::javascript_imports(code) {
            let Some(Ok(spec)) = wanted::npm_package_of(&specifier) else { continue };
            let name = spec.name().to_owned();
            if is_ours(&name) {
                continue;
            }
            if specifier.starts_with("npm:") && (spec.range() != "*" || !self.named.contains_key(&name)) {
                // That is as good as naming it.
                self.name(&spec.to_string())?;
            } else {
                self.guess(&name, Imported { module: name.clone(), package: spec.to_string() });
            }
        }
        Ok(())
    }

    fn into_wanted(self, caller: &Principal) -> Wanted {
        Wanted {
            kind: self.kind,
            caller: caller.clone(),
            requires_python: self.requires_python,
            named: self.named.into_values().collect(),
            imported: self.imported.into_values().collect(),
        }
    }
}

/// Modules that the program imports, by itself or through its files, and that are not among these.
fn imports(plan: &Plan, code: &str) -> Vec<String> {
    let mut unread: HashMap<&str, &[u8]> =
        plan.files().iter().map(|file| (file.path.as_str(), file.contents.as_slice())).collect();
    let tops: HashSet<&str> = unread
        .keys()
        .map(|path| path.split('/').next().unwrap_or(path))
        .map(|top| top.trim_end_matches(".py"))
        .collect();
    let mut found = Vec::new();
    let mut pending = wanted::python_imports(code);
    while let Some(module) = pending.pop() {
        let top = module.split('.').next().unwrap_or(&module);
        if !tops.contains(top) {
            found.push(module);
            continue;
        }
        // Each part of `a.b.c` is a file, or a package's.
        let path = module.replace('.', "/");
        let parts = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for part in parts.filter_map(|end| path.get(..end)) {
            for file in [format!("{part}.py"), format!("{part}/__init__.py")] {
                // Once each, or two that import each other would never end.
                if let Some(text) = unread.remove(file.as_str()) {
                    pending.extend(wanted::python_imports(&String::from_utf8_lossy(text)));
                }
            }
        }
    }
    found
}
