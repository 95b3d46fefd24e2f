//! Attacks on the wasm engine of the built binary: guests against the host, against the worker that hosts them, and a hostile module cache.
//! What is attacked, how, and what must come of it is in `testkit::attacks`; hostile guests that want the worker itself are in
//! `wasm_worker.rs`.

use std::path::Path;

use testkit::arena::Setup;
use testkit::attacks::{Group, attempt, wasm};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

fn attempt_with_runtimes(group: Group, setup: Setup) {
    if wasm::provision(BELLJAR) {
        attempt(group, setup, Path::new(BELLJAR));
    }
}

/// `name: Group::Value;` makes `name::unprivileged` and its three siblings.
macro_rules! attack_in_every_setup {
    ($($name:ident: $group:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn unprivileged() {
                attempt_with_runtimes($group, Setup::Unprivileged);
            }

            #[test]
            fn root() {
                attempt_with_runtimes($group, Setup::Root);
            }

            #[test]
            fn masked_proc() {
                attempt_with_runtimes($group, Setup::MaskedProc);
            }

            #[test]
            fn no_user_namespaces() {
                attempt_with_runtimes($group, Setup::NoUserNamespaces);
            }
        })+
    };
}

attack_in_every_setup! {
    guests: Group::WasmGuests;
    worker: Group::WasmWorker;
    cache: Group::WasmCache;
}
