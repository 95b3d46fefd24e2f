//! MCP Apps (the extension `io.modelcontextprotocol/ui`): a page that clients with support for it show with a result,
//! and that others never ask for.
//!
//! The page is self-contained: its policy allows this one script and this one style sheet, by their hashes, and
//! pictures that are embedded in it. It loads nothing, and treats everything that a guest made as text, as pictures, or
//! as HTML in a frame where nothing runs.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{MetaObject, Resource, ResourceContents};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Names the page.
pub(crate) const RESULT: &str = "ui://belljar/result";
const MIME: &str = "text/html;profile=mcp-app";

const STYLE: &str = include_str!("app/view.css");
const SCRIPT: &str = concat!(include_str!("app/host.js"), include_str!("app/parts.js"), include_str!("app/view.js"));

static PAGE: LazyLock<String> = LazyLock::new(|| {
    // The script last: it has such braces itself.
    include_str!("app/view.html")
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{policy}", &policy())
        .replace("{style}", STYLE)
        .replace("{script}", SCRIPT)
});

/// With trusted types, no string becomes markup in the page but by the one function that fills frames.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types display",
        source(SCRIPT),
        source(STYLE)
    )
}

/// What a policy calls an inline element with this text.
fn source(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// In the list of resources.
pub(crate) fn resource() -> Resource {
    Resource::new(RESULT, "result")
        .with_title("Result of a run")
        .with_description("The page with which MCP Apps show results of run_code")
        .with_mime_type(MIME)
        .with_meta(about())
}

pub(crate) fn contents() -> ResourceContents {
    ResourceContents::text(PAGE.as_str(), RESULT).with_mime_type(MIME).with_meta(about())
}

/// Tells a tool's clients which page shows its results. Older ones look under the second name.
pub(crate) fn shown_by() -> MetaObject {
    meta(&json!({"ui": {"resourceUri": RESULT}, "ui/resourceUri": RESULT}))
}

/// What the page asks of the client.
fn about() -> MetaObject {
    let nothing: [&str; 0] = [];
    meta(&json!({"ui": {
        "csp": {"connectDomains": nothing, "resourceDomains": nothing},
        "permissions": {"clipboardWrite": {}},
        "prefersBorder": true,
    }}))
}

fn meta(value: &Value) -> MetaObject {
    MetaObject(value.as_object().cloned().unwrap_or_default())
}
