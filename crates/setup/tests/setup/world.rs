//! A cache folder, recipes and a finisher of a test's own.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use setup::{
    Cancel, Config, Event, Failure, Finish, FinishError, How, Installed, NotUsable, Recipes, Runtime, Scratch, Setup,
    Summary,
};

/// What a recipe of a test does: says its steps, counts its runs, leaves a result.
pub(crate) const RECIPE: &str = r#"
mkdir -p "$BELLJAR_WORK/log"
echo "step 1/2 fetch"
echo run >>"@WORLD@/runs-@NAME@"
echo "step 2/2 link"
cat "@WORLD@/result-@NAME@" >"$BELLJAR_OUT/reactor.wasm" 2>/dev/null || echo "reactor of @NAME@" >"$BELLJAR_OUT/reactor.wasm"
mkdir "$BELLJAR_OUT/tree"
echo "library of @NAME@" >"$BELLJAR_OUT/tree/library"
printf 'version=1.2.3\nsource=@NAME@ 1.2.3-1 abc\n' >"$BELLJAR_OUT/facts"
"#;

pub(crate) struct World {
    /// Removed with the world; not there in a child process, which only visits.
    _owned: Option<tempfile::TempDir>,
    folder: PathBuf,
    pub(crate) finish: FakeFinish,
    pub(crate) scratch: Scratch,
}

impl World {
    /// With a good recipe for every runtime.
    pub(crate) fn new() -> Self {
        let owned = tempfile::tempdir().expect("a temporary directory");
        let folder = owned.path().canonicalize().expect("canonical");
        let world = Self { _owned: Some(owned), folder, finish: FakeFinish::default(), scratch: Scratch::Keep };
        for runtime in setup::CATALOGUE {
            world.recipe(runtime.name, RECIPE);
        }
        world
    }

    /// Another process's world.
    pub(crate) fn visit(folder: &Path) -> Self {
        Self { _owned: None, folder: folder.to_owned(), finish: FakeFinish::default(), scratch: Scratch::Keep }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("cache")
    }

    /// Changes a runtime's recipe.
    pub(crate) fn recipe(&self, name: &str, script: &str) {
        let world = self.folder.to_str().expect("UTF-8");
        let script = script.replace("@WORLD@", world).replace("@NAME@", name);
        self.recipe_file(&format!("{name}/build.sh"), &script);
    }

    pub(crate) fn recipe_file(&self, name: &str, text: &str) {
        let path = self.path("recipes").join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
        fs::write(path, text).expect("write");
    }

    /// Changes what a runtime's recipe makes, and not the recipe: a compiler that is not reproducible, a source that moved on.
    pub(crate) fn recipe_result(&self, name: &str, reactor: &str) {
        fs::write(self.path(&format!("result-{name}")), format!("{reactor}\n")).expect("write");
    }

    /// How often a runtime's recipe ran.
    pub(crate) fn runs(&self, name: &str) -> usize {
        fs::read_to_string(self.path(&format!("runs-{name}"))).map_or(0, |text| text.lines().count())
    }

    pub(crate) fn setup(&self) -> Setup {
        self.setup_in(&self.root())
    }

    /// With another cache folder.
    pub(crate) fn setup_in(&self, root: &Path) -> Setup {
        let config = Config {
            root: root.to_owned(),
            recipes: Recipes::read(&self.path("recipes")).expect("recipes"),
            environment: std::env::vars_os().chain([("SECRET".into(), "s3cret".into())]).collect(),
            scratch: self.scratch,
        };
        Setup::new(config, Box::new(self.finish.clone()))
    }

    pub(crate) fn provision(&self, names: &[&str]) -> (Summary, Vec<Event>) {
        self.provision_watched(names, &Cancel::default(), |_| {})
    }

    pub(crate) fn provision_watched(
        &self,
        names: &[&str],
        cancel: &Cancel,
        mut watch: impl FnMut(&Event),
    ) -> (Summary, Vec<Event>) {
        let mut events = Vec::new();
        let runtimes = setup::select(names).expect("names of runtimes");
        let summary = self.setup().provision(&runtimes, cancel, &mut |event| {
            watch(&event);
            events.push(event);
        });
        (summary, events)
    }

    pub(crate) fn installed(&self, name: &str) -> Result<Installed, NotUsable> {
        self.setup().installed(named(name))
    }

