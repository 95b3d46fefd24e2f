//! Two runs of one user at the same time, looking for each other.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::arena::Level;
use crate::processes;
use crate::run::{Ending, Program};
use crate::stage::Stage;
use ::attacks::probes::reports;

pub(super) fn look_for_each_other(stage: &Stage, program: Program) {
    let settings = json!({ "port": free_port(), "name": stage.marker(), "other": "role-host" }).to_string();
    // The word marks the process of this role for the other one.
    let host = stage
        .run(program)
        .argument("host")
        .argument(format!("{}-role-host", stage.marker()))
        .argument(&*settings)
        .start();
    wait_for_guest(stage, host.pid());
    let guest = stage.run(program).argument("guest").argument(stage.marker()).argument(&*settings).start();
    let level = stage.level();
    let (guest, host) = (guest.finish().outcome(level.name()), host.finish().outcome(level.name()));

    host.assert_ended(Ending::completed(0));
    guest.assert_ended(Ending::completed(0));
    let reports = reports(&guest.stdout).expect("reports");
    let met: Vec<_> = reports.iter().filter(|(_, report)| report.verdict != "BLOCKED").collect();
    assert!(met.is_empty(), "the runs met: {met:?}");
    let names: Vec<&str> = reports.keys().map(String::as_str).collect();
    assert_eq!(names, ["/dev/shm", "/tmp", "/var/tmp", "abstract", "process", "sibling", "tcp"]);
    // The control: what the other one looked for was there, and its owner could use it.
    let (tcp, abstract_socket) = match level {
        Level::Full | Level::FullNoProc => ("tcp: 1 visits", "abstract: 1 visits"),
        Level::Landlock => ("tcp: no socket ENOSYS", "abstract: no socket ENOSYS"),
    };
    let said: Vec<&str> = host.stdout.lines().collect();
    assert!(said.contains(&tcp) && said.contains(&abstract_socket), "{said:?}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
    listener.local_addr().expect("bound").port()
}

/// Until the guest's own process is there; it sets up within a fraction of the time that the other one looks.
fn wait_for_guest(stage: &Stage, belljar: i32) {
    let end = Instant::now() + Duration::from_secs(30);
    while !processes::marked(stage.marker()).iter().any(|process| process.pid != belljar) {
        assert!(Instant::now() < end, "the first run's guest never started");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(300));
}
