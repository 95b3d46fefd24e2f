//! `configure_environment` and `get_environment`.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::model::{CallToolResult, ToolAnnotations};
use runtime::{RunError, Runtime};
use sandbox::{EnvironmentInfo, EnvironmentKind, EnvironmentRequest, Principal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CONFIGURE_ENVIRONMENT, Description, GET_ENVIRONMENT, answer, failed, refused};
use crate::witness::Witness;
use crate::{arguments, icons};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// venv, uv, conda; host goes back to the host's own Python
    r#type: Kind,
    /// The environment's folder, or that of a project with a .venv
    #[serde(default)]
    path: Option<String>,
    /// For conda: the environment's name
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Venv,
    Uv,
    Conda,
    Host,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The Python that native runs use.
#[derive(Debug, Serialize, JsonSchema)]
struct Answer {
    /// venv, uv, conda or host
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    python: String,
    version: String,
}

pub(super) fn describe_configure() -> Description {
    let text = "Choose the Python that run_code uses natively: a venv, uv or conda environment of this machine, where its operator \
                allows it. Programs cannot change it.";
    Description {
        name: CONFIGURE_ENVIRONMENT,
        title: "Choose a Python environment",
        text: text.to_owned(),
        input: arguments::schema_of::<Wanted>(),
        output: arguments::schema_of_result::<Answer>(),
        annotations: ToolAnnotations::with_title("Choose a Python environment")
            .read_only(false)
            .destructive(false)
            .idempotent(true)
            .open_world(false),
        icon: icons::LIST,
    }
}

pub(super) fn describe_get() -> Description {
    Description {
        name: GET_ENVIRONMENT,
        title: "Python environment",
        text: "The Python environment that run_code uses natively.".to_owned(),
        input: arguments::schema_of::<Nothing>(),
        output: arguments::schema_of_result::<Answer>(),
        annotations: ToolAnnotations::with_title("Python environment")
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false),
        icon: icons::LIST,
    }
}

/// Answers a call of `configure_environment`.
pub(crate) async fn configure_environment(
    runtime: &Arc<Runtime>,
    caller: &Principal,
    given: Option<Map<String, Value>>,
    witness: Witness,
) -> CallToolResult {
    let configured = async {
        witness.can_write()?;
        let given: Wanted = arguments::read(given)?;
        let request = EnvironmentRequest {
            kind: match given.r#type {
                Kind::Venv => EnvironmentKind::Venv,
                Kind::Uv => EnvironmentKind::Uv,
                Kind::Conda => EnvironmentKind::Conda,
                Kind::Host => EnvironmentKind::Host,
            },
            path: given.path.map(PathBuf::from),
            name: given.name,
        };
        runtime.environments()?.configure(caller, request).await
    };
    match configured.await {
        Ok(info) => {
            witness.did(Ok(vec![sentence(&info)]));
            shown(&info)
        }
        Err(refusal) => {
            witness.refuses(&refusal);
            refused(&refusal)
        }
    }
}

/// Answers a call of `get_environment`.
pub(crate) async fn get_environment(
    runtime: &Arc<Runtime>,
    caller: &Principal,
    given: Option<Map<String, Value>>,
) -> CallToolResult {
    let found = async {
        let Nothing {} = arguments::read(given)?;
        Ok::<_, RunError>(runtime.environments()?.environment(caller).await?)
    };
    match found.await {
        Ok(info) => shown(&info),
        Err(error) => failed(&error),
    }
}

fn sentence(info: &EnvironmentInfo) -> String {
    format!("{} Python {} at {}", info.kind, info.version, info.path.as_ref().unwrap_or(&info.python).display())
}

fn shown(info: &EnvironmentInfo) -> CallToolResult {
    let structured = Answer {
        r#type: info.kind.to_string(),
        path: info.path.as_ref().map(|path| path.display().to_string()),
        python: info.python.display().to_string(),
        version: info.version.clone(),
    };
    answer(sentence(info), &structured)
}
