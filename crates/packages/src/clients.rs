//! Package clients: where they are, what they are told, how they are run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egress::{Gate, Host, Log, Upstream};
use engine_native::{Client, ClientEnd, Folder, NativeEngine, WAY_OUT};
use sandbox::{LayerKind, LiveOutput, Refusal};
use setup::{Cancel, Setup, Tool};
use tokio::sync::OnceCell;

use crate::trouble::Trouble;

/// Where a client finds its own cache, and what it is to fill.
pub(crate) const CACHE: &str = "/cache";
pub(crate) const LAYER: &str = "/layer";

/// News of a download come this often.
const NEWS_EVERY: Duration = Duration::from_secs(1);

/// What the operator's environment says to package clients. None of it ever reaches a guest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    variables: Vec<(String, String)>,
    home: Option<PathBuf>,
}

/// Families of variables that clients read.
const FAMILIES: [&str; 4] = ["UV_", "NPM_CONFIG_", "npm_config_", "SSL_CERT_"];
/// Variables that would turn a client into something else than what we start.
const NOT_PASSED_ON: [&str; 7] = [
    "UV_CACHE_DIR",
    "UV_PYTHON",
    "UV_TARGET",
    "UV_PROJECT_ENVIRONMENT",
    "UV_TOOL_DIR",
    "UV_LINK_MODE",
    "UV_FIND_LINKS",
];

impl Surroundings {
    pub(crate) fn new(environment: &[(OsString, OsString)], home: Option<PathBuf>) -> Self {
        let variables = environment
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
            .collect();
        Self { variables, home }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// For every client.
    pub(crate) fn passed_on(&self) -> Vec<(String, String)> {
        let is_passed_on =
            |name: &str| FAMILIES.iter().any(|family| name.starts_with(family)) && !NOT_PASSED_ON.contains(&name);
        self.variables.iter().filter(|(name, _)| is_passed_on(name)).cloned().collect()
    }

    /// pip's own settings, in uv's words, where uv has none: most machines are configured for pip.
    pub(crate) fn indexes_of_pip(&self) -> Vec<(String, String)> {
        let configured = |name: &str| self.get(name).is_some();
        let mut told = Vec::new();
        if !configured("UV_DEFAULT_INDEX") && !configured("UV_INDEX_URL") {
            let index = self.get("PIP_INDEX_URL").map(str::to_owned).or_else(|| self.pip_says("index-url"));
            told.extend(index.map(|index| ("UV_DEFAULT_INDEX".to_owned(), index)));
        }
        if !configured("UV_INDEX") && !configured("UV_EXTRA_INDEX_URL") {
            let more = self.get("PIP_EXTRA_INDEX_URL").map(str::to_owned).or_else(|| self.pip_says("extra-index-url"));
            told.extend(more.map(|more| ("UV_INDEX".to_owned(), more)));
        }
        told
    }

    /// What a setting of pip's is in its configuration files, the user's before the machine's.
    fn pip_says(&self, setting: &str) -> Option<String> {
        let own = self.home.iter().flat_map(|home| [home.join(".config/pip/pip.conf"), home.join(".pip/pip.conf")]);
        own.chain([PathBuf::from("/etc/pip.conf")]).find_map(|path| {
            let text = std::fs::read_to_string(path).ok()?;
            text.lines().find_map(|line| {
                let (name, value) = line.split_once('=')?;
                (name.trim().replace('_', "-") == setting).then(|| value.trim().to_owned())
            })
        })
    }

    /// uv's and npm's own configuration files, those that are there.
    pub(crate) fn uv_configuration(&self) -> Option<PathBuf> {
        let own = self.home.iter().map(|home| home.join(".config/uv/uv.toml"));
        own.chain([PathBuf::from("/etc/uv/uv.toml")]).find(|path| path.is_file())
    }

    pub(crate) fn npm_configuration(&self) -> Option<Vec<u8>> {
        self.home.as_ref().and_then(|home| std::fs::read(home.join(".npmrc")).ok())
    }

    /// Files with certificates that clients are told of.
    pub(crate) fn certificates(&self) -> Vec<PathBuf> {
        ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().filter_map(|name| self.get(name)).map(PathBuf::from).collect()
    }

    /// The operator's own proxy. If it cannot be used, nobody goes around it.
    pub(crate) fn proxy(&self) -> Result<Option<Upstream>, Trouble> {
        let first = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, self.get(name)?)));
        let Some((name, text)) = first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]) else {
            return Ok(None);
        };
        let unusable = |error| Trouble::NoRegistry(format!("the server's `{name}` cannot be used: {error}"));
        let upstream = Upstream::parse(text).map_err(unusable)?;
        let (_, exceptions) = first(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
        Ok(Some(upstream.except(exceptions)))
    }

    /// Everything that decides which registries are asked for packages of this kind.
    pub(crate) fn fingerprint(&self, kind: LayerKind) -> String {
        let mut variables = self.passed_on();
        variables.retain(|(name, _)| name.starts_with("UV_") == (kind == LayerKind::Python));
        match kind {
            LayerKind::Python => {
                let file = self.uv_configuration().and_then(|path| std::fs::read(path).ok());
                format!("{variables:?}{:?}{file:?}", self.indexes_of_pip())
            }
            LayerKind::Node => format!("{variables:?}{:?}", self.npm_configuration()),
        }
    }
}

