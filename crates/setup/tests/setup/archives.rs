//! Exported files: there and back, and what is not taken in.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use setup::{Cancel, How, NotUsable, Summary};
use tar::{Builder, EntryType, Header};

use crate::world::{Fault, World, named, names_in, outcomes};

/// A world with an export of these runtimes in it, and nothing provisioned at `elsewhere`.
fn exported(names: &[&str]) -> (World, PathBuf) {
    let world = World::new();
    world.provision(names);
    let file = world.path("export.tar.gz");
    let runtimes = setup::select(names).expect("names");
    let exported = world.setup().export(&runtimes, &file).expect("export");
    assert_eq!(exported.runtimes.len(), runtimes.len());
    assert_eq!(exported.size.get(), fs::metadata(&file).expect("metadata").len());
    (world, file)
}

/// Imports on another machine.
fn import(world: &World, file: &Path) -> Result<Summary, String> {
    let summary = world.setup_in(&world.path("elsewhere")).import(file, &Cancel::default(), &mut |_| {});
    summary.map_err(|error| error.to_string())
}

#[test]
fn what_is_exported_is_imported_without_building() {
    let (world, file) = exported(&["javascript", "numpy"]);
    world.finish.set_keys("", "another cpu");
    let summary = import(&world, &file).expect("import");
    assert_eq!(outcomes(&summary), [("javascript", Ok(How::Imported)), ("numpy", Ok(How::Imported))]);
    for name in ["javascript", "numpy"] {
        let there = world.setup_in(&world.path("elsewhere")).installed(named(name)).expect("installed");
        let module = fs::read_to_string(&there.module).expect("read");
        assert_eq!(module, format!("for another cpu snapshot of reactor of {name}\n"));
        assert_eq!(there.version(), "1.2.3");
        assert_eq!(world.runs(name), 1);
    }
    let python = world.setup_in(&world.path("elsewhere")).installed(named("python"));
    assert!(matches!(python, Err(NotUsable::NotProvisioned)), "not in the file");
    assert_eq!(names_in(&world.path("elsewhere/tmp")), [""; 0]);

    // And from there to a third one, the same file.
    let again = world.path("again.tar.gz");
    let runtimes = [named("javascript"), named("numpy")];
    world.setup_in(&world.path("elsewhere")).export(&runtimes, &again).expect("export");
    assert_eq!(fs::read(&file).expect("read"), fs::read(&again).expect("read"));
}

#[test]
fn all_that_is_set_up_can_be_exported_without_the_rest() {
    let names = |world: &World| world.setup().exportable().iter().map(|runtime| runtime.name).collect::<Vec<_>>();
    let world = World::new();
    assert_eq!(names(&world), [""; 0]);
    world.provision(&["javascript", "lua"]);
    assert_eq!(names(&world), ["javascript", "lua"]);
    let file = world.path("export.tar.gz");
    world.setup().export(&world.setup().exportable(), &file).expect("export");
    let imported = import(&world, &file).expect("import");
    assert_eq!(outcomes(&imported), [("javascript", Ok(How::Imported)), ("lua", Ok(How::Imported))]);
    // What is damaged is not left out without a word.
    let installed = world.installed("lua").expect("installed");
    fs::write(&installed.module, "short").expect("write");
    assert_eq!(names(&world), ["javascript", "lua"]);
}

#[test]
fn an_import_replaces_and_repeats() {
    let (world, file) = exported(&["javascript"]);
    for _ in 0..2 {
        assert!(import(&world, &file).expect("import").is_complete());
    }
    let made = world.finish.made();
    let summary = world.setup().import(&file, &Cancel::default(), &mut |_| {}).expect("import");
    assert_eq!(outcomes(&summary), [("javascript", Ok(How::Imported))]);
    assert_eq!(world.finish.made(), made, "what is compiled is not compiled again");
    world.assert_usable("javascript");
}

