//! `mcp_code_executor` 0.3.0: Python in an environment of the operator's, with code files in a folder of theirs.

mod environment;
mod store;
mod tools;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ServerCapabilities, ServerConfig, Tool};
use runtime::RunError;
use sandbox::{BoxFuture, EngineChoice, EngineId, EnvironmentKind, EnvironmentRequest, Outcome, Refusal, Request};
use serde_json::{Map, Value, json};

use self::store::{Store, complaint, new_name};
use self::tools::tools;
use super::transcript::Transcript;
use super::{Call, Contract, Verdict, identity, said, why};
use crate::room;
use crate::tools::MOST_ECHO;

pub use self::environment::{Environment, EnvironmentType};

const LAUNCH: &str = include_str!("mcp_code_executor/launch.py");
const CHECK: &str = include_str!("mcp_code_executor/check.py");

#[derive(Debug)]
pub(super) struct CodeExecutor {
    store: Store,
    environment: Mutex<Environment>,
}

/// What a tool says: an object on one line, and whether it went well.
type Said = Result<Map<String, Value>, Map<String, Value>>;

impl CodeExecutor {
    pub(super) fn open(store: &Path, environment: Environment) -> io::Result<Self> {
        Ok(Self { store: Store::open(store)?, environment: Mutex::new(environment) })
    }

