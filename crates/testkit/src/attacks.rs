//! Every attack as a row of one table, and how a row is tried. What guests run is the corpus in the crate `attacks`.
//!
//! Each attack has a control, which shows that the guest works and that the attack would be seen; then the attack,
//! with the exact way it must end; then the check that the host is as it was.

mod collection;
mod deaths;
mod endings;
mod neighbours;
mod probes;
mod refusals;
mod resources;
mod streams;
pub mod wasm;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::attacks::probes::{self as corpus, Probe};
use ::attacks::{
    BASH_BOMB, ENDINGS, FILES, KERNEL, LEAVINGS, NEIGHBOUR, NETWORK, OUTPUTS, PROCESSES, RESOURCES, TERMINAL,
    wasm as guests,
};

use crate::arena::Setup;
use crate::run::Program;
use crate::stage::{Stage, Starts};
pub(crate) use probes::with_layers_left_out;

/// One attack.
#[derive(Debug)]
pub struct Attack {
    /// Unique, and what a failure names.
    pub name: &'static str,
    /// The test that tries it.
    pub group: Group,
    /// What of the threat list it covers.
    pub rows: &'static [Row],
    /// The guest's program.
    pub program: Program,
    /// How to tell that it failed to do harm.
    pub verify: Verify,
}

/// Attacks that one test tries, in one set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The host's files.
    Files,
    /// Other processes, and what a process inherits.
    Processes,
    /// The host's sockets.
    Network,
    /// System calls and privileges.
    Kernel,
    /// The caller's terminal.
    Terminal,
    /// Too many processes, descriptors, instructions; too much output.
    Floods,
    /// Too much memory.
    Memory,
    /// Too many bytes and files.
    Storage,
    /// Guests that do not end, or leave something running.
    Endings,
    /// Hostile output.
    Streams,
    /// Hostile output files.
    Collection,
    /// Two runs at a time.
    Neighbours,
    /// belljar itself is killed.
    Deaths,
    /// Levels: what `doctor` says, and what is refused.
    Levels,
    /// Guests in WebAssembly.
    WasmGuests,
    /// The worker that hosts them.
    WasmWorker,
    /// The native code that a worker is made of.
    WasmCache,
}

/// An entry of the threat list in the engineering notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// A row of the attack table.
    Table(u8),
    /// A numbered trap.
    Trap(u8),
    /// From the list of what nobody had tried yet.
    Untried(&'static str),
}

