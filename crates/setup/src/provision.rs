//! The story: build, snapshot, compile, each unless it is done, for one runtime after the other.

use std::fmt;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sandbox::Bytes;

use crate::builder::Build;
use crate::catalogue::{self, Runtime};
use crate::error::{Failure, FileError, SetupError, at};
use crate::event::{Cancel, Event, How, Reporter};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::manifest::{Facts, FileFacts, Manifest, Record};
use crate::private;
use crate::recipes;
use crate::store::{self, Installed, Needs, NotUsable};
use crate::temporary::Temporary;
use crate::tools;
use crate::{PACK, REACTOR, SNAPSHOT, Scratch, Setup, TREE};

/// Larger than any snapshot, pack or list of facts. A recipe, or whoever made an import, decides how large those are.
pub(crate) const MOST_SNAPSHOT: u64 = 1 << 30;
pub(crate) const MOST_PACK: u64 = 1 << 30;
const MOST_FACTS: u64 = 64 << 10;

/// The steps after the recipe's own: snapshot and compilation.
const OUR_STEPS: u32 = 2;

/// The lock on `work/`.
const WORK: &str = "work";

/// What came of it, in the order in which it was done.
#[derive(Debug)]
pub struct Summary {
    /// For each runtime.
    pub outcomes: Vec<(&'static Runtime, Result<Provisioned, Failure>)>,
}

/// A runtime that is usable now.
#[derive(Debug)]
pub struct Provisioned {
    /// What to load.
    pub installed: Installed,
    /// What had to be done for it.
    pub how: How,
    /// How long it took, waiting for others included.
    pub took: Duration,
}

impl Summary {
    /// Whether all is well.
    pub fn is_complete(&self) -> bool {
        self.outcomes.iter().all(|(_, outcome)| outcome.is_ok())
    }
}

/// What failed, why, where to read on and what to do; empty when all is well.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (runtime, outcome) in &self.outcomes {
            let Err(failure) = outcome else { continue };
            writeln!(f, "error: `{}` could not be provisioned: {}", runtime.name, failure.why)?;
            if let Some(log) = &failure.log {
                writeln!(f, "  log: {}", log.display())?;
            }
            writeln!(f, "  hint: {}", failure.hint)?;
        }
        Ok(())
    }
}

