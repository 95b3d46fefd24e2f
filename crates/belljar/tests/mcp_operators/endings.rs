//! Slow clients, and the end of a server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use testkit::mcp_http::Endpoint;
use testkit::processes;

use crate::{folder, serve, stdout, wait_for};

/// Clients that never finish what they say are not waited for for ever, and hold up nobody meanwhile.
#[test]
fn slow_clients_are_cut_off() {
    let folder = folder();
    let served = serve(folder.path(), &[]);
    let started = Instant::now();
    let mut slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address()).expect("it listens");
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").expect("a socket");
            stream
        })
        .collect();
    assert_eq!(stdout(&Endpoint::new(served.address()), "echo in time"), "in time\n");
    while started.elapsed() < Duration::from_secs(12) {
        thread::sleep(Duration::from_secs(1));
        for stream in &mut slow {
            stream.write_all(b"a").ok();
        }
    }
    for stream in &mut slow {
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
        let mut answer = Vec::new();
        // Closed, politely or not; a time-out here would be an error of another kind.
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
    }
    assert!(started.elapsed() < Duration::from_secs(25), "{:?}", started.elapsed());
    assert_eq!(stdout(&Endpoint::new(served.address()), "echo in time"), "in time\n");
}

#[test]
fn what_goes_on_may_end_and_nothing_new_begins() {
    let folder = folder();
    let mut served = serve(folder.path(), &["--drain", "60s"]);
    let endpoint = Endpoint::new(served.address());
    let marker = format!("drained-{}", served.pid());
    let code = format!("(exec -a {marker} sleep 15); echo finished");
    thread::scope(|scope| {
        let going = scope.spawn(|| stdout(&endpoint, &code));
        wait_for(&marker, 1);
        processes::terminate(served.pid());
        while TcpStream::connect(served.address()).is_ok() {
            assert!(!going.is_finished(), "it still listens");
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(going.join().expect("a thread"), "finished\n");
    });
    assert!(served.wait().expect("it ends").success());
}

/// Some clients connect standard input to a socket, on which a read waits for as long as they like.
#[test]
fn a_silent_client_does_not_keep_a_server_from_its_end() {
    let folder = folder();
    let (theirs, ours) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    let mut command = testkit::arena::host_command(crate::BELLJAR);
    command.arg("serve").env("BELLJAR_CACHE", folder.path().join("cache"));
    command.stdin(std::os::fd::OwnedFd::from(theirs)).stdout(std::process::Stdio::piped());
    let mut server = command.spawn().expect("belljar starts");
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    (&ours).write_all(format!("{request}\n").as_bytes()).expect("a socket");
    let mut answer = [0];
    server.stdout.as_mut().expect("piped").read_exact(&mut answer).expect("it answers");
    let started = Instant::now();
    processes::terminate(i32::try_from(server.id()).expect("a pid"));
    assert!(server.wait().expect("it ends").success());
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn what_does_not_end_in_time_is_ended() {
    let folder = folder();
    let mut served = serve(folder.path(), &[]);
    let endpoint = Endpoint::new(served.address());
    let marker = format!("endings-{}", std::process::id());
    thread::scope(|scope| {
        let code = format!("sleep 60 {marker} 2> /dev/null || exec -a {marker} sleep 60");
        let arguments = serde_json::json!({"name": "run_code", "arguments": {"language": "bash", "code": code}});
        let going = scope.spawn(|| endpoint.modern().request("tools/call", arguments));
        wait_for(&marker, 1);
        let started = Instant::now();
        processes::terminate(served.pid());
        assert!(served.wait().expect("it ends").success());
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(going.join().expect("a thread").is_err(), "there is no answer to make up");
    });
    processes::assert_gone(&marker, processes::GRACE);
}
