//! Package clients: other people's programs, which install packages behind the same walls that guests have. They never
//! meet a guest's code. What they have beyond a guest is folders that they can write to, and a way out to registries.

use std::path::PathBuf;
use std::time::Duration;

use jail::{Access, AddressSpace, Command, Egress, File, Place, Purpose, Spec, Stdio};
use sandbox::{Bytes, Collect, Limits, LiveOutput, Principal, Status};

use crate::error::NativeError;
use crate::recipe;
use crate::run::{self, Input, WayOut};
use crate::tools::GUEST_PATH;
use crate::{NativeEngine, Shared, Tool};

/// One run of a client.
#[derive(Debug)]
pub struct Client<'a> {
    /// The program, which is shown to it.
    pub program: PathBuf,
    /// Its arguments, without the zeroth.
    pub arguments: Vec<String>,
    /// Variables, besides the few that every program has.
    pub environment: Vec<(String, String)>,
    /// Files in the folder where it starts.
    pub files: Vec<(String, Vec<u8>)>,
    /// What else it can read of the host.
    pub reads: Vec<PathBuf>,
    /// Folders that it can write to.
    pub writes: Vec<Folder>,
    /// One of the operator's folders, which it can change, shown at its own path. What is made there belongs to the
    /// folder's owner.
    pub changes: Option<PathBuf>,
    /// Where it starts, if not where its files are.
    pub folder: Option<PathBuf>,
    /// Whom it can reach, and where that is logged. Nobody if `None`.
    pub way_out: Option<(&'a egress::Gate, &'a egress::Log)>,
    /// How long it may take.
    pub wall: Duration,
}

/// A folder that a client can write to.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Where it is.
    pub source: PathBuf,
    /// Where the client finds it.
    pub target: PathBuf,
}

/// What became of a client.
#[derive(Debug)]
pub struct ClientEnd {
    /// How it ended.
    pub status: Status,
    /// What it printed.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// A Python interpreter of this host, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program that runs use.
    pub program: PathBuf,
    /// What of the host has to be shown for it, besides what every guest sees.
    pub reads: Vec<PathBuf>,
    /// For example `3.11.2`.
    pub version: String,
    /// What its compiled modules are built for, for example `cpython-311-x86_64-linux-gnu`.
    pub platform: String,
    /// Where its packages are.
    pub site: Vec<PathBuf>,
}

/// Much more than any healthy client prints.
const MOST_OUTPUT: Bytes = Bytes::mib(8);

/// Under a root server, files that a client makes belong to a user that only this run has, and the next client is
/// another one. So they are made writable for all, in our own folders, which nobody else can reach.
const FOR_ALL: &str = r#"umask 0 && cd "$0" && exec "$@""#;
/// But not in one of the operator's folders, which anyone may be able to reach.
const FOR_OWNER: &str = r#"umask 022 && cd "$0" && exec "$@""#;

/// Where a client finds its way out, which is an HTTP proxy.
pub const WAY_OUT: std::net::SocketAddrV4 = jail::EGRESS;

const DESCRIBE: &str = "import json, site, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({
    'version': '%d.%d.%d' % sys.version_info[:3],
    'platform': sysconfig.get_config_var('SOABI') or sys.implementation.cache_tag or '',
    'site': [path for path in dict.fromkeys([paths['purelib'], paths['platlib']] + site.getsitepackages()) if path in sys.path],
}))";

impl NativeEngine {
    /// Whether programs can have folders and a way out here, which takes namespaces.
    pub fn can_run_clients(&self) -> bool {
        matches!(self.shared.walls(), Ok(jail::Walls::Namespaces { .. })) && self.shared.without.is_empty()
    }

    /// Runs a client to its end. Dropping the future ends it.
    pub async fn run_client(&self, client: Client<'_>, live: &mut dyn LiveOutput) -> Result<ClientEnd, NativeError> {
        self.shared.run_client(client, live).await
    }

