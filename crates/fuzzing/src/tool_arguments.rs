use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use serde_json::{Map, Value, json};

use crate::conversation::Conversation;
use crate::structured;
use crate::values::{list, number, text, value};

/// Every tool with the arguments that a call makes no sense without, and the others.
const TOOLS: &[(&str, &[&str], &[&str])] = &[
    (
        "run_code",
        &["code", "language"],
        &[
            "stdin",
            "session",
            "args",
            "compiler_args",
            "env",
            "files",
            "variables",
            "packages",
            "engine",
            "timeout_ms",
            "memory_mb",
            "network",
        ],
    ),
    ("write_file", &["session", "path", "text"], &["base64", "append"]),
    ("read_file", &["session", "path"], &["offset", "limit"]),
    ("list_files", &["session"], &["path"]),
    ("install_packages", &["packages"], &["language", "session"]),
    ("list_packages", &[], &["language", "packages", "session"]),
    ("list_runtimes", &[], &[]),
    ("configure_environment", &["type"], &["path", "name"]),
    ("get_environment", &[], &[]),
    ("list_sessions", &[], &[]),
    ("close_session", &["session"], &["saved"]),
    ("fork_session", &["session", "as"], &[]),
    ("save_session", &["session", "as"], &[]),
    ("restore_session", &["session", "as"], &[]),
];

#[derive(Debug)]
struct Call {
    tool: String,
    arguments: Value,
}

impl<'a> Arbitrary<'a> for Call {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        if u.ratio(1, 50)? {
            return Ok(Self { tool: text(u)?, arguments: value(u, 3)? });
        }
        let (tool, required, others) = u.choose(TOOLS)?;
        let mut arguments = Map::new();
        for name in *required {
            if u.ratio(31, 32)? {
                arguments.insert((*name).to_owned(), meant(u, name)?);
            }
        }
        for name in *others {
            if u.ratio(1, 10)? {
                arguments.insert((*name).to_owned(), meant(u, name)?);
            }
        }
        if u.ratio(1, 20)? {
            arguments.insert(text(u)?, value(u, 2)?);
        }
        Ok(Self { tool: (*tool).to_owned(), arguments: Value::Object(arguments) })
    }
}

/// A value that the argument could have, or any.
fn meant(u: &mut Unstructured<'_>, name: &str) -> arbitrary::Result<Value> {
    if u.ratio(1, 32)? {
        return value(u, 3);
    }
    Ok(match name {
        "session" | "as" => u.choose(&["s", "t"])?.to_string().into(),
        "path" => u.choose(&["a", "b.png", "d/e.txt", "./d//e.txt", "d"])?.to_string().into(),
        "language" => u.choose(&["python", "javascript", "c", "php", "bash", "java", "R"])?.to_string().into(),
        "engine" => u.choose(&["auto", "native", "wasm"])?.to_string().into(),
        "args" | "compiler_args" | "packages" => list(u)?.into(),
        "env" | "variables" => {
            let mut map = Map::new();
            for name in list(u)? {
                map.insert(name, if u.ratio(1, 2)? { text(u)?.into() } else { value(u, 2)? });
            }
            map.into()
        }
        "files" => {
            let mut files = Vec::new();
            for path in list(u)? {
                let contents = u.choose(&["text", "base64", "bytes"])?;
                files.push(json!({"path": path, *contents: text(u)?}));
            }
            files.into()
        }
        "network" => {
            let count = u.int_in_range(0..=3)?;
            (0..count).map(|_| host(u)).collect::<Result<Vec<_>, _>>()?.into()
        }
        "timeout_ms" | "memory_mb" | "offset" | "limit" => number(u)?,
        "append" | "saved" => bool::arbitrary(u)?.into(),
        "type" => u.choose(&["venv", "uv", "conda", "host"])?.to_string().into(),
        _ => text(u)?.into(),
    })
}

/// One of those that are granted, or not, or anything.
fn host(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    const HOSTS: &[&str] = &[
        "a.example.org",
        "A.Example.Org.:443",
        "*.b.example.org",
        "example.org:8443",
        "example.org",
        "*",
        "*.*",
        "127.1",
        "0x7f.1:80",
        "[::1]:80",
        "a:65536",
        "a:+1",
    ];
    if u.ratio(1, 4)? { text(u) } else { Ok((*u.choose(HOSTS)?).to_owned()) }
}

static CONVERSATION: LazyLock<Conversation> = LazyLock::new(Conversation::new);

/// Calls of tools with any arguments: each is answered, with a result or in words.
pub fn tool_arguments(input: &[u8]) {
    let Some(calls) = structured::<Vec<Call>>(input) else { return };
    let mut said = Conversation::opening();
    for (number, call) in calls.iter().enumerate() {
        let parameters = json!({"name": call.tool, "arguments": call.arguments});
        let request = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters});
        said.extend_from_slice(request.to_string().as_bytes());
        said.push(b'\n');
    }
    let heard = CONVERSATION.hear(said);
    for (number, call) in calls.iter().enumerate() {
        // A value that is no object is no call, and is answered without its number.
        if !call.arguments.is_object() && !call.arguments.is_null() {
            continue;
        }
        let answers: Vec<&Value> = heard.iter().filter(|message| message["id"] == number).collect();
        let [answer] = answers.as_slice() else { panic!("{} answers to {call:?}", answers.len()) };
        if let Some(result) = answer.get("result") {
            check_result(call, result);
        }
    }
}

/// What is said can be read, and a refusal names no more than it has to.
fn check_result(call: &Call, result: &Value) {
    let content = result["content"].as_array().expect("content");
    if result["isError"] == true && result.get("structuredContent").is_none() {
        let text = content[0]["text"].as_str().expect("text");
        assert!(text.starts_with("Refused: ") || text.starts_with("Failed, "), "{text}");
        assert!(text.len() < 8_000, "{} bytes of refusal to {}", text.len(), call.tool);
    }
}
