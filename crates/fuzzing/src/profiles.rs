use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use mcp::profiles::{Environment, EnvironmentType, Granted, Profile, ReturnMode, Tools};
use sandbox::{LimitKind, SessionState, Status, Stream, WorkspacePath};
use serde_json::{Map, Value, json};

use crate::conversation::Conversation;
use crate::echo::Act;
use crate::structured;
use crate::time::within;
use crate::values::{list, text, value};

/// Calls of another server's tools, with any arguments and whatever the programs do: each is answered, in the form that the other has,
/// and none silently.
pub fn profiles(input: &[u8]) {
    let Some(scene) = structured::<Scene>(input) else { return };
    let world = &*WORLD;
    world.restore();
    let stage = &world.stages[usize::from(scene.stage) % world.stages.len()];
    stage.conversation.direct(scene.act);
    let mut said = Conversation::opening();
    for (number, line) in scene.lines.iter().enumerate() {
        match line {
            Line::Call(call) => {
                let parameters = json!({"name": call.tool, "arguments": call.arguments});
                let request = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters});
                said.extend_from_slice(request.to_string().as_bytes());
            }
            Line::Level(level) => {
                let parameters = json!({"level": level});
                let request =
                    json!({"jsonrpc": "2.0", "id": number, "method": "logging/setLevel", "params": parameters});
                said.extend_from_slice(request.to_string().as_bytes());
            }
            Line::Bytes(bytes) => said.extend_from_slice(bytes),
        }
        said.push(b'\n');
    }
    let heard = within(Duration::from_secs(20), || stage.conversation.hear(said));
    world.check(&heard);
    // Bytes can be a call with the number of another, or take one back.
    if scene.lines.iter().any(|line| matches!(line, Line::Bytes(_))) {
        return;
    }
    for (number, line) in scene.lines.iter().enumerate() {
        let answers: Vec<&Value> = heard.iter().filter(|message| message["id"] == number).collect();
        let [answer] = answers.as_slice() else { panic!("{} answers to {line:?}", answers.len()) };
        match (line, answer.get("result")) {
            (_, None) => check_error(&answer["error"]),
            (Line::Call(call), Some(result)) => check_result(stage.form, call, result),
            (Line::Level(_) | Line::Bytes(_), Some(result)) => assert_eq!(*result, json!({})),
        }
    }
}

#[derive(Debug)]
struct Scene {
    stage: u8,
    act: Act,
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Call(Call),
    Level(Value),
    Bytes(Vec<u8>),
}

#[derive(Debug)]
struct Call {
    tool: String,
    arguments: Map<String, Value>,
}

impl<'a> Arbitrary<'a> for Scene {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let stage = u8::arbitrary(u)?;
        let act = act(u)?;
        let count = u.int_in_range(1..=4)?;
        let lines = (0..count).map(|_| line(u, stage)).collect::<Result<_, _>>()?;
        Ok(Self { stage, act, lines })
    }
}

fn line(u: &mut Unstructured<'_>, stage: u8) -> arbitrary::Result<Line> {
    Ok(match u8::arbitrary(u)? {
        0..8 => Line::Level(if u.ratio(3, 4)? { (*u.choose(&["debug", "error"])?).into() } else { value(u, 2)? }),
        8..16 => Line::Bytes(Vec::arbitrary(u)?),
        16..24 => {
            let mut arguments = Map::new();
            for name in list(u)? {
                arguments.insert(name, value(u, 3)?);
            }
            Line::Call(Call { tool: text(u)?, arguments })
        }
        24.. => Line::Call(call(u, WORLD.stages[usize::from(stage) % WORLD.stages.len()].form)?),
    })
}

fn call(u: &mut Unstructured<'_>, form: Form) -> arbitrary::Result<Call> {
    let (tool, names) = u.choose(form.tools())?;
    let mut arguments = Map::new();
    for name in *names {
        if u.ratio(15, 16)? {
            arguments.insert((*name).to_owned(), meant(u, name)?);
        }
    }
    Ok(Call { tool: (*tool).to_owned(), arguments })
}

