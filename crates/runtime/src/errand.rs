//! A run and the packages it wants.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{
    Bytes, Changed, EngineError, EngineId, EntryKind, FolderEntry, Imported, Language, LayerKind, LiveOutput, Packages,
    Plan, Principal, ProvideError, Provided, Refusal, Wanted, WorkspacePath,
};

use crate::{RunError, Runtime};

/// Longer texts are parsed on a thread of their own: otherwise a thread that serves all callers would be held up for
/// milliseconds.
const LONG: Bytes = Bytes::kib(256);

/// A run that may start, before its packages are there.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    pub(crate) plan: Plan,
    pub(crate) wanted: Option<Wanted>,
}

/// A run with everything that it needs on one engine.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    pub(crate) packages: Option<Provided>,
}

impl Errand {
    /// The same run with a changed plan.
    #[must_use]
    pub(crate) fn with(self, change: impl FnOnce(Plan) -> Plan) -> Self {
        Self { plan: change(self.plan), ..self }
    }

    /// What the program imports without anyone having named it.
    pub(crate) fn guesses(&self) -> &[Imported] {
        self.wanted.as_ref().map(|wanted| wanted.imported.as_slice()).unwrap_or_default()
    }

    /// Removes guesses that the workspace can satisfy itself.
    pub(crate) fn without(&mut self, is_own: impl Fn(&Imported) -> bool) {
        let Some(wanted) = &mut self.wanted else { return };
        wanted.imported.retain(|imported| !is_own(imported));
        if wanted.imported.is_empty() && wanted.named.is_empty() && wanted.requires_python.is_none() {
            self.wanted = None;
        }
    }
}

/// Where a workspace that has a module itself would have it.
pub(crate) fn own_places(kind: LayerKind, imported: &Imported) -> Vec<WorkspacePath> {
    let paths = match kind {
        LayerKind::Python => {
            let top = top_of(imported);
            vec![top.to_owned(), format!("{top}.py")]
        }
        LayerKind::Node => vec![format!("node_modules/{}", imported.module)],
    };
    // A path that cannot be in a workspace is not in one.
    paths.into_iter().filter_map(|path| WorkspacePath::new(path).ok()).collect()
}

