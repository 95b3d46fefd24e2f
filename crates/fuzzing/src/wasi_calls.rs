use arbitrary::{Arbitrary, Unstructured};
use belljar_wasi::{Disk, RestoredDisk, SaveReader, SaveWriter};

use crate::guest::{Call, Guest, QUOTA, image};
use crate::host::NoHost;
use crate::{structured, variant};

#[derive(Debug)]
enum Step<'a> {
    Call(Call),
    Calls(Vec<Call>),
    /// The guest writes to its memory.
    Poke {
        at: u16,
        bytes: &'a [u8],
    },
    /// The embedder's own functions, such as JavaScript's `fs`.
    Write {
        path: &'a str,
        contents: &'a [u8],
    },
    Append {
        path: &'a str,
        contents: &'a [u8],
    },
    Truncate {
        path: &'a str,
        size: u64,
    },
    Rename {
        from: &'a str,
        to: &'a str,
    },
    Link {
        target: &'a str,
        path: &'a str,
    },
    MakeDirectories {
        path: &'a str,
    },
    RemoveAll {
        path: &'a str,
    },
    Look {
        path: &'a str,
    },
    /// Its disk goes away for a while, as between two cells.
    Rest,
    /// It is saved, and goes on as what was restored.
    Save,
}

impl<'a> Arbitrary<'a> for Step<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match variant(u, 13)? {
            0 => Self::Call(u.arbitrary()?),
            1 => Self::Calls(u.arbitrary()?),
            2 => Self::Poke { at: u.arbitrary()?, bytes: u.arbitrary()? },
            3 => Self::Write { path: u.arbitrary()?, contents: u.arbitrary()? },
            4 => Self::Append { path: u.arbitrary()?, contents: u.arbitrary()? },
            5 => Self::Truncate { path: u.arbitrary()?, size: u.arbitrary()? },
            6 => Self::Rename { from: u.arbitrary()?, to: u.arbitrary()? },
            7 => Self::Link { target: u.arbitrary()?, path: u.arbitrary()? },
            8 => Self::MakeDirectories { path: u.arbitrary()? },
            9 => Self::RemoveAll { path: u.arbitrary()? },
            10 => Self::Look { path: u.arbitrary()? },
            11 => Self::Rest,
            _ => Self::Save,
        })
    }
}

/// Any calls of a hostile guest, on any memory, among what an embedder does meanwhile: no panic, and never more than the quota.
pub fn wasi_calls(input: &[u8]) {
    let Some(steps) = structured::<Vec<Step<'_>>>(input) else { return };
    let mut guest = Guest::new();
    for step in &steps {
        if !take(&mut guest, step) {
            break;
        }
        guest.check();
    }
    let (_, workspace) = guest.context.into_workspace();
    let total: u64 = workspace.files.iter().map(belljar_wasi::WorkspaceFile::size).sum();
    // A file of two names is there twice.
    assert!(total <= QUOTA.bytes * u64::from(QUOTA.entries));
}

/// Whether the guest goes on.
fn take(guest: &mut Guest, step: &Step<'_>) -> bool {
    let mut files = guest.context.files();
    match step {
        Step::Call(call) => return guest.call(call).is_ok(),
        Step::Calls(calls) => return calls.iter().all(|call| guest.call(call).is_ok()),
        Step::Poke { at, bytes } => {
            let place = guest.memory[1..].iter_mut().skip(usize::from(*at));
            place.zip(*bytes).for_each(|(place, byte)| *place = *byte);
        }
        Step::Write { path, contents } => {
            if files.write(path, *contents).is_ok() && files.stat(path).is_ok_and(|stat| stat.size > 0) {
                assert_eq!(files.read(path).as_deref(), Ok(*contents));
            }
        }
        Step::Append { path, contents } => drop(files.append(path, contents)),
        Step::Truncate { path, size } => drop(files.truncate(path, *size)),
        Step::Rename { from, to } => drop(files.rename(from, to)),
        Step::Link { target, path } => drop(files.symlink(target, path)),
        Step::MakeDirectories { path } => drop(files.make_directories(path)),
        Step::RemoveAll { path } => drop(files.remove_all(path)),
        Step::Look { path } => {
            files.list(path).ok();
            files.read_link(path).ok();
            if let Ok(real) = files.real_path(path) {
                assert!(real.starts_with('/') && files.exists(&real), "{real}");
                assert_eq!(files.real_path(&real), Ok(real));
            }
        }
        Step::Rest => {
            let mut disk = Disk::new(QUOTA, 0);
            guest.context.swap_disk(&mut disk);
            let mut copy = disk.clone();
            guest.context.swap_disk(&mut copy);
            assert_eq!(guest.context.usage(), disk.usage());
        }
        Step::Save => save(guest),
    }
    true
}

/// What is restored is what was saved.
fn save(guest: &mut Guest) {
    let mut disk = Disk::new(QUOTA, 0);
    guest.context.swap_disk(&mut disk);
    let mut saved = Vec::new();
    disk.save(&mut SaveWriter(&mut saved)).unwrap();
    guest.context.save_descriptors(&mut SaveWriter(&mut saved)).unwrap();

    let mut from = saved.as_slice();
    let mut from = SaveReader(&mut from);
    let mut restored = RestoredDisk::read(&mut from, QUOTA, 0).expect("a disk");
    let mut context = guest.context.fork(NoHost, &image());
    context.restore_descriptors(&mut from, &mut restored).expect("descriptors");
    let mut restored = restored.into_disk();
    assert_eq!(restored.usage(), disk.usage());
    let entries = |disk: &Disk| {
        let entries = disk.list(None).unwrap().into_iter();
        entries.map(|entry| (entry.path, entry.kind, entry.size)).collect::<Vec<_>>()
    };
    assert_eq!(entries(&restored), entries(&disk));
    context.swap_disk(&mut restored);
    guest.context = context;
}