impl Setup {
    /// Makes these runtimes usable, and those that they build upon, in the catalogue's order. One that fails does not stop the others.
    ///
    /// Does only what is missing, once a machine: a second process waits for the first, and finds it done. A process
    /// that dies leaves the old state or the new; the next one goes on where it stopped.
    pub fn provision(&self, wanted: &[&'static Runtime], cancel: &Cancel, events: &mut dyn FnMut(Event)) -> Summary {
        let mut summary = Summary { outcomes: Vec::new() };
        for runtime in catalogue::with_bases(wanted) {
            let base = summary.failed_base_of(runtime);
            let outcome = report(runtime, events, |reporter| match base {
                Some(base) => Err(SetupError::NoBase { base }),
                None => self.provide(runtime, cancel, reporter),
            });
            summary.outcomes.push((runtime, outcome));
        }
        if self.scratch == Scratch::Clear && summary.is_complete() {
            self.clear_scratch();
        }
        summary
    }

    fn provide(
        &self,
        runtime: &'static Runtime,
        cancel: &Cancel,
        reporter: &mut Reporter<'_>,
    ) -> Result<(Installed, How), SetupError> {
        cancel.check()?;
        let layout = Layout::prepare(&self.root)?;
        if let Todo::Nothing(installed) = self.todo(&layout, runtime)? {
            return Ok((*installed, How::Found));
        }
        let lock = Lock::take(&layout.lock(runtime.name), &purpose(runtime), cancel, reporter)?;
        // The holder before us may have done everything.
        let how = match self.todo(&layout, runtime)? {
            Todo::Nothing(installed) => return Ok((*installed, How::Found)),
            Todo::Compile(manifest) => {
                self.compile(&layout, runtime, &manifest, &mut Stage { reporter, index: 1, of: 1 })?;
                How::Compiled
            }
            Todo::Build => {
                let built = self.build(&layout, runtime, cancel, reporter)?;
                cancel.check()?;
                let of = built.steps + OUR_STEPS;
                let manifest = self.snapshot(&layout, runtime, &built, &mut Stage { reporter, index: of - 1, of })?;
                cancel.check()?;
                self.compile(&layout, runtime, &manifest, &mut Stage { reporter, index: of, of })?;
                if built.is_new { How::Built } else { How::Snapshotted }
            }
        };
        let installed = self.settle(&layout, runtime, &lock)?;
        Ok((installed, how))
    }

    /// What is left to do for a runtime. What is damaged is made again; what is not ours is an error.
    fn todo(&self, layout: &Layout, runtime: &'static Runtime) -> Result<Todo, SetupError> {
        let found = self.find(layout, runtime).and_then(|installed| installed.verify().map(|()| installed));
        let problem = match found {
            Ok(installed) => return Ok(Todo::Nothing(Box::new(installed))),
            Err(problem) => problem,
        };
        match problem {
            NotUsable::Refused(untrusted) => Err(FileError::from(untrusted).into()),
            NotUsable::Unreadable(error) => Err(error.into()),
            NotUsable::NotProvisioned | NotUsable::Outdated(Needs::Build) => Ok(Todo::Build),
            NotUsable::Outdated(Needs::Compile) | NotUsable::Damaged(_) => {
                let portable = self.find_portable(layout, runtime).and_then(|(manifest, snapshot, pack)| {
                    store::verify(&snapshot, manifest.snapshot)?;
                    pack.zip(manifest.pack).map_or(Ok(()), |(pack, facts)| store::verify(&pack, facts))?;
                    Ok(manifest)
                });
                Ok(portable.map_or(Todo::Build, |manifest| Todo::Compile(Box::new(manifest))))
            }
        }
    }

    /// Runs the recipe, unless its result is kept from before.
    pub(crate) fn build(
        &self,
        layout: &Layout,
        runtime: &'static Runtime,
        cancel: &Cancel,
        reporter: &mut Reporter<'_>,
    ) -> Result<Built, SetupError> {
        let place = layout.built(runtime).join(self.recipes.key(runtime).name());
        if let Some(facts) = kept(runtime, &place)? {
            return Ok(Built { folder: place, facts, steps: 0, is_new: false });
        }
        if !self.recipes.has(runtime) {
            return Err(SetupError::NoRecipe { name: runtime.name });
        }
        check_room(runtime, &layout.work())?;
        // Recipes share downloads, a toolchain and each other's build trees.
        let purpose = format!("building {}", runtime.name);
        let lock = Lock::take(&layout.lock(WORK), &purpose, cancel, reporter)?;
        let recipes = self.recipes.unpack(layout)?;
        let temporary = Temporary::make(layout)?;
        let out = temporary.path("out");
        private::make_folders(&out)?;
        let log = layout.log(runtime);
        let build = Build {
            recipes: &recipes,
            script: recipes.join(recipes::script(runtime)),
            work: &layout.work(),
            out: &out,
            environment: &self.environment,
            lock: &lock,
            log: log.clone(),
        };
        (reporter.events)(Event::Building { name: runtime.name, takes: runtime.takes });
        let mut steps = 0;
        build.run(cancel, |step| {
            steps = step.of;
            reporter.step(step.index, step.of + OUR_STEPS, &step.text);
        })?;
        let facts = check_result(runtime, &out).map_err(|what| SetupError::RecipeResult { what, log: Some(log) })?;
        keep_built(layout, runtime, &temporary, &out, &place)?;
        Ok(Built { folder: place, facts, steps, is_new: true })
    }

    fn snapshot(
        &self,
        layout: &Layout,
        runtime: &'static Runtime,
        built: &Built,
        stage: &mut Stage<'_, '_>,
    ) -> Result<Manifest, SetupError> {
        stage.says("make the snapshot");
        let temporary = Temporary::make(layout)?;
        let into = temporary.path("snapshot");
        private::make_folders(&into)?;
        self.finish
            .snapshot(runtime, &built.folder, &into, &mut |text| stage.says(text))
            .map_err(|source| SetupError::Finish { step: "make the snapshot", source })?;
        let snapshot = adopt(&into.join(SNAPSHOT), SNAPSHOT, MOST_SNAPSHOT)?;
        let has_tree = built.folder.join(TREE).is_dir();
        let pack = if has_tree { Some(adopt(&into.join(PACK), PACK, MOST_PACK)?) } else { None };
        let manifest = Manifest::new(runtime.name, built.facts.clone(), self.key(runtime), snapshot, pack);
        publish_files(layout, runtime, &into, &manifest)?;
        publish_manifest(layout, runtime, &temporary, &manifest)?;
        Ok(manifest)
    }

    /// Compiles a snapshot for this machine. Its file has been published, its manifest need not have been.
    pub(crate) fn compile(
        &self,
        layout: &Layout,
        runtime: &'static Runtime,
        manifest: &Manifest,
        stage: &mut Stage<'_, '_>,
    ) -> Result<(), SetupError> {
        // A changed recipe may make the same snapshot; its module is in use, and is as good.
        if self.is_compiled(layout, runtime, manifest) {
            return Ok(());
        }
        stage.says("compile for this machine");
        let snapshot = manifest.snapshot.sha256;
        let temporary = Temporary::make(layout)?;
        let module = temporary.path("module.cwasm");
        self.finish
            .compile(runtime, &layout.snapshot(runtime, snapshot), &module, &mut |text| stage.says(text))
            .map_err(|source| SetupError::Finish { step: "compile the snapshot", source })?;
        let facts = adopt(&module, "module.cwasm", u64::MAX)?;
        let place = layout.module(runtime, snapshot, self.machine());
        // A module is only replaced if it is damaged; at no time does its record stand beside another module.
        fs::remove_file(store::record_of(&place)).ok();
        private::publish(&module, &place)?;
        let record = Record::new(snapshot, self.finish.machine_key(), facts);
        publish_json(&record, &temporary, &store::record_of(&place))?;
        Ok(())
    }

    /// The end of a provisioning: what was made is found, and what it replaces removed.
    pub(crate) fn settle(
        &self,
        layout: &Layout,
        runtime: &'static Runtime,
        lock: &Lock,
    ) -> Result<Installed, SetupError> {
        let installed = self.find(layout, runtime).map_err(|source| SetupError::Lost { source: Box::new(source) })?;
        // It is usable, whether or not the old one could be removed.
        self.sweep(layout, &installed, lock).ok();
        Ok(installed)
    }

    /// Not being able to, or somebody building just now, is no reason to fail: the next time is as good.
    fn clear_scratch(&self) {
        let Ok(Some(layout)) = Layout::find(&self.root) else { return };
        let Ok(Some(_lock)) = Lock::try_take(&layout.lock(WORK)) else { return };
        let stays = [layout.work().join("downloads"), layout.work().join("log")];
        store::remove_others(&layout.work(), |path| stays.iter().any(|stays| stays == path)).ok();
    }
}

enum Todo {
    Nothing(Box<Installed>),
    Compile(Box<Manifest>),
    Build,
}

/// A recipe's result.
pub(crate) struct Built {
    folder: PathBuf,
    facts: Facts,
    /// The recipe's own.
    steps: u32,
    is_new: bool,
}

/// One of our own steps, which may say more than once what it does.
pub(crate) struct Stage<'a, 'b> {
    pub(crate) reporter: &'a mut Reporter<'b>,
    pub(crate) index: u32,
    pub(crate) of: u32,
}

impl Stage<'_, '_> {
    fn says(&mut self, text: &str) {
        self.reporter.step(self.index, self.of, text);
    }
}

impl Summary {
    fn failed_base_of(&self, runtime: &Runtime) -> Option<&'static str> {
        let failed = |name| self.outcomes.iter().any(|(other, outcome)| other.name == name && outcome.is_err());
        catalogue::bases(runtime).map(|base| base.name).find(|name| failed(*name))
    }
}

