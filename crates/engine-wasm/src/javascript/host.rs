//! What the prelude can ask of the host: the other end of `runtimes/javascript/host.js`, with the same numbers.
//!
//! Every argument is a guest's: texts and arrays are copied out of its memory or looked at there, numbers are checked, and what comes back
//! is a new value in its memory.

use std::time::Duration;

use belljar_wasi::{End, Host as _, OutputStream};
use wasmtime::{Caller, Result};

use super::digest::Hashing;
use super::engine::{Js, Places, Stop};
use super::program::{Kind, Prepared, Role};
use super::value::Value;
use super::{address, digest, files};
use crate::guest::{CellState, Guest};
use crate::protocol::{Report, ReportedError};

/// The most random bytes of one call; more are got by more calls.
const MAX_RANDOM: u32 = 1 << 20;
/// The most of standard input that is handed over at a time.
const MAX_READ: u32 = 1 << 20;

/// Evaluation flags of the engine.
const COMPILE_ONLY: u32 = 1 << 5;
const ASYNC: u32 = 1 << 7;

/// A call: which operation, and where its arguments are.
pub(super) struct Call<'a, 'c> {
    pub(super) js: Js<'a, Caller<'c, Guest>>,
    list: u32,
    count: u32,
}

/// The engine's import: makes the call, and returns where the answer is, or null with an exception set.
pub(super) fn call(caller: &mut Caller<'_, Guest>, places: Places, list: u32, count: u32) -> Result<u32> {
    let mut call = Call { js: Js::new(caller, places), list, count };
    match call.answer() {
        Ok(value) => call.js.hand_over(value),
        Err(Stop::Thrown) => Ok(0),
        Err(Stop::Ended(error)) => Err(error),
    }
}

impl Call<'_, '_> {
    fn answer(&mut self) -> Result<Value, Stop> {
        match self.number(0)? {
            0 => self.write(),
            1 => self.exit(),
            2 => self.read_stdin(),
            3 => self.milliseconds(),
            4 => self.random(),
            20 => self.compile(),
            21 => self.prepare(),
            22 => self.source_map(),
            23 => {
                self.js.run_jobs()?;
                Ok(Value::UNDEFINED)
            }
            operation @ 30..=33 => self.report(operation),
            40 => {
                let promise = self.argument(1)?;
                Ok(Value::int(self.js.promise_state(promise)?))
            }
            41 => {
                let promise = self.argument(1)?;
                Ok(self.js.promise_result(promise)?)
            }
            42 => {
                self.js.call::<(), ()>("qjs_run_gc", ())?;
                Ok(Value::UNDEFINED)
            }
            43 => {
                let (memory, _) = Guest::split(self.js.scope())?;
                Ok(Value::float(bytes_as_number(memory.len())))
            }
            44 => Ok(Value::bool(self.js.guest()?.was_refused_memory().into())),
            45 => {
                self.js.release_reserve()?;
                Ok(Value::UNDEFINED)
            }
            50 => self.decode(),
            51 => self.encode(),
            52 => self.hash(),
            53 => self.hmac(),
            54 => self.parse_url(),
            55 => self.set_url_part(),
            56 => self.convert_domain(),
            57 => {
                let (bytes, mut is_valid) = (self.argument(1)?, true);
                self.js.with_pieces(bytes, |piece| is_valid &= std::str::from_utf8(piece).is_ok())?;
                Ok(Value::bool(is_valid.into()))
            }
            operation @ 60..=75 => files::answer(self, operation),
            operation => Err(Stop::Ended(wasmtime::Error::msg(format!("there is no operation {operation}")))),
        }
    }

    pub(super) fn argument(&mut self, index: u32) -> Result<Value> {
        if index < self.count { self.js.argument(self.list, index) } else { Ok(Value::UNDEFINED) }
    }

    pub(super) fn text(&mut self, index: u32) -> Result<String, Stop> {
        let value = self.argument(index)?;
        self.js.text(value)
    }

    /// An argument that is a count. Anything else becomes the nearest count, or zero.
    pub(super) fn number(&mut self, index: u32) -> Result<u32> {
        Ok(clamp(self.argument(index)?.number()))
    }

    fn write(&mut self) -> Result<Value, Stop> {
        let stream = if self.number(1)? == 2 { OutputStream::Stderr } else { OutputStream::Stdout };
        let data = self.argument(2)?;
        self.js.with_bytes(data, |bytes, guest| {
            guest.wasi()?.host_mut().output(stream, bytes);
            Ok(())
        })?;
        Ok(Value::UNDEFINED)
    }