    /// The interpreter that a caller's Python programs run on. Asked once.
    pub async fn interpreter(&self, caller: &Principal) -> Result<Interpreter, NativeError> {
        self.shared.interpreter_of(caller).await
    }
}

impl Shared {
    async fn run_client(&self, client: Client<'_>, live: &mut dyn LiveOutput) -> Result<ClientEnd, NativeError> {
        let mut view = self.view.clone();
        view.add(&client.program);
        for path in &client.reads {
            view.add(path);
        }
        for folder in &client.writes {
            view.mount(&folder.source, &folder.target, Access::Write);
        }
        if let Some(folder) = &client.changes {
            view.grant(folder, folder, Access::Write);
        }
        let program = client.program.to_string_lossy().into_owned();
        let folder = client.folder.map_or_else(|| ".".to_owned(), |folder| folder.to_string_lossy().into_owned());
        let script = if client.changes.is_some() { FOR_OWNER } else { FOR_ALL };
        let start = ["sh".to_owned(), "-c".to_owned(), script.to_owned(), folder];
        let own = [("PATH", GUEST_PATH), ("HOME", "/tmp"), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8")];
        let own = own.iter().map(|(name, value)| format!("{name}={value}"));
        let given = client.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let file = |(path, contents): &(String, Vec<u8>)| File {
            place: Place::Workspace,
            path: path.clone(),
            length: contents.len() as u64,
        };
        let limits = Limits {
            wall: client.wall,
            cpu: client.wall.saturating_mul(4),
            memory: Bytes::gib(2),
            // Also limits the largest file that it can make, anywhere.
            disk: Bytes::gib(8),
            processes: 256,
            ..Limits::CEILING
        };
        let spec = Spec {
            walls: self.walls()?,
            view,
            egress: if client.way_out.is_some() { Egress::ThroughServer } else { Egress::None },
            limits: recipe::limits(&limits),
            environment: own.chain(given).collect(),
            files: client.files.iter().map(file).collect(),
            commands: vec![Command {
                program: "/bin/sh".into(),
                arguments: start.into_iter().chain([program]).chain(client.arguments).collect(),
                stdio: Stdio::Program,
                address_space: AddressSpace::Free,
            }],
            purpose: Purpose::Run,
            without: Vec::new(),
        };
        let contents: Vec<&[u8]> = client.files.iter().map(|(_, contents)| contents.as_slice()).collect();
        let input = Input {
            contents: &contents,
            stdin: &[],
            output: MOST_OUTPUT,
            files: &[],
            collect: Collect::Names,
            way_out: client.way_out.map(|(gate, log)| WayOut { gate, log }),
        };
        let finished = run::run(&self.launcher, &spec, input, live).await?;
        Ok(ClientEnd { status: finished.status, stdout: finished.stdout.text, stderr: finished.stderr.text })
    }

    pub(crate) async fn ask_interpreter(&self, tool: &Tool) -> Result<Interpreter, NativeError> {
        #[derive(serde::Deserialize)]
        struct Described {
            version: String,
            platform: String,
            site: Vec<PathBuf>,
        }

        let client = Client {
            program: tool.found.program.clone(),
            arguments: ["-c", DESCRIBE].map(str::to_owned).into(),
            environment: Vec::new(),
            files: Vec::new(),
            reads: tool.found.reads(),
            writes: Vec::new(),
            changes: None,
            folder: None,
            way_out: None,
            wall: Duration::from_secs(10),
        };
        let end = self.run_client(client, &mut ()).await?;
        let described: Described =
            serde_json::from_str(&end.stdout).map_err(|_| NativeError::Interpreter(end.stderr.trim().to_owned()))?;
        Ok(Interpreter {
            program: tool.found.program.clone(),
            reads: tool.found.reads(),
            version: described.version,
            platform: described.platform,
            site: described.site,
        })
    }
}