/// A client's whole errand.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) files: Vec<(String, Vec<u8>)>,
    pub(crate) reads: Vec<PathBuf>,
    pub(crate) cache: PathBuf,
    /// What it is to fill, if anything.
    pub(crate) layer: Option<PathBuf>,
    /// A folder of the operator's that it is to change, if any.
    pub(crate) changes: Option<PathBuf>,
    /// Where it starts.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) wall: Duration,
}

/// Runs clients.
#[derive(Debug)]
pub(crate) struct Clients {
    native: NativeEngine,
    setup: Arc<Setup>,
    uv: OnceCell<Tool>,
    deno: OnceCell<Tool>,
}

impl Clients {
    pub(crate) fn new(native: NativeEngine, setup: Arc<Setup>) -> Self {
        Self { native, setup, uv: OnceCell::new(), deno: OnceCell::new() }
    }

    pub(crate) fn native(&self) -> &NativeEngine {
        &self.native
    }

    pub(crate) async fn uv(&self, live: &mut dyn LiveOutput) -> Result<&Tool, Trouble> {
        self.uv.get_or_try_init(|| self.get("uv", live)).await
    }

    pub(crate) async fn deno(&self, live: &mut dyn LiveOutput) -> Result<&Tool, Trouble> {
        self.deno.get_or_try_init(|| self.get("deno", live)).await
    }

    /// A tool of ours, got now if it is not here.
    async fn get(&self, name: &'static str, live: &mut dyn LiveOutput) -> Result<Tool, Trouble> {
        let missing = || Trouble::Tool { name, why: "it is not in the catalogue".to_owned() };
        let row = setup::tool(name).ok_or_else(missing)?;
        if let Some(tool) = self.setup.find_tool(row) {
            return Ok(tool);
        }
        live.news(&format!("getting {name}, once"));
        let setup = Arc::clone(&self.setup);
        let got = tokio::task::spawn_blocking(move || setup.provide_tool(row, &Cancel::default(), &mut |_| {})).await;
        let failed = |why: String| Trouble::Tool { name, why };
        got.map_err(|error| failed(error.to_string()))?.map_err(|failure| failed(failure.why))
    }

    /// Runs a client to its end, and says now and then how much it has fetched.
    pub(crate) async fn run(
        &self,
        errand: Errand,
        way_out: Option<(&Gate, &Log)>,
        live: &mut dyn LiveOutput,
    ) -> Result<ClientEnd, Trouble> {
        let mut environment = errand.environment;
        if way_out.is_some() {
            let proxy = format!("http://{WAY_OUT}");
            for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"] {
                environment.push((name.to_owned(), proxy.clone()));
            }
        }
        let mut writes = vec![Folder { source: errand.cache, target: CACHE.into() }];
        writes.extend(errand.layer.map(|layer| Folder { source: layer, target: LAYER.into() }));
        let client = Client {
            program: errand.program,
            arguments: errand.arguments,
            environment,
            files: errand.files,
            reads: errand.reads,
            writes,
            changes: errand.changes,
            folder: errand.folder,
            way_out,
            wall: errand.wall,
        };
        let mut nothing = ();
        let mut run = std::pin::pin!(self.native.run_client(client, &mut nothing));
        let (mut next, mut told) = (Instant::now() + NEWS_EVERY, 0);
        loop {
            tokio::select! {
                end = &mut run => return end.map_err(Trouble::Engine),
                () = tokio::time::sleep_until(next.into()) => {
                    next += NEWS_EVERY;
                    let fetched = way_out.map_or(0, |(_, log)| log.traffic().bytes_in) >> 20;
                    if fetched > told {
                        told = fetched;
                        live.news(&format!("fetched {fetched} MiB of packages"));
                    }
                }
            }
        }
    }
}

/// A host that the operator named.
pub(crate) fn private_host(text: &str) -> Result<Host, Refusal> {
    let explain = |error: egress::HostError| {
        let message = format!("`packages.private_registries` names `{text}`: {error}");
        Refusal::new("packages", message, "the operator names hosts there, as `host` or `host:port`")
    };
    Host::parse(text).map(Host::private).map_err(explain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_cannot_be_used_is_told() {
        let proxy = |variables: &[(&str, &str)]| {
            let variables: Vec<_> = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
            let proxy = Surroundings::new(&variables, None).proxy();
            proxy.map(|proxy| proxy.is_some()).map_err(|trouble| trouble.to_string())
        };
        assert_eq!(proxy(&[("HTTPS_PROXY", "")]), Ok(false));
        assert_eq!(proxy(&[("HTTPS_PROXY", "proxy.corp:3128"), ("ALL_PROXY", "socks5://proxy.corp")]), Ok(true));
        let scheme = "cannot be used: only proxies whose address begins with `http://` can be used";
        let address = "cannot be used: the proxy's address is not `http://[user:password@]host:port`";
        for (name, value, said) in [
            ("HTTPS_PROXY", "https://user:hidden@proxy.corp", scheme),
            ("all_proxy", "socks5://user:hidden@proxy.corp:1080", scheme),
            ("https_proxy", "http://user:hidden@proxy.corp:port", address),
        ] {
            let expected = format!("no package registry can be reached: the server's `{name}` {said}");
            assert_eq!(proxy(&[(name, value)]), Err(expected));
        }
    }
}
