//! How the host speaks to a language runtime.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sandbox::Display;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wasmtime::{Caller, Instance, Linker, Module, Result, Store};

use crate::guest::Guest;
use crate::protocol::{Job, Report, ReportedError, Shown};
use crate::run::Manner;

/// What is particular to one runtime: its imports beyond WASI, how it is started, how a program is given to it.
pub(crate) trait Driver: Send + Sync + fmt::Debug {
    /// Adds what it imports beyond WASI.
    fn link(&self, linker: &mut Linker<Guest>) -> Result<()>;

    /// Bytes of memory that it may have while it starts.
    fn start_memory(&self) -> u64 {
        1 << 30
    }

    /// When it is started.
    fn start(&self) -> Start {
        Start::Once
    }

    /// Starts it, up to where a program could run. Done once, before the snapshot.
    fn initialize(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<()>;

    /// Runs a program to its end; returns its exit code. An error is a trap, an exit by WASI, or the end of the run's time.
    fn run(&self, store: &mut Store<Guest>, instance: &Instance, job: &Job) -> Result<i32>;

    /// Whether instances of this module can run cells, and how each is ended.
    fn cells(&self, _: &Module) -> Option<Manner> {
        None
    }

    /// For an instance that is going to run cells: the address of the list of words that tell it to stop; see
    /// [`Ask`](crate::halt::Ask).
    fn ask(&self, _: &mut Store<Guest>, _: &Instance) -> Result<Option<u32>> {
        Ok(None)
    }

    /// Runs a program that leaves its state in the instance for the next one. After an error the instance is lost.
    fn cell(&self, store: &mut Store<Guest>, instance: &Instance, cell: &Cell<'_>) -> Result<i32> {
        self.run(store, instance, cell.job)
    }
}

/// A program for an instance that has run others.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) job: &'a Job,
    /// What it is called where it has to be called something.
    pub(crate) name: String,
    /// Whether other packages are there than in the cell before.
    pub(crate) packages: Packages,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packages {
    Same,
    Changed,
}

/// When a runtime is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Before the snapshot, which all runs begin with.
    Once,
    /// By every run.
    EachTime,
}

/// The runtime that is a caller's own program, compiled.
pub(crate) const PROGRAM: &str = "program";

/// The driver of a runtime.
pub(crate) fn driver_for(runtime: &str) -> Option<Box<dyn Driver>> {
    match runtime {
        "python" | "numpy" | "php" | "lua" | "sql" => Some(Box::new(Reactor)),
        "javascript" => Some(Box::<crate::javascript::QuickJs>::default()),
        "ruby" => Some(Box::new(crate::ruby::Ruby)),
        "clang" | PROGRAM => Some(Box::new(crate::command::Command)),
        _ => None,
    }
}

/// A runtime of our own build, which speaks the interface that `runtimes/README.md` describes.
#[derive(Debug)]
struct Reactor;

/// The program's circumstances, as a reactor reads them.
#[derive(Serialize)]
struct Circumstances<'a> {
    file: &'a str,
    args: &'a [String],
    env: BTreeMap<&'a str, &'a str>,
    variables: BTreeMap<&'a str, &'a RawValue>,
    /// Of a cell: whether it has standard input, and whether packages have changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stdin: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imports: bool,
}

impl<'a> Circumstances<'a> {
    fn of(job: &'a Job) -> Result<Self> {
        let variables = job.variables.iter();
        Ok(Self {
            file: &job.file,
            args: &job.args,
            env: job.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            variables: variables
                .map(|(name, json)| Ok((name.as_str(), serde_json::from_str(json)?)))
                .collect::<Result<_>>()?,
            stdin: !job.stdin.is_empty(),
            imports: false,
        })
    }
}

/// What a reactor that runs cells exports beside the rest.
const CELL: &str = "belljar_cell";

impl Driver for Reactor {
    fn link(&self, linker: &mut Linker<Guest>) -> Result<()> {
        linker.func_wrap("belljar", "report", report)?;
        Ok(())
    }