/// A value that the argument could have, or any.
fn meant(u: &mut Unstructured<'_>, name: &str) -> arbitrary::Result<Value> {
    if u.ratio(1, 24)? {
        return value(u, 3);
    }
    Ok(match name {
        "runtime" => (*u.choose(&["python", "quickjs", "clang", "clangpp", "ruby", "php-cgi"])?).into(),
        "languageId" => (*u.choose(&["python", "javascript", "bat", "kit", "v", "scss", "shellscript"])?).into(),
        "input_files" => {
            let mut files = Vec::new();
            for _ in 0..u.int_in_range(0..=2)? {
                let encoding = u.choose(&["text", "base64"])?;
                let content = if *encoding == "text" { text(u)? } else { "aGVsbG8=".repeat(u.int_in_range(0..=4)?) };
                files.push(json!({"name": file_name(u)?, "encoding": encoding, "content": content}));
            }
            files.into()
        }
        "output_file_names" => {
            let names = (0..u.int_in_range(0..=3)?).map(|_| file_name(u)).collect::<Result<Vec<_>, _>>()?;
            // The same file can be asked for again and again.
            let times = if u.ratio(1, 12)? { u.int_in_range(1..=400)? } else { 1 };
            let count = names.len() * times;
            names.into_iter().cycle().take(count).collect::<Vec<_>>().into()
        }
        "packages" if u.ratio(1, 2)? => list(u)?.into(),
        "packages" | "global_variables" => {
            let mut map = Map::new();
            for name in list(u)? {
                map.insert(name, value(u, 2)?);
            }
            map.into()
        }
        "file_path" => WORLD.path(u)?.into(),
        "type" => (*u.choose(&["conda", "venv", "venv-uv"])?).into(),
        _ => text(u)?.into(),
    })
}

fn file_name(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    Ok(if u.ratio(1, 8)? {
        text(u)?
    } else {
        (*u.choose(&["/a.txt", "a.txt", "b.png", "/d/e", "main.py"])?).to_owned()
    })
}

/// What mcp-run-python's harness leaves.
const REPORT: &str = ".mcp-run-python.json";

fn act(u: &mut Unstructured<'_>) -> arbitrary::Result<Act> {
    let status = match u8::arbitrary(u)? {
        0..120 => Some(Status::Completed { exit_code: 0 }),
        120..180 => Some(Status::Completed { exit_code: u8::arbitrary(u)? }),
        180..195 => Some(Status::Crashed { signal: i32::arbitrary(u)? }),
        195..210 => Some(Status::TimedOut),
        210..230 => Some(Status::LimitExceeded(*u.choose(&[LimitKind::Memory, LimitKind::Cpu, LimitKind::Disk])?)),
        230..240 => Some(Status::Cancelled),
        240.. => None,
    };
    let mut printed = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        printed.push((*u.choose(&[Stream::Stdout, Stream::Stderr])?, bytes(u)?));
    }
    let mut files = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        if let Ok(path) = WorkspacePath::new(file_name(u)?.trim_start_matches('/')) {
            files.push((path, bytes(u)?));
        }
    }
    if u.ratio(1, 2)? {
        files.push((WorkspacePath::new(REPORT).unwrap(), report(u)?));
    }
    let state = match u.int_in_range(0..=3)? {
        0 => Some(SessionState::Lost(text(u)?)),
        1 => Some(SessionState::Kept),
        _ => None,
    };
    Ok(Act { status, printed, files, state })
}

/// Mostly what the harness would say. The guest can say anything.
fn report(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    if u.ratio(1, 8)? {
        return bytes(u);
    }
    let mut fields = Map::new();
    for name in ["text", "json", "error"] {
        if u.ratio(1, 2)? {
            let written = if u.ratio(1, 2)? { value(u, 2)?.to_string() } else { text(u)? };
            fields.insert(name.to_owned(), Value::String(written));
        }
    }
    Ok(Value::Object(fields).to_string().into_bytes())
}