    fn exit(&mut self) -> Result<Value, Stop> {
        let code = self.number(1)?;
        let guest = self.js.guest()?;
        if guest.cell == CellState::None {
            return Err(Stop::Ended(End::Exit(code).into()));
        }
        // The engine has to stay intact.
        guest.cell = CellState::Exited(code);
        Err(self.js.throw_uncatchable())
    }

    fn read_stdin(&mut self) -> Result<Value, Stop> {
        const STDIN: u32 = 0;
        /// Where the bytes go and how many there were: pointer, length, count.
        const FRAME: u32 = 12;
        let wanted = self.number(1)?.min(MAX_READ);
        let frame = self.js.allocate(FRAME + wanted)?;
        let target = frame + FRAME;
        let vector: Vec<u8> = [target, wanted].iter().flat_map(|word| word.to_le_bytes()).collect();
        self.js.write(frame, &vector)?;
        let (memory, guest) = Guest::split(self.js.scope())?;
        let errno = guest.wasi()?.fd_read(memory, STDIN, frame, 1, frame + 8).map_err(wasmtime::Error::from)?;
        let count = if u32::from(errno) == 0 { u32::from_le_bytes(self.js.read(frame + 8)?) } else { 0 };
        let value = self.js.new_bytes_at(target, count)?;
        self.js.release(frame)?;
        Ok(value)
    }

    fn milliseconds(&mut self) -> Result<Value, Stop> {
        let host = self.js.guest()?.wasi()?.host();
        // The clock starts at one second, since some programs take 0 for "no time".
        let since = Duration::from_nanos(host.monotonic()).saturating_sub(Duration::from_secs(1));
        Ok(Value::float(since.as_secs_f64() * 1e3))
    }

    fn random(&mut self) -> Result<Value, Stop> {
        let count = self.number(1)?;
        let mut bytes = vec![0; count.min(MAX_RANDOM) as usize];
        self.js.guest()?.wasi()?.host_mut().random(&mut bytes);
        self.js.new_bytes(&bytes)
    }

    fn compile(&mut self) -> Result<Value, Stop> {
        /// Two lines, so that the text itself starts on line 1 when the first is -1: the engine takes 0 for "not given".
        const OPENING: &str = "function __module(exports, require, module, __filename, __dirname) {\n\n";
        const CLOSING: &str = "\n})";
        const GLOBAL: u32 = 0;
        let (text, file, kind) = (self.text(1)?, self.text(2)?, self.number(3)?);
        if kind == Kind::Cell as u32 {
            return self.js.evaluate(&[text.as_bytes()], &file, GLOBAL, 1);
        }
        if kind == Kind::AsyncCell as u32 {
            return self.js.evaluate(&[text.as_bytes()], &file, ASYNC, 1);
        }
        let asynchronous = kind == Kind::AsyncScript as u32;
        if kind == Kind::Module as u32 {
            return self.js.evaluate_module(&text, &file);
        }
        if kind == Kind::Broken as u32 {
            let compiled = self.js.evaluate(&[text.as_bytes()], &file, COMPILE_ONLY, 1)?;
            self.js.free(compiled)?;
            return Ok(Value::UNDEFINED);
        }
        let start = if asynchronous { "(async " } else { "(" };
        let parts = [start.as_bytes(), OPENING.as_bytes(), text.as_bytes(), CLOSING.as_bytes()];
        self.js.evaluate(&parts, &file, GLOBAL, -1)
    }

    fn prepare(&mut self) -> Result<Value, Stop> {
        let (text, file) = (self.text(1)?, self.text(2)?);
        let prepared = Prepared::new(&text, &file, Role::Other);
        let kind = match prepared.kind {
            Kind::Module | Kind::AsyncScript => "m",
            Kind::Script | Kind::Broken | Kind::Cell | Kind::AsyncCell => "s",
            Kind::Refused => "e",
        };
        self.js.new_text(&[kind, &*prepared.text].concat())
    }

    fn source_map(&mut self) -> Result<Value, Stop> {
        let (file, role) = (self.text(1)?, if self.argument(2)?.is_true() { Role::Main } else { Role::Other });
        let source = self.js.guest()?.wasi()?.files().read(&file);
        let Ok(source) = source else { return Ok(Value::UNDEFINED) };
        let map = Prepared::new(&String::from_utf8_lossy(&source), &file, role).source_map();
        self.js.new_text(&map)
    }