/// How an attack is judged.
#[derive(Clone, Copy, Debug)]
pub enum Verify {
    /// The program tries many small things and says of each how it went.
    Probes(&'static [Probe]),
    /// As `Probes`, with a terminal.
    ProbesAtTerminal(&'static [Probe]),
    /// A function that does the control run, the attack and the checks that are its own.
    Scene(fn(&Stage, Program)),
}

/// Tries every attack of a group in one set-up; all of them, also when one fails.
pub fn attempt(group: Group, setup: Setup, belljar: &Path) {
    attempt_with(Starts::Cold, group, setup, belljar);
}

/// The same against interpreters that have waited for their program.
pub fn attempt_parked(group: Group, setup: Setup, belljar: &Path) {
    attempt_with(Starts::Parked, group, setup, belljar);
}

fn attempt_with(starts: Starts, group: Group, setup: Setup, belljar: &Path) {
    let mut failed = Vec::new();
    for attack in ATTACKS.iter().filter(|attack| attack.group == group) {
        let stage = match Stage::open(setup, belljar) {
            Ok(stage) => stage.starting(starts),
            Err(unavailable) => return unavailable.skip(setup),
        };
        let result = catch_unwind(AssertUnwindSafe(|| {
            match attack.verify {
                Verify::Probes(expected) => probes::attempt(&stage, attack.program, expected),
                Verify::ProbesAtTerminal(expected) => probes::attempt_at_terminal(&stage, attack.program, expected),
                Verify::Scene(scene) => scene(&stage, attack.program),
            }
            stage.assert_unharmed();
        }));
        if result.is_err() {
            failed.push(attack.name);
        }
    }
    assert!(failed.is_empty(), "{setup:?}: these attacks got through or misbehaved (messages above): {failed:?}");
}

const fn probing(
    name: &'static str,
    group: Group,
    rows: &'static [Row],
    program: Program,
    probes: &'static [Probe],
) -> Attack {
    Attack { name, group, rows, program, verify: Verify::Probes(probes) }
}

const fn attack(
    name: &'static str,
    group: Group,
    rows: &'static [Row],
    program: Program,
    scene: fn(&Stage, Program),
) -> Attack {
    Attack { name, group, rows, program, verify: Verify::Scene(scene) }
}

use Group::{
    Collection, Deaths, Endings, Files, Floods, Kernel, Levels, Memory, Neighbours, Network, Processes, Storage,
    Streams, Terminal, WasmCache, WasmGuests, WasmWorker,
};
use Row::{Table, Trap, Untried};

/// Every attack.
#[rustfmt::skip]
pub static ATTACKS: &[Attack] = &[
    probing("files", Files, &[Table(1), Table(2), Table(6), Table(22), Table(23), Table(25), Trap(24),
        Untried("hard links")], FILES, corpus::FILES),
    probing("processes", Processes, &[Table(2), Table(3), Table(4), Table(5), Table(7), Table(21), Trap(2)],
        PROCESSES, corpus::PROCESSES),
    probing("network", Network, &[Table(8), Table(9), Table(10), Table(11), Table(17)], NETWORK, corpus::NETWORK),
    probing("kernel", Kernel, &[Table(12), Table(13), Table(14), Table(15), Table(16), Table(18), Table(19),
        Table(23), Table(24), Table(25), Table(26), Trap(13), Trap(14), Trap(15)], KERNEL, corpus::KERNEL),
    Attack { name: "terminal", group: Terminal, rows: &[Table(20)], program: TERMINAL,
        verify: Verify::ProbesAtTerminal(corpus::TERMINAL) },

    attack("fork count", Floods, &[Table(27)], RESOURCES, resources::fork_count),
    attack("fork bomb", Floods, &[Table(27), Trap(21)], RESOURCES, resources::fork_bomb),
    attack("bash fork bomb", Floods, &[Table(27), Trap(21)], BASH_BOMB, resources::bash_bomb),
    attack("descriptors", Floods, &[Table(30)], RESOURCES, resources::descriptors),
    attack("processor", Floods, &[Trap(21)], RESOURCES, resources::processor),
    attack("1 GiB of output", Floods, &[Table(31)], RESOURCES, resources::output),
    attack("endless output", Floods, &[Table(31)], RESOURCES, resources::endless_output),

    attack("10 GiB of memory", Memory, &[Table(28)], RESOURCES, resources::memory),
    attack("memory that grows", Memory, &[Table(28)], RESOURCES, resources::growing_memory),
    attack("memory in shared mappings", Memory, &[Table(28)], RESOURCES, resources::shared_memory),
    attack("memory in socket buffers", Memory, &[Table(28)], RESOURCES, resources::socket_buffers),
    attack("memory behind a blinded watchdog", Memory, &[Table(28)], RESOURCES, resources::blinded_memory),
    attack("memory of many processes", Memory, &[Table(28)], RESOURCES, resources::memory_of_many),

    attack("disk", Storage, &[Table(29)], RESOURCES, resources::disk),
    attack("disk that no listing shows", Storage, &[Table(29)], RESOURCES, resources::hidden_disk),
    attack("inodes", Storage, &[Table(29)], RESOURCES, resources::inodes),

    attack("ignored signals", Endings, &[Table(32), Trap(21)], ENDINGS, endings::ignored_signals),
    attack("stopped", Endings, &[Table(32), Trap(21)], ENDINGS, endings::stopped),
    attack("stopped child", Endings, &[Table(32)], ENDINGS, endings::stopped_child),
    attack("daemon keeps output open", Endings, &[Trap(9)], ENDINGS, endings::daemon_keeps_output),
    attack("daemons", Endings, &[Table(33), Trap(10)], ENDINGS, endings::daemons),
    attack("forking chain", Endings, &[Table(33), Trap(10)], ENDINGS, endings::forking_chain),
    attack("daemon at the deadline", Endings, &[Table(33), Trap(10)], ENDINGS, endings::daemon_until_timeout),
    attack("closed streams", Endings, &[Trap(9)], ENDINGS, endings::closed_streams),
    attack("closed streams at the deadline", Endings, &[Trap(9)], ENDINGS, endings::closed_streams_and_stay),
    attack("own signal", Endings, &[Untried("status from the kernel alone")], ENDINGS, endings::own_signal),
    attack("exit codes", Endings, &[Untried("status from the kernel alone")], ENDINGS, endings::exit_codes),

    attack("control characters", Streams, &[Untried("ANSI and bidi in output")], OUTPUTS, streams::control_characters),
    attack("invalid text", Streams, &[Untried("ANSI and bidi in output")], OUTPUTS, streams::invalid_text),
    attack("fake result", Streams, &[Untried("protocol frames in output")], OUTPUTS, streams::fake_result),
    attack("fake traceback", Streams, &[Untried("protocol frames in output")], OUTPUTS, streams::fake_traceback),
    attack("one long line", Streams, &[Table(31)], OUTPUTS, streams::one_long_line),
    attack("cut inside a character", Streams, &[Table(31)], OUTPUTS, streams::cut_inside_character),
    attack("non-blocking streams", Streams, &[Untried("O_NONBLOCK on shared stdio")], ENDINGS, streams::nonblocking),
    attack("shrunken pipe", Streams, &[Untried("O_NONBLOCK on shared stdio")], ENDINGS, streams::shrunken_pipe),

    attack("hostile names", Collection, &[Untried("hostile file names")], LEAVINGS, collection::names),
    attack("links", Collection, &[Table(34), Untried("hard links")], LEAVINGS, collection::links),
    attack("special files", Collection, &[Table(34), Trap(19)], LEAVINGS, collection::special),
    attack("sparse files", Collection, &[Table(34), Trap(19)], LEAVINGS, collection::sparse),
    attack("many names of one file", Collection, &[Untried("hard links")], LEAVINGS, collection::hard_links),
    attack("zip bomb", Collection, &[Untried("zip bombs")], LEAVINGS, collection::archive),
    attack("deep directories", Collection, &[Untried("deep trees at clean-up")], LEAVINGS, collection::deep),
    attack("many files", Collection, &[Untried("deep trees at clean-up")], LEAVINGS, collection::many),
    attack("rename race", Collection, &[Table(35), Trap(18)], LEAVINGS, collection::race),
    attack("names that exist in the output directory", Collection, &[Table(34)], LEAVINGS, collection::shadowing),

    attack("neighbours", Neighbours, &[Table(37)], NEIGHBOUR, neighbours::look_for_each_other),

    attack("server killed", Deaths, &[Untried("kill -9 of the server")], ENDINGS, deaths::server),
    attack("launcher killed", Deaths, &[Untried("kill -9 of the launcher")], ENDINGS, deaths::launcher),
    attack("interrupted at a terminal", Deaths, &[Untried("signals to belljar")], ENDINGS, deaths::interrupted),
    attack("terminated", Deaths, &[Untried("signals to belljar")], ENDINGS, deaths::terminated),
    attack("never kernel uid 0", Deaths, &[Table(22), Trap(3)], ENDINGS, deaths::kernel_uid),

    attack("doctor tells the level that runs get", Levels, &[Trap(7), Trap(8), Trap(27)], ENDINGS, refusals::doctor),
    attack("a weaker level is refused unless accepted", Levels, &[Trap(27)], ENDINGS, refusals::weaker_level),
    attack("scratch directory planted by another", Levels, &[Untried("planted directories")], ENDINGS, refusals::planted_scratch),
    attack("inputs below the workspace are visible", Levels, &[Trap(5)], ENDINGS, refusals::inputs_visible),

    attack("wasm: files", WasmGuests, &[Untried("wasm: files")], guests::FILES, wasm::files),
    attack("wasm: files, in JavaScript", WasmGuests, &[Untried("wasm: files")], guests::FILES_OF_JAVASCRIPT, wasm::files_of_javascript),
    attack("wasm: files and processes, in Ruby", WasmGuests, &[Untried("wasm: files")], guests::FILES_OF_RUBY, wasm::files_of_ruby),
    attack("wasm: files and processes, in PHP", WasmGuests, &[Untried("wasm: files")], guests::FILES_OF_PHP, wasm::files_of_php),
    attack("wasm: files, in Lua", WasmGuests, &[Untried("wasm: files")], guests::FILES_OF_LUA, wasm::files_of_lua),
    attack("wasm: files, in C", WasmGuests, &[Untried("wasm: files")], guests::FILES_OF_C, wasm::files_of_c),
    attack("wasm: files, in SQL", WasmGuests, &[Untried("wasm: files")], guests::FILES_OF_SQL, wasm::files_of_sql),
    attack("wasm: sockets and processes", WasmGuests, &[Untried("wasm: network")], guests::NETWORK, wasm::network),
    attack("wasm: frames", WasmGuests, &[Untried("protocol frames in output")], guests::FRAMES, wasm::frames),
    attack("wasm: flood", WasmGuests, &[Table(31)], guests::FLOOD, wasm::flood),
    attack("wasm: no way out", WasmGuests, &[Untried("promotion where native is refused")], WASM_THREAD, wasm::no_way_out),
    attack("wasm: the worker's walls", WasmWorker, &[Trap(26)], guests::SLEEPER, wasm::worker),
    attack("wasm: server killed", WasmWorker, &[Untried("kill -9 of the server")], guests::SLEEPER, wasm::server_killed),
    attack("wasm: worker killed", WasmWorker, &[Untried("kill -9 of the worker")], guests::SLEEPER, wasm::worker_killed),
    attack("wasm: hostile cache", WasmCache, &[Untried("wasm: the cache")], WASM_HELLO, wasm::hostile_cache),
];

/// Where WebAssembly stops, in both of its ways; natively it does what it says.
const WASM_THREAD: Program = Program {
    language: "python",
    code: "import threading\nprint('start')\nthread = threading.Thread(target=print, args=['in it'])\nthread.start()\nthread.join()",
};
const WASM_HELLO: Program = Program { language: "javascript", code: "console.log('hello')" };

/// Entries of the threat list that have no attack here, and where they are dealt with.
pub static ELSEWHERE: &[(Row, &str)] = &[
    (Table(36), "egress proxy: the tests of grants, and egress itself"),
    (Trap(1), "jail: the launcher asserts that it has one thread; spawns under load belong to the server's tests"),
    (Trap(4), "jail: property test that mounts and Landlock rules come from the same list"),
    (Trap(6), "packages: bytecode in each layer"),
    (Trap(11), "conformance: memory limit per runtime"),
    (Trap(12), "packages: layers are read-only"),
    (Trap(16), "zygote"),
    (Trap(17), "zygote"),
    (Trap(20), "conformance: output arrives before the end"),
    (Trap(22), "conformance: sources of the figures"),
    (Trap(23), "engine-native: language table"),
    (Trap(25), "zygote"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_numbered_threat_is_covered_or_says_where_it_is() {
        let covered = ATTACKS.iter().flat_map(|attack| attack.rows.iter().copied());
        let numbered: BTreeSet<Row> =
            covered.chain(ELSEWHERE.iter().map(|(row, _)| *row)).filter(|row| !matches!(row, Untried(_))).collect();
        let expected: BTreeSet<Row> = (1..=37).map(Table).chain((1..=27).map(Trap)).collect();
        assert_eq!(numbered, expected);
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        assert_eq!(names.len(), ATTACKS.len());
    }
}
