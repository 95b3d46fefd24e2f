//! What a program wants, from its caller's words and its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use sandbox::{Imported, LayerKind, Plan, PlannedFile, Policy, Principal, Refusal, Wanted};
use wanted::{NpmSpec, Requirement};

use crate::policy::{self, Installs, PackagePolicy};

/// The most packages that are looked for because a program imports them.
const MOST_IMPORTED: usize = 32;
/// The most imports that are checked against the operator's lists. Otherwise a program of a few kilobytes could have
/// those searched thousands of times.
const MOST_CHECKED: usize = 256;

/// The parts of a path that are looked at. Nobody imports what is deeper, and a path may have a thousand.
const MOST_PARTS: usize = 64;

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
    /// Modules for which callers named a package.
    mapped: Vec<&'a str>,
    imported: BTreeMap<String, Imported>,
    /// How many imports were held against the operator's lists.
    checked: usize,
    requires_python: Option<String>,
}

/// One limit for what callers name and what their programs do: each is a package to resolve.
pub(crate) fn check_count(named: usize) -> Result<(), Refusal> {
    if named > Policy::MAX_PACKAGES {
        let message =
            format!("`packages`, and what the program itself names, are above the limit of {}", Policy::MAX_PACKAGES);
        let hint = "name those that the program imports; what they need comes with them";
        return Err(Refusal::new("packages", message, hint));
    }
    Ok(())
}

impl<'a> Wishes<'a> {
    fn of(kind: LayerKind, packages: &'a [String], policy: &'a PackagePolicy) -> Result<Self, Refusal> {
        check_count(packages.len())?;
        let (named, imported) = (BTreeMap::new(), BTreeMap::new());
        let mut wishes = Self { kind, policy, named, mapped: Vec::new(), imported, checked: 0, requires_python: None };
        for package in packages {
            match package.split_once(" as ") {
                // Nothing else is to be guessed for it: two packages that have the same module would overwrite each other.
                Some((package, module)) if kind == LayerKind::Python => {
                    wishes.name(package)?;
                    wishes.mapped.push(module);
                }
                Some(_) | None => wishes.name(package)?,
            }
        }
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
        let named = self.named.get(&name);
        if named == Some(&written) {
            return Ok(());
        }
        self.policy.check(&name, policy::Wanted::Directly)?;
        self.imported.remove(&name);
        match named {
            Some(other) if self.kind == LayerKind::Node => {
                let message = format!("`{other}` and `{written}` are two versions of one package");
                return Err(Refusal::new("packages", message, "use one of them"));
            }
            // Both hold.
            Some(_) => self.named.insert(format!("{name} {written}"), written),
            None => self.named.insert(name, written),
        };
        check_count(self.named.len())
    }

    fn guesses(&self) -> bool {
        self.policy.installs == Installs::Imported
    }

