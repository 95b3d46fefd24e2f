use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use jail::{Egress, Launcher, Limits, Monitor, Proc, Purpose, RunStdio, Spec, View, Walls};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, Shutdown};

use crate::{structured, variant};

#[derive(Debug)]
enum Input<'a> {
    Message(u8, &'a [u8]),
    Reports(Vec<&'a [u8]>),
}

impl<'a> Arbitrary<'a> for Input<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match variant(u, 2)? {
            0 => Self::Message(u.arbitrary()?, u.bytes(u.len())?),
            _ => Self::Reports(u.arbitrary()?),
        })
    }
}

/// Any bytes as messages between server, launcher and jails. Some go through the socket that a run's reports come back on, since a first
/// process that was taken over could send them.
pub fn launcher_messages(input: &[u8]) {
    let Some(input) = structured::<Input<'_>>(input) else { return };
    match input {
        Input::Message(kind, bytes) => {
            let messages = jail::fuzzing::MESSAGES;
            let (name, reread) = messages[usize::from(kind) % messages.len()];
            let Some(sent) = reread(bytes) else { return };
            assert_eq!(reread(&sent), Some(sent), "{name}");
        }
        Input::Reports(reports) => hear(&reports),
    }
}

static VIEW: LazyLock<View> = LazyLock::new(View::of_host);

/// A run whose first process says this.
fn hear(reports: &[&[u8]]) {
    let (launcher, server) = Launcher::channel().unwrap();
    let monitor = order(&server);
    let to_server = take_order(&launcher);
    for report in reports {
        match rustix::net::send(&to_server, report, SendFlags::DONTWAIT) {
            Ok(_) => drop(monitor.receive()),
            // Longer than what a socket takes.
            Err(_) => return,
        }
    }
    // Not by closing it: what another thread forks meanwhile has a copy until it executes its program.
    rustix::net::shutdown(&to_server, Shutdown::Both).unwrap();
    // What is left, and then the end: no message makes a server wait for another that never comes.
    for _ in 0..=reports.len() {
        match monitor.receive() {
            Ok(None) => return,
            Err(error) => assert_ne!(error.kind(), io::ErrorKind::WouldBlock),
            Ok(Some(_)) => {}
        }
    }
}

fn order(server: &Launcher) -> Monitor {
    let nothing = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let stdio = RunStdio { stdin: nothing(), stdout: nothing(), stderr: nothing(), control: None };
    let limits = Limits { memory: 1, disk: 1, files: 1, processes: 1, cpu_millis: 1, wall_millis: 1 };
    let spec = Spec {
        walls: Walls::Namespaces { proc: Proc::Absent },
        view: VIEW.clone(),
        egress: Egress::None,
        limits,
        environment: Vec::new(),
        files: Vec::new(),
        commands: Vec::new(),
        purpose: Purpose::Run,
        without: Vec::new(),
    };
    server.order(&spec, [], &stdio).unwrap()
}

/// The socket for reports, out of an order.
fn take_order(launcher: &OwnedFd) -> OwnedFd {
    let mut buffer = vec![0; 16 << 10];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(6))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [io::IoSliceMut::new(&mut buffer)];
    rustix::net::recvmsg(launcher.as_fd(), &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC).unwrap();
    let received = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors.collect::<Vec<_>>()),
        RecvAncillaryMessage::ScmCredentials(_) | _ => None,
    });
    received.unwrap().swap_remove(4)
}