/// Output. Now and then more than an answer has room for.
fn bytes(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    const PRINTED: &[&str] = &[
        "1\n",
        "Traceback (most recent call last):\n  File \"<cell 1>\", line 1, in <module>\nNameError: x\n",
        "/box/main.py",
        "</output>",
        "<error>",
        "\u{1}",
        "\"",
        "\\",
        "{\"a\": {\"installed\": true}}",
    ];
    let one = if u.ratio(1, 2)? { u.choose(PRINTED)?.as_bytes().to_vec() } else { Vec::arbitrary(u)? };
    let most = (2 << 20) / one.len().max(1);
    Ok(if u.ratio(1, 12)? { one.repeat(u.int_in_range(0..=most)?) } else { one })
}

/// Whose manner it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Runno,
    RunPython(ReturnMode),
    CodeRunnerMcp,
    ServerCodeRunner,
    CodeExecutor,
}

impl Form {
    fn tools(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self {
            Self::Runno => &[
                ("run_code", &["runtime", "code"]),
                ("run_code_with_files", &["runtime", "code", "input_files", "output_file_names"]),
            ],
            Self::RunPython(_) => &[("run_python_code", &["python_code", "global_variables"])],
            Self::CodeRunnerMcp => {
                &[("python-code-runner", &["code", "packages"]), ("javascript-code-runner", &["code"])]
            }
            Self::ServerCodeRunner => &[("run-code", &["code", "languageId"])],
            Self::CodeExecutor => &[
                ("execute_code", &["code", "filename"]),
                ("initialize_code_file", &["content", "filename"]),
                ("append_to_code_file", &["file_path", "content"]),
                ("execute_code_file", &["file_path"]),
                ("read_code_file", &["file_path"]),
                ("install_dependencies", &["packages"]),
                ("check_installed_packages", &["packages"]),
                ("configure_environment", &["type", "conda_name", "venv_path", "uv_venv_path"]),
                ("get_environment_config", &[]),
            ],
        }
    }
}

/// A server in one manner.
struct Stage {
    form: Form,
    conversation: Conversation,
}

/// All of them, with a folder for code files, and what is beside it.
struct World {
    stages: Vec<Stage>,
    folder: tempfile::TempDir,
    store: PathBuf,
}

const SECRET: &str = "what nobody may read";

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = tempfile::Builder::new().prefix("fuzz-profiles").tempdir().unwrap();
    let store = folder.path().canonicalize().unwrap().join("store");
    let kind = EnvironmentType::Venv;
    let environment = Environment { kind, conda_name: None, venv_path: Some("v".to_owned()), uv_venv_path: None };
    let granted = Granted { env: vec![("NAME".to_owned(), "value".to_owned())], ..Granted::default() };
    let stage = |form, profile| Stage { form, conversation: Conversation::passing_for(profile) };
    let python = |returns| stage(Form::RunPython(returns), Profile::mcp_run_python(returns, Vec::new()));
    let stages = vec![
        stage(Form::Runno, Profile::runno()),
        python(ReturnMode::Xml),
        python(ReturnMode::Json),
        stage(Form::CodeRunnerMcp, Profile::code_runner_mcp(Tools::All, granted)),
        stage(Form::ServerCodeRunner, Profile::mcp_server_code_runner()),
        stage(Form::CodeExecutor, Profile::mcp_code_executor(&store, environment).unwrap()),
    ];
    fs::write(folder.path().join("secret"), SECRET).unwrap();
    World { stages, folder, store }
});

impl World {
    /// The folder as it was, with ways out of it that a guest could have made.
    fn restore(&self) {
        for entry in fs::read_dir(&self.store).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        fs::create_dir(self.store.join("d")).unwrap();
        fs::write(self.store.join("a.py"), "print(1)\n").unwrap();
        fs::write(self.store.join("d/b.py"), b"\xff").unwrap();
        for (target, link) in [("../secret", "out"), ("..", "up"), ("a.py", "in")] {
            std::os::unix::fs::symlink(target, self.store.join(link)).unwrap();
        }
    }

