//! Moving runtimes to machines without registries.
//!
//! An exported file is a gzipped tar of plain files with fixed names, for each runtime in this order: `<name>/manifest.json`,
//! `<name>/snapshot.wasm`, `<name>/tree.pack`. Machine code is never in it: the importing machine compiles for itself.
//!
//! # Whom to trust
//!
//! The hashes in an export tell a damaged file from a whole one, not a friend's from an enemy's: whoever writes the file writes the
//! hashes. A snapshot is WebAssembly and gets no more from the engine than any guest, but it *is* the interpreter, so it sees, and can
//! change, all that is run with it; and its compilation happens outside the jail. Import what you, or somebody you would take a
//! Python from, exported.
//!
//! # Which ones fit
//!
//! Those made from the same recipes by the same snapshotter, which is what the manifest's key says. Drivers in the recipe and the
//! engine speak a protocol that changes with both, so a runtime of another version is refused, with both versions in the message. The
//! version number itself need not be equal.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sandbox::Bytes;
use tar::{Archive, Builder, Entry, EntryType, Header};

use crate::catalogue::{self, Runtime};
use crate::digest::Hashing;
use crate::error::{SetupError, at};
use crate::event::{Cancel, Event, How};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::manifest::{FileFacts, MOST_MANIFEST, Manifest};
use crate::private;
use crate::provision::{self, MOST_PACK, MOST_SNAPSHOT, Stage, Summary};
use crate::store::NotUsable;
use crate::temporary::Temporary;
use crate::{PACK, SNAPSHOT, Setup};

const MANIFEST: &str = "manifest.json";

/// What may come after the last member: the padding of whoever packed it.
const MOST_REST: u64 = 1 << 20;

/// What an export holds.
#[derive(Debug)]
pub struct Exported {
    /// The runtimes in it.
    pub runtimes: Vec<&'static Runtime>,
    /// The size of the file.
    pub size: Bytes,
}

/// Why a file is not imported. Nothing of it is, then.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is damaged, cut short, or something else entirely.
    #[error("it is not a whole export of belljar")]
    NotAnExport(#[source] Option<io::Error>),
    /// It holds something that no export holds: another name, a link, a second copy, or something too large.
    #[error("it holds `{name}`, which {problem}")]
    Member {
        /// Its name in the file.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It holds a runtime that this belljar does not know.
    #[error("it holds the runtime `{name}`, which belljar {} does not know", env!("CARGO_PKG_VERSION"))]
    UnknownRuntime {
        /// The runtime's name.
        name: String,
    },
    /// The recipe or snapshotter differ.
    #[error(
        "its `{name}` was made by belljar {theirs} and does not fit belljar {}: their recipes differ",
        env!("CARGO_PKG_VERSION")
    )]
    OtherRecipe {
        /// The runtime's name.
        name: &'static str,
        /// The belljar that made it.
        theirs: String,
    },
    /// A manifest is none.
    #[error("its `{name}` is damaged")]
    Manifest {
        /// Its name in the file.
        name: String,
    },
    /// A file is not what the manifest says.
    #[error("its `{name}` is damaged: its hash or size is not the manifest's")]
    Damaged {
        /// Its name in the file.
        name: String,
    },
    /// A file that the manifest names is not there.
    #[error("its `{name}` is missing")]
    Missing {
        /// Its name in the file.
        name: String,
    },
}

