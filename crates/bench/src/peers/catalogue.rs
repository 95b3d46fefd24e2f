//! Who is compared, how each is reached, and what each can and cannot do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::arena::host_command;

use super::conversation::{Runs, Server};
use super::install::Folder;
use super::jails;

/// One that runs code, and what is said of it beside its numbers.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// What it is, and where it comes from.
    pub(crate) what: &'static str,
    /// What stands beside its numbers.
    pub(crate) walls: &'static str,
    pub(crate) can: &'static str,
    pub(crate) cannot: &'static str,
    /// Why it may be faster than belljar.
    pub(crate) faster: &'static str,
    /// Why its programs may compute faster.
    pub(crate) computes: &'static str,
    /// Why it may take less memory.
    pub(crate) smaller: &'static str,
    pub(crate) kind: Kind,
}

/// How a program gets to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Belljar,
    BelljarNative,
    Eryx,
    Monty,
    Componentize,
    Runno,
    CodeRunner,
    ServerCodeRunner,
    RunPython,
    CodeExecutor,
    Bubblewrap,
    Gvisor,
    Subprocess,
}

const HOST_PYTHON: &str = "the host's own Python, which computes two to three times as fast as Python in WebAssembly; \
                           so does belljar's native engine";
const WASM: &str = "another build of Python for WebAssembly";