    fn path(&self, u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
        const PATHS: &[&str] =
            &["a.py", "d/b.py", "./d//b.py", "d", "out", "up/secret", "in", "../secret", "d/../../secret", "missing"];
        let path = if u.ratio(1, 12)? { text(u)? } else { (*u.choose(PATHS)?).to_owned() };
        Ok(if u.ratio(1, 3)? { format!("{}/{path}", self.store.display()) } else { path })
    }

    /// Nothing outside the folder was read, written or made.
    fn check(&self, heard: &[Value]) {
        assert_eq!(fs::read_to_string(self.folder.path().join("secret")).unwrap(), SECRET);
        let names = |folder: &Path| -> BTreeSet<String> {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        assert_eq!(names(self.folder.path()), BTreeSet::from(["secret", "store"].map(str::to_owned)));
        for message in heard {
            assert!(!message.to_string().contains(SECRET), "{message}");
        }
    }
}

/// An error of the protocol says what was wrong.
fn check_error(error: &Value) {
    let message = error["message"].as_str().expect("a message");
    assert!(!message.is_empty() && message.len() < 8_000, "{} bytes of refusal", message.len());
}

/// A result has the form that clients of the original know.
fn check_result(form: Form, call: &Call, result: &Value) {
    let content = result["content"].as_array().expect("content");
    let is_error = result["isError"] == true;
    let text = content.first().and_then(|block| block["text"].as_str()).unwrap_or_else(|| panic!("{result}"));
    assert!(!is_error || !text.is_empty(), "silence to {call:?}");
    for block in content {
        match block["type"].as_str() {
            Some("text") => assert!(block["text"].is_string(), "{block}"),
            Some("resource") => {
                let resource = &block["resource"];
                assert!(resource["uri"].is_string(), "{block}");
                assert_ne!(resource["text"].is_string(), resource["blob"].is_string(), "{block}");
            }
            _ => panic!("{block}"),
        }
    }
    match form {
        Form::Runno if is_error => assert_eq!(content.len(), 1),
        Form::Runno => {
            assert_eq!(content[1]["text"], "Following is the TTY output.");
            let wanted = call.arguments.get("output_file_names").and_then(Value::as_array).map_or(0, Vec::len);
            assert_eq!(content.len(), 3 + wanted);
        }
        Form::RunPython(ReturnMode::Xml) => check_xml(text),
        Form::RunPython(ReturnMode::Json) => check_json(text),
        Form::CodeRunnerMcp => {
            assert_eq!(content.len(), 1);
            assert!(!text.is_empty(), "silence to {call:?}");
        }
        Form::ServerCodeRunner => assert!((1..=2).contains(&content.len())),
        Form::CodeExecutor => {
            let said: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(said["status"], if is_error { "error" } else { "success" }, "{said}");
            assert!(!is_error || said["error"].as_str().is_some_and(|error| !error.is_empty()), "{said}");
            assert_eq!(content[0]["isError"], is_error);
        }
    }
}

const STATUSES: &[&str] = &["success", "run-error", "install-error"];

/// One part after the other, each ending where it says: a program cannot make another of what it prints.
fn check_xml(text: &str) {
    let mut rest = text.strip_prefix("<status>").expect("a status");
    let (status, after) = rest.split_once("</status>").expect("its end");
    assert!(STATUSES.contains(&status), "{status}");
    rest = after;
    for name in ["output", "error", "return_value"] {
        let Some(inside) = rest.strip_prefix(&format!("\n<{name}>\n")) else { continue };
        let (_, after) = inside.split_once(&format!("\n</{name}>")).unwrap_or_else(|| panic!("no end of {name}"));
        rest = after;
    }
    assert!(rest.is_empty(), "{rest:?} is in no part");
}

fn check_json(text: &str) {
    let said: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let said = said.as_object().expect("an object");
    let status = said["status"].as_str().expect("a status");
    assert!(STATUSES.contains(&status), "{status}");
    assert!(said["output"].as_array().expect("output").iter().all(Value::is_string));
    assert_eq!(said.contains_key("return_value"), status == "success");
    assert_eq!(said.contains_key("error"), status != "success");
    assert_eq!(said.len(), 3);
}
