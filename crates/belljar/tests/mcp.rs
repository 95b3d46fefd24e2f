//! The MCP server as clients see it: what it says of itself, what it answers, what it does with input that makes no sense, and how it ends.
//! The protocol's own suites are in `mcp_conformance.rs`, clients that others wrote in `mcp_clients.rs`.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp/client.rs"]
mod client;
#[path = "mcp/http.rs"]
mod http;
#[path = "mcp/runs.rs"]
mod runs;
#[path = "mcp/trouble.rs"]
mod trouble;

use client::{Client, initialize, modern};
use serde_json::{Value, json};

#[test]
fn both_eras_are_served() {
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::start(&[]);
        let answer = client.request("initialize", &initialize(version));
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "belljar");
        client.notify("notifications/initialized", &json!({}));
        let result = client.run(&json!({"language": "python", "code": "print(6 * 7)"}));
        assert_eq!(result["structuredContent"]["stdout"], "42\n", "{result}");
        assert_eq!(result.get("resultType"), None);
    }
    let mut client = Client::start(&[]);
    let discovered = client.request("server/discover", &modern(json!({})));
    let versions = discovered["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&"2026-07-28".into()), "{discovered}");
    let call = json!({"name": "run_code", "arguments": {"language": "python", "code": "print(6 * 7)"}});
    let answer = client.request("tools/call", &modern(call));
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "42\n", "{answer}");
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn tools_say_what_they_are() {
    let mut client = Client::initialized();
    let listed = client.request("tools/list", &json!({}));
    assert_eq!(client.request("tools/list", &json!({}))["result"], listed["result"]);
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected = [
        "run_code",
        "install_packages",
        "list_packages",
        "list_runtimes",
        "configure_environment",
        "get_environment",
        "write_file",
        "read_file",
        "list_files",
        "list_sessions",
        "close_session",
        "fork_session",
        "save_session",
        "restore_session",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        for part in ["title", "description", "inputSchema", "outputSchema", "annotations", "icons"] {
            assert!(!tool[part].is_null(), "{part} of {tool}");
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{hint} of {tool}");
        }
        let text = tool.to_string();
        assert!(!text.contains("$ref") && !text.contains("$defs"), "{text}");
    }
    let description = tools[0]["description"].as_str().expect("text");
    assert!(description.contains("python") && description.contains("bash"), "{description}");
    // About four characters a token: what a model reads with every request.
    let size = listed["result"].to_string().len();
    assert!(size < 23_500, "the tools take {size} bytes");
    // Names, descriptions and arguments: what clients pass on to their models.
    let told = |tool: &Value| {
        ["name", "description", "inputSchema"].map(|part| tool[part].to_string().len()).iter().sum::<usize>()
    };
    let size: usize = tools.iter().map(told).sum();
    assert!(size < 8_000, "models read {size} bytes");
}

#[test]
fn results_fit_their_schemas() {
    let mut client = Client::initialized();
    let listed = client.request("tools/list", &json!({}));
    let schema = &listed["result"]["tools"][0]["outputSchema"];
    for arguments in [
        json!({"language": "python", "code": "open('a.txt', 'w').write('x')\n[1, {'a': None}]"}),
        json!({"language": "python", "code": "1 / 0"}),
        json!({"language": "bash", "code": "kill -SEGV $$"}),
        json!({"language": "python", "code": "while True: pass", "timeout_ms": 300, "engine": "wasm"}),
    ] {
        assert_fits(&client.run(&arguments)["structuredContent"], schema, "the result");
    }
}

/// As far as the schemas of our tools go. What real clients make of them is in `mcp_clients`.
fn assert_fits(value: &Value, schema: &Value, place: &str) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind],
        // Anything.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return,
    };
    let fits = kinds.contains(&kind) || (kind == "integer" && kinds.contains(&"number"));
    assert!(fits, "{place} is {kind} and should be {kinds:?}: {value}");
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        assert_fits(item, &schema["items"], &format!("{place}[{number}]"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(!value.is_object() || value.get(name).is_some(), "{place} has no `{name}`: {value}");
    }
    for (name, item) in value.as_object().into_iter().flatten() {
        let known = schema["properties"].get(name);
        assert_fits(item, known.unwrap_or_else(|| panic!("{place} has `{name}`")), &format!("{place}.{name}"));
    }
}

