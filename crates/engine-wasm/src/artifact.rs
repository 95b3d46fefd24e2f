//! The file that `setup` makes of a snapshot and a worker loads: compiled code, followed by the image of its memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use wasmparser::{DataKind, Operator, Parser, Payload, Validator, WasmFeatures};
use wasmtime::{Error, Result};

use crate::driver::Start;

/// The page size that the image is aligned to: at least the machine's.
const PAGE: usize = 64 << 10;

/// What the footer begins with. It changes with every format.
pub(crate) const MAGIC: &[u8; 8] = b"belljar5";

/// The length of the footer: the magic, and four numbers.
const FOOTER: usize = MAGIC.len() + 4 * 8;

/// The prefix of the names under which [`take_apart`] exports a module's globals.
pub(crate) const GLOBAL: &str = "belljar:global/";

/// Where the image is in an artifact's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImagePlace {
    pub(crate) offset: u64,
    pub(crate) length: usize,
    /// Its address in the guest's memory. Everything below it is zero: the stack, in modules that place it first.
    pub(crate) address: usize,
}

/// How much of an instance its code can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutable {
    /// Its memory and its exported globals: with those put back, the instance is as good as new.
    MemoryAndGlobals,
    /// More than that, or nobody has looked.
    Anything,
}

/// Whether a module's code can change nothing of an instance but its memory and its globals. Everything else that
/// WebAssembly 2 code can change is listed here; a module that needs a later version (to throw exceptions, say) is not
/// examined and counts as [`Mutable::Anything`].
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the standard's other instructions change neither tables nor segments"
)]
pub(crate) fn mutable(wasm: &[u8]) -> Result<Mutable> {
    if Validator::new_with_features(WasmFeatures::WASM2).validate_all(wasm).is_err() {
        return Ok(Mutable::Anything);
    }
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CodeSectionEntry(body) = payload? else { continue };
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::TableSet { .. }
                | Operator::TableGrow { .. }
                | Operator::TableFill { .. }
                | Operator::TableCopy { .. }
                | Operator::TableInit { .. }
                | Operator::ElemDrop { .. }
                | Operator::MemoryInit { .. }
                | Operator::DataDrop { .. } => return Ok(Mutable::Anything),
                _ => {}
            }
        }
    }
    Ok(Mutable::MemoryAndGlobals)
}

/// Takes a snapshot apart: into the module, without data and with its globals exported, and the memory that the data
/// would fill.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other sections are copied as they are, whatever they are")]
pub(crate) fn take_apart(wasm: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut module = wasm.get(..8).ok_or_else(|| Error::msg("no module"))?.to_vec();
    let mut image = Vec::new();
    let (mut globals, mut variables) = (0, Vec::new());
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        match &payload {
            Payload::ImportSection(imports) => {
                for import in imports.clone().into_imports() {
                    globals += u32::from(matches!(import?.ty, wasmparser::TypeRef::Global(_)));
                }
                copy_section(&mut module, wasm, &payload);
            }
            Payload::GlobalSection(section) => {
                for (index, global) in (globals..).zip(section.clone()) {
                    if global?.ty.mutable {
                        variables.push(index);
                    }
                }
                copy_section(&mut module, wasm, &payload);
            }
            Payload::ExportSection(exports) => {
                // The count in front of them may be encoded in more bytes than it needs.
                let first = exports.clone().into_iter_with_offsets().next().transpose()?.map(|(offset, _)| offset);
                let entries = first.and_then(|first| wasm.get(first..exports.range().end)).unwrap_or_default();
                put_exports(&mut module, entries, exports.count(), &variables);
            }
            Payload::DataSection(segments) => {
                for segment in segments.clone() {
                    let segment = segment?;
                    let offset_expr = match segment.kind {
                        DataKind::Active { memory_index: 0, offset_expr } => offset_expr,
                        // What the snapshotter leaves of the module's own segments.
                        DataKind::Passive if segment.data.is_empty() => continue,
                        DataKind::Passive | DataKind::Active { .. } => {
                            return Err(Error::msg("data that is not simply there at the start"));
                        }
                    };
                    let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
                        return Err(Error::msg("data at a place that is computed"));
                    };
                    let start = usize::try_from(value.cast_unsigned())?;
                    let end = start + segment.data.len();
                    if image.len() < end {
                        image.resize(end.next_multiple_of(PAGE), 0);
                    }
                    if let Some(target) = image.get_mut(start..end) {
                        target.copy_from_slice(segment.data);
                    }
                }
            }
            Payload::DataCountSection { .. } => {}
            other => copy_section(&mut module, wasm, other),
        }
    }
    Ok((module, image))
}

