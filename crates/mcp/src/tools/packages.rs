//! `install_packages` and `list_packages`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{CallToolResult, ToolAnnotations};
use runtime::{RunError, Runtime};
use sandbox::{Language, PackageVersion, Principal, Refusal, SessionName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Description, INSTALL_PACKAGES, LIST_PACKAGES, answer, failed, refused};
use crate::live::Live;
use crate::witness::Witness;
use crate::{arguments, icons};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InstallArguments {
    /// From PyPI or npm, such as pandas>=2 or zod@^3
    packages: Vec<String>,
    /// python (default), javascript or typescript
    #[serde(default)]
    language: Option<String>,
    /// Session whose later calls can import them
    #[serde(default)]
    session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    /// python (default)
    #[serde(default)]
    language: Option<String>,
    /// Only these, by name
    #[serde(default)]
    packages: Vec<String>,
    /// What this session was given, instead
    #[serde(default)]
    session: Option<String>,
}

/// What was made ready.
#[derive(Debug, Serialize, JsonSchema)]
struct Installed {
    packages: Vec<Package>,
    /// The engine whose runs will find them
    engine: String,
    /// Whether they were here already
    cached: bool,
    ms: f64,
}

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    packages: Vec<Package>,
    /// Asked for and not there
    missing: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Package {
    name: String,
    version: String,
}

impl From<&PackageVersion> for Package {
    fn from(package: &PackageVersion) -> Self {
        Self { name: package.name.clone(), version: package.version.clone() }
    }
}

pub(super) fn describe_install() -> Description {
    let text = "Install packages ahead of run_code, so that runs that import them start at once. run_code also takes `packages` itself. \
                Only wheels and npm packages; nothing of a package runs while it is installed.";
    Description {
        name: INSTALL_PACKAGES,
        title: "Install packages",
        text: text.to_owned(),
        input: arguments::schema_of::<InstallArguments>(),
        output: arguments::schema_of_result::<Installed>(),
        annotations: ToolAnnotations::with_title("Install packages")
            .read_only(false)
            .destructive(false)
            .idempotent(true)
            .open_world(true),
        icon: icons::RUN,
    }
}

pub(super) fn describe_list() -> Description {
    let text = "Packages of the Python that native runs use, with versions; with `packages`, whether each is there. \
                Others are installed when a program imports them.";
    Description {
        name: LIST_PACKAGES,
        title: "List packages",
        text: text.to_owned(),
        input: arguments::schema_of::<ListArguments>(),
        output: arguments::schema_of_result::<Listed>(),
        annotations: ToolAnnotations::with_title("List packages")
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false),
        icon: icons::LIST,
    }
}

/// The language that somebody means; Python when nothing is said.
fn language(given: Option<&str>) -> Result<&'static Language, Refusal> {
    let name = given.unwrap_or("python");
    Language::find(name).ok_or_else(|| {
        let shown: String = name.chars().flat_map(char::escape_debug).take(40).collect();
        let message = format!("`{shown}` is not a language belljar knows");
        Refusal::new("language", message, "use python, javascript or typescript")
    })
}

/// Answers a call of `install_packages`; `live` hears how it goes.
pub(crate) async fn install_packages(
    runtime: &Arc<Runtime>,
    caller: &Principal,
    given: Option<Map<String, Value>>,
    (mut live, witness): (Live, Witness),
) -> CallToolResult {
    let installed = async {
        witness.can_write()?;
        let given: InstallArguments = arguments::read(given)?;
        if given.packages.is_empty() {
            return Err(
                Refusal::new("packages", "`packages` is empty", "name what to install, such as `pandas`").into()
            );
        }
        let language = language(given.language.as_deref())?;
        match given.session.as_deref().map(SessionName::new).transpose()? {
            Some(session) => runtime.install_in((caller, &session), language, &given.packages, &mut live).await,
            None => runtime.install(language, caller, &given.packages, &mut live).await,
        }
    };
    match installed.await {
        Ok((engine, provided)) => {
            let packages: Vec<Package> =
                provided.layer.iter().flat_map(|layer| &layer.packages).map(Package::from).collect();
            let names: Vec<String> = packages.iter().map(|it| format!("{} {}", it.name, it.version)).collect();
            witness.did(Ok(names.clone()));
            let what =
                if names.is_empty() { "nothing to install: it is part of it".to_owned() } else { names.join(", ") };
            let text = format!("ready for {engine} runs: {what}");
            let ms = (provided.took.as_secs_f64() * 1e6).round() / 1e3;
            answer(text, &Installed { packages, engine: engine.to_string(), cached: provided.cached, ms })
        }
        Err(error) => {
            witness.did(Err(&error));
            failed(&error)
        }
    }
}

/// Answers a call of `list_packages`.
pub(crate) async fn list_packages(
    runtime: &Arc<Runtime>,
    caller: &Principal,
    given: Option<Map<String, Value>>,
) -> CallToolResult {
    let listed = async {
        let given: ListArguments = arguments::read(given)?;
        let language = language(given.language.as_deref())?;
        let session = given.session.as_deref().map(SessionName::new).transpose()?;
        if language.id != "python" && session.is_none() {
            let message = format!("{} has no packages of its own here", language.name);
            let hint = "import what you need: it is installed for the run";
            return Err(RunError::from(Refusal::new("language", message, hint)));
        }
        let mut packages = match &session {
            Some(session) => runtime.packages_in((caller, session), language).await?,
            None => runtime.environments()?.installed(caller).await?,
        };
        let wanted: BTreeSet<String> = given.packages.iter().map(|name| normal(name)).collect();
        if !wanted.is_empty() {
            packages.retain(|package| wanted.contains(&normal(&package.name)));
        }
        let there: BTreeSet<String> = packages.iter().map(|package| normal(&package.name)).collect();
        let missing = given.packages.into_iter().filter(|name| !there.contains(&normal(name))).collect();
        Ok(Listed { packages: packages.iter().map(Package::from).collect(), missing })
    };
    match listed.await {
        Ok(listed) => {
            let mut lines: Vec<String> =
                listed.packages.iter().map(|it| format!("{} {}", it.name, it.version)).collect();
            lines.extend(listed.missing.iter().map(|name| format!("{name}: not there")));
            answer(if lines.is_empty() { "none".to_owned() } else { lines.join("\n") }, &listed)
        }
        Err(RunError::Refused(refusal)) => refused(&refusal),
        Err(error @ RunError::Failed(_)) => failed(&error),
    }
}

/// Names of packages are compared like this.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}