#[test]
fn an_export_is_there_whole_or_not_at_all() {
    let world = World::new();
    world.provision(&["javascript"]);
    let file = world.path("export.tar.gz");
    fs::write(&file, "what was there").expect("write");
    let error = world.setup().export(&[named("javascript"), named("python")], &file).expect_err("not provisioned");
    assert_eq!(error.to_string(), "`python` cannot be exported");
    let installed = world.installed("javascript").expect("installed");
    fs::write(&installed.snapshot, "snapshot of reactor of javascripT\n").expect("write");
    world.setup().export(&[named("javascript")], &file).expect_err("damaged");
    assert_eq!(fs::read_to_string(&file).expect("read"), "what was there");
    assert_eq!(names_in(&world.path("")), ["cache", "export.tar.gz", "recipes", "runs-javascript"]);
}

#[test]
fn an_import_that_cannot_be_compiled_leaves_what_was_there() {
    let (world, file) = exported(&["javascript"]);
    // The same recipe, another result: what an older export of this machine's may hold.
    let elsewhere = world.setup_in(&world.path("elsewhere"));
    world.recipe_result("javascript", "another reactor");
    elsewhere.provision(&[named("javascript")], &Cancel::default(), &mut |_| {});
    let snapshot = || {
        let installed = elsewhere.installed(named("javascript")).expect("installed");
        fs::read_to_string(installed.snapshot).expect("read")
    };
    assert_eq!(snapshot(), "snapshot of another reactor\n");

    world.finish.fault(Some(Fault::CompileError));
    let summary = import(&world, &file).expect("a good file");
    assert!(!summary.is_complete());
    assert_eq!(snapshot(), "snapshot of another reactor\n");

    world.finish.fault(None);
    assert!(import(&world, &file).expect("import").is_complete());
    assert_eq!(snapshot(), "snapshot of reactor of javascript\n");
    let names = names_in(&world.path("elsewhere/runtimes/javascript"));
    assert_eq!(names.len(), 3, "what it replaced is gone: {names:?}");
}

#[test]
fn a_runtime_of_other_recipes_is_refused() {
    let (world, file) = exported(&["javascript"]);
    let here = env!("CARGO_PKG_VERSION");
    let refused =
        format!("its `javascript` was made by belljar {here} and does not fit belljar {here}: their recipes differ");
    world.finish.set_keys("another protocol", "");
    assert_eq!(import(&world, &file).expect_err("refused"), refused);
    world.finish.set_keys("", "");
    world.recipe_file("javascript/driver.js", "changed");
    assert_eq!(import(&world, &file).expect_err("refused"), refused);
    assert_nothing_imported(&world);
}

#[test]
fn every_cut_of_an_export_is_refused() {
    let (world, file) = exported(&["javascript"]);
    let whole = fs::read(&file).expect("read");
    let cut = world.path("cut");
    for length in 0..whole.len() {
        fs::write(&cut, &whole[..length]).expect("write");
        assert!(import(&world, &cut).is_err(), "{length} of {}", whole.len());
    }
    assert_nothing_imported(&world);
}

#[test]
fn every_flipped_bit_of_an_export_is_refused_or_harmless() {
    let (world, file) = exported(&["javascript"]);
    let whole = fs::read(&file).expect("read");
    let contents = unzipped(&file);
    let flipped = world.path("flipped");
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        fs::write(&flipped, bytes).expect("write");
        let result = import(&world, &flipped);
        // gzip has bits that mean nothing: the time in its header, the padding after its last one.
        assert!(result.is_err() || unzipped(&flipped) == contents, "{place} of {}", whole.len());
    }
}

/// An archive that is one step off a good one.
struct Forgery {
    members: Vec<(Header, Vec<u8>)>,
}

