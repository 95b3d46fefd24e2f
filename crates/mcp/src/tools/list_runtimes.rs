//! `list_runtimes`.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, ToolAnnotations};
use runtime::Runtime;
use sandbox::{EngineId, Language, Limits, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Description, LIST_RUNTIMES, refused};
use crate::{arguments, icons};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// What can be run here, and within which limits.
#[derive(Debug, Serialize, JsonSchema)]
struct Answer {
    languages: Vec<Entry>,
    /// Known languages that cannot be run here
    unavailable: Vec<Unavailable>,
    /// What a run gets without asking
    defaults: LimitsEntry,
    /// The most it can ask for
    ceilings: LimitsEntry,
    /// What runs can connect to
    network: String,
    /// Folders of the host that runs see
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    folders: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    language: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    /// Of the first engine
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Engines that serve it, the preferred one first
    engines: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Unavailable {
    language: &'static str,
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LimitsEntry {
    timeout_ms: u64,
    memory_mb: u64,
    workspace_mb: u64,
    files: u32,
    processes: u32,
}

impl From<&Limits> for LimitsEntry {
    fn from(limits: &Limits) -> Self {
        Self {
            timeout_ms: u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX),
            memory_mb: limits.memory.get() >> 20,
            workspace_mb: limits.disk.get() >> 20,
            files: limits.files,
            processes: limits.processes,
        }
    }
}

pub(super) fn describe() -> Description {
    Description {
        name: LIST_RUNTIMES,
        title: "List languages",
        text:
            "Languages that run_code can run here, with versions, engines and limits, and why others are not available."
                .to_owned(),
        input: arguments::schema_of::<Arguments>(),
        output: arguments::schema_of_result::<Answer>(),
        annotations: ToolAnnotations::with_title("List languages")
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false),
        icon: icons::LIST,
    }
}

/// Answers a call.
pub(crate) async fn list_runtimes(runtime: &Arc<Runtime>, given: Option<Map<String, Value>>) -> CallToolResult {
    if let Err(refusal) = arguments::read::<Arguments>(given) {
        return refused(&refusal);
    }
    let mut answer = Answer {
        languages: Vec::new(),
        unavailable: Vec::new(),
        defaults: (&runtime.policy().usual_limits()).into(),
        ceilings: (&runtime.policy().ceilings).into(),
        network: network(runtime.policy()),
        folders: runtime.policy().folders.iter().map(ToString::to_string).collect(),
    };
    // Side by side: each tool is asked for its version, which takes some of them a while.
    let mut asking = Vec::new();
    for language in Language::all() {
        match runtime.engines_for(language) {
            Ok(engines) => {
                let runtime = Arc::clone(runtime);
                asking.push(tokio::spawn(async move { entry(&runtime, language, &engines).await }));
            }
            Err(refusal) => {
                let reason = format!("{}; {}", refusal.message(), refusal.hint());
                answer.unavailable.push(Unavailable { language: language.id, reason });
            }
        }
    }
    for entry in asking {
        answer.languages.extend(entry.await);
    }
    let line = |entry: &Entry| {
        let version = entry.version.as_deref().unwrap_or_default();
        format!("{} {version} ({})", entry.language, entry.engines.join(", "))
    };
    let text = answer.languages.iter().map(line).collect::<Vec<_>>().join("\n");
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = serde_json::to_value(&answer).ok();
    result
}

fn network(policy: &Policy) -> String {
    let hosts: Vec<String> = policy.network.all().map(ToString::to_string).collect();
    if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") }
}

async fn entry(runtime: &Runtime, language: &'static Language, engines: &[EngineId]) -> Entry {
    let version =
        runtime.describe(language).await.ok().map(|(_, info)| info.version).filter(|version| !version.is_empty());
    Entry {
        language: language.id,
        name: language.name,
        aliases: language.aliases,
        version,
        engines: engines.iter().map(EngineId::to_string).collect(),
    }
}

/// What `runtime://LANGUAGE` holds.
pub(crate) async fn runtime_document(runtime: &Runtime, language: &'static Language) -> Option<String> {
    let engines = runtime.engines_for(language).ok()?;
    serde_json::to_string_pretty(&entry(runtime, language, &engines).await).ok()
}
