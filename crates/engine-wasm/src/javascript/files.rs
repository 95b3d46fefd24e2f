//! The operations on files.

use belljar_wasi::{Errno, FileKind, Stat};
use wasmtime::Result;

use super::engine::{PIECE, Stop};
use super::host::Call;
use super::value::Value;

/// How a file is written; the numbers are the prelude's.
const APPEND: u32 = 1;
const CREATE_NEW: u32 = 2;

pub(super) fn answer(call: &mut Call<'_, '_>, operation: u32) -> Result<Value, Stop> {
    let path = call.text(1)?;
    match operation {
        60 => read(call, &path, 0, u32::MAX, Wanted::Bytes),
        61 => read(call, &path, 0, u32::MAX, Wanted::Text),
        62 => write(call, &path),
        63 => read_at(call, &path),
        64 => write_at(call, &path),
        65 => list(call, &path),
        66 => stat(call, &path),
        67 => done(files(call)?.make_directory(&path)),
        68 => done(files(call)?.remove_directory(&path)),
        69 => done(files(call)?.remove_file(&path)),
        70 => {
            let to = call.text(2)?;
            done(files(call)?.rename(&path, &to))
        }
        71 => {
            let length = call.number(2)?;
            done(files(call)?.truncate(&path, length.into()))
        }
        // Nothing here looks at times, and a program that sets them can do without.
        72 => done(files(call)?.stat(&path).map(drop)),
        73 => {
            let place = call.text(2)?;
            done(files(call)?.symlink(&path, &place))
        }
        74 => {
            let target = files(call)?.read_link(&path).map(str::to_owned);
            or_number(target, |target| call.js.new_text(&target))
        }
        _ => {
            let real = files(call)?.real_path(&path);
            or_number(real, |real| call.js.new_text(&real))
        }
    }
}

fn files<'c>(call: &'c mut Call<'_, '_>) -> Result<belljar_wasi::Files<'c>> {
    Ok(call.js.guest()?.wasi()?.files())
}

fn write(call: &mut Call<'_, '_>, path: &str) -> Result<Value, Stop> {
    let (data, how) = (call.argument(2)?, call.number(3)?);
    let result = call.js.with_bytes(data, |bytes, guest| {
        let mut files = guest.wasi()?.files();
        Ok(match how {
            APPEND => files.append(path, bytes),
            CREATE_NEW if files.link_stat(path).is_ok() => Err(Errno::Exist),
            _ => files.write(path, bytes.to_vec()),
        })
    })?;
    done(result)
}

fn read_at(call: &mut Call<'_, '_>, path: &str) -> Result<Value, Stop> {
    let (position, length) = (call.number(2)?, call.number(3)?);
    read(call, path, position.into(), length, Wanted::Bytes)
}

/// What the bytes of a file become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Bytes,
    Text,
}

/// A part of a file, which is put into the guest's memory piece by piece.
fn read(call: &mut Call<'_, '_>, path: &str, position: u64, length: u32, wanted: Wanted) -> Result<Value, Stop> {
    let first = match files(call)?.read_at(path, position, PIECE.min(length as usize)) {
        Ok(first) => first,
        Err(errno) => return Ok(Value::int(-linux_number(errno))),
    };
    let is_whole = first.len() < PIECE;
    let size = if is_whole {
        first.len() as u64
    } else {
        // A device that gives so much has no size, and never ends.
        files(call)?.stat(path).map_or(0, |stat| match stat.kind {
            FileKind::Device => u64::MAX,
            FileKind::File | FileKind::Directory | FileKind::Symlink => stat.size.saturating_sub(position),
        })
    };
    let size = u32::try_from(size).unwrap_or(u32::MAX).min(length);
    // An allocation of nothing may give no pointer.
    let pointer = call.js.allocate(size.max(1))?;
    let value = match fill(call, (path, position), first, (pointer, size)) {
        Ok(count) => match wanted {
            Wanted::Bytes => call.js.new_bytes_at(pointer, count),
            Wanted::Text => call.js.new_text_at(pointer, count),
        },
        Err(stop) => Err(stop),
    };
    call.js.release(pointer)?;
    value
}

