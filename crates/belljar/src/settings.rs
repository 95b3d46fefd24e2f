//! Flags, then `BELLJAR_*`, then `belljar.toml`, then defaults: resolved once into one plain struct.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use belljar::{Settings, grants};
use engine_native::{Ahead, ToolSearch};
use packages::{Installs, PackagePolicy};
use sandbox::{Bytes, Folders, Limits, NetworkPolicy, Policy, Refusal, Requirement};
use serde::Deserialize;
use setup::Scratch;

use crate::arguments::{GlobalArguments, GrantFlags};

/// The configuration file. Like `--config`.
const BELLJAR_CONFIG: &str = "BELLJAR_CONFIG";
/// The weakest isolation to accept, `full` or `landlock`. Like `--require`.
const BELLJAR_REQUIRE: &str = "BELLJAR_REQUIRE";
/// The folder for provisioned runtimes; by default `belljar` in the user's cache folder.
const BELLJAR_CACHE: &str = "BELLJAR_CACHE";
/// Set to anything: keep what recipes leave behind, for those who work on them.
const BELLJAR_KEEP_WORK: &str = "BELLJAR_KEEP_WORK";

/// The environment, read once.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    config: Option<PathBuf>,
    require: Option<String>,
    cache: Option<PathBuf>,
    keep_work: bool,
    path: Vec<PathBuf>,
    home: Option<PathBuf>,
    config_home: Option<PathBuf>,
    cache_home: Option<PathBuf>,
    runtime_dir: Option<PathBuf>,
    temporary: PathBuf,
    all: Vec<(OsString, OsString)>,
}

impl Environment {
    /// A variable that is not empty, and text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all().find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
    }

    /// All variables that are text.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }

    /// Where programs are looked for.
    pub(crate) fn path(&self) -> &[PathBuf] {
        &self.path
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the module that reads the environment")]
    pub(crate) fn read() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            config: variable(BELLJAR_CONFIG).map(PathBuf::from),
            require: variable(BELLJAR_REQUIRE).map(|value| value.to_string_lossy().into_owned()),
            cache: variable(BELLJAR_CACHE).map(PathBuf::from),
            keep_work: variable(BELLJAR_KEEP_WORK).is_some(),
            path: variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
            home: home(variable("HOME")),
            config_home: variable("XDG_CONFIG_HOME").map(PathBuf::from),
            cache_home: variable("XDG_CACHE_HOME").map(PathBuf::from),
            runtime_dir: variable("XDG_RUNTIME_DIR").map(PathBuf::from),
            temporary: std::env::temp_dir(),
            all: std::env::vars_os().collect(),
        }
    }
}

/// A service may have no `HOME`. Its user mostly has a home all the same.
fn home(variable: Option<OsString>) -> Option<PathBuf> {
    variable.map(PathBuf::from).or_else(std::env::home_dir).filter(|home| !home.as_os_str().is_empty())
}

