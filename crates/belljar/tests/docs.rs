//! What the documentation says is so: its commands run and print what is shown, its links lead somewhere, and the tests and numbers that it
//! names are there. The pages in `docs/reference/` are held to the code by `src/reference.rs`.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "docs/claims.rs"]
mod claims;
#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;
#[path = "docs/examples.rs"]
mod examples;
#[path = "docs/links.rs"]
mod links;
#[path = "docs/page.rs"]
mod page;
#[path = "docs/shell.rs"]
mod shell;

/// Asserts that nothing was found wrong, and says all that was.
#[track_caller]
fn nothing_wrong(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n\n"));
}