/// Reads on from the first piece. How much there was.
fn fill(
    call: &mut Call<'_, '_>,
    (path, position): (&str, u64),
    first: Vec<u8>,
    (pointer, size): (u32, u32),
) -> Result<u32, Stop> {
    let (mut piece, mut done) = (first, 0_u32);
    loop {
        call.js.write(pointer.saturating_add(done), &piece)?;
        done = done.saturating_add(u32::try_from(piece.len()).map_err(wasmtime::Error::from)?);
        let left = size.saturating_sub(done) as usize;
        if piece.is_empty() || left == 0 {
            return Ok(done);
        }
        call.js.look_up()?;
        piece = files(call)?.read_at(path, position + u64::from(done), PIECE.min(left)).unwrap_or_default();
    }
}

fn write_at(call: &mut Call<'_, '_>, path: &str) -> Result<Value, Stop> {
    let (position, data) = (call.number(2)?, call.argument(3)?);
    let result = call.js.with_bytes(data, |bytes, guest| {
        let mut files = guest.wasi()?.files();
        Ok(files.write_at(path, position.into(), bytes))
    })?;
    done(result)
}

/// The names in a directory, each with a letter before it that says what it is, with NUL between them.
fn list(call: &mut Call<'_, '_>, path: &str) -> Result<Value, Stop> {
    let entries = files(call)?.list(path);
    or_number(entries, |entries| {
        let marked = |(name, kind): (String, FileKind)| {
            let letter = match kind {
                FileKind::Directory => "d",
                FileKind::Symlink => "l",
                FileKind::Device => "c",
                FileKind::File => "f",
            };
            [letter, &name].concat()
        };
        let list: Vec<String> = entries.into_iter().map(marked).collect();
        call.js.new_text(&list.join("\0"))
    })
}

/// Kind, size, number, times and links, as the prelude reads them.
fn stat(call: &mut Call<'_, '_>, path: &str) -> Result<Value, Stop> {
    let follow = call.argument(2)?.is_true();
    let files = files(call)?;
    let found = if follow { files.stat(path) } else { files.link_stat(path) };
    or_number(found, |stat: Stat| {
        let kind = match stat.kind {
            FileKind::File => 0,
            FileKind::Directory => 1,
            FileKind::Symlink => 2,
            FileKind::Device => 3,
        };
        let milliseconds = |nanoseconds: u64| format!("{}.{:06}", nanoseconds / 1_000_000, nanoseconds % 1_000_000);
        let (accessed, modified, changed) =
            (milliseconds(stat.accessed), milliseconds(stat.modified), milliseconds(stat.changed));
        let (size, number, links) = (stat.size, stat.number, stat.links);
        call.js.new_text(&format!("{kind} {size} {number} {accessed} {modified} {changed} {links}"))
    })
}

fn done(result: Result<(), Errno>) -> Result<Value, Stop> {
    or_number(result, |()| Ok(Value::int(0)))
}

/// What an operation gave, or the number of its error.
fn or_number<T>(result: Result<T, Errno>, value: impl FnOnce(T) -> Result<Value, Stop>) -> Result<Value, Stop> {
    match result {
        Ok(given) => value(given),
        Err(errno) => Ok(Value::int(-linux_number(errno))),
    }
}

/// The error as Linux numbers it, and Node with it.
fn linux_number(errno: Errno) -> i32 {
    match errno {
        Errno::Success => 0,
        Errno::Perm => 1,
        Errno::Noent => 2,
        Errno::Io | Errno::Fault | Errno::Ilseq | Errno::Nosys | Errno::Notsock | Errno::Overflow | Errno::Spipe => 5,
        Errno::Badf => 9,
        Errno::Busy => 16,
        Errno::Exist => 17,
        Errno::Xdev => 18,
        Errno::Notdir => 20,
        Errno::Isdir => 21,
        Errno::Inval => 22,
        Errno::Mfile => 24,
        Errno::Nospc => 28,
        Errno::Rofs => 30,
        Errno::Nametoolong => 36,
        Errno::Notempty => 39,
        Errno::Loop => 40,
        Errno::Notsup => 95,
    }
}
