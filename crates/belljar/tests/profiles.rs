//! Profiles: our server in the manner of another, held against what that other one answered (`profiles/recorded`, made by
//! `profiles/record.mjs`), and the faults of the others that ours does not have.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;
#[path = "profiles/compare.rs"]
mod compare;
#[path = "profiles/differences.rs"]
mod differences;
#[path = "profiles/executor.rs"]
mod executor;
#[path = "profiles/faults.rs"]
mod faults;
#[path = "profiles/flags.rs"]
mod flags;
#[path = "profiles/http.rs"]
mod http;
#[path = "profiles/kept.rs"]
mod kept;
#[path = "profiles/limits.rs"]
mod limits;
#[path = "profiles/permissions.rs"]
mod permissions;
#[path = "profiles/stories.rs"]
mod stories;
#[path = "profiles/world.rs"]
mod world;

use compare::compare;
use world::World;

#[test]
fn mcp_server_code_runner() {
    compare(&World::new(), "mcp-server-code-runner", differences::MCP_SERVER_CODE_RUNNER);
}

#[test]
fn runno() {
    compare(&World::new(), "runno", differences::RUNNO);
}

#[test]
fn mcp_run_python() {
    compare(&World::new(), "mcp-run-python", differences::MCP_RUN_PYTHON);
}

#[test]
fn code_runner_mcp() {
    compare(&World::new(), "code-runner-mcp", differences::CODE_RUNNER_MCP);
}

#[test]
fn mcp_code_executor() {
    compare(&World::new(), "mcp-code-executor", differences::MCP_CODE_EXECUTOR);
}
