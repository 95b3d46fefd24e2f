//! A server without descriptors to spare: said, nothing hangs, and all is well when fewer call.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use testkit::mcp_http::Endpoint;
use testkit::server::Served;

use crate::SOON;
use crate::programs::{QUICK, quick};
use crate::tree::Holdings;
use crate::world::World;

const CALLERS: usize = 50;
const DESCRIPTORS: &str = "--nofile=64:64";

#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn who_cannot_be_served_for_want_of_descriptors_is_told() {
    let Some(world) = World::new() else { return };
    let arguments = ["serve", "--http", "127.0.0.1:0", "--log", "off"];
    let served = Served::start(world.command_by(&["prlimit", DESCRIPTORS], &arguments)).expect("belljar serves");
    let all_served = || {
        let started = Instant::now();
        for kind in &QUICK {
            let (arguments, expected) = quick(kind, "alone");
            loop {
                let answer = Endpoint::new(served.address()).modern().call("run_code", &arguments).expect("an answer");
                if answer["result"]["structuredContent"]["stdout"] == expected {
                    break;
                }
                assert!(started.elapsed() < SOON, "{kind:?}: {answer}");
            }
        }
        started.elapsed()
    };
    all_served();
    let before = Holdings::of(served.pid());
    let mut came: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..2 {
        let call = |number: usize| {
            let (arguments, expected) = quick(&QUICK[number % QUICK.len()], &format!("secret-{round}-{number}"));
            let answer = Endpoint::new(served.address()).modern().call("run_code", &arguments);
            let result = answer.expect("an answer")["result"].take();
            if result["structuredContent"]["stdout"] == expected {
                return "served".to_owned();
            }
            result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
        };
        let call = &call;
        let answers: Vec<String> = thread::scope(|scope| {
            let calls: Vec<_> = (0..CALLERS).map(|number| scope.spawn(move || call(number))).collect();
            calls.into_iter().map(|call| call.join().expect("an answer")).collect()
        });
        for text in answers {
            let is_told = text.starts_with("Failed, and not because of the code: ")
                && text.ends_with("the server has as many files open as it may; call again when it has less to do");
            assert!(text == "served" || is_told, "{text}");
            *came.entry(text).or_default() += 1;
        }
    }
    eprintln!("{came:#?}\nafter that, all kinds were served within {:.0?}", all_served());
    // Connections that ask nothing take all that there are.
    let idle: Vec<TcpStream> = (0..100).map_while(|_| TcpStream::connect(served.address()).ok()).collect();
    thread::sleep(Duration::from_millis(300));
    drop(idle);
    eprintln!("after {} connections, all kinds were served within {:.0?}", 100, all_served());
    before.assert_again(served.pid(), SOON);
}
