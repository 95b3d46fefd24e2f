//! MCP Apps: the page that shows results. What clients are told of it, and the page itself in Chromium, with the protocol's own host around
//! it and results of real runs in it.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod client;

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use client::{BELLJAR, Client, modern};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::conformance::command::{self, Belljar};
use testkit::packages::Npm;
use testkit::runtimes::{self, CACHE};

const VIEW: &str = "ui://belljar/result";
const MIME: &str = "text/html;profile=mcp-app";

#[test]
fn run_code_names_its_view() {
    let mut client = Client::initialized();
    let tools = client.request("tools/list", &json!({}))["result"]["tools"].take();
    for tool in tools.as_array().expect("a list") {
        let expected = match tool["name"].as_str() {
            Some("run_code") => json!({"ui": {"resourceUri": VIEW}, "ui/resourceUri": VIEW}),
            _ => Value::Null,
        };
        assert_eq!(tool["_meta"], expected, "{}", tool["name"]);
    }
}

#[test]
fn the_view_is_a_resource_in_both_eras() {
    let asks = json!({
        "csp": {"connectDomains": [], "resourceDomains": []},
        "permissions": {"clipboardWrite": {}},
        "prefersBorder": true,
    });
    let mut older = Client::initialized();
    let listed = older.request("resources/list", &json!({}))["result"]["resources"].take();
    let view = listed.as_array().and_then(|list| list.iter().find(|it| it["uri"] == VIEW)).expect("it is listed");
    assert_eq!((&view["mimeType"], &view["_meta"]["ui"]), (&json!(MIME), &asks));
    let read = older.request("resources/read", &json!({"uri": VIEW}))["result"]["contents"].take();
    assert_eq!((&read[0]["mimeType"], &read[0]["_meta"]["ui"]), (&json!(MIME), &asks));
    let newer = Client::start(&[]).request("resources/read", &modern(json!({"uri": VIEW})));
    assert_eq!(newer["result"]["contents"], read);
}

#[test]
fn the_view_loads_nothing() {
    let mut client = Client::initialized();
    let read = client.request("resources/read", &json!({"uri": VIEW}));
    let page = read["result"]["contents"][0]["text"].as_str().expect("a page");
    let hash = |name: &str| {
        let (_, after) = page.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("no {name}"));
        let (text, _) = after.split_once(&format!("</{name}>")).expect("it ends");
        format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
    };
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types display",
        hash("script"),
        hash("style")
    );
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert!(page.contains(&format!(r#"<meta http-equiv="Content-Security-Policy" content="{policy}">"#)), "{page}");
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for place in ["http:", "https:", "src=\"", "@import", "url(", "innerHTML =", "eval("] {
        assert!(!outside.contains(place), "{place}");
    }
    assert!(page.len() < 60_000, "{} bytes", page.len());
}

#[test]
fn the_view_in_a_browser() {
    let Some(chromium) = ["/usr/bin/chromium", "/usr/bin/google-chrome"].into_iter().find(|it| Path::new(it).is_file())
    else {
        return runtimes::skip("there is no Chromium");
    };
    let packages = [
        "@modelcontextprotocol/client@2.4.0",
        "@modelcontextprotocol/ext-apps@2.0.4",
        "esbuild@0.28.2",
        "puppeteer-core@25.16.0",
    ];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-app-npm");
    let (Some(npm), Some(cache)) = (Npm::install(&folder, &packages), runtimes::provisioned(BELLJAR)) else { return };
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-app-pictures");
    std::fs::create_dir_all(&pictures).expect("the target directory is ours");
    let home = Belljar::new(BELLJAR);
    let mut checks = home.client(npm.node());
    checks.env("NODE_PATH", npm.modules()).env(CACHE, cache);
    checks.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_app/checks.cjs"));
    checks.args([BELLJAR, chromium]).arg(home.directory()).arg(pictures);
    let answer = command::answer(checks, b"");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
}