    fn environment(&self) -> MutexGuard<'_, Environment> {
        self.environment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kind(&self) -> &'static str {
        self.environment().kind.name()
    }

    async fn execute_code(&self, call: &Call<'_>) -> Said {
        let code = required(call, "code", "Code is required")?;
        let name = new_name(optional(call, "filename")).map_err(wrong)?;
        let file = self.store.create(&name, code).map_err(|error| wrong(complaint(&error, &name)))?;
        let path = file.display().to_string();
        let about = [("file_path".to_owned(), json!(path)), ("generated_filename".to_owned(), json!(name))];
        self.execute(call, &file, about.into_iter().collect()).await
    }

    async fn execute_code_file(&self, call: &Call<'_>) -> Said {
        let path = required(call, "file_path", "File path is required")?;
        let file = self.store.locate(path).map_err(|error| wrong_path(&error, path))?;
        self.execute(call, &file, fields(json!({"file_path": path}))).await
    }

    /// Runs a file; what is known of it comes after what came of it.
    async fn execute(&self, call: &Call<'_>, file: &Path, about: Map<String, Value>) -> Said {
        let request = Request {
            code: LAUNCH.as_bytes().to_vec(),
            args: [self.store.root(), file].map(|path| path.display().to_string()).into(),
            ..python()
        };
        let command = self.environment().command(file);
        let joined = |first: Value, last: Value| -> Map<String, Value> {
            fields(first).into_iter().chain(about.clone()).chain(fields(last)).collect()
        };
        let outcome = match call.run(request, &Transcript::default()).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(joined(json!({"status": "error", "error": why(&error)}), json!({}))),
        };
        let [stdout, stderr] = call.fit_both(room::cost_twice, [&outcome.stdout.text, &outcome.stderr.text]);
        if outcome.status.is_success() {
            let more = if stderr.is_empty() { json!({}) } else { json!({"stderr": stderr}) };
            return Ok(joined(json!({"status": "success", "output": stdout}), more));
        }
        let error = format!("Command failed: {command}\n{stderr}{}", limit(call, &outcome));
        let code = match outcome.status {
            sandbox::Status::Completed { exit_code } => json!(exit_code),
            sandbox::Status::Crashed { .. }
            | sandbox::Status::TimedOut
            | sandbox::Status::LimitExceeded(_)
            | sandbox::Status::Cancelled => Value::Null,
        };
        Err(joined(json!({"status": "error", "error": error}), json!({"output": stdout, "exit_code": code})))
    }

    fn initialize_code_file(&self, call: &Call<'_>) -> Said {
        let content = required(call, "content", "Content is required")?;
        let name = new_name(optional(call, "filename")).map_err(wrong)?;
        let file = self.store.create(&name, content).map_err(|error| wrong(complaint(&error, &name)))?;
        let message = "File initialized successfully";
        Ok(fields(
            json!({"status": "success", "message": message, "file_path": file.display().to_string(), "filename": name}),
        ))
    }

    fn append_to_code_file(&self, call: &Call<'_>) -> Said {
        let path = required(call, "file_path", "File path is required")?;
        let content = optional(call, "content").ok_or_else(|| wrong("Content is required"))?;
        self.store.append(path, content).map_err(|error| wrong_path(&error, path))?;
        Ok(fields(json!({"status": "success", "message": "Content appended successfully", "file_path": path})))
    }

    fn read_code_file(&self, call: &Call<'_>) -> Said {
        let path = required(call, "file_path", "File path is required")?;
        let content = self.store.read(path).map_err(|error| wrong_path(&error, path))?;
        let [content, _] = call.fit_both(room::cost_twice, [&content, ""]);
        Ok(fields(json!({"status": "success", "content": content, "file_path": path})))
    }

    async fn install_dependencies(&self, call: &Call<'_>) -> Said {
        let (packages, kind) = (packages(call)?, self.kind());
        let failed = |error: String| fields(json!({"status": "error", "env_type": kind, "error": error}));
        if packages.is_empty() {
            return Err(failed("No packages specified".to_owned()));
        }
        let changed = call.runtime().change_environment(&call.caller(), &packages, &mut ()).await;
        let changed = changed.map_err(|error| failed(why(&error)))?;
        // uv says on standard error what it did.
        let is_warning = |line: &&str| line.starts_with("warning:");
        let (warnings, news): (Vec<&str>, Vec<&str>) = changed.stderr.split_inclusive('\n').partition(is_warning);
        let [output, warnings] =
            call.fit_both(room::cost_twice, [&(changed.stdout + &news.concat()), &warnings.concat()]);
        let mut said = fields(json!({
            "status": "success", "env_type": kind, "installed_packages": packages, "output": output,
        }));
        if !warnings.is_empty() {
            said.insert("warnings".to_owned(), json!(warnings));
        }
        Ok(said)
    }

    async fn check_installed_packages(&self, call: &Call<'_>) -> Said {
        let (packages, kind) = (packages(call)?, self.kind());
        let failed = |error: String| fields(json!({"status": "error", "env_type": kind, "error": error}));
        if packages.is_empty() {
            return Err(failed("No packages specified".to_owned()));
        }
        let request = Request { code: CHECK.as_bytes().to_vec(), args: packages.clone(), ..python() };
        let outcome = call.run(request, &Transcript::default()).await.map_err(|error| failed(why(&error)))?;
        let details: Map<String, Value> =
            serde_json::from_str(&outcome.stdout.text).map_err(|_| failed(unreadable(call, &outcome)))?;
        let is_there = |name: &&String| details.get(name.as_str()).is_some_and(|it| it["installed"] == true);
        let missing: Vec<&String> = packages.iter().filter(|name| !is_there(name)).collect();
        Ok(fields(json!({
            "status": "success", "env_type": kind, "all_installed": missing.is_empty(), "not_installed": missing,
            "package_details": details,
        })))
    }

    async fn configure_environment(&self, call: &Call<'_>) -> Said {
        let invalid = || {
            wrong("Invalid arguments: 'type' is required and must be one of 'conda', 'venv', or 'venv-uv'".to_owned())
        };
        let kind = optional(call, "type").and_then(EnvironmentType::find).ok_or_else(invalid)?;
        let argument = kind.argument();
        let missing = || wrong(format!("{argument} is required when type is '{}'", kind.name()));
        let value = optional(call, argument).filter(|value| !value.is_empty()).ok_or_else(missing)?;
        let (path, name) = match kind {
            EnvironmentType::Conda => (None, Some(value.to_owned())),
            EnvironmentType::Venv | EnvironmentType::VenvUv => (Some(PathBuf::from(value)), None),
        };
        let wanted = EnvironmentRequest {
            kind: if kind == EnvironmentType::Conda { EnvironmentKind::Conda } else { EnvironmentKind::Venv },
            path,
            name,
        };
        let refused = |refusal: Refusal| wrong(why(&RunError::Refused(refusal)));
        let environments = call.runtime().environments().map_err(refused)?;
        environments.configure(&call.caller(), wanted).await.map_err(refused)?;
        let mut environment = self.environment();
        let previous = environment.json();
        *environment.place(kind) = Some(value.to_owned());
        environment.kind = kind;
        let message = "Environment configuration updated";
        Ok(fields(
            json!({"status": "success", "message": message, "previous": previous, "current": environment.json()}),
        ))
    }
}