    /// The program imports something that this package has.
    fn guess(&mut self, name: &str, imported: Imported) {
        let is_known = self.named.contains_key(name) || self.imported.contains_key(name);
        let has_room = self.imported.len() < MOST_IMPORTED && self.checked < MOST_CHECKED;
        if !self.guesses() || is_known || !has_room {
            return;
        }
        self.checked += 1;
        if self.policy.check(name, policy::Wanted::Directly).is_ok() {
            self.imported.insert(name.to_owned(), imported);
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
                if self.is_mapped(&module) {
                    continue;
                }
                if let Some(package) = wanted::distribution_for(&module).map(Cow::into_owned) {
                    self.guess(&package.clone(), Imported { module, package });
                }
            }
        }
        Ok(())
    }

    /// Whether a caller said which package this module is in, or the one that it is a part of.
    fn is_mapped(&self, module: &str) -> bool {
        let is_it = |rest: &str| rest.is_empty() || rest.starts_with('.');
        self.mapped.iter().any(|mapped| module.strip_prefix(mapped).is_some_and(is_it))
    }

    fn read_javascript(&mut self, plan: &Plan, code: &str) -> Result<(), Refusal> {
        let own: HashSet<&str> = plan.files().iter().filter_map(|file| package_of(file.path.as_str())).collect();
        for specifier in wanted::javascript_imports(code) {
            let Some(Ok(spec)) = wanted::npm_package_of(&specifier) else { continue };
            let name = spec.name().to_owned();
            if own.contains(name.as_str()) {
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

/// The package of npm that a file belongs to.
fn package_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("node_modules/")?;
    let mut slashes = inside.match_indices('/').map(|(slash, _)| slash);
    let end = slashes.nth(usize::from(inside.starts_with('@')))?;
    inside.get(..end)
}

/// Modules that the program imports, by itself or through its files, and that are not among these.
fn imports(plan: &Plan, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = wanted::python_imports(code);
    if pending.is_empty() {
        return found;
    }
    let mut own = Modules::of(plan.files());
    while let Some(module) = pending.pop() {
        let mut parts = module.split('.');
        let Some(mut here) = parts.next().and_then(|top| own.in_module(Modules::ROOT, top)) else {
            found.push(module);
            continue;
        };
        // Each part of `a.b.c` is a file, or a package's.
        loop {
            for text in own.take_unread(here) {
                pending.extend(wanted::python_imports(&String::from_utf8_lossy(text)));
            }
            match parts.next().and_then(|part| own.in_module(here, part)) {
                Some(inner) => here = inner,
                None => break,
            }
        }
    }
    found
}

/// The program's own modules. A name is followed part by part: looking for each of its beginnings would take the square of its length. All
/// of them are in one table, since a path is deeper than a stack.
struct Modules<'a> {
    /// By the module that they are in, and their names in it.
    inner: HashMap<(usize, &'a str), usize>,
    /// The texts of each that were not read yet.
    unread: Vec<Vec<&'a [u8]>>,
}

impl<'a> Modules<'a> {
    /// What the others are in.
    const ROOT: usize = 0;

    fn of(files: &'a [PlannedFile]) -> Self {
        let mut modules = Self { inner: HashMap::new(), unread: vec![Vec::new()] };
        for file in files {
            let mut names: Vec<&str> = file.path.as_str().split('/').collect();
            let (module, text) = match names.pop().and_then(|name| name.rsplit_once('.')) {
                Some(("__init__", "py")) => (None, Some(file.contents.as_slice())),
                Some((module, "py")) => (Some(module), Some(file.contents.as_slice())),
                // `fast.cpython-313-x86_64-linux-gnu.so` is `fast`.
                Some((module, "pyc" | "so")) => (module.split('.').next(), None),
                Some(_) | None => (None, None),
            };
            names.extend(module);
            names.truncate(MOST_PARTS);
            let mut here = Self::ROOT;
            for name in names {
                let next = modules.unread.len();
                here = *modules.inner.entry((here, name)).or_insert(next);
                if here == next {
                    modules.unread.push(Vec::new());
                }
            }
            if let Some(unread) = modules.unread.get_mut(here) {
                unread.extend(text);
            }
        }
        modules
    }

    fn in_module(&self, outer: usize, name: &str) -> Option<usize> {
        self.inner.get(&(outer, name)).copied()
    }

    /// Once each, or two that import each other would never end.
    fn take_unread(&mut self, module: usize) -> Vec<&'a [u8]> {
        self.unread.get_mut(module).map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use sandbox::{InputFile, Request};

    use super::*;

    fn plan(language: &str, code: String, files: Vec<(String, Vec<u8>)>) -> Plan {
        let files = files.into_iter().map(|(path, contents)| InputFile { path: path.into(), contents }).collect();
        Policy::default().admit(Request { files, ..Request::new(language, code) }).expect("admitted")
    }

    fn wanted_by(language: &str, code: &str, files: &[(&str, &str)]) -> Result<Option<Wanted>, Refusal> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        of(&plan(language, code.to_owned(), files), &PackagePolicy::default())
    }

    fn lines(lines: impl Iterator<Item = String>) -> String {
        lines.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn check_imported(language: &str, code: &str, files: &[(&str, &str)], expected: &[&str]) {
        let wanted = wanted_by(language, code, files).expect("nothing is refused");
        let imported: Vec<String> =
            wanted.into_iter().flat_map(|wanted| wanted.imported).map(|imported| imported.package).collect();
        assert_eq!(imported, expected, "{code}");
    }

    #[test]
    fn what_files_have_is_their_programs_own() {
        let files = [
            ("one.py", "import six"),
            ("two/__init__.py", "import attrs"),
            ("two/three/four.py", "import two, pandas"),
            ("fast.cpython-313-x86_64-linux-gnu.so", ""),
            ("data.csv", ""),
        ];
        check_imported("python", "import one, fast", &files, &["six"]);
        check_imported("python", "import two.three.four.five", &files, &["attrs", "pandas"]);
        check_imported("python", "import two.four, one.two", &files, &["attrs", "six"]);
        check_imported("python", "import data, four", &files, &["data", "four"]);
        let files = [("node_modules/own/index.js", ""), ("node_modules/@our/own/index.js", "")];
        check_imported(
            "javascript",
            "import 'own/x'; import '@our/own'; import '@our/other'",
            &files,
            &["@our/other@*"],
        );
    }

    /// A caller who says which package a module is in is not second-guessed.
    #[test]
    fn what_callers_map_is_not_guessed() {
        let wanted = |packages: &[&str], code: &str| {
            let packages = packages.iter().map(|package| (*package).to_owned()).collect();
            let plan = Policy::default().admit(Request { packages, ..Request::new("python", code) }).expect("admitted");
            let wanted = of(&plan, &PackagePolicy::default()).expect("nothing is refused").expect("something");
            let imported: Vec<String> = wanted.imported.into_iter().map(|imported| imported.package).collect();
            (wanted.named.join(" "), imported.join(" "))
        };
        let both = |named: &str, imported: &str| (named.to_owned(), imported.to_owned());
        assert_eq!(wanted(&["opencv-python"], "import cv2"), both("opencv-python", "opencv-python-headless"));
        assert_eq!(wanted(&["opencv-python as cv2"], "import cv2, six"), both("opencv-python", "six"));
        assert_eq!(wanted(&["bar>=1,<2 as foo"], "import foo.inner, foobar"), both("bar>=1,<2", "foobar"));
        // Named for whoever needs it, by those who have no module for it.
        assert_eq!(wanted(&["tzdata as what-uses-it"], "import six"), both("tzdata", "six"));
        let plan = Request { packages: vec!["lodash as l".to_owned()], ..Request::new("javascript", "1") };
        let plan = Policy::default().admit(plan).expect("admitted");
        of(&plan, &PackagePolicy::default()).expect_err("npm's names have no spaces");
    }

    /// A package more is refused, whoever names it.
    #[test]
    fn there_is_one_limit_for_what_is_named() {
        let all: Vec<String> = (0..=Policy::MAX_PACKAGES).map(|number| format!("p{number}")).collect();
        let caller = Principal::default();
        for (kind, language) in [(LayerKind::Python, "python"), (LayerKind::Node, "javascript")] {
            let by = |packages: &[String]| {
                let code = match kind {
                    LayerKind::Python => format!("# /// script\n# dependencies = {packages:?}\n# ///"),
                    LayerKind::Node => lines(packages.iter().map(|name| format!("import 'npm:{name}'"))),
                };
                let by_program = wanted_by(language, &code, &[]).map(|wanted| wanted.expect("something"));
                [by_program, named(kind, &caller, packages, &PackagePolicy::default())]
            };
            for wanted in by(all.get(1..).expect("all but one")) {
                assert_eq!(wanted.expect("as many as may be").named.len(), Policy::MAX_PACKAGES);
            }
            for wanted in by(&all) {
                let refusal = wanted.expect_err("one more");
                assert_eq!(
                    refusal.message(),
                    "`packages`, and what the program itself names, are above the limit of 64"
                );
            }
        }
    }

    /// Whatever it imports, a program is read in the time of any other. A quadratic reader would take hours.
    #[test]
    fn time_is_linear() {
        let most = 4 << 20;
        let files = |path: String, text: &str| vec![(path, text.as_bytes().to_vec())];
        let long = format!("import {}a", "a.".repeat(most / 2));
        let many = lines((0..most / 1024).map(|number| format!("import {}a{number}", "a.".repeat(490))));
        let deep = || files(format!("{}a.py", "a/".repeat(490)), "import six");
        for code in [long, many] {
            for files in [files("a.py".to_owned(), "import six"), deep()] {
                of(&plan("python", code.clone(), files), &PackagePolicy::default()).expect("nothing is refused");
            }
        }
        let modules: Vec<_> = (0..1_000).map(|number| (format!("node_modules/m{number}/x.js"), Vec::new())).collect();
        let code = lines((0..most / 20).map(|number| format!("import 'm{number}'")));
        let deny = (0..1_000).map(|number| format!("d-{number}")).collect();
        let allow = vec!["nothing".to_owned()];
        let policy = PackagePolicy { allow, deny, ..PackagePolicy::default() };
        assert_eq!(of(&plan("javascript", code, modules), &policy).expect("nothing is refused"), None);
    }
}