/// Does something for a runtime, with its first and last events.
pub(crate) fn report(
    runtime: &'static Runtime,
    events: &mut dyn FnMut(Event),
    work: impl FnOnce(&mut Reporter<'_>) -> Result<(Installed, How), SetupError>,
) -> Result<Provisioned, Failure> {
    let name = runtime.name;
    let start = Instant::now();
    events(Event::Started { name });
    match work(&mut Reporter { name, events }) {
        Ok((installed, how)) => {
            let took = start.elapsed();
            events(Event::Done { name, version: installed.version().to_owned(), how, took });
            Ok(Provisioned { installed, how, took })
        }
        Err(error) => {
            let failure = Failure::of(&error);
            events(Event::Failed { name, failure: failure.clone() });
            Err(failure)
        }
    }
}

/// What others who wait for a runtime's lock are told.
pub(crate) fn purpose(runtime: &Runtime) -> String {
    format!("setting up {}", runtime.name)
}

/// Gives a runtime's portable files their names, which say what is in them. They count when a manifest refers to them.
pub(crate) fn publish_files(
    layout: &Layout,
    runtime: &Runtime,
    from: &Path,
    manifest: &Manifest,
) -> Result<(), FileError> {
    layout.make_folder(&layout.runtime(runtime))?;
    private::publish(&from.join(SNAPSHOT), &layout.snapshot(runtime, manifest.snapshot.sha256))?;
    if let Some(facts) = manifest.pack {
        private::publish(&from.join(PACK), &layout.pack(runtime, facts.sha256))?;
    }
    Ok(())
}

/// From here on the runtime is what its manifest says.
pub(crate) fn publish_manifest(
    layout: &Layout,
    runtime: &Runtime,
    temporary: &Temporary,
    manifest: &Manifest,
) -> Result<(), FileError> {
    publish_json(manifest, temporary, &layout.manifest(runtime, manifest.key))
}

fn publish_json(value: &impl serde::Serialize, temporary: &Temporary, place: &Path) -> Result<(), FileError> {
    let file = temporary.path(place.file_name().unwrap_or(place.as_os_str()));
    let text = serde_json::to_vec_pretty(value).map_err(|error| at("write", place)(error.into()))?;
    private::write(&file, &text)?;
    private::publish(&file, place)
}

/// The facts of a recipe's result that was kept. Its folder was complete before it got its name.
pub(crate) fn kept(runtime: &Runtime, place: &Path) -> Result<Option<Facts>, FileError> {
    Ok(private::check_folder(place)?.and_then(|()| check_result(runtime, place).ok()))
}

/// What a recipe left, or what is wrong with it.
fn check_result(runtime: &Runtime, folder: &Path) -> Result<Facts, &'static str> {
    let is_file = |name: &Path, most: u64| {
        fs::symlink_metadata(folder.join(name)).is_ok_and(|found| found.is_file() && (1..=most).contains(&found.len()))
    };
    let tree = fs::symlink_metadata(folder.join(TREE));
    if tools::is_tool(runtime) {
        if !is_file(&tools::program(runtime), MOST_SNAPSHOT) {
            return Err(runtime.name);
        }
    } else if !is_file(Path::new(REACTOR), MOST_SNAPSHOT) {
        return Err(REACTOR);
    }
    if tree.is_ok_and(|tree| !tree.is_dir()) {
        return Err(TREE);
    }
    let facts =
        if is_file(Path::new("facts"), MOST_FACTS) { fs::read_to_string(folder.join("facts")).ok() } else { None };
    facts.and_then(|text| Facts::parse(&text)).ok_or("facts")
}

