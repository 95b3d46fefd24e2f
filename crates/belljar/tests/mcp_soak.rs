//! A server over HTTP that has callers of both eras and of two principals at once, whose runs answer, fail, crash, time out, flood, take
//! memory and are given up, and some of whom vanish: no answer is wrong, nothing is left, and the server stays as large as it was.
//!
//! 20 seconds; 10 minutes with `BELLJAR_TEST_ALL`.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp_soak/caller.rs"]
mod caller;
#[path = "mcp_soak/gauge.rs"]
mod gauge;
#[path = "mcp_soak/programs.rs"]
mod programs;
#[path = "mcp_soak/site.rs"]
mod site;

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::conformance::command::Belljar;
use testkit::mcp_http::Endpoint;
use testkit::processes::{self, Process};
use testkit::runtimes;
use testkit::server::Served;

use caller::{Caller, Speaks};
use gauge::Gauge;
use site::{Ending, Site};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// Tokens of those who call.
const ADA: &str = "0123456789abcdef-ada";
const GRACE: &str = "0123456789abcdef-grace";

/// Who calls, and as whom: each also tries what it must not, with the other one's token.
const CALLERS: [(Speaks, &str, &str); 8] = [
    (Speaks::Legacy, ADA, GRACE),
    (Speaks::Modern, ADA, GRACE),
    (Speaks::Legacy, GRACE, ADA),
    (Speaks::Modern, GRACE, ADA),
    (Speaks::Legacy, ADA, GRACE),
    (Speaks::Modern, ADA, GRACE),
    (Speaks::Legacy, GRACE, ADA),
    (Speaks::Modern, GRACE, ADA),
];

/// What the server may take to end: a second, and the rest on a machine that has other things to do.
const END: Duration = Duration::from_secs(20);

/// How long the load lasts, and the pause between two measurements.
#[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
fn length() -> (Duration, Duration) {
    match std::env::var_os("BELLJAR_TEST_ALL") {
        Some(_) => (Duration::from_mins(10), Duration::from_secs(4)),
        None => (Duration::from_secs(20), Duration::from_millis(700)),
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn a_server_under_load_stays_right_and_as_large_as_it_was() {
    let Some(cache) = runtimes::provisioned(BELLJAR) else { return };
    let home = Belljar::new(BELLJAR).with_runtimes(cache);
    home.write("tokens", format!("ada {ADA}\ngrace {GRACE}\n"));
    let command = home.command([
        "serve",
        "--http",
        "127.0.0.1:0",
        "--tokens",
        "tokens",
        "--audit",
        "audit.jsonl",
        "--log",
        "error",
    ]);
    let mut served = Served::start(command).expect("belljar serves");
    let endpoint = |token: &str| Endpoint::new(served.address()).with_token(token);
    let clients = || {
        let eras = |token| [endpoint(token).modern(), endpoint(token).legacy().expect("a session")];
        [ADA, GRACE].map(eras).into_iter().flatten()
    };

    for token in [ADA, GRACE] {
        programs::warm_up(&endpoint(token).modern());
    }
    let (length, pause) = length();
    let site = Site::new(served.pid());
    let mut gauge = Gauge::new(served.pid());
    thread::scope(|scope| {
        let _ending = Ending(&site);
        for (number, (speaks, own, foreign)) in (0..).zip(CALLERS) {
            let caller = Caller::new(number, speaks, endpoint(own), endpoint(foreign), &site);
            scope.spawn(move || caller.work());
        }
        while site.goes_on() && site.elapsed() < length {
            thread::sleep(pause);
            site.while_nobody_calls(|| gauge.measure(&site));
        }
    });
    eprintln!("{site}\n{gauge}");
    gauge.assert_flat();
    gauge.assert_idle();

    // The end of it comes while runs go on.
    let mut lasting = Vec::new();
    for (number, client) in clients().enumerate() {
        let answer =
            client.call("run_code", &json!({"language": "python", "code": "print(6 * 7)"})).expect("an answer");
        assert_eq!(answer["result"]["structuredContent"]["stdout"], "42\n", "{answer}");
        lasting.push(programs::lasting(&client, "bash", &site.secret(&format!("last{number}"))));
    }
    let all = gauge.processes();
    let asked = Instant::now();
    processes::terminate(served.pid());
    let status = served.wait().expect("our own child");
    let took = asked.elapsed();
    assert!(status.success() && took < END, "{status} after {took:?}");
    let is_there =
        |process: &Process| processes::find(process.pid).is_some_and(|now| now.arguments == process.arguments);
    while all.iter().any(is_there) {
        let left = || all.iter().filter(|process| is_there(process)).collect::<Vec<_>>();
        assert!(asked.elapsed() < END, "the server is gone, and these are not: {:#?}", left());
        thread::sleep(Duration::from_millis(5));
    }
    processes::assert_gone(site.marker(), processes::GRACE);
    assert_eq!(served.said(), "", "the server had something to complain about");
    let audit = home.answer(["audit", "verify", "audit.jsonl"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
    eprintln!("  it ended in {took:.1?}");
}
