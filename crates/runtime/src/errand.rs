//! A run and the packages that it wants.

use std::time::Duration;

use sandbox::{
    Changed, EngineId, Language, LayerKind, LiveOutput, Packages, Plan, Principal, ProvideError, Provided, Refusal,
    Wanted,
};

use crate::{RunError, Runtime};

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
    /// The same run under a changed plan.
    #[must_use]
    pub(crate) fn with(self, change: impl FnOnce(Plan) -> Plan) -> Self {
        Self { plan: change(self.plan), ..self }
    }
}

impl Runtime {
    pub(crate) fn errand(&self, plan: Plan) -> Result<Errand, Refusal> {
        let wanted = match &self.packages {
            Some(packages) => packages.wants(&plan)?,
            None if plan.packages().is_empty() => None,
            None => {
                let message = "`packages` are not installed by this server";
                return Err(Refusal::new("packages", message, "leave `packages` out"));
            }
        };
        Ok(Errand { plan, wanted })
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
        // What an engine has anyway is nothing to speak of.
        let is_news = provided.layer.is_some() || !provided.unknown.is_empty() || provided.problem.is_some();
        Ok(Ready { plan, packages: is_news.then_some(provided) })
    }
}

impl Runtime {
    /// Makes packages ready for runs to come, on the engine that they will use.
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

    /// Installs packages into the environment that the caller's Python runs in, for good.
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
    /// The same where no other engine can be tried. What only the program's imports ask for is no reason not to run it: it says itself
    /// what it misses.
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

/// Why there are no packages, where no other engine can be tried.
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
