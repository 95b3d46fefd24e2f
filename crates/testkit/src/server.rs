//! `belljar serve` over HTTP, as clients on this machine reach it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;

use crate::conformance::command::Belljar;

/// A server on a port of its own, until dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    url: String,
    home: Belljar,
}

impl Server {
    /// Starts it with these arguments beside the address, and waits until it listens.
    pub fn start(home: Belljar, arguments: &[&str]) -> Self {
        let mut command = home.command(["serve", "--http", "127.0.0.1:0"].iter().chain(arguments));
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("belljar starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped above"));
        let mut line = String::new();
        let url = loop {
            line.clear();
            let length = said.read_line(&mut line).expect("a pipe");
            assert!(length > 0, "the server is gone: {:?}", child.wait());
            if let Some(url) = line.trim_end().strip_prefix("belljar: serving at ") {
                break url.to_owned();
            }
        };
        // Else it could not say anything more.
        thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, url, home }
    }

    /// What clients connect to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Host and port of the URL.
    pub fn address(&self) -> &str {
        self.url.split('/').nth(2).unwrap_or_else(|| panic!("no address in {}", self.url))
    }

    /// Where it was started.
    pub fn home(&self) -> &Belljar {
        &self.home
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("pids are positive and below 2^22")
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("our own child")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