pub(crate) const PEERS: &[Peer] = &[
    Peer {
        name: "belljar",
        what: "this project, `belljar serve` as it comes (`engine: auto`)",
        walls: "WebAssembly inside a jail, limits",
        can: "CPython and NumPy in WebAssembly inside a jail, a fresh interpreter for every run; natively every language \
               that the host has; packages, files, sessions, limits, cancelling; MCP over pipes and HTTP",
        cannot: "in WebAssembly: threads, processes, sockets, C extensions; such programs are run again in the native \
               jail",
        faster: "",
        computes: "",
        smaller: "",
        kind: Kind::Belljar,
    },
    Peer {
        name: "belljar native",
        what: "the same server, `engine: native`: the host's own Python in a Linux jail",
        walls: "jail: namespaces, seccomp, Landlock, limits",
        can: "everything that the host's interpreters can, with any package",
        cannot: "be as small a target as WebAssembly",
        faster: "",
        computes: "",
        smaller: "",
        kind: Kind::BelljarNative,
    },
    Peer {
        name: "eryx",
        what: "PyPI `pyeryx`: CPython in WebAssembly, a library; behind a small driver",
        walls: "WebAssembly, limits; in the caller's process",
        can: "CPython and its standard library, a fresh instance for every run, limits of time and memory, network by \
               list, callbacks",
        cannot: "cancel a run; run NumPy as it comes; other languages; the instance lives in the caller's own \
               process, with no second wall",
        faster: "the instance runs in the caller's own process, without a jail around it",
        computes: WASM,
        smaller: "no worker processes and one language",
        kind: Kind::Eryx,
    },
    Peer {
        name: "Monty",
        what: "PyPI `pydantic-monty`: an interpreter of a part of Python, in worker processes; behind a small driver",
        walls: "its own interpreter, limits; not CPython",
        can: "a part of the language and a few modules of the standard library, limits of time and memory, callbacks, \
               snapshots",
        cannot: "be CPython: most of the standard library, packages and NumPy are missing; workers are plain \
               processes without a jail, and are used again",
        faster: "its own interpreter of a part of Python, which has nothing to start, in a worker that is used again \
               and has no jail",
        computes: "its own interpreter of a part of Python, compiled for this machine",
        smaller: "it is not CPython: a few megabytes, without the standard library",
        kind: Kind::Monty,
    },
    Peer {
        name: "componentize-py",
        what: "PyPI `componentize-py` with `wasmtime`: a component that calls `exec`, compiled ahead, a fresh \
               instance for every run; behind a small driver",
        walls: "WebAssembly, limits; in the caller's process",
        can: "CPython and its standard library as far as the component was made with it, limits of time and memory",
        cannot: "anything that was not built in; no server, files, packages or cancelling, and nothing of what a stopped run \
               printed: those are the driver's to write, and this one does not; no second wall",
        faster: "the instance runs in the caller's own process, without a jail around it",
        computes: WASM,
        smaller: "no worker processes and one language",
        kind: Kind::Componentize,
    },
    Peer {
        name: "runno",
        what: "npm `@runno/sandbox` (the server `@runno/mcp` is on no registry): CPython in WebAssembly in Node.js; \
               behind a small driver",
        walls: "WebAssembly; no limit of memory",
        can: "six languages, files in and out, isolation that holds",
        cannot: "sleep (`time.sleep` is not supported); packages, sessions, limits of memory, cancelling",
        faster: "the instance runs in the caller's own process, without a jail around it",
        computes: WASM,
        smaller: "one Node.js process",
        kind: Kind::Runno,
    },
    Peer {
        name: "code-runner-mcp",
        what: "npm `@mcpc-tech/code-runner-mcp`: Pyodide in Node.js, an MCP server",
        walls: "none: Pyodide leads to the host",
        can: "Python with Pyodide's packages, JavaScript with Deno's, where their hosts can be reached",
        cannot: "keep runs apart: one interpreter serves all calls, and `import js` leads to the host; no limits, no \
               cancelling",
        faster: "one interpreter serves all calls: nothing is started and nothing is cleared",
        computes: WASM,
        smaller: "one interpreter for all",
        kind: Kind::CodeRunner,
    },
    Peer {
        name: "mcp-server-code-runner",
        what: "npm `mcp-server-code-runner`: the host's interpreters, an MCP server",
        walls: "none",
        can: "37 languages, as far as the host has them",
        cannot: "isolate anything; keep calls at the same time apart (one file name for all); limits, cancelling",
        faster: "no isolation at all",
        computes: HOST_PYTHON,
        smaller: "one Node.js process, and no isolation",
        kind: Kind::ServerCodeRunner,
    },
    Peer {
        name: "mcp-run-python",
        what: "PyPI `mcp-run-python` with npm `deno`: Pyodide in Deno, an MCP server (archived)",
        walls: "Pyodide inside Deno's permissions",
        can: "Python with Pyodide's packages, the value of the last line",
        cannot: "start without hosts other than PyPI and npm; limits, cancelling",
        faster: "one interpreter serves all calls: nothing is started and nothing is cleared",
        computes: WASM,
        smaller: "one interpreter for all",
        kind: Kind::RunPython,
    },
    Peer {
        name: "mcp-code-executor",
        what: "`mcp_code_executor`: the host's Python in a venv or conda environment, an MCP server",
        walls: "none",
        can: "environments, installing packages",
        cannot: "isolate anything; limits",
        faster: "no isolation at all",
        computes: HOST_PYTHON,
        smaller: "no isolation at all",
        kind: Kind::CodeExecutor,
    },
    Peer {
        name: "bubblewrap",
        what: "Debian `bubblewrap`: the host's `/usr/bin/python3` with all namespaces unshared and `/usr` alone",
        walls: "namespaces; no limits",
        can: "namespaces around any program",
        cannot: "filter system calls, limit time, memory or output; no server, results, files or sessions: those are \
               the caller's to write",
        faster: "namespaces alone, set up from C without a server: no filter of system calls, no Landlock, no limits",
        computes: HOST_PYTHON,
        smaller: "nothing waits between two runs, and nothing is held to a limit",
        kind: Kind::Bubblewrap,
    },
    Peer {
        name: "gVisor",
        what: "Debian `runsc`: the host's `/usr/bin/python3` in a bundle with `/usr` alone, on the `ptrace` platform",
        walls: "a kernel of its own (on `ptrace`, its slowest platform); memory limit by cgroup",
        can: "a kernel of its own in front of the host's, around any program",
        cannot: "limit time or output; memory only where it may make cgroups; no server, results, files or sessions: \
               those are the caller's to write. Debian's release is old: newer ones have a faster platform",
        faster: "nothing waits between two runs",
        computes: HOST_PYTHON,
        smaller: "nothing waits between two runs",
        kind: Kind::Gvisor,
    },
    Peer {
        name: "subprocess",
        what: "plain fork and exec of the host's `/usr/bin/python3`",
        walls: "none",
        can: "everything that the user who starts it can",
        cannot: "isolate or limit anything",
        faster: "no isolation at all",
        computes: HOST_PYTHON,
        smaller: "nothing waits between two runs, and no isolation at all",
        kind: Kind::Subprocess,
    },
];

/// What starting a peer needs to know of this run.
pub(crate) struct Scene<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) belljar: PathBuf,
    pub(crate) cache: Option<PathBuf>,
}

/// A variable of every server's environment, which programs are not to see.
pub(crate) const VARIABLE: &str = "PEERS_VARIABLE";
pub(crate) const VARIABLE_VALUE: &str = "of-the-host";