fn keep_built(
    layout: &Layout,
    runtime: &Runtime,
    temporary: &Temporary,
    out: &Path,
    place: &Path,
) -> Result<(), FileError> {
    layout.make_folder(&layout.built(runtime))?;
    if tools::is_tool(runtime) {
        // Behind walls a guest of a root server is another user. Nobody can come to this folder but through ours.
        fs::set_permissions(out, Permissions::from_mode(0o755)).map_err(at("open to guests", out))?;
    }
    // Thousands of files: one call for all of them. Without it a power failure could leave the name and not what is in it.
    let folder = fs::File::open(out).map_err(at("open", out))?;
    rustix::fs::syncfs(&folder).map_err(|error| at("write", out)(error.into()))?;
    if fs::symlink_metadata(place).is_ok() {
        let damaged = temporary.path("damaged");
        fs::rename(place, &damaged).map_err(at("move away", place))?;
    }
    private::publish(out, place)
}

fn adopt(path: &Path, what: &'static str, most: u64) -> Result<FileFacts, SetupError> {
    let is_usable = fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && (1..=most).contains(&found.len()));
    if !is_usable {
        return Err(SetupError::FinishResult { what });
    }
    Ok(private::adopt(path)?)
}

/// Whether the disk has room for a build. One that goes on has most of what it needs.
fn check_room(runtime: &Runtime, work: &Path) -> Result<(), SetupError> {
    let goes_on = fs::read_dir(work).is_ok_and(|mut entries| entries.next().is_some());
    let Ok(disk) = rustix::fs::statvfs(work) else { return Ok(()) };
    let free = Bytes::new(disk.f_bavail.saturating_mul(disk.f_frsize));
    if free < runtime.scratch && !goes_on {
        return Err(SetupError::NoRoom { needed: runtime.scratch, free, path: work.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_open_to_guests_from_when_it_has_its_name() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let layout = Layout::prepare(root.path()).expect("a layout");
        let temporary = Temporary::make(&layout).expect("made");
        let mode_of = |runtime: &'static Runtime| {
            let (out, place) = (temporary.path("out"), layout.built(runtime).join("key"));
            private::make_folders(&out).expect("made");
            keep_built(&layout, runtime, &temporary, &out, &place).expect("kept");
            fs::metadata(&place).expect("it is there").permissions().mode() & 0o7777
        };
        let known = |runtime: Option<&'static Runtime>| runtime.expect("it is known");
        assert_eq!(mode_of(known(tools::tool("uv"))), 0o755);
        assert_eq!(mode_of(known(catalogue::runtime("python"))), 0o700);
    }

    #[test]
    fn a_disk_without_room_is_refused_unless_a_build_goes_on() {
        let work = tempfile::tempdir().expect("a temporary directory");
        let needs = |scratch| Runtime {
            name: "python",
            title: "",
            languages: &[],
            upon: &[],
            takes: Duration::ZERO,
            size: Bytes::new(0),
            scratch,
        };
        assert!(check_room(&needs(Bytes::new(1)), work.path()).is_ok());
        let too_much = needs(Bytes::new(u64::MAX));
        let refused = check_room(&too_much, work.path()).expect_err("no room").to_string();
        assert!(refused.starts_with("building it takes about 17179869183.9 GiB in `/"), "{refused}");
        fs::write(work.path().join("stamp"), "").expect("write");
        assert!(check_room(&too_much, work.path()).is_ok());
    }
}