fn copy_section(module: &mut Vec<u8>, wasm: &[u8], payload: &Payload<'_>) {
    if let Some((id, range)) = payload.as_section() {
        put_section(module, id, wasm.get(range).unwrap_or_default());
    }
}

fn put_section(module: &mut Vec<u8>, id: u8, contents: &[u8]) {
    module.push(id);
    put_length(module, contents.len());
    module.extend_from_slice(contents);
}

/// Writes the export section: these `count` entries, followed by the globals.
fn put_exports(module: &mut Vec<u8>, entries: &[u8], count: u32, variables: &[u32]) {
    const EXPORTS: u8 = 7;
    const GLOBAL_KIND: u8 = 3;
    let mut contents = Vec::new();
    put_length(&mut contents, count as usize + variables.len());
    contents.extend_from_slice(entries);
    for index in variables {
        let name = format!("{GLOBAL}{index}");
        put_length(&mut contents, name.len());
        contents.extend_from_slice(name.as_bytes());
        contents.push(GLOBAL_KIND);
        put_length(&mut contents, *index as usize);
    }
    put_section(module, EXPORTS, &contents);
}

/// LEB128, as WebAssembly has it.
fn put_length(bytes: &mut Vec<u8>, mut length: usize) {
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or(0);
        length >>= 7;
        if length == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Joins both into one file. A command's memory begins with an empty stack, so those pages need not be stored.
pub(crate) fn join(mut code: Vec<u8>, image: &[u8], start: Start, mutable: Mutable) -> Vec<u8> {
    code.resize(code.len().next_multiple_of(PAGE), 0);
    let offset = code.len() as u64;
    let zeros = match start {
        Start::Once => 0,
        Start::EachTime => image.chunks(PAGE).take_while(|page| page.iter().all(|byte| *byte == 0)).count(),
    };
    let image = image.get(zeros * PAGE..).unwrap_or_default();
    code.extend_from_slice(image);
    code.extend_from_slice(MAGIC);
    let mutable = match mutable {
        Mutable::Anything => 0,
        Mutable::MemoryAndGlobals => 1,
    };
    for number in [offset, image.len() as u64, (zeros * PAGE) as u64, mutable] {
        code.extend_from_slice(&number.to_le_bytes());
    }
    code
}

/// Finds the image, and what was found out about the code.
pub(crate) fn find_image(file: &File) -> io::Result<(ImagePlace, Mutable)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "not what `belljar setup` makes");
    let size = file.metadata()?.len();
    let mut footer = [0; FOOTER];
    file.read_exact_at(&mut footer, size.checked_sub(FOOTER as u64).ok_or_else(invalid)?)?;
    let (magic, numbers) = footer.split_at(MAGIC.len());
    let number =
        |index: usize| numbers.as_chunks::<8>().0.get(index).copied().map(u64::from_le_bytes).ok_or_else(invalid);
    let (offset, length, address) = (number(0)?, number(1)?, number(2)?);
    let fits = offset.checked_add(length).and_then(|end| end.checked_add(FOOTER as u64)) == Some(size);
    let aligned = [offset, length, address].iter().all(|number| number % PAGE as u64 == 0);
    // Within 4 GiB: no more than that is reserved for a memory, whatever the file says.
    let within = address.checked_add(length).is_some_and(|end| end <= 4 << 30);
    if magic != MAGIC || !fits || !aligned || !within {
        return Err(invalid());
    }
    let mutable = match number(3)? {
        0 => Mutable::Anything,
        1 => Mutable::MemoryAndGlobals,
        _ => return Err(invalid()),
    };
    let number = |number: u64| usize::try_from(number).map_err(|_| invalid());
    Ok((ImagePlace { offset, length: number(length)?, address: number(address)? }, mutable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_joined() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("artifact");
        let mut image = vec![0; 5 * PAGE];
        image[3 * PAGE..].fill(9);
        let joined = join(vec![7; 100], &image, Start::EachTime, Mutable::Anything);
        std::fs::write(&path, &joined).expect("write");
        let file = File::open(&path).expect("open");
        let place = ImagePlace { offset: PAGE as u64, length: 2 * PAGE, address: 3 * PAGE };
        assert_eq!(find_image(&file).expect("found"), (place, Mutable::Anything));
        let whole = join(vec![7; 100], &image, Start::Once, Mutable::MemoryAndGlobals);
        std::fs::write(folder.path().join("whole"), whole).expect("write");
        let whole = find_image(&File::open(folder.path().join("whole")).expect("open")).expect("found");
        let place = ImagePlace { offset: PAGE as u64, length: 5 * PAGE, address: 0 };
        assert_eq!(whole, (place, Mutable::MemoryAndGlobals));
        for address in [4 << 30, (4 << 30) - PAGE as u64, u64::MAX - PAGE as u64 + 1] {
            let mut beyond = joined.clone();
            let place = beyond.len() - 2 * 8;
            beyond[place..place + 8].copy_from_slice(&address.to_le_bytes());
            std::fs::write(&path, &beyond).expect("write");
            assert!(find_image(&File::open(&path).expect("open")).is_err(), "{address:#x}");
        }
        for cut in [0, 5, FOOTER, joined.len() / 2, joined.len() - 1] {
            std::fs::write(&path, &joined[..cut]).expect("write");
            assert!(find_image(&File::open(&path).expect("open")).is_err(), "{cut}");
        }
    }

    #[test]
    fn data_becomes_the_image() {
        // (module (memory (export "memory") 2) (data (i32.const 65530) "abcdefgh") (data (i32.const 3) "x"))
        let wasm = [
            b"\0asm\x01\0\0\0".as_slice(),
            b"\x05\x03\x01\0\x02",
            b"\x07\x0a\x01\x06memory\x02\0",
            b"\x0b\x16\x02\0\x41\xfa\xff\x03\x0b\x08abcdefgh\0\x41\x03\x0b\x01x",
        ]
        .concat();
        let (module, image) = take_apart(&wasm).expect("a module");
        assert_eq!(image.len(), 2 * PAGE);
        assert_eq!(&image[65530..65538], b"abcdefgh");
        assert_eq!(image[3], b'x');
        assert!(!module.windows(8).any(|window| window == b"abcdefgh"));
        assert!(module.windows(6).any(|window| window == b"memory"));
    }

    #[test]
    fn variables_are_exported_beside_the_rest() {
        // (module (memory (export "memory") 1) (global i32 (i32.const 1)) (global (mut i32) (i32.const 2))), with a count that is longer than it need be.
        let wasm = [
            b"\0asm\x01\0\0\0".as_slice(),
            b"\x05\x03\x01\0\x01",
            b"\x06\x0b\x02\x7f\0\x41\x01\x0b\x7f\x01\x41\x02\x0b",
            b"\x07\x0b\x81\0\x06memory\x02\0",
        ]
        .concat();
        let (module, _) = take_apart(&wasm).expect("a module");
        Validator::new().validate_all(&module).expect("a valid module");
        let exports = Parser::new(0).parse_all(&module).find_map(|payload| {
            let Payload::ExportSection(exports) = payload.expect("a section") else { return None };
            Some(exports)
        });
        let exports = exports.expect("exports").into_iter().map(|export| export.expect("an export"));
        let names: Vec<(&str, u32)> = exports.map(|export| (export.name, export.index)).collect();
        assert_eq!(names, [("memory", 0), (&*format!("{GLOBAL}1"), 1)]);
    }

    #[test]
    fn code_that_changes_a_table_is_found() {
        // (module (table 1 funcref) (func CODE))
        let module = |code: &[u8]| {
            let size = u8::try_from(code.len() + 2).expect("short");
            let head = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x04\x04\x01\x70\0\x01";
            [head, [0x0a, size + 2, 1, size, 0].as_slice(), code, b"\x0b"].concat()
        };
        let found = |code: &[u8]| mutable(&module(code)).expect("a module");
        assert_eq!(found(b""), Mutable::MemoryAndGlobals);
        // i32.const 0, ref.null func, table.set 0
        assert_eq!(found(b"\x41\0\xd0\x70\x26\0"), Mutable::Anything);
        // ref.null func, i32.const 1, table.grow 0, drop
        assert_eq!(found(b"\xd0\x70\x41\x01\xfc\x0f\0\x1a"), Mutable::Anything);
        // A tail call, which is not of the standard's second version.
        assert_eq!(found(b"\x12\0"), Mutable::Anything);
    }
}
