//! What a program wants, from its caller's words and its own.

use std::collections::{BTreeMap, BTreeSet};

use sandbox::{Imported, LayerKind, Plan, Refusal, Wanted};
use wanted::{NpmSpec, Requirement};

use crate::policy::{self, PackagePolicy};

/// The most packages that are looked for because a program imports them.
const MOST_IMPORTED: usize = 32;

/// Everything that the plan wants beside its language; `None` for nothing.
pub(crate) fn of(plan: &Plan, policy: &PackagePolicy) -> Result<Option<Wanted>, Refusal> {
    let kind = match plan.language().id {
        "python" => LayerKind::Python,
        "javascript" | "typescript" => LayerKind::Node,
        _ => return Ok(None),
    };
    let code = String::from_utf8_lossy(plan.code());
    let wanted = match kind {
        LayerKind::Python => python(plan, &code, policy)?,
        LayerKind::Node => node(plan, &code, policy)?,
    };
    if wanted.named.is_empty() && wanted.imported.is_empty() {
        return Ok(None);
    }
    if !policy.enabled {
        if wanted.named.is_empty() {
            return Ok(None);
        }
        let message = "`packages` are not installed by this server";
        return Err(Refusal::new("packages", message, "leave `packages` out"));
    }
    Ok(Some(wanted))
}

fn python(plan: &Plan, code: &str, policy: &PackagePolicy) -> Result<Wanted, Refusal> {
    let metadata = wanted::script_metadata(code).map_err(|error| {
        let message = format!("the program's own metadata cannot be read: {error}");
        Refusal::new("code", message, "see PEP 723: a `# /// script` block with TOML in comments")
    })?;
    let written = metadata.into_iter().flat_map(|metadata| metadata.dependencies);
    let mut named = BTreeSet::new();
    let mut names = BTreeSet::new();
    for text in plan.packages().iter().cloned().chain(written) {
        let requirement = Requirement::parse(&text).map_err(|error| {
            let hint = "name packages as PyPI does, such as `pandas` or `requests>=2,<3`";
            Refusal::new("packages", error.to_string(), hint)
        })?;
        policy.check(requirement.name(), policy::Wanted::Directly)?;
        names.insert(requirement.name().to_owned());
        named.insert(requirement.to_string());
    }
    let imported = if policy.automatic { imports(plan, code) } else { Vec::new() };
    let mut guessed = BTreeMap::new();
    for module in imported {
        let Some(package) = wanted::distribution_for(&module).map(|name| name.into_owned()) else { continue };
        if !names.contains(&package) && policy.check(&package, policy::Wanted::Directly).is_ok() {
            guessed.entry(package).or_insert(module);
        }
    }
    let imported = guessed.into_iter().map(|(package, module)| Imported { module, package });
    let imported = imported.take(MOST_IMPORTED).collect();
    Ok(Wanted { kind: LayerKind::Python, named: named.into_iter().collect(), imported })
}

/// Modules that the program or its files import and that are not among its files.
fn imports(plan: &Plan, code: &str) -> Vec<String> {
    let is_ours = |module: &str| {
        let first = module.split('.').next().unwrap_or(module);
        plan.files().iter().any(|file| {
            let path = file.path.as_str();
            path.split('/').next() == Some(first) || path.strip_suffix(".py").is_some_and(|stem| stem == first)
        })
    };
    let files = plan.files().iter().filter(|file| file.path.as_str().ends_with(".py"));
    let texts = files.map(|file| String::from_utf8_lossy(&file.contents));
    let found = texts.flat_map(|text| wanted::python_imports(&text));
    wanted::python_imports(code).into_iter().chain(found).filter(|module| !is_ours(module)).collect()
}

fn node(plan: &Plan, code: &str, policy: &PackagePolicy) -> Result<Wanted, Refusal> {
    let explain = |error: wanted::NpmError| {
        Refusal::new("packages", error.to_string(), "name packages as npm does, such as `lodash` or `zod@^3`")
    };
    let (mut named, mut imported, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for text in plan.packages() {
        let spec = NpmSpec::parse(text).map_err(explain)?;
        policy.check(spec.name(), policy::Wanted::Directly)?;
        names.insert(spec.name().to_owned());
        named.insert(written(&spec));
    }
    let is_ours = |name: &str| {
        let place = format!("node_modules/{name}/");
        plan.files().iter().any(|file| file.path.as_str().starts_with(&place))
    };
    for specifier in wanted::javascript_imports(code) {
        let Some(Ok(spec)) = wanted::npm_package_of(&specifier) else { continue };
        if names.contains(spec.name()) || is_ours(spec.name()) {
            continue;
        }
        if specifier.starts_with("npm:") {
            // That is as good as naming it.
            policy.check(spec.name(), policy::Wanted::Directly)?;
            names.insert(spec.name().to_owned());
            imported.retain(|imported: &Imported| imported.module != spec.name());
            named.insert(written(&spec));
        } else if policy.automatic && policy.check(spec.name(), policy::Wanted::Directly).is_ok() {
            imported.insert(Imported { module: spec.name().to_owned(), package: written(&spec) });
        }
    }
    let imported = imported.into_iter().take(MOST_IMPORTED).collect();
    Ok(Wanted { kind: LayerKind::Node, named: named.into_iter().collect(), imported })
}

/// As `name@range`.
fn written(spec: &NpmSpec) -> String {
    format!("{}@{}", spec.name(), spec.range())
}