#[test]
fn runtimes_are_listed() {
    let mut client = Client::initialized();
    let answer = client.request("tools/call", &json!({"name": "list_runtimes", "arguments": {}}));
    let content = &answer["result"]["structuredContent"];
    let languages = content["languages"].as_array().expect("a list");
    let python = languages.iter().find(|entry| entry["language"] == "python").expect("python");
    assert_eq!(python["engines"], json!(["wasm", "native"]));
    assert!(python["version"].as_str().is_some_and(|version| version.starts_with("3.13")), "{python}");
    assert_eq!(content["defaults"]["timeout_ms"], 30_000);
    let resources = client.request("resources/list", &json!({}));
    assert!(resources["result"]["resources"].to_string().contains("runtime://python"), "{resources}");
    let read = client.request("resources/read", &json!({"uri": "runtime://python"}));
    assert!(read["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("3.13")), "{read}");
}

#[test]
fn templates_tell_what_can_be_read() {
    let mut client = Client::initialized();
    let listed = client.request("resources/templates/list", &json!({}));
    let templates = listed["result"]["resourceTemplates"].as_array().expect("a list");
    let names: Vec<&str> = templates.iter().filter_map(|template| template["uriTemplate"].as_str()).collect();
    let expected = [
        "runtime://{language}",
        "run://{run}/stdout{?offset,limit}",
        "run://{run}/stderr{?offset,limit}",
        "session://{session}/files/{+path}{?offset,limit}",
        "run://{run}/displays/{number}",
        "run://{run}/files/{+path}{?offset,limit}",
    ];
    assert_eq!(names, expected);
    let write = json!({"name": "write_file", "arguments": {"session": "s", "path": "d/a.txt", "text": "0123456"}});
    client.request("tools/call", &write);
    for (query, text) in [("", "0123456"), ("?offset=2&limit=3", "234")] {
        let read = client.request("resources/read", &json!({"uri": format!("session://s/files/d/a.txt{query}")}));
        assert_eq!(read["result"]["contents"][0]["text"], text, "{read}");
    }
}

/// Also where the operator allows less than that.
#[test]
fn defaults_are_what_a_run_gets() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("belljar.toml");
    std::fs::write(&file, "[limits]\ntimeout = \"2s\"\nmemory = \"100MiB\"\n").expect("write");
    let mut client = Client::start(&["--config", file.to_str().expect("text")]).greeted();
    let answer = client.request("tools/call", &json!({"name": "list_runtimes", "arguments": {}}));
    let defaults = &answer["result"]["structuredContent"]["defaults"];
    assert_eq!((&defaults["timeout_ms"], &defaults["memory_mb"]), (&json!(2_000), &json!(100)));
    let listed = client.request("tools/list", &json!({}));
    let description = listed["result"]["tools"][0]["description"].as_str().expect("text");
    assert!(description.contains("Defaults: 2 s, 100 MiB."), "{description}");
}

#[test]
fn prompts_and_completions_help() {
    let mut client = Client::initialized();
    let prompts = client.request("prompts/list", &json!({}));
    assert!(prompts["result"]["prompts"].as_array().is_some_and(|prompts| prompts.len() >= 3), "{prompts}");
    let prompt = client.request("prompts/get", &json!({"name": "compute", "arguments": {"question": "2 ** 100"}}));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().expect("text");
    assert!(text.contains("2 ** 100") && text.contains("run_code"), "{text}");
    let missing = client.request("prompts/get", &json!({"name": "compute"}));
    assert_eq!(
        (&missing["error"]["code"], missing["error"]["message"].as_str()),
        (&json!(-32602), Some("`question` is missing: What to find out"))
    );
    let complete = |client: &mut Client, start: &str| {
        let template = json!({"type": "ref/resource", "uri": "runtime://{language}"});
        let answer = client.request(
            "completion/complete",
            &json!({"ref": template, "argument": {"name": "language", "value": start}}),
        );
        answer["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete(&mut client, "pyt"), json!(["python"]));
    assert_eq!(complete(&mut client, "no-such"), json!([]));
}

/// A text block.
pub(crate) fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}