impl Forgery {
    fn of(file: &Path) -> Self {
        let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(file).expect("open")));
        let mut members = Vec::new();
        for entry in archive.entries().expect("entries") {
            let mut entry = entry.expect("entry");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("read");
            members.push((entry.header().clone(), bytes));
        }
        Self { members }
    }

    fn add(&mut self, place: usize, name: &str, kind: EntryType, bytes: &[u8]) {
        let mut header = Header::new_gnu();
        // Past the library, which would refuse what we want.
        let field = &mut header.as_old_mut().name;
        field[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.as_old_mut().linkname[..11].copy_from_slice(b"/etc/passwd");
        header.set_cksum();
        self.members.insert(place, (header, bytes.to_owned()));
    }

    fn edit(&mut self, place: usize, change: impl FnOnce(&mut String)) {
        let (header, bytes) = &mut self.members[place];
        let mut text = String::from_utf8(bytes.clone()).expect("UTF-8");
        change(&mut text);
        *bytes = text.into_bytes();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
    }

    fn write(self, to: &Path) {
        let mut archive = Builder::new(GzEncoder::new(fs::File::create(to).expect("create"), Compression::fast()));
        for (header, bytes) in self.members {
            archive.append(&header, bytes.as_slice()).expect("append");
        }
        archive.into_inner().expect("archive").finish().expect("gzip");
    }
}

/// Members of an export of `javascript`, in order.
const MANIFEST: usize = 0;
const SNAPSHOT: usize = 1;
const PACK: usize = 2;

type Change = fn(&mut Forgery);

/// What is done to a good export, and what is said about it.
const HOSTILE: &[(Change, &str)] = &[
    (
        |f| f.add(3, "../../outside", EntryType::Regular, b"x"),
        "it holds `../../outside`, which has no place in an export",
    ),
    (
        |f| f.add(0, "/etc/outside", EntryType::Regular, b"x"),
        "it holds `/etc/outside`, which has no place in an export",
    ),
    (
        |f| f.add(3, "javascript/../x", EntryType::Regular, b""),
        "it holds `javascript/../x`, which has no place in an export",
    ),
    (
        |f| f.add(3, "javascript/x", EntryType::Regular, b"x"),
        "it holds `javascript/x`, which has no place in an export",
    ),
    (|f| f.add(3, "a\x1b[2Jb", EntryType::Regular, b"x"), "it holds `a[2Jb`, which has no place in an export"),
    (|f| f.add(3, "javascript", EntryType::Directory, b""), "it holds `javascript`, which is not a plain file"),
    (
        |f| f.add(0, "javascript/snapshot.wasm", EntryType::Symlink, b""),
        "it holds `javascript/snapshot.wasm`, which is not a plain file",
    ),
    (
        |f| f.add(3, "javascript/tree.pack", EntryType::Link, b""),
        "it holds `javascript/tree.pack`, which is not a plain file",
    ),
    (
        |f| f.add(0, "javascript/snapshot.wasm", EntryType::GNUSparse, b"x"),
        "it holds `javascript/snapshot.wasm`, which is not a plain file",
    ),
    // Both would make a library that follows them read a name of any length into memory.
    (
        |f| f.add(0, "././@LongLink", EntryType::GNULongName, &[b'a'; 70_000]),
        "it holds `././@LongLink`, which is not a plain file",
    ),
    (|f| f.add(0, "pax", EntryType::XHeader, b"11 path=ab\n"), "it holds `pax`, which is not a plain file"),
    (
        |f| f.add(3, "cobol/manifest.json", EntryType::Regular, b"x"),
        "it holds the runtime `cobol`, which belljar @HERE@ does not know",
    ),
    (
        |f| f.add(0, "javascript/tree.pack", EntryType::Regular, b"x"),
        "it holds `javascript/tree.pack`, which comes before its manifest",
    ),
    (
        |f| f.add(3, "javascript/tree.pack", EntryType::Regular, b"x"),
        "it holds `javascript/tree.pack`, which is there twice, or not in its manifest",
    ),
    (|f| f.members.push(f.members[MANIFEST].clone()), "it holds `javascript/manifest.json`, which is there twice"),
    (|f| drop(f.members.remove(PACK)), "its `javascript/tree.pack` is missing"),
    (|f| drop(f.members.remove(MANIFEST)), "it holds `javascript/snapshot.wasm`, which comes before its manifest"),
    (|f| f.members.clear(), "it is not a whole export of belljar"),
    (
        |f| f.edit(SNAPSHOT, |text| *text = text.replace("reactor", "Reactor")),
        "its `javascript/snapshot.wasm` is damaged: its hash or size is not the manifest's",
    ),
    (
        |f| f.edit(PACK, |text| text.push('x')),
        "its `javascript/tree.pack` is damaged: its hash or size is not the manifest's",
    ),
    (|f| f.edit(MANIFEST, |text| text.push('x')), "its `javascript/manifest.json` is damaged"),
    (
        |f| f.edit(MANIFEST, |text| *text = text.replace("\"javascript\"", "\"python\"")),
        "its `javascript/manifest.json` is damaged",
    ),
    (
        |f| f.edit(MANIFEST, |text| *text = text.replace("1.2.3\"", "\\u001b[2J\"")),
        "its `javascript/manifest.json` is damaged",
    ),
    (
        |f| f.edit(MANIFEST, |text| text.push_str(&" ".repeat(100_000))),
        "it holds `javascript/manifest.json`, which is too large",
    ),
    (
        |f| f.edit(MANIFEST, |text| *text = text.replace("\"bytes\": 34", "\"bytes\": 99999999999")),
        "it holds `javascript/snapshot.wasm`, which is empty or too large",
    ),
    (
        |f| f.edit(MANIFEST, |text| *text = text.replace("\"bytes\": 34", "\"bytes\": 0")),
        "it holds `javascript/snapshot.wasm`, which is empty or too large",
    ),
];

