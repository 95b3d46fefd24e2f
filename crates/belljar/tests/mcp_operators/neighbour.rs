//! Another server that belljar talks to: an authorization server, or a collector of traces.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// Serves documents, takes what it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Neighbour {
    address: String,
    documents: Arc<Mutex<HashMap<String, String>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Neighbour {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let neighbour = Self { address, documents: Arc::default(), received: Arc::default() };
        let serving = neighbour.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Somebody who goes away in the middle is none of its business.
                serving.answer(stream).ok();
            }
        });
        neighbour
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn publish(&self, path: &str, document: &serde_json::Value) {
        self.documents.lock().expect("a lock").insert(path.to_owned(), document.to_string());
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("a lock").clone()
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        self.received.lock().expect("a lock").push(Received { path: path.clone(), body });
        let document = self.documents.lock().expect("a lock").get(&path).cloned();
        let (status, text) = document.map_or(("404 Not Found", String::new()), |document| ("200 OK", document));
        let length = text.len();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}")
    }
}