/// `belljar.toml`. The comments on its fields are what the reference says of them.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The weakest isolation to accept: `full` (default) or `landlock`
    require: Option<String>,
    /// Folders of this machine that runs see, like `--mount`: `/srv/data:/data:ro`. Flags are meant instead of them
    #[serde(default)]
    mounts: Vec<String>,
    /// The most that a caller can ask for
    #[serde(default)]
    limits: FileLimits,
    /// What a run gets that asks for nothing
    #[serde(default)]
    defaults: FileLimits,
    /// What may be installed for programs
    #[serde(default)]
    packages: FilePackages,
    /// Python environments for native runs
    #[serde(default)]
    environments: FileEnvironments,
    /// Hosts that runs may connect to
    #[serde(default)]
    network: FileNetwork,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct FileNetwork {
    /// What callers may ask for with `network`, like `serve --network`, which is meant instead: `api.example.org`, `*.example.com:8443`
    #[serde(default)]
    allow: Vec<String>,
    /// What every run has without asking
    #[serde(default)]
    always: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct FileEnvironments {
    /// The one that Python runs in, like `--environment`; without one, the host's own Python
    default: Option<PathBuf>,
    /// Folders below which callers may choose one with `configure_environment`
    #[serde(default)]
    allow: Vec<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct FilePackages {
    /// Whether anything is installed at all (`true`)
    enabled: Option<bool>,
    /// Whether packages are installed for imports that nobody named (`true`; over HTTP `false`)
    automatic: Option<bool>,
    /// If there are any, only these by name, and what they need
    #[serde(default)]
    allow: Vec<String>,
    /// Never these, neither directly nor for another
    #[serde(default)]
    deny: Vec<String>,
    /// Only what the clients have in their caches (`false`)
    offline: Option<bool>,
    /// Versions that are younger are taken for not there: `3days`
    minimum_age: Option<String>,
    /// Room for all layers and the clients' caches; the least recently used layers go first (`10GiB`)
    cache: Option<String>,
    /// Hosts in a private network that the clients may reach: `pypi.corp:8443`
    #[serde(default)]
    private_registries: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct FileLimits {
    /// Wall clock: `30s`, `5m`
    timeout: Option<String>,
    /// CPU time of all processes together
    cpu: Option<String>,
    /// Memory of all processes together: `512MiB`
    memory: Option<String>,
    /// All writable places together
    disk: Option<String>,
    /// Files and folders in them
    file_count: Option<u32>,
    /// Processes and threads at one time
    processes: Option<u32>,
    /// What is kept of each output stream
    output: Option<String>,
}

/// Who the callers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Whoever started this process, for one run.
    None,
    /// Whoever started this process.
    Own,
    /// Others, over HTTP.
    Shared,
}

pub(crate) fn resolve(
    (arguments, grants): (&GlobalArguments, GrantFlags<'_>),
    environment: &Environment,
    transport: Transport,
) -> anyhow::Result<Settings> {
    let file = match arguments.config.as_ref().or(environment.config.as_ref()) {
        Some(path) => read(path)?,
        None => read_default(environment)?,
    };
    let require = match (arguments.require, environment.require.as_ref().or(file.require.as_ref())) {
        (Some(require), _) => require,
        (None, Some(text)) => text.parse().map_err(anyhow::Error::msg)?,
        (None, None) => Requirement::default(),
    };
    let policy = Policy {
        ceilings: file.limits.over(Limits::CEILING).context("in `limits` of the configuration")?,
        defaults: file.defaults.over(Limits::DEFAULT).context("in `defaults` of the configuration")?,
        folders: Folders::default(),
        network: file.network.under(grants.network)?,
    };
    let packages = file.packages.over(transport);
    let mut settings = Settings {
        packages: packages.context("in `packages` of the configuration")?,
        python: arguments.environment.clone().or(file.environments.default),
        pythons: file.environments.allow,
        ahead: if transport == Transport::None { Ahead::Never } else { Ahead::AfterEach },
        policy,
        require,
        tools: ToolSearch { path: environment.path.clone(), home: environment.home.clone(), own: Vec::new() },
        scratch: scratch(environment),
        off_limits: off_limits(arguments, environment),
        cache: cache(environment),
        recipes: if environment.keep_work { Scratch::Keep } else { Scratch::Clear },
        environment: environment.all.clone(),
    };
    // Those of a flag are meant instead of the file's.
    let mounts = if grants.mounts.is_empty() { &file.mounts } else { grants.mounts };
    let folders = mounts.iter().map(|text| grants::parse_folder(text)).collect::<Result<Vec<_>, _>>()?;
    settings.grant_folders(folders)?;
    Ok(settings)
}

/// What belljar works with: with that in their hands, runs would be what they like.
fn off_limits(arguments: &GlobalArguments, environment: &Environment) -> Vec<PathBuf> {
    let config = arguments.config.iter().chain(&environment.config).chain(&environment.config_home);
    let own = config.chain(&environment.home).chain(&environment.path).cloned();
    // Also one that is not there yet: the next start would find it.
    own.chain(default_file(environment)).chain(std::env::current_exe()).chain([cache(environment)]).collect()
}

/// Where provisioned runtimes are kept.
fn cache(environment: &Environment) -> PathBuf {
    if let Some(cache) = &environment.cache {
        return cache.clone();
    }
    let folder = environment.cache_home.clone().or_else(|| Some(environment.home.as_ref()?.join(".cache")));
    // Who has no home has a place among temporary files.
    folder.map_or_else(|| own_temporary(environment).join("cache"), |folder| folder.join("belljar"))
}

/// The configuration of a user who names none.
fn default_file(environment: &Environment) -> Option<PathBuf> {
    let folder = environment.config_home.clone().or_else(|| Some(environment.home.as_ref()?.join(".config")))?;
    Some(folder.join("belljar/belljar.toml"))
}

fn read_default(environment: &Environment) -> anyhow::Result<File> {
    let Some(path) = default_file(environment) else { return Ok(File::default()) };
    match std::fs::read_to_string(&path) {
        // Nobody has to have one. One that is there and cannot be read might hold the operator's limits.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(File::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read the configuration `{}`", path.display())),
        Ok(text) => parse(&text, &path),
    }
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read the configuration `{}`", path.display()))?;
    parse(&text, path)
}

fn parse(text: &str, path: &Path) -> anyhow::Result<File> {
    toml::from_str(text).with_context(|| format!("the configuration `{}` is not valid", path.display()))
}

impl FileNetwork {
    /// What callers may ask for is what flags say, if they do.
    fn under(self, flags: &[String]) -> Result<NetworkPolicy, Refusal> {
        let patterns = |texts: &[String]| texts.iter().map(|text| text.parse()).collect::<Result<Vec<_>, Refusal>>();
        let allowed = if flags.is_empty() { &self.allow } else { flags };
        Ok(NetworkPolicy { allowed: patterns(allowed)?, always: patterns(&self.always)? })
    }
}

impl FilePackages {
    fn over(self, transport: Transport) -> anyhow::Result<PackagePolicy> {
        let base = PackagePolicy::default();
        let age = |text: String| {
            humantime::parse_duration(&text).with_context(|| format!("`{text}` is no time; write it like `7days`"))
        };
        Ok(PackagePolicy {
            installs: match (self.enabled, self.automatic.unwrap_or(transport != Transport::Shared)) {
                (Some(false), _) => Installs::Nothing,
                (Some(true) | None, true) => Installs::Imported,
                (Some(true) | None, false) => Installs::Named,
            },
            allow: self.allow,
            deny: self.deny,
            offline: self.offline.unwrap_or(base.offline),
            minimum_age: self.minimum_age.map(age).transpose()?,
            most: self.cache.map(|text| text.parse()).transpose()?.unwrap_or(base.most),
            private_registries: self.private_registries,
        })
    }
}

impl FileLimits {
    fn over(&self, base: Limits) -> anyhow::Result<Limits> {
        let time = |text: &Option<String>, base: Duration| match text {
            Some(text) => {
                humantime::parse_duration(text).with_context(|| format!("`{text}` is no time; write it like `30s`"))
            }
            None => Ok(base),
        };
        let size = |text: &Option<String>, base: Bytes| match text {
            Some(text) => text.parse::<Bytes>().map_err(anyhow::Error::from),
            None => Ok(base),
        };
        let limits = Limits {
            wall: time(&self.timeout, base.wall)?,
            cpu: time(&self.cpu, base.cpu)?,
            memory: size(&self.memory, base.memory)?,
            disk: size(&self.disk, base.disk)?,
            files: self.file_count.unwrap_or(base.files),
            processes: self.processes.unwrap_or(base.processes),
            output: size(&self.output, base.output)?,
        };
        let (least, time) = (Limits::FLOOR, |time: Duration| humantime::format_duration(time).to_string());
        at_least("timeout", limits.wall, least.wall, time)?;
        at_least("cpu", limits.cpu, least.cpu, time)?;
        at_least("memory", limits.memory, least.memory, |size| size.to_string())?;
        at_least("disk", limits.disk, least.disk, |size| size.to_string())?;
        at_least("file_count", limits.files, least.files, |count| count.to_string())?;
        at_least("processes", limits.processes, least.processes, |count| count.to_string())?;
        at_least("output", limits.output, least.output, |size| size.to_string())?;
        Ok(limits)
    }
}

/// With less, every run would fail, and nobody would know why.
fn at_least<T: PartialOrd + Copy>(name: &str, given: T, least: T, show: impl Fn(T) -> String) -> anyhow::Result<()> {
    anyhow::ensure!(given >= least, "`{name}` of {} is below the least that can work, {}", show(given), show(least));
    Ok(())
}

/// A directory of this user's alone. Only used where namespaces are blocked.
fn scratch(environment: &Environment) -> PathBuf {
    match &environment.runtime_dir {
        Some(directory) => directory.join("belljar"),
        None => own_temporary(environment),
    }
}

fn own_temporary(environment: &Environment) -> PathBuf {
    environment.temporary.join(format!("belljar-{}", rustix::process::getuid().as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global() -> GlobalArguments {
        GlobalArguments { config: None, require: None, environment: None }
    }

    #[test]
    fn flags_win_over_environment_over_file() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("belljar.toml");
        std::fs::write(&path, "require = \"landlock\"\n[limits]\nmemory = \"1GiB\"\n[defaults]\ntimeout = \"5s\"\n")
            .expect("write");
        let mut environment = Environment { config: Some(path), ..Environment::default() };

        let settings = resolve((&global(), GrantFlags::default()), &environment, Transport::Own).expect("settings");
        assert_eq!(settings.require, Requirement::Landlock);
        assert_eq!(settings.policy.ceilings.memory, Bytes::gib(1));
        assert_eq!(settings.policy.defaults.wall, Duration::from_secs(5));

        environment.require = Some("full".to_owned());
        assert_eq!(
            resolve((&global(), GrantFlags::default()), &environment, Transport::Own).expect("settings").require,
            Requirement::Full
        );
        let flags = GlobalArguments { require: Some(Requirement::Landlock), ..global() };
        assert_eq!(
            resolve((&flags, GrantFlags::default()), &environment, Transport::Own).expect("settings").require,
            Requirement::Landlock
        );
    }

    #[test]
    fn a_mistake_in_the_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("belljar.toml");
        for text in ["requires = \"full\"", "[limits]\nmemory = \"lots\"", "require = \"none\""] {
            std::fs::write(&path, text).expect("write");
            let environment = Environment { config: Some(path.clone()), ..Environment::default() };
            assert!(resolve((&global(), GrantFlags::default()), &environment, Transport::Own).is_err(), "{text}");
        }
    }

    #[test]
    fn a_limit_that_nothing_can_work_with_is_an_error() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("belljar.toml");
        for (text, expected) in [
            ("[limits]\nmemory = \"1KiB\"", "`memory` of 1 KiB is below the least that can work, 16 MiB"),
            ("[limits]\nprocesses = 1", "`processes` of 1 is below the least that can work, 4"),
            ("[limits]\noutput = \"0B\"", "`output` of 0 bytes is below the least that can work, 1 KiB"),
            ("[defaults]\ntimeout = \"0s\"", "`timeout` of 0s is below the least that can work, 1ms"),
            ("[defaults]\ncpu = \"10us\"", "`cpu` of 10us is below the least that can work, 1ms"),
            ("[defaults]\ndisk = \"1KiB\"", "`disk` of 1 KiB is below the least that can work, 1 MiB"),
            ("[defaults]\nfile_count = 63", "`file_count` of 63 is below the least that can work, 64"),
        ] {
            std::fs::write(&path, text).expect("write");
            let environment = Environment { config: Some(path.clone()), ..Environment::default() };
            let error = resolve((&global(), GrantFlags::default()), &environment, Transport::Own).expect_err(text);
            let table = text.split(['[', ']']).nth(1).expect("a name");
            assert_eq!(format!("{error:#}"), format!("in `{table}` of the configuration: {expected}"));
        }
    }

    /// What a service is configured with is where its cache is: in its user's home, also where no variable says where that is.
    #[test]
    fn who_has_no_variable_has_a_home_all_the_same() {
        let users = std::env::home_dir().expect("whoever runs tests has a home");
        let environment = Environment { home: home(None), ..Environment::default() };
        assert_eq!(default_file(&environment), Some(users.join(".config/belljar/belljar.toml")));
        assert_eq!(cache(&environment), users.join(".cache/belljar"));
        assert_eq!(home(Some("elsewhere".into())), Some(PathBuf::from("elsewhere")));
    }
}