#[test]
fn hostile_archives_are_refused_whole() {
    let (world, file) = exported(&["javascript"]);
    let forged = world.path("forged");
    for (change, refusal) in HOSTILE {
        // The control: taken apart and put together again, it is taken.
        Forgery::of(&file).write(&forged);
        assert!(import(&world, &forged).expect("import").is_complete());
        fs::remove_dir_all(world.path("elsewhere")).expect("remove");

        let mut forgery = Forgery::of(&file);
        change(&mut forgery);
        forgery.write(&forged);
        let error = import(&world, &forged).expect_err(refusal);
        assert_eq!(error, refusal.replace("@HERE@", env!("CARGO_PKG_VERSION")));
        assert_nothing_imported(&world);
    }
    let there = ["cache", "elsewhere", "export.tar.gz", "forged", "recipes", "runs-javascript"];
    assert_eq!(names_in(&world.path("")), there, "and nothing beside it");
}

#[test]
fn a_bomb_behind_the_archive_is_not_unpacked() {
    let (world, file) = exported(&["javascript"]);
    let plain = unzipped(&file);
    let bomb = world.path("bomb");
    let mut gzip = GzEncoder::new(fs::File::create(&bomb).expect("create"), Compression::best());
    gzip.write_all(&plain).expect("write");
    for _ in 0..64 {
        gzip.write_all(&vec![0; 1 << 20]).expect("write");
    }
    gzip.finish().expect("gzip");
    assert_eq!(import(&world, &bomb).expect_err("refused"), "it is not a whole export of belljar");
    assert_nothing_imported(&world);
}

fn unzipped(file: &Path) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(fs::File::open(file).expect("open")).read_to_end(&mut plain).expect("read");
    plain
}

fn assert_nothing_imported(world: &World) {
    let elsewhere = world.path("elsewhere");
    assert_eq!(names_in(&elsewhere.join("runtimes")), [""; 0]);
    assert_eq!(names_in(&elsewhere.join("modules")), [""; 0]);
    assert_eq!(names_in(&elsewhere.join("tmp")), [""; 0]);
}