impl Peer {
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.kind, Kind::Belljar | Kind::BelljarNative)
    }

    /// The engine that has to have run its programs, for its numbers to be what they are said to be.
    pub(crate) fn engine(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Belljar => Some("wasm"),
            Kind::BelljarNative => Some("native"),
            Kind::Eryx
            | Kind::Monty
            | Kind::Componentize
            | Kind::Runno
            | Kind::CodeRunner
            | Kind::ServerCodeRunner
            | Kind::RunPython
            | Kind::CodeExecutor
            | Kind::Bubblewrap
            | Kind::Gvisor
            | Kind::Subprocess => None,
        }
    }

    /// Whether programs run in an interpreter of the host's, as belljar's native engine has them.
    pub(crate) fn is_native(&self) -> bool {
        matches!(
            self.kind,
            Kind::BelljarNative
                | Kind::ServerCodeRunner
                | Kind::CodeExecutor
                | Kind::Bubblewrap
                | Kind::Gvisor
                | Kind::Subprocess
        )
    }

    /// Whether it has a process that waits for programs.
    pub(crate) fn waits(&self) -> bool {
        !matches!(self.kind, Kind::Bubblewrap | Kind::Gvisor | Kind::Subprocess)
    }

    /// Starts it; it is ready when this returns.
    pub(crate) fn start(&self, scene: &Scene<'_>) -> anyhow::Result<Box<dyn Runs>> {
        let folder = scene.folder;
        let server = |command: Command, tool: Tool| -> anyhow::Result<Box<dyn Runs>> {
            Ok(Box::new(Server::start(command, tool, &folder.log(self.name))?))
        };
        match self.kind {
            Kind::Belljar => server(
                belljar(scene, &[]),
                Tool { name: "run_code", arguments: |code, limit| on_engine("auto", code, limit) },
            ),
            Kind::BelljarNative => server(
                belljar(scene, &[]),
                Tool { name: "run_code", arguments: |code, limit| on_engine("native", code, limit) },
            ),
            Kind::Eryx => server(folder.python_driver("eryx_driver.py", &[]), DRIVEN),
            Kind::Monty => server(folder.python_driver("monty_driver.py", &[]), DRIVEN),
            Kind::Componentize => {
                let compiled = folder.component_compiled();
                server(folder.python_driver("component_driver.py", &[Path::new("serve"), &compiled]), DRIVEN)
            }
            Kind::Runno => server(folder.runno(), DRIVEN),
            Kind::CodeRunner => server(
                folder.node_script("@mcpc-tech/code-runner-mcp/bin/code-runner-mcp.mjs"),
                Tool { name: "python-code-runner", arguments: |code, _| json!({"code": code}) },
            ),
            Kind::ServerCodeRunner => server(
                folder.node_script("mcp-server-code-runner/dist/cli.js"),
                Tool { name: "run-code", arguments: |code, _| json!({"code": code, "languageId": "python"}) },
            ),
            Kind::RunPython => server(
                folder.run_python(),
                Tool { name: "run_python_code", arguments: |code, _| json!({"python_code": code}) },
            ),
            Kind::CodeExecutor => anyhow::bail!("it is on no registry"),
            Kind::Bubblewrap => Ok(Box::new(jails::Jail::bubblewrap(folder)?)),
            Kind::Gvisor => Ok(Box::new(jails::Jail::gvisor(folder)?)),
            Kind::Subprocess => Ok(Box::new(jails::Jail::subprocess())),
        }
    }
}

/// A server's tool that runs Python, and its arguments for a program and a time limit.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) arguments: fn(&str, Option<Duration>) -> Value,
}

const DRIVEN: Tool = Tool { name: "run", arguments: with_timeout };

fn with_timeout(code: &str, limit: Option<Duration>) -> Value {
    match limit {
        Some(limit) => json!({"code": code, "timeout_ms": limit.as_millis()}),
        None => json!({"code": code}),
    }
}

/// The tool of a belljar that runs in WebAssembly only.
pub(crate) const IN_WASM: Tool = Tool { name: "run_code", arguments: |code, limit| on_engine("wasm", code, limit) };

fn on_engine(engine: &str, code: &str, limit: Option<Duration>) -> Value {
    let mut arguments = with_timeout(code, limit);
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("language".to_owned(), json!("python"));
        arguments.insert("engine".to_owned(), json!(engine));
    }
    arguments
}

/// The server that sits beside this benchmark.
pub(crate) fn belljar(scene: &Scene<'_>, arguments: &[&str]) -> Command {
    let mut command = host_command(&scene.belljar);
    command.arg("serve").args(arguments);
    if let Some(cache) = &scene.cache {
        command.env("BELLJAR_CACHE", cache);
    }
    command
}