    fn initialize(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<()> {
        instance.get_typed_func::<(), ()>(&mut *store, "belljar_initialize")?.call(store, ())
    }

    fn run(&self, store: &mut Store<Guest>, instance: &Instance, job: &Job) -> Result<i32> {
        call(store, instance, "belljar_run", &job.code, &Circumstances::of(job)?)
    }

    fn cells(&self, module: &Module) -> Option<Manner> {
        module.get_export(CELL).map(|_| Manner::Asked)
    }

    fn cell(&self, store: &mut Store<Guest>, instance: &Instance, cell: &Cell<'_>) -> Result<i32> {
        let imports = cell.packages == Packages::Changed;
        let circumstances = Circumstances { file: &cell.name, imports, ..Circumstances::of(cell.job)? };
        call(store, instance, CELL, &cell.job.code, &circumstances)
    }

    fn ask(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<Option<u32>> {
        let list = instance.get_typed_func::<(), u32>(&mut *store, "belljar_interrupt")?;
        list.call(store, ()).map(Some)
    }
}

fn call(
    store: &mut Store<Guest>,
    instance: &Instance,
    function: &str,
    code: &[u8],
    circumstances: &Circumstances<'_>,
) -> Result<i32> {
    let circumstances = serde_json::to_vec(circumstances)?;
    let (code, code_length) = put(store, instance, code)?;
    let (circumstances, length) = put(store, instance, &circumstances)?;
    let run = instance.get_typed_func::<(u32, u32, u32, u32), i32>(&mut *store, function)?;
    run.call(store, (code, code_length, circumstances, length))
}

/// Names and values as a JSON object.
pub(crate) fn as_map<S: serde::Serializer>(pairs: &&[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Copies bytes into memory that the guest allocates for them, with a NUL behind them for C.
fn put(store: &mut Store<Guest>, instance: &Instance, bytes: &[u8]) -> Result<(u32, u32)> {
    let length = u32::try_from(bytes.len())?;
    let allocate = instance.get_typed_func::<u32, u32>(&mut *store, "belljar_allocate")?;
    let pointer = allocate.call(&mut *store, length + 1)?;
    let memory = Guest::memory(store)?;
    let start = pointer as usize;
    let target = memory.data_mut(&mut *store).get_mut(start..start + bytes.len() + 1);
    // A guest that is out of memory answers with a null pointer, and something else lives at that address.
    let target = target.filter(|_| pointer != 0).ok_or_else(|| wasmtime::Error::msg("no memory for the program"))?;
    if let Some((end, body)) = target.split_last_mut() {
        body.copy_from_slice(bytes);
        *end = 0;
    }
    Ok((pointer, length))
}

/// The most that is read of anything that a guest reports. Less than that is passed on.
const MAX_REPORT: usize = 1 << 20;
/// The same for something that it shows, which is in JSON here.
const MAX_SHOWN: usize = Display::MAX_SIZE / 3 * 4 + (64 << 10);

/// The reactor's own import: what it has to say beside its output.
fn report(mut caller: Caller<'_, Guest>, kind: u32, pointer: u32, length: u32) -> Result<()> {
    const VALUE_JSON: u32 = 0;
    const VALUE_PRINTED: u32 = 1;
    const ERROR: u32 = 2;
    const UNSUPPORTED: u32 = 3;
    const DISPLAY: u32 = 4;
    let (memory, guest) = Guest::split(&mut caller)?;
    let start = pointer as usize;
    let length = (length as usize).min(if kind == DISPLAY { MAX_SHOWN } else { MAX_REPORT });
    let bytes = start.checked_add(length).and_then(|end| memory.get(start..end));
    let Some(bytes) = bytes else { return Err(wasmtime::Error::msg("a report outside memory")) };
    if kind == DISPLAY {
        guest.report.show(bytes);
        return Ok(());
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    let report = &mut guest.report;
    match kind {
        VALUE_JSON => report.value_json = Some(text),
        VALUE_PRINTED => report.value_printed = Some(text),
        // One that cannot be read says nothing.
        ERROR => report.error = serde_json::from_str::<ReportedError>(&text).ok(),
        UNSUPPORTED => report.unsupported = Some(text),
        _ => {}
    }
    report.bound();
    Ok(())
}

impl Report {
    /// Takes something that a driver shows, as JSON, if it can be read and there is room.
    fn show(&mut self, json: &[u8]) {
        #[derive(Deserialize)]
        struct Given {
            mime: String,
            #[serde(default)]
            text: Option<String>,
            #[serde(default)]
            base64: Option<String>,
        }
        let Ok(given) = serde_json::from_slice::<Given>(json) else { return };
        let data = match (given.text, given.base64) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(encoded)) => match BASE64.decode(encoded) {
                Ok(data) => data,
                Err(_) => return,
            },
            (None, None) => return,
        };
        let total: usize = self.displays.iter().map(|shown| shown.data.len()).sum();
        if given.mime.len() > Shown::MAX_MIME {
            return;
        }
        // One more than there may be, so that the server can say so.
        if self.displays.len() <= Display::MAX_COUNT && total + data.len() <= Display::MAX_TOTAL {
            self.displays.push(Shown { mime: given.mime, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_a_short_name() {
        let mut report = Report::default();
        report.show(format!(r#"{{"mime":"{}","text":"x"}}"#, "m".repeat(11 << 20)).as_bytes());
        report.show(br#"{"mime":"text/plain","text":"x"}"#);
        assert_eq!(report.displays, [Shown { mime: "text/plain".to_owned(), data: b"x".to_vec() }]);
    }
}
