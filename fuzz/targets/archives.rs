//! Any file as an export of runtimes: taken whole or not at all, and nothing is written but what it holds.
#![no_main]

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use setup::{Cancel, Config, Finish, FinishError, Recipes, Runtime, Scratch, Setup};
use tar::{Archive, Builder, EntryType, Header};

#[derive(Debug, Arbitrary)]
enum Input<'a> {
    /// The file as it is.
    File(&'a [u8]),
    /// What is in it before it is compressed.
    Unpacked(&'a [u8]),
    /// Members that are like those of a good one.
    Members { members: Vec<Member<'a>>, cut: Option<u16> },
}

#[derive(Debug, Arbitrary)]
struct Member<'a> {
    name: Name<'a>,
    kind: Kind,
    contents: Contents<'a>,
    /// Another than it has.
    size: Option<u64>,
}

#[derive(Debug, Arbitrary)]
enum Name<'a> {
    Of(u8),
    Any(&'a [u8]),
}

#[derive(Debug, Arbitrary)]
enum Kind {
    Plain,
    Any(u8),
}

#[derive(Debug, Arbitrary)]
enum Contents<'a> {
    Of(u8),
    Changed { of: u8, at: u16, to: &'a [u8] },
    Any(&'a [u8]),
}

fuzz_target!(|input: Input<'_>| {
    let world = &*WORLD;
    let file = world.folder.path().join("import.tar.gz");
    match input {
        Input::File(bytes) => fs::write(&file, bytes).unwrap(),
        Input::Unpacked(bytes) => fs::write(&file, compressed(bytes)).unwrap(),
        Input::Members { members, cut } => {
            let mut bytes = compressed(&world.archive(&members));
            bytes.truncate(cut.map_or(usize::MAX, usize::from));
            fs::write(&file, bytes).unwrap();
        }
    }
    let imported = world.setup.import(&file, &Cancel::default(), &mut |_| {});
    let root = world.folder.path().join("cache");
    match imported {
        Ok(summary) => {
            assert!(summary.is_complete());
            for (runtime, _) in &summary.outcomes {
                let installed = world.setup.installed(runtime).expect("installed");
                assert_eq!(fs::read(installed.snapshot).unwrap(), SNAPSHOT);
                assert_eq!(fs::read(installed.pack.unwrap()).unwrap(), PACK);
            }
            fs::remove_dir_all(&root).unwrap();
        }
        Err(_) => {
            for place in ["runtimes", "modules", "tmp"] {
                let left = fs::read_dir(root.join(place)).map_or(0, Iterator::count);
                assert_eq!(left, 0, "something is left in `{place}`");
            }
        }
    }
    let mut names: Vec<_> =
        fs::read_dir(world.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name != "cache");
    names.sort();
    assert_eq!(names, ["import.tar.gz", "recipes"]);
});

const SNAPSHOT: &[u8] = b"a snapshot";
const PACK: &[u8] = b"a pack";

/// Recipes that cost nothing, and an export that was made from them.
struct World {
    folder: tempfile::TempDir,
    setup: Setup,
    good: Vec<(Vec<u8>, Vec<u8>)>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = tempfile::Builder::new().prefix("fuzz-archives").tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let recipe =
        "mkdir \"$BELLJAR_OUT/tree\"\necho x >\"$BELLJAR_OUT/reactor.wasm\"\necho version=1 >\"$BELLJAR_OUT/facts\"\n";
    for runtime in setup::CATALOGUE {
        let recipes = path.join("recipes").join(runtime.name);
        fs::create_dir_all(&recipes).unwrap();
        fs::write(recipes.join("build.sh"), recipe).unwrap();
    }
    let config = Config {
        root: path.join("cache"),
        recipes: Recipes::read(&path.join("recipes")).unwrap(),
        environment: std::env::vars_os().collect(),
        scratch: Scratch::Clear,
    };
    let setup = Setup::new(config, Box::new(Copies));
    let export = path.join("export.tar.gz");
    let runtimes = setup::select(&["javascript", "lua"]).unwrap();
    assert!(setup.provision(&runtimes, &Cancel::default(), &mut |_| {}).is_complete());
    setup.export(&runtimes, &export).unwrap();
    let good = members_of(&export);
    fs::remove_dir_all(path.join("cache")).unwrap();
    fs::remove_file(export).unwrap();
    World { folder, setup, good }
});

fn members_of(export: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut archive = Archive::new(GzDecoder::new(File::open(export).unwrap()));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).unwrap();
        (entry.path_bytes().into_owned(), contents)
    });
    entries.collect()
}

impl World {
    fn archive(&self, members: &[Member<'_>]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for member in members {
            let good = |number: u8| &self.good[usize::from(number) % self.good.len()];
            let contents = match &member.contents {
                Contents::Of(number) => good(*number).1.clone(),
                Contents::Changed { of, at, to } => {
                    let mut contents = good(*of).1.clone();
                    let at = usize::from(*at).min(contents.len());
                    contents.splice(at..(at + to.len()).min(contents.len()), to.iter().copied());
                    contents
                }
                Contents::Any(bytes) => bytes.to_vec(),
            };
            let name: &[u8] = match &member.name {
                Name::Of(number) => &good(*number).0,
                Name::Any(bytes) => bytes,
            };
            let mut header = Header::new_gnu();
            let place = &mut header.as_old_mut().name;
            place.iter_mut().zip(name).for_each(|(place, byte)| *place = *byte);
            header.set_entry_type(match member.kind {
                Kind::Plain => EntryType::Regular,
                Kind::Any(byte) => EntryType::new(byte),
            });
            header.set_size(member.size.unwrap_or(contents.len() as u64));
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, contents.as_slice()).unwrap();
        }
        builder.into_inner().unwrap()
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

/// Makes the same of everything.
struct Copies;

impl Finish for Copies {
    fn snapshot_key(&self) -> String {
        "snapshot".to_owned()
    }

    fn machine_key(&self) -> String {
        "machine".to_owned()
    }

    fn snapshot(&self, _: &Runtime, _: &Path, into: &Path, _: &mut dyn FnMut(&str)) -> Result<(), FinishError> {
        fs::write(into.join(setup::SNAPSHOT), SNAPSHOT)?;
        Ok(fs::write(into.join(setup::PACK), PACK)?)
    }

    fn compile(&self, _: &Runtime, from: &Path, to: &Path, _: &mut dyn FnMut(&str)) -> Result<(), FinishError> {
        fs::copy(from, to)?;
        Ok(())
    }
}
