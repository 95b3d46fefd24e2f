use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use setup::{Cancel, Config, Finish, FinishError, Recipes, Runtime, Scratch, Setup};
use tar::{Archive, Builder, EntryType, Header};

use crate::{structured, variant};

#[derive(Debug)]
enum Input<'a> {
    /// The file as it is.
    File(&'a [u8]),
    /// What is in it before it is compressed.
    Unpacked(&'a [u8]),
    /// A good one, and what is done to it.
    Edited(Vec<Edit<'a>>),
}

/// What is done to a member, by its number.
#[derive(Debug)]
enum Edit<'a> {
    Remove(u8),
    Repeat(u8),
    Move {
        from: u8,
        to: u8,
    },
    Name(u8, &'a [u8]),
    Kind(u8, u8),
    /// Another size than it has.
    Size(u8, u64),
    Contents {
        of: u8,
        at: u16,
        with: &'a [u8],
    },
    Add(&'a [u8]),
    /// The end of the file is missing.
    Cut(u16),
    /// Something is behind it.
    Behind(&'a [u8]),
}

/// Any file as an export of runtimes: taken whole or not at all, and nothing is written but what it holds.
pub fn archives(input: &[u8]) {
    let Some(input) = structured::<Input<'_>>(input) else { return };
    let world = &*WORLD;
    let file = world.folder.path().join("import.tar.gz");
    match input {
        Input::File(bytes) => fs::write(&file, bytes).unwrap(),
        Input::Unpacked(bytes) => fs::write(&file, compressed(bytes)).unwrap(),
        Input::Edited(edits) => fs::write(&file, world.edited(&edits)).unwrap(),
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
}

impl<'a> Arbitrary<'a> for Input<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match variant(u, 3)? {
            0 => Self::File(u.bytes(u.len())?),
            1 => Self::Unpacked(u.bytes(u.len())?),
            _ => Self::Edited(u.arbitrary()?),
        })
    }
}

impl<'a> Arbitrary<'a> for Edit<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match variant(u, 10)? {
            0 => Self::Remove(u.arbitrary()?),
            1 => Self::Repeat(u.arbitrary()?),
            2 => Self::Move { from: u.arbitrary()?, to: u.arbitrary()? },
            3 => Self::Name(u.arbitrary()?, u.arbitrary()?),
            4 => Self::Kind(u.arbitrary()?, u.arbitrary()?),
            5 => Self::Size(u.arbitrary()?, u.arbitrary()?),
            6 => Self::Contents { of: u.arbitrary()?, at: u.arbitrary()?, with: u.arbitrary()? },
            7 => Self::Add(u.arbitrary()?),
            8 => Self::Cut(u.arbitrary()?),
            _ => Self::Behind(u.arbitrary()?),
        })
    }
}

const SNAPSHOT: &[u8] = b"a snapshot";
const PACK: &[u8] = b"a pack";

/// Recipes that cost nothing, and an export that was made from them.
struct World {
    folder: tempfile::TempDir,
    setup: Setup,
    good: Vec<Member>,
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
    assert_eq!(good.len(), 6);
    fs::remove_dir_all(path.join("cache")).unwrap();
    fs::remove_file(export).unwrap();
    World { folder, setup, good }
});

fn members_of(export: &Path) -> Vec<Member> {
    let mut archive = Archive::new(GzDecoder::new(File::open(export).unwrap()));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).unwrap();
        Member { name: entry.path_bytes().into_owned(), kind: EntryType::Regular, size: None, contents }
    });
    entries.collect()
}

#[derive(Clone)]
struct Member {
    name: Vec<u8>,
    kind: EntryType,
    size: Option<u64>,
    contents: Vec<u8>,
}

impl World {
    fn edited(&self, edits: &[Edit<'_>]) -> Vec<u8> {
        let mut members = self.good.clone();
        let (mut cut, mut behind) = (usize::MAX, Vec::new());
        for edit in edits {
            if members.is_empty() {
                break;
            }
            let count = members.len();
            let index = |number: u8| usize::from(number) % count;
            match edit {
                Edit::Remove(number) => drop(members.remove(index(*number))),
                Edit::Repeat(number) => members.push(members[index(*number)].clone()),
                Edit::Move { from, to } => members.swap(index(*from), index(*to)),
                Edit::Name(number, name) => members[index(*number)].name = name.to_vec(),
                Edit::Kind(number, kind) => members[index(*number)].kind = EntryType::new(*kind),
                Edit::Size(number, size) => members[index(*number)].size = Some(*size),
                Edit::Contents { of, at, with } => {
                    let contents = &mut members[index(*of)].contents;
                    let start = usize::from(*at).min(contents.len());
                    contents.splice(start..(start + with.len()).min(contents.len()), with.iter().copied());
                }
                Edit::Add(bytes) => {
                    let (kind, bytes) = (EntryType::Regular, bytes.to_vec());
                    members.push(Member { name: bytes.clone(), kind, size: None, contents: bytes });
                }
                Edit::Cut(length) => cut = usize::from(*length),
                Edit::Behind(bytes) => behind = bytes.to_vec(),
            }
        }
        let mut bytes = compressed(&archive(&members));
        bytes.truncate(cut);
        bytes.extend_from_slice(&behind);
        bytes
    }
}

fn archive(members: &[Member]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for member in members {
        let mut header = Header::new_ustar();
        let place = &mut header.as_old_mut().name;
        place.iter_mut().zip(&member.name).for_each(|(place, byte)| *place = *byte);
        header.set_entry_type(member.kind);
        header.set_size(member.size.unwrap_or(member.contents.len() as u64));
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, member.contents.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
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
