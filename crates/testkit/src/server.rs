//! `belljar serve` over HTTP, as clients on this machine reach it.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A server on a port of its own. It ends with this value.
#[derive(Debug)]
pub struct Served {
    child: Child,
    address: String,
    said: Arc<Mutex<String>>,
}

impl Served {
    /// Starts `command`, which is a `belljar serve --http 127.0.0.1:0`, and waits until it listens.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let mut before = String::new();
        let address = loop {
            let mut line = String::new();
            if stderr.read_line(&mut line)? == 0 {
                return Err(io::Error::other(format!("the server does not serve: {}: {before}", child.wait()?)));
            }
            if let Some((_, address)) = line.split_once("http://") {
                break address.split('/').next().unwrap_or_default().to_owned();
            }
            before += &line;
        };
        let said = Arc::new(Mutex::new(String::new()));
        let ears = Arc::clone(&said);
        // Read on, or it could not say anything more.
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut said = ears.lock().unwrap_or_else(PoisonError::into_inner);
                said.push_str(&line);
                said.push('\n');
            }
        });
        Ok(Self { child, address, said })
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What clients connect to.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The server's process.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("pids are below 2^22")
    }

    /// What it has written to standard error since it listens.
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for it to end by itself.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
