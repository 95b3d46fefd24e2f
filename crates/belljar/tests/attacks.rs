//! Attacks on the built binary, on this machine's kernel: one test per group of attacks and set-up, so that a failure
//! names both.
//!
//! What is attacked, how, and what must come of it is in `testkit::attacks`; which probe guards which layer in
//! `testkit::layers`.

use std::path::Path;

use testkit::arena::Setup;
use testkit::attacks::{Group, attempt, attempt_parked};
use testkit::layers::prove;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// `name: Group::Value;` makes `name::unprivileged` and its three siblings.
macro_rules! attack_in_every_setup {
    ($($name:ident: $group:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn unprivileged() {
                attempt($group, Setup::Unprivileged, Path::new(BELLJAR));
            }

            #[test]
            fn root() {
                attempt($group, Setup::Root, Path::new(BELLJAR));
            }

            #[test]
            fn masked_proc() {
                attempt($group, Setup::MaskedProc, Path::new(BELLJAR));
            }

            #[test]
            fn no_user_namespaces() {
                attempt($group, Setup::NoUserNamespaces, Path::new(BELLJAR));
            }
        })+
    };
}

/// `name: Group::Value in function Setup, …;` makes `parked::name::function`, against interpreters that have waited.
macro_rules! attack_parked {
    ($($name:ident: $group:expr, in $($test:ident $setup:ident),+;)+) => {
        mod parked {
            use super::*;

            $(mod $name {
                use super::*;

                $(#[test]
                fn $test() {
                    attempt_parked($group, Setup::$setup, Path::new(BELLJAR));
                })+
            })+
        }
    };
}

/// `name: "layer" in function Setup, …;` makes `name::function` for each set-up where a probe guards the layer.
macro_rules! leave_out {
    ($($name:ident: $layer:literal in $($test:ident $setup:ident),+;)+) => {
        $(mod $name {
            use super::*;

            $(#[test]
            fn $test() {
                prove($layer, Setup::$setup, Path::new(BELLJAR));
            })+
        })+
    };
}

attack_in_every_setup! {
    files: Group::Files;
    processes: Group::Processes;
    network: Group::Network;
    kernel: Group::Kernel;
    terminal: Group::Terminal;
    floods: Group::Floods;
    memory: Group::Memory;
    storage: Group::Storage;
    endings: Group::Endings;
    streams: Group::Streams;
    collection: Group::Collection;
    neighbours: Group::Neighbours;
    deaths: Group::Deaths;
    levels: Group::Levels;
}

// Not the groups that find a guest by its arguments: one that waited was started without them.
attack_parked! {
    files: Group::Files, in unprivileged Unprivileged, root Root;
    processes: Group::Processes, in unprivileged Unprivileged, root Root;
    network: Group::Network, in unprivileged Unprivileged, root Root;
    kernel: Group::Kernel, in unprivileged Unprivileged, root Root;
    floods: Group::Floods, in unprivileged Unprivileged;
    memory: Group::Memory, in unprivileged Unprivileged;
    storage: Group::Storage, in unprivileged Unprivileged;
    endings: Group::Endings, in unprivileged Unprivileged;
    streams: Group::Streams, in unprivileged Unprivileged;
    collection: Group::Collection, in unprivileged Unprivileged;
}

leave_out! {
    without_seccomp: "seccomp" in
        unprivileged Unprivileged, root Root, masked_proc MaskedProc, no_user_namespaces NoUserNamespaces;
    without_landlock: "landlock" in
        unprivileged Unprivileged, root Root, masked_proc MaskedProc, no_user_namespaces NoUserNamespaces;
    without_pid_namespace: "pid-namespace" in unprivileged Unprivileged, root Root, masked_proc MaskedProc;
    // Not as root: there init takes on another uid, and the kernel makes it non-dumpable for that.
    without_non_dumpable_init: "non-dumpable-init" in unprivileged Unprivileged, masked_proc MaskedProc;
    without_network_namespace: "network-namespace" in unprivileged Unprivileged, root Root;
    without_capabilities: "capabilities" in unprivileged Unprivileged, root Root;
    without_no_new_privs: "no-new-privs" in unprivileged Unprivileged, root Root;
    without_rlimits: "rlimits" in unprivileged Unprivileged, root Root;
}