    /// The file that says what is installed, where there is one.
    pub(crate) fn manifest(&self, name: &str) -> PathBuf {
        let folder = self.root().join("runtimes").join(name);
        let paths: Vec<PathBuf> = names_in(&folder).into_iter().map(|name| folder.join(name)).collect();
        let is_manifest = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "json");
        paths.iter().find(is_manifest).expect("a manifest").clone()
    }

    /// Whether the runtime can be loaded, and all its files are what the finisher makes of a whole build.
    pub(crate) fn assert_usable(&self, name: &str) {
        let installed = self.installed(name).unwrap_or_else(|error| panic!("`{name}`: {error}"));
        let read = |path: &Path| fs::read_to_string(path).expect("read");
        let snapshot = read(&installed.snapshot);
        assert_eq!(snapshot, format!("snapshot of reactor of {name}\n"));
        assert_eq!(read(installed.pack.as_deref().expect("a pack")), format!("library of {name}\n"));
        assert_eq!(read(&installed.module), format!("for {} {snapshot}", self.finish.machine_key()));
        assert_eq!(installed.version(), "1.2.3");
    }

    /// Nothing is being written.
    pub(crate) fn assert_nothing_temporary(&self) {
        assert_eq!(names_in(&self.root().join("tmp")), [""; 0]);
    }

    /// Every folder and file that is to be trusted is ours alone.
    pub(crate) fn assert_private(&self) {
        let root = self.root();
        let mut pending = vec![root.clone()];
        while let Some(folder) = pending.pop() {
            let metadata = fs::symlink_metadata(&folder).expect("metadata");
            assert_eq!(metadata.uid(), rustix::process::geteuid().as_raw());
            let relative = folder.strip_prefix(&root).expect("below the root");
            let is_recipes_own = relative.starts_with("work") || relative.starts_with("built");
            let mode = metadata.permissions().mode() & 0o777;
            let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
            assert!(mode == expected || is_recipes_own, "{}: {mode:o}", folder.display());
            if metadata.is_dir() && !is_recipes_own {
                pending.extend(names_in(&folder).iter().map(|name| folder.join(name)));
            }
        }
    }
}

pub(crate) fn named(name: &str) -> &'static Runtime {
    setup::runtime(name).expect("in the catalogue")
}

/// Sorted; empty for what is not there.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What was done, or why not, by runtime.
pub(crate) fn outcomes(summary: &Summary) -> Vec<(&'static str, Result<How, &Failure>)> {
    summary
        .outcomes
        .iter()
        .map(|(runtime, outcome)| (runtime.name, outcome.as_ref().map(|provisioned| provisioned.how)))
        .collect()
}

/// Why a runtime failed.
pub(crate) fn failure<'a>(summary: &'a Summary, name: &str) -> &'a Failure {
    let (_, outcome) = summary.outcomes.iter().find(|(runtime, _)| runtime.name == name).expect("in the summary");
    outcome.as_ref().expect_err("a failure")
}

/// Waits for something that another process does.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Writes down what it was given. Clones share what they count and how they fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeFinish {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    snapshots: usize,
    compilations: usize,
    snapshot_key: String,
    machine_key: String,
    fault: Option<Fault>,
}

/// What goes wrong in a finisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    SnapshotError,
    SnapshotMissing,
    PackMissing,
    SnapshotAbort,
    CompileError,
    ModuleMissing,
    ModuleEmpty,
    CompileAbort,
}

impl FakeFinish {
    pub(crate) fn fault(&self, fault: Option<Fault>) {
        self.state().fault = fault;
    }

    pub(crate) fn set_keys(&self, snapshot: &str, machine: &str) {
        let mut state = self.state();
        snapshot.clone_into(&mut state.snapshot_key);
        machine.clone_into(&mut state.machine_key);
    }

    /// Snapshots and compilations that were made.
    pub(crate) fn made(&self) -> (usize, usize) {
        let state = self.state();
        (state.snapshots, state.compilations)
    }

    fn has(&self, fault: Fault) -> bool {
        self.state().fault == Some(fault)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("not poisoned")
    }
}

impl Finish for FakeFinish {
    fn snapshot_key(&self) -> String {
        self.state().snapshot_key.clone()
    }

    fn machine_key(&self) -> String {
        self.state().machine_key.clone()
    }

    fn snapshot(
        &self,
        _: &Runtime,
        built: &Path,
        into: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), FinishError> {
        progress("start the reactor");
        let reactor = fs::read_to_string(built.join(setup::REACTOR))?;
        if self.has(Fault::SnapshotError) {
            return Err("no start function".into());
        }
        if !self.has(Fault::SnapshotMissing) {
            // In two parts: what is half written must not be seen.
            fs::write(into.join(setup::SNAPSHOT), "snapshot of ")?;
            if self.has(Fault::SnapshotAbort) {
                std::process::abort();
            }
            fs::write(into.join(setup::SNAPSHOT), format!("snapshot of {reactor}"))?;
        }
        if built.join(setup::TREE).is_dir() && !self.has(Fault::PackMissing) {
            fs::copy(built.join(setup::TREE).join("library"), into.join(setup::PACK))?;
        }
        self.state().snapshots += 1;
        Ok(())
    }

    fn compile(
        &self,
        _: &Runtime,
        snapshot: &Path,
        module: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), FinishError> {
        progress("translate");
        if self.has(Fault::CompileError) {
            return Err("unsupported instruction".into());
        }
        if self.has(Fault::ModuleMissing) {
            return Ok(());
        }
        fs::write(module, "")?;
        if self.has(Fault::CompileAbort) {
            std::process::abort();
        }
        if !self.has(Fault::ModuleEmpty) {
            let text = format!("for {} {}", self.machine_key(), fs::read_to_string(snapshot)?);
            fs::write(module, text)?;
        }
        self.state().compilations += 1;
        Ok(())
    }
}