    fn report(&mut self, operation: u32) -> Result<Value, Stop> {
        if operation == 30 {
            // One more, which says that it is too long.
            let json = self.text_up_to(1, Report::MAX_JSON + 1)?;
            return self.store(|report| report.value_json = Some(json));
        }
        if operation == 31 {
            let printed = self.text_up_to(1, Report::MAX_PRINTED)?;
            return self.store(|report| report.value_printed = Some(printed));
        }
        let words = self.text_up_to(1, Report::MAX_WORDS)?;
        if operation == 33 {
            return self.store(|report| _ = report.unsupported.get_or_insert(words));
        }
        let message = self.text_up_to(2, Report::MAX_WORDS)?;
        let line = Some(self.number(3)?).filter(|line| *line > 0);
        self.store(|report| report.error = Some(ReportedError { kind: words, message, line }))
    }

    fn text_up_to(&mut self, index: u32, most: usize) -> Result<String, Stop> {
        let value = self.argument(index)?;
        self.js.text_up_to(value, most)
    }

    fn store(&mut self, change: impl FnOnce(&mut Report)) -> Result<Value, Stop> {
        let report = &mut self.js.guest()?.report;
        change(report);
        report.bound();
        Ok(Value::UNDEFINED)
    }

    fn decode(&mut self) -> Result<Value, Stop> {
        let bytes = self.argument(1)?;
        self.js.decoded(bytes)
    }

    fn encode(&mut self) -> Result<Value, Stop> {
        let text = self.argument(1)?;
        self.js.encoded(text)
    }

    fn hash(&mut self) -> Result<Value, Stop> {
        let (algorithm, data) = (self.text(1)?, self.argument(2)?);
        let hash = self.hash_of(digest::hash(&algorithm), data)?;
        self.bytes_or_undefined(hash)
    }

    fn hmac(&mut self) -> Result<Value, Stop> {
        let (algorithm, key, data) = (self.text(1)?, self.argument(2)?, self.argument(3)?);
        let short =
            self.js.with_bytes(key, |bytes, _| Ok((bytes.len() <= digest::LONGEST_KEY).then(|| bytes.to_vec())))?;
        let key = match short {
            Some(key) => Some(key),
            None => self.hash_of(digest::hash(&algorithm), key)?,
        };
        let hash = self.hash_of(key.and_then(|key| digest::hmac(&algorithm, &key)), data)?;
        self.bytes_or_undefined(hash)
    }

    fn hash_of(&mut self, hashing: Option<Box<dyn Hashing>>, data: Value) -> Result<Option<Vec<u8>>, Stop> {
        let Some(mut hashing) = hashing else { return Ok(None) };
        self.js.with_pieces(data, |piece| hashing.update(piece))?;
        Ok(Some(hashing.finish()))
    }

    fn bytes_or_undefined(&mut self, bytes: Option<Vec<u8>>) -> Result<Value, Stop> {
        bytes.map_or(Ok(Value::UNDEFINED), |bytes| self.js.new_bytes(&bytes))
    }

    fn parse_url(&mut self) -> Result<Value, Stop> {
        let text = self.text(1)?;
        let base = if self.argument(2)?.is_undefined() { None } else { Some(self.text(2)?) };
        let parts = address::parse(&text, base.as_deref());
        self.text_or_undefined(parts)
    }

    fn set_url_part(&mut self) -> Result<Value, Stop> {
        let (href, part, value) = (self.text(1)?, self.text(2)?, self.text(3)?);
        let parts = address::set(&href, &part, &value);
        self.text_or_undefined(parts)
    }

    fn convert_domain(&mut self) -> Result<Value, Stop> {
        let (form, name) = (self.text(1)?, self.text(2)?);
        let converted = if form == "ascii" { address::to_ascii(&name) } else { address::to_unicode(&name) };
        self.js.new_text(&converted)
    }

    fn text_or_undefined(&mut self, text: Option<String>) -> Result<Value, Stop> {
        text.map_or(Ok(Value::UNDEFINED), |text| self.js.new_text(&text))
    }
}

/// The whole number nearest below, within what 32 bits hold.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` does what is wanted: it clamps, and NaN is 0"
)]
fn clamp(number: f64) -> u32 {
    number as u32
}

/// A size, which is always far below what a number holds exactly.
#[expect(clippy::cast_precision_loss, reason = "32-bit memory")]
fn bytes_as_number(count: usize) -> f64 {
    count as f64
}
