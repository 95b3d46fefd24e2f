//! What each caller may ask for.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::mcp_http::Endpoint;

use crate::{ADA, GRACE, call, folder, serve, stdout, tokens, wait_for};

#[test]
fn calls_beyond_a_callers_share_get_a_429() {
    let folder = folder();
    let served = serve(folder.path(), &["--tokens", &tokens(folder.path()), "--calls-per-caller", "2"]);
    let (ada, grace) =
        (Endpoint::new(served.address()).with_token(ADA), Endpoint::new(served.address()).with_token(GRACE));
    let marker = format!("shares-{}", served.pid());
    let code = format!("(exec -a {marker} sleep 8); echo done");
    thread::scope(|scope| {
        let going: Vec<_> = (0..2).map(|_| scope.spawn(|| stdout(&ada, &code))).collect();
        wait_for(&marker, 2);
        let mut refused = call(&ada, "echo more");
        assert_eq!((refused.status(), refused.header("Retry-After")), (429, Some("1")));
        let message = refused.next_message().expect("a body").expect("a message");
        let text = message["error"]["message"].as_str().expect("text");
        assert_eq!(text, "2 calls of yours have not been answered yet, which is the most; try again in 1 s");
        // What is no call, and others' calls, are taken all the same.
        assert!(ada.modern().request("tools/list", json!({})).is_ok());
        assert_eq!(stdout(&grace, "echo mine"), "mine\n");
        for call in going {
            assert_eq!(call.join().expect("a thread"), "done\n");
        }
    });
    assert_eq!(stdout(&ada, "echo again"), "again\n");
}

/// Whoever reads a file of a busy session waits, and has a connection meanwhile.
#[test]
fn what_waits_is_a_call_too() {
    let folder = folder();
    let served = serve(folder.path(), &["--tokens", &tokens(folder.path()), "--calls-per-caller", "3"]);
    let (ada, grace) =
        (Endpoint::new(served.address()).with_token(ADA), Endpoint::new(served.address()).with_token(GRACE));
    let marker = format!("waits-{}", served.pid());
    // Again where the request below was in its place.
    let read = || loop {
        let reading = ada.modern().send("resources/read", json!({"uri": "session://s/files/a.txt"}));
        let mut reading = reading.expect("it answers");
        if reading.status() != 429 {
            break reading.answer().expect("it goes on").expect("an answer");
        }
    };
    let code = format!("echo text > a.txt; (exec -a {marker} sleep 8)");
    let arguments = json!({"language": "bash", "session": "s", "code": code});
    thread::scope(|scope| {
        scope.spawn(|| ada.modern().call("run_code", &arguments).expect("an answer"));
        wait_for(&marker, 1);
        let waiting = [scope.spawn(read), scope.spawn(read)];
        let end = Instant::now() + Duration::from_secs(6);
        while read_status(&ada) != 429 {
            assert!(Instant::now() < end, "there is no limit");
            thread::sleep(Duration::from_millis(50));
        }
        assert!(ada.modern().request("tools/list", json!({})).is_ok());
        assert_eq!(stdout(&grace, "echo mine"), "mine\n");
        for reading in waiting {
            let answer = reading.join().expect("a thread");
            assert_eq!(answer["result"]["contents"][0]["text"], "text\n", "{answer}");
        }
    });
}

/// Of a request that takes no time where it is taken.
fn read_status(caller: &Endpoint) -> u16 {
    caller.modern().send("resources/read", json!({"uri": "runtime://bash"})).expect("it answers").status()
}

#[test]
fn requests_beyond_a_callers_rate_get_a_429() {
    let folder = folder();
    let served = serve(folder.path(), &["--tokens", &tokens(folder.path()), "--rate", "5"]);
    let ada = Endpoint::new(served.address()).with_token(ADA).modern();
    let started = Instant::now();
    let statuses: Vec<u16> = (0..30).map(|_| ada.send("tools/list", json!({})).expect("it answers").status()).collect();
    let taken = statuses.iter().filter(|status| **status == 200).count();
    let allowed = 5 + 5 * usize::try_from(started.elapsed().as_secs() + 1).expect("not long");
    assert!((5..=allowed).contains(&taken), "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    assert!(Endpoint::new(served.address()).with_token(GRACE).modern().request("tools/list", json!({})).is_ok());
    thread::sleep(Duration::from_millis(400));
    assert!(ada.request("tools/list", json!({})).is_ok(), "a caller that waited is served");
}

/// In the older era a run goes on when its client hangs up, and so does what it takes of the share.
#[test]
fn hanging_up_gives_no_share_back() {
    let folder = folder();
    let served = serve(folder.path(), &["--calls-per-caller", "2"]);
    let endpoint = Endpoint::new(served.address());
    let client = endpoint.legacy().expect("a session");
    for _ in 0..2 {
        let arguments = json!({"language": "bash", "code": "sleep 8"});
        drop(client.send("tools/call", json!({"name": "run_code", "arguments": arguments})).expect("it answers"));
    }
    assert_eq!(call(&endpoint, "echo more").status(), 429);
    let end = Instant::now() + Duration::from_mins(1);
    while call(&endpoint, "echo more").status() != 200 {
        assert!(Instant::now() < end, "the share never comes back");
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(stdout(&endpoint, "echo more"), "more\n");
}

/// One who asks for much does not keep another from its turn.
#[test]
fn callers_take_turns() {
    let folder = folder();
    let served = serve(folder.path(), &["--tokens", &tokens(folder.path()), "--runs-per-caller", "2"]);
    let (ada, grace) =
        (Endpoint::new(served.address()).with_token(ADA), Endpoint::new(served.address()).with_token(GRACE));
    thread::scope(|scope| {
        let started = Instant::now();
        let many: Vec<_> = (0..12).map(|_| scope.spawn(|| stdout(&ada, "sleep 2"))).collect();
        thread::sleep(Duration::from_millis(300));
        assert_eq!(stdout(&grace, "echo mine"), "mine\n");
        assert!(!many.iter().all(thread::ScopedJoinHandle::is_finished), "she waited for all of them");
        for run in many {
            run.join().expect("a thread");
        }
        assert!(started.elapsed() >= Duration::from_secs(12), "twelve times two seconds, two at a time");
    });
}