/// Whether a workspace has a module itself, going by everything in it.
pub(crate) fn is_own(kind: LayerKind, imported: &Imported, entries: &[FolderEntry]) -> bool {
    let is_it = |entry: &FolderEntry| match kind {
        LayerKind::Python => match entry.path.strip_prefix(top_of(imported)) {
            Some("") => entry.kind == EntryKind::Folder,
            Some(".py" | ".pyc") => true,
            // `fast.cpython-313-x86_64-linux-gnu.so` is `fast`.
            Some(rest) => rest.starts_with('/') || is_library(rest),
            None => false,
        },
        LayerKind::Node => {
            let inside = entry.path.strip_prefix("node_modules/");
            let rest = inside.and_then(|inside| inside.strip_prefix(&*imported.module));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
    };
    entries.iter().any(is_it)
}

/// Whether what follows a module's name marks a machine-code module.
fn is_library(rest: &str) -> bool {
    rest.starts_with('.') && rest.rsplit('.').next() == Some("so") && !rest.contains('/')
}

fn top_of(imported: &Imported) -> &str {
    imported.module.split('.').next().unwrap_or(&imported.module)
}

impl Runtime {
    pub(crate) async fn errand(&self, plan: Plan) -> Result<Errand, RunError> {
        let Some(packages) = &self.packages else {
            if plan.packages().is_empty() {
                return Ok(Errand { plan, wanted: None });
            }
            let message = "`packages` are not installed by this server";
            return Err(Refusal::new("packages", message, "leave `packages` out").into());
        };
        let files: usize = plan.files().iter().map(|file| file.path.as_str().len() + file.contents.len()).sum();
        let (plan, wanted) = if plan.code().len() + files > LONG.as_usize() {
            let packages = Arc::clone(packages);
            let reading = tokio::task::spawn_blocking(move || {
                let wanted = packages.wants(&plan);
                (plan, wanted)
            });
            reading.await.map_err(EngineError::new)?
        } else {
            let wanted = packages.wants(&plan);
            (plan, wanted)
        };
        Ok(Errand { plan, wanted: wanted? })
    }

    /// Makes ready what the run wants on this engine.
    pub(crate) async fn furnish(
        &self,
        errand: &Errand,
        engine: EngineId,
        live: &mut dyn LiveOutput,
    ) -> Result<Ready, ProvideError> {
        let Errand { plan, wanted } = errand;
        let (Some(packages), Some(wanted)) = (&self.packages, wanted) else {
            return Ok(Ready { plan: plan.clone(), packages: None });
        };
        let provided = packages.provide(wanted, engine, live).await?;
        let plan = plan.clone().with_layer(provided.layer.clone());
        // What an engine has anyway is not worth mentioning.
        let is_news = provided.layer.is_some() || !provided.unknown.is_empty() || provided.problem.is_some();
        Ok(Ready { plan, packages: is_news.then_some(provided) })
    }
}

impl Runtime {
    /// Makes packages ready for future runs, on the engine that those will use.
    pub async fn install(
        &self,
        language: &'static Language,
        caller: &Principal,
        packages: &[String],
        live: &mut dyn LiveOutput,
    ) -> Result<(EngineId, Provided), RunError> {
        let (kind, installer) = self.installer(language)?;
        let wanted = installer.check(kind, caller, packages)?;
        let engines = self.engines_for(language)?;
        let mut last = None;
        for engine in engines {
            match installer.provide(&wanted, engine, live).await {
                Ok(provided) => return Ok((engine, provided)),
                Err(error @ ProvideError::Unsuited(_)) => last = Some(error),
                Err(error) => return Err(final_word(error)),
            }
        }
        Err(last.map_or_else(|| no_packages(language).into(), final_word))
    }

    /// Installs packages permanently into the environment that the caller's Python runs in.
    pub async fn change_environment(
        &self,
        caller: &Principal,
        packages: &[String],
        live: &mut dyn LiveOutput,
    ) -> Result<Changed, RunError> {
        let installer = self.packages.as_deref().ok_or_else(no_environment)?;
        let wanted = installer.check(LayerKind::Python, caller, packages)?;
        let environment = self.environments()?.environment(caller).await?;
        let root = environment.path.ok_or_else(no_environment)?;
        installer.change_environment(&wanted, &root, live).await.map_err(final_word)
    }

    /// Who installs packages for a language.
    pub(crate) fn installer(&self, language: &Language) -> Result<(LayerKind, &dyn Packages), Refusal> {
        let kind = LayerKind::of(language).ok_or_else(|| no_packages(language))?;
        Ok((kind, self.packages.as_deref().ok_or_else(|| no_packages(language))?))
    }
}

fn no_environment() -> Refusal {
    Refusal::new(
        "packages",
        "this server has no environment that packages could be installed into",
        "name one at its start",
    )
}

fn no_packages(language: &Language) -> Refusal {
    let message = format!("`packages` cannot be installed for {}", language.name);
    Refusal::new("language", message, "they can be had for python, javascript, typescript")
}

impl Runtime {
    /// The same when no other engine can be tried. If only the program's imports ask for packages, failing to get them
    /// is no reason not to run it: the program itself says what it misses.
    pub(crate) async fn furnish_only(
        &self,
        errand: &Errand,
        engine: EngineId,
        live: &mut dyn LiveOutput,
    ) -> Result<Ready, RunError> {
        match (self.furnish(errand, engine, live).await, &errand.wanted) {
            (Ok(ready), _) => Ok(ready),
            (Err(ProvideError::Unsuited(reason)), Some(wanted)) if wanted.named.is_empty() => {
                let packages = Provided {
                    layer: None,
                    took: Duration::ZERO,
                    cached: true,
                    unknown: Vec::new(),
                    problem: Some(reason),
                };
                Ok(Ready { plan: errand.plan.clone(), packages: Some(packages) })
            }
            (Err(error), _) => Err(final_word(error)),
        }
    }
}

/// Why there are no packages, when no other engine can be tried.
pub(crate) fn final_word(error: ProvideError) -> RunError {
    match error {
        ProvideError::Refused(refusal) => refusal.into(),
        ProvideError::Unsuited(reason) => Refusal::new("engine", reason, "use engine `auto` or `native`").into(),
        ProvideError::WrongPython(reason) => {
            Refusal::new("code", reason, "change its `requires-python`, or use another engine").into()
        }
        ProvideError::Failed(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Mutex;
    use std::thread::{self, ThreadId};

    use sandbox::{BoxFuture, Policy, Request};

    use super::*;

    #[test]
    fn what_a_workspace_has_is_its_own() {
        let entries = [
            "a.py",
            "b/",
            "c.abi3.so",
            "d.csv",
            "node_modules/e/",
            "node_modules/@f/g/h.js",
            "i/j.py",
            "k",
            "l.test.py",
        ]
        .map(|path| {
            let (path, kind) =
                path.strip_suffix('/').map_or((path, EntryKind::File), |folder| (folder, EntryKind::Folder));
            FolderEntry { path: path.to_owned(), kind, size: 0 }
        });
        let own = |kind, module: &str| {
            let imported = Imported { module: module.to_owned(), package: module.to_owned() };
            is_own(kind, &imported, &entries)
        };
        for module in ["a", "a.x", "b", "b.x.y", "c", "i.k"] {
            assert!(own(LayerKind::Python, module), "{module}");
        }
        for module in ["aa", "d", "e", "j", "k", "l", "node", "x"] {
            assert!(!own(LayerKind::Python, module), "{module}");
        }
        assert!(own(LayerKind::Node, "e") && own(LayerKind::Node, "@f/g"));
        assert!(!own(LayerKind::Node, "@f/h") && !own(LayerKind::Node, "@f/gg") && !own(LayerKind::Node, "a"));
    }

    /// Records on which threads programs are read.
    #[derive(Debug, Default)]
    struct Reader(Mutex<Vec<ThreadId>>);

    impl Packages for Reader {
        fn wants(&self, _: &Plan) -> Result<Option<Wanted>, Refusal> {
            self.0.lock().expect("a lock").push(thread::current().id());
            Ok(None)
        }

        fn check(&self, _: LayerKind, _: &Principal, _: &[String]) -> Result<Wanted, Refusal> {
            Err(no_environment())
        }

        fn provide<'a>(
            &'a self,
            _: &'a Wanted,
            _: EngineId,
            _: &'a mut dyn LiveOutput,
        ) -> BoxFuture<'a, Result<Provided, ProvideError>> {
            Box::pin(async { Err(no_environment().into()) })
        }

        fn change_environment<'a>(
            &'a self,
            _: &'a Wanted,
            _: &'a Path,
            _: &'a mut dyn LiveOutput,
        ) -> BoxFuture<'a, Result<Changed, ProvideError>> {
            Box::pin(async { Err(no_environment().into()) })
        }
    }

    #[tokio::test]
    async fn long_programs_are_read_where_nobody_waits() {
        let reader = Arc::new(Reader::default());
        let runtime = Runtime::new(Policy::default(), Vec::new()).with_packages(reader.clone());
        for size in [1, LONG.as_usize() + 1] {
            let plan = runtime.admit(Request::new("python", "1".repeat(size))).expect("admitted");
            runtime.errand(plan).await.expect("nothing is wanted");
        }
        let readers = reader.0.lock().expect("a lock").clone();
        let is_ours: Vec<bool> = readers.iter().map(|reader| *reader == thread::current().id()).collect();
        assert_eq!(is_ours, [true, false]);
    }
}
