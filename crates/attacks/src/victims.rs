//! Things of the host's that a guest must not reach, put there to be attacked, and the check that none was.

use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Level, processes};

/// In whose environment the secret is: belljar's and the victim process's.
pub const SECRET_VARIABLE: &str = "BELLJAR_TEST_SECRET";

/// What the victim process runs. For Python on the bare host.
const PROCESS: &str = include_str!("../programs/victim.py");

/// The victims. All are as open as they can be, so that nothing but the walls around a guest protects them.
#[derive(Debug)]
pub struct Victims {
    directory: PathBuf,
    secrets: Secrets,
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_socket: UnixListener,
    abstract_name: String,
    pathname_socket: UnixListener,
    process: Option<(Child, Told)>,
    files: Files,
}

/// What turns up nowhere, unless something leaked.
#[derive(Debug, Clone)]
pub struct Secrets {
    /// In the environment of belljar and of the victim process.
    pub variable: String,
    /// In the files that may not be reached.
    pub file: String,
}

impl Secrets {
    /// Whether either is in there.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        [&self.variable, &self.file]
            .iter()
            .any(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()))
    }
}

/// What the victim process says of itself.
#[derive(Debug, Deserialize)]
struct Told {
    pid: i32,
    session: i32,
    shared_memory: i64,
    message_queue: String,
    namespaces: Value,
}

/// Path, content, modification time in nanoseconds, links and mode of everything in a directory.
type Files = Vec<(PathBuf, Vec<u8>, i128, u64, u32)>;

impl Victims {
    /// Puts them into the folder `directory`, which is made. `name` is one that no socket has yet; `python` starts the host's Python, as the user
    /// and with the environment that the victim process is to have. Without it there is no such process.
    pub fn open(directory: PathBuf, name: &str, secrets: Secrets, python: Option<Command>) -> io::Result<Self> {
        fs::create_dir(&directory)?;
        fs::write(directory.join("secret"), &secrets.file)?;
        fs::write(directory.join("canary"), "alive\n")?;
        let pathname_socket = UnixListener::bind(directory.join("socket"))?;
        for (name, mode) in [("secret", 0o644), ("canary", 0o666), ("socket", 0o777), ("", 0o777)] {
            fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode))?;
        }
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let abstract_socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        abstract_socket.set_nonblocking(true)?;
        pathname_socket.set_nonblocking(true)?;
        let process = python.map(|python| start(python, &secrets)).transpose()?;
        let files = files(&directory)?;
        let abstract_name = name.to_owned();
        Ok(Self { directory, secrets, tcp, udp, abstract_socket, abstract_name, pathname_socket, process, files })
    }

    /// The directory that a guest must not reach. It holds a file `secret` and one `canary`, and anyone may write to both it and the latter.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What must turn up in nothing that a run gives back.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The file that nobody may read.
    pub fn secret_file(&self) -> PathBuf {
        self.directory.join("secret")
    }

    /// What programs are told of the host, as the JSON of their first argument, in a jail of this level.
    pub fn facts(&self, level: Level) -> io::Result<Value> {
        let (init, workspace) = match level {
            Level::Full | Level::FullNoProc => (json!(1), "/box"),
            Level::Landlock => (json!("parent"), "."),
        };
        let mut facts = json!({
            // Backwards: what a guest is told passes through belljar's own memory, where nothing but a leak may put the secret.
            "secret_backwards": self.secrets.variable.chars().rev().collect::<String>(),
            "secret_file": self.secret_file(),
            "canary": self.directory.join("canary"),
            "directory": self.directory,
            "socket_file": self.directory.join("socket"),
            "abstract_socket": self.abstract_name,
            "tcp_port": self.tcp.local_addr()?.port(),
            "udp_port": self.udp.local_addr()?.port(),
            "passwd": fs::read_to_string("/etc/passwd")?,
            "init": init,
            "workspace": workspace,
            "victim": std::process::id(),
        });
        if let (Some((_, told)), Some(facts)) = (&self.process, facts.as_object_mut()) {
            facts.extend([
                ("victim".to_owned(), json!(told.pid)),
                ("session".to_owned(), json!(told.session)),
                ("shared_memory".to_owned(), json!(told.shared_memory)),
                ("message_queue".to_owned(), json!(told.message_queue)),
                ("namespaces".to_owned(), told.namespaces.clone()),
            ]);
        }
        Ok(facts)
    }

    /// Whoever was reached, in words: what guests say of themselves is not all that counts.
    pub fn reached(&self) -> Vec<String> {
        let mut reached = Vec::new();
        let mut visited = |by: Option<ErrorKind>, name: &str| {
            if by != Some(ErrorKind::WouldBlock) {
                reached.push(format!("{name} was reached"));
            }
        };
        visited(self.tcp.accept().err().map(|error| error.kind()), "the TCP listener");
        visited(self.udp.recv(&mut [0; 1]).err().map(|error| error.kind()), "the UDP socket");
        visited(self.abstract_socket.accept().err().map(|error| error.kind()), "the abstract socket");
        visited(self.pathname_socket.accept().err().map(|error| error.kind()), "the pathname socket");
        reached
    }

    /// What became of the victim process, if something did.
    pub fn harmed_process(&self) -> Option<String> {
        match processes::find(self.process.as_ref()?.1.pid) {
            None => Some("the victim process is gone".to_owned()),
            Some(process) if ['R', 'S', 'D'].contains(&process.state) && process.tracer == 0 => None,
            Some(process) => Some(format!("the victim process was stopped or traced: {process:?}")),
        }
    }

    /// Files of theirs that were changed, made or removed.
    pub fn changed_files(&self) -> io::Result<Vec<PathBuf>> {
        let now = files(&self.directory)?;
        let gone_or_changed = self.files.iter().filter(|file| !now.contains(file));
        let new = now.iter().filter(|file| !self.files.iter().any(|(path, ..)| *path == file.0));
        Ok(gone_or_changed.chain(new).map(|(path, ..)| path.clone()).collect())
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        // It ends when its input does, and takes its message queue with it. A guest that stopped it is reported already.
        if let Some((process, _)) = &mut self.process {
            drop(process.stdin.take());
            let end = Instant::now() + Duration::from_secs(2);
            while matches!(process.try_wait(), Ok(None)) && Instant::now() < end {
                thread::sleep(Duration::from_millis(2));
            }
            process.kill().ok();
            process.wait().ok();
        }
        fs::remove_dir_all(&self.directory).ok();
    }
}

fn start(mut python: Command, secrets: &Secrets) -> io::Result<(Child, Told)> {
    let mut process = python
        .args(["-c", PROCESS])
        .env(SECRET_VARIABLE, &secrets.variable)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(output) = process.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    let told = serde_json::from_str(&line)
        .map_err(|error| io::Error::other(format!("the victim process said `{line}`: {error}")))?;
    Ok((process, told))
}

fn files(directory: &Path) -> io::Result<Files> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        let content = if metadata.is_file() { fs::read(&path)? } else { Vec::new() };
        let modified = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        files.push((path, content, modified, metadata.nlink(), metadata.mode()));
    }
    files.sort();
    Ok(files)
}