impl Setup {
    /// What an export of everything holds: all that is set up here. Damaged files are in it, so that they are not left out without a word.
    pub fn exportable(&self) -> Vec<&'static Runtime> {
        let is_left_out =
            |state: &Result<_, NotUsable>| matches!(state, Err(NotUsable::NotProvisioned | NotUsable::Outdated(_)));
        self.list().into_iter().filter(|listed| !is_left_out(&listed.state)).map(|listed| listed.runtime).collect()
    }

    /// Writes these runtimes' portable parts into one file, which is there whole or not at all. Takes seconds.
    pub fn export(&self, runtimes: &[&'static Runtime], file: &Path) -> Result<Exported, SetupError> {
        let partial = partial_name(file);
        let written = self.write_export(runtimes, &partial).and_then(|()| Ok(private::publish(&partial, file)?));
        if written.is_err() {
            fs::remove_file(&partial).ok();
        }
        written?;
        let size = fs::metadata(file).map_err(at("look at", file))?.len();
        Ok(Exported { runtimes: runtimes.to_vec(), size: Bytes::new(size) })
    }

    fn write_export(&self, runtimes: &[&'static Runtime], partial: &Path) -> Result<(), SetupError> {
        // Its name can be guessed: nothing that somebody put there is written to, or through.
        fs::remove_file(partial).ok();
        let file = File::create_new(partial).map_err(at("write", partial))?;
        let mut archive = Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
        for runtime in runtimes {
            let damaged = |source| SetupError::NotExportable { name: runtime.name, source };
            let (manifest, files) = self.open_portable(runtime)?;
            let text = serde_json::to_vec_pretty(&manifest).map_err(|error| at("write", partial)(error.into()))?;
            append(&mut archive, &member(runtime, MANIFEST), text.len() as u64, text.as_slice())
                .map_err(at("write", partial))?;
            for (name, path, facts, file) in files {
                let mut hashing = Hashing::new(file.take(facts.bytes));
                append(&mut archive, &member(runtime, name), facts.bytes, &mut hashing)
                    .map_err(at("write", partial))?;
                if hashing.finish() != (facts.sha256, facts.bytes) {
                    return Err(damaged(NotUsable::Damaged(path)));
                }
            }
        }
        let done = archive.into_inner().and_then(GzEncoder::finish).and_then(|file| file.into_inner()?.sync_all());
        Ok(done.map_err(at("write", partial))?)
    }

    /// A runtime's files, all opened before the first is read: should another process replace the runtime meanwhile, these stay.
    #[expect(clippy::type_complexity, reason = "used once, right above")]
    fn open_portable(
        &self,
        runtime: &'static Runtime,
    ) -> Result<(Manifest, Vec<(&'static str, PathBuf, FileFacts, File)>), SetupError> {
        let not_exportable = |source| SetupError::NotExportable { name: runtime.name, source };
        let layout = Layout::find(&self.root)?.ok_or_else(|| not_exportable(NotUsable::NotProvisioned))?;
        let (manifest, snapshot, pack) = self.find_portable(&layout, runtime).map_err(not_exportable)?;
        let pack = pack.zip(manifest.pack).map(|(path, facts)| (PACK, path, facts));
        let mut files = Vec::new();
        for (name, path, facts) in [(SNAPSHOT, snapshot, manifest.snapshot)].into_iter().chain(pack) {
            let file = private::open(&path).map_err(at("open", &path))?;
            files.push((name, path, facts, file));
        }
        Ok((manifest, files))
    }

    /// Installs all runtimes of an exported file and compiles them. The whole file is checked before anything of it is installed.
    pub fn import(&self, file: &Path, cancel: &Cancel, events: &mut dyn FnMut(Event)) -> Result<Summary, SetupError> {
        let layout = Layout::prepare(&self.root)?;
        let temporary = Temporary::make(&layout)?;
        let found = self.read_export(file, &temporary, cancel)?;
        let mut summary = Summary { outcomes: Vec::new() };
        for (runtime, manifest) in found {
            let outcome = provision::report(runtime, events, |reporter| {
                let lock = Lock::take(&layout.lock(runtime.name), &provision::purpose(runtime), cancel, reporter)?;
                cancel.check()?;
                provision::publish_files(&layout, runtime, &temporary.path(runtime.name), &manifest)?;
                // The manifest last: what was there before is used until the import can be.
                if !self.is_compiled(&layout, runtime, &manifest) {
                    self.compile(&layout, runtime, &manifest, &mut Stage { reporter, index: 1, of: 1 })?;
                }
                provision::publish_manifest(&layout, runtime, &temporary, &manifest)?;
                Ok((self.settle(&layout, runtime, &lock)?, How::Imported))
            });
            summary.outcomes.push((runtime, outcome));
        }
        Ok(summary)
    }

    fn read_export(
        &self,
        path: &Path,
        temporary: &Temporary,
        cancel: &Cancel,
    ) -> Result<Vec<(&'static Runtime, Manifest)>, SetupError> {
        let file = File::open(path).map_err(at("open", path))?;
        let mut archive = Archive::new(GzDecoder::new(file));
        let mut import = Import { setup: self, temporary, found: Vec::new() };
        // Raw: long names and sparse files are members like others then, and refused like others, and never read into memory.
        let entries = archive.entries().map_err(not_an_export)?.raw(true);
        for entry in entries {
            cancel.check()?;
            import.take(entry.map_err(not_an_export)?)?;
        }
        // The rest, up to the checksum over everything.
        let mut rest = archive.into_inner().take(MOST_REST);
        io::copy(&mut rest, &mut io::sink()).map_err(not_an_export)?;
        if rest.limit() == 0 {
            return Err(ArchiveError::NotAnExport(None).into());
        }
        import.finish()
    }
}

/// An import that is being checked.
struct Import<'a> {
    setup: &'a Setup,
    temporary: &'a Temporary,
    found: Vec<Found>,
}

/// A runtime in an import.
struct Found {
    runtime: &'static Runtime,
    manifest: Manifest,
    /// Names of files that are still to come.
    missing: Vec<(&'static str, FileFacts)>,
}

impl Import<'_> {
    /// Checks one member of the archive and writes it down. Names are compared, never used as paths.
    fn take(&mut self, entry: Entry<'_, impl Read>) -> Result<(), SetupError> {
        let name = shown(&entry.path_bytes());
        let refuse = |problem| ArchiveError::Member { name: name.clone(), problem };
        if entry.header().entry_type() != EntryType::Regular {
            return Err(refuse("is not a plain file").into());
        }
        let Some((folder, file)) = name.split_once('/') else { return Err(refuse("has no place in an export").into()) };
        let Some(file) = [MANIFEST, SNAPSHOT, PACK].into_iter().find(|known| *known == file) else {
            return Err(refuse("has no place in an export").into());
        };
        let Some(runtime) = catalogue::runtime(folder) else {
            return Err(ArchiveError::UnknownRuntime { name: folder.to_owned() }.into());
        };
        let found = self.found.iter_mut().find(|found| found.runtime.name == runtime.name);
        match (file, found) {
            (MANIFEST, None) => {
                let found = self.read_manifest(runtime, entry)?;
                self.found.push(found);
                Ok(())
            }
            (MANIFEST, Some(_)) => Err(refuse("is there twice").into()),
            (_, None) => Err(refuse("comes before its manifest").into()),
            (file, Some(found)) => {
                let place = found.missing.iter().position(|(missing, _)| *missing == file);
                let place = place.ok_or_else(|| refuse("is there twice, or not in its manifest"))?;
                let (_, facts) = found.missing.remove(place);
                copy(entry, facts, &name, &self.temporary.path(runtime.name).join(file))
            }
        }
    }

    fn read_manifest(&self, runtime: &'static Runtime, entry: Entry<'_, impl Read>) -> Result<Found, SetupError> {
        let name = member(runtime, MANIFEST);
        if entry.size() > MOST_MANIFEST {
            return Err(ArchiveError::Member { name, problem: "is too large" }.into());
        }
        let mut bytes = Vec::new();
        entry.take(MOST_MANIFEST).read_to_end(&mut bytes).map_err(not_an_export)?;
        let Some(manifest) = Manifest::parse(&bytes).filter(|manifest| manifest.name == runtime.name) else {
            return Err(ArchiveError::Manifest { name }.into());
        };
        if manifest.key != self.setup.key(runtime) {
            return Err(ArchiveError::OtherRecipe { name: runtime.name, theirs: manifest.belljar }.into());
        }
        let pack = manifest.pack.map(|facts| (PACK, facts, MOST_PACK));
        let mut missing = Vec::new();
        for (file, facts, most) in [(SNAPSHOT, manifest.snapshot, MOST_SNAPSHOT)].into_iter().chain(pack) {
            if !(1..=most).contains(&facts.bytes) {
                return Err(
                    ArchiveError::Member { name: member(runtime, file), problem: "is empty or too large" }.into()
                );
            }
            missing.push((file, facts));
        }
        private::make_folders(&self.temporary.path(runtime.name))?;
        Ok(Found { runtime, manifest, missing })
    }

    fn finish(self) -> Result<Vec<(&'static Runtime, Manifest)>, SetupError> {
        if self.found.is_empty() {
            return Err(ArchiveError::NotAnExport(None).into());
        }
        for found in &self.found {
            if let Some((file, _)) = found.missing.first() {
                return Err(ArchiveError::Missing { name: member(found.runtime, file) }.into());
            }
        }
        Ok(self.found.into_iter().map(|found| (found.runtime, found.manifest)).collect())
    }
}

fn copy(entry: Entry<'_, impl Read>, facts: FileFacts, name: &str, to: &Path) -> Result<(), SetupError> {
    let damaged = || ArchiveError::Damaged { name: name.to_owned() };
    if entry.size() != facts.bytes {
        return Err(damaged().into());
    }
    let mut file = private::create(to).map_err(at("write", to))?;
    let mut hashing = Hashing::new(entry.take(facts.bytes));
    let mut buffer = vec![0; 64 << 10];
    loop {
        // Two kinds of errors that `io::copy` would mix: the archive's and the disk's.
        let count = hashing.read(&mut buffer).map_err(not_an_export)?;
        let Some(bytes @ [_, ..]) = buffer.get(..count) else { break };
        file.write_all(bytes).map_err(at("write", to))?;
    }
    file.sync_all().map_err(at("write", to))?;
    if hashing.finish() == (facts.sha256, facts.bytes) { Ok(()) } else { Err(damaged().into()) }
}

fn append(archive: &mut Builder<impl Write>, name: &str, bytes: u64, contents: impl Read) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append(&header, contents)
}

fn member(runtime: &Runtime, file: &str) -> String {
    format!("{}/{file}", runtime.name)
}

/// A name out of an archive, fit to be shown. One that is changed by this is no name of an export's member anyway.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().filter(|c| !c.is_control()).take(100).collect()
}

fn not_an_export(error: io::Error) -> SetupError {
    ArchiveError::NotAnExport(Some(error)).into()
}

/// Beside the file, so that it can be renamed.
fn partial_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    PathBuf::from(name)
}