impl Contract for CodeExecutor {
    fn identity(&self) -> ServerConfig {
        identity("code-executor", "0.3.0", ServerCapabilities::builder().enable_tools().build())
    }

    fn tools(&self) -> Vec<Tool> {
        tools(self.kind())
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move {
            let said_it = match call.tool {
                "execute_code" => self.execute_code(&call).await,
                "initialize_code_file" => self.initialize_code_file(&call),
                "append_to_code_file" => self.append_to_code_file(&call),
                "execute_code_file" => self.execute_code_file(&call).await,
                "read_code_file" => self.read_code_file(&call),
                "install_dependencies" => self.install_dependencies(&call).await,
                "check_installed_packages" => self.check_installed_packages(&call).await,
                "configure_environment" => self.configure_environment(&call).await,
                "get_environment_config" => {
                    Ok(fields(json!({"status": "success", "config": self.environment().json()})))
                }
                _ => return Err(ErrorData::invalid_params("Unknown tool", None)),
            };
            let (fields, verdict) = match said_it {
                Ok(fields) => (fields, Verdict::Fine),
                Err(fields) => (fields, Verdict::Error),
            };
            Ok(said([Value::Object(fields).to_string()], verdict))
        })
    }

    fn retouch(&self, reply: &mut Value) {
        let is_error = reply.get("isError") == Some(&Value::Bool(true));
        for block in reply.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(block) = block {
                block.insert("isError".to_owned(), json!(is_error));
            }
        }
    }
}

/// A run in the environment. Programs that others wrote have C extensions, so it is never WebAssembly.
fn python() -> Request {
    let engine = EngineChoice::Only(EngineId::Native);
    Request { language: Some("python".to_owned()), engine, ..Request::default() }
}

/// What there is to say of a program of ours that did not say what it should.
fn unreadable(call: &Call<'_>, outcome: &Outcome) -> String {
    let [stderr, _] = call.fit_both(room::cost_twice, [&outcome.stderr.text, ""]);
    let said = format!("{stderr}{}", limit(call, outcome));
    if said.is_empty() { format!("the packages cannot be listed: {}", call.ending(outcome)) } else { said }
}

/// A limit that ended a run, on a line of its own.
fn limit(call: &Call<'_>, outcome: &Outcome) -> String {
    match outcome.status {
        sandbox::Status::Completed { .. } => String::new(),
        sandbox::Status::Crashed { .. }
        | sandbox::Status::TimedOut
        | sandbox::Status::LimitExceeded(_)
        | sandbox::Status::Cancelled => format!("{}\n", call.ending(outcome)),
    }
}

fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn wrong(error: impl Into<String>) -> Map<String, Value> {
    let error = Value::String(error.into());
    [("status".to_owned(), json!("error")), ("error".to_owned(), error)].into_iter().collect()
}

fn wrong_path(error: &io::Error, path: &str) -> Map<String, Value> {
    let path = room::shortened(path, MOST_ECHO);
    fields(json!({"status": "error", "error": complaint(error, &path), "file_path": path}))
}

fn optional<'a>(call: &'a Call<'_>, argument: &str) -> Option<&'a str> {
    call.arguments.get(argument).and_then(Value::as_str)
}

fn required<'a>(call: &'a Call<'_>, argument: &str, complaint: &str) -> Result<&'a str, Map<String, Value>> {
    optional(call, argument).filter(|text| !text.is_empty()).ok_or_else(|| wrong(complaint))
}

fn packages(call: &Call<'_>) -> Result<Vec<String>, Map<String, Value>> {
    let listed = call.arguments.get("packages").and_then(Value::as_array);
    let names = listed.and_then(|listed| listed.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    names.ok_or_else(|| wrong("Valid packages array is required"))
}
