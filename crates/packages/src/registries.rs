//! Which hosts are registries.
//!
//! No host is written down here. A client knows its registry, or the operator's configuration does, and a registry says
//! where its files are. So each client is run once with nothing but that configuration, and without a word from any
//! caller: the hosts that it asks then are registries.

use std::fs;

use egress::{Gate, Host, Log};
use sandbox::{LiveOutput, Status};
use setup::Digest;

use crate::clients::{self, Clients, Errand};
use crate::policy::PackagePolicy;
use crate::store::Store;
use crate::trouble::Trouble;
use crate::words::{out_of_time, reason};

/// The least that a connection to a registry has to move in two minutes. One that drips would hold up its installation,
/// and those that wait behind it, until the client's whole time is over.
const SLOWEST: u64 = 64 << 10;

/// Who asks.
pub(crate) struct Asker<'a> {
    pub(crate) name: &'a str,
    /// Everything that decides whom it asks.
    pub(crate) fingerprint: &'a str,
    pub(crate) policy: &'a PackagePolicy,
    pub(crate) store: &'a Store,
    pub(crate) clients: &'a Clients,
    pub(crate) proxy: Option<egress::Upstream>,
}

/// The gate for a client, learned now if that was not done before. `errand` makes the client fetch something small.
pub(crate) async fn gate(
    asker: &Asker<'_>,
    errand: impl FnOnce() -> Result<Errand, Trouble>,
    live: &mut dyn LiveOutput,
) -> Result<Gate, Trouble> {
    let Asker { name, fingerprint, policy, store, clients, proxy } = asker;
    let private: Vec<Host> =
        policy.private_registries.iter().map(|host| clients::private_host(host)).collect::<Result<_, _>>()?;
    let file =
        format!("{name}-{}.json", Digest::of_parts([fingerprint.as_bytes(), format!("{private:?}").as_bytes()]).name());
    let known = fs::read(store.path("registries", &file)).ok();
    let known: Option<Vec<String>> = known.and_then(|text| serde_json::from_slice(&text).ok());
    let hosts = if let Some(hosts) = known {
        hosts
    } else {
        live.news("asking which registries this machine uses");
        let gate = Gate::to_any_public().and(private.clone()).behind(proxy.clone()).moving_at_least(SLOWEST);
        let log = Log::default();
        let end = clients.run(errand()?, Some((&gate, &log)), live).await?;
        let traffic = log.traffic();
        if !end.status.is_success() || traffic.reached.is_empty() {
            let denied = traffic.denied.first().map(ToString::to_string);
            let said = || match end.status {
                Status::Completed { exit_code: 0 } => "nobody was asked".to_owned(),
                Status::TimedOut => reason(&out_of_time(&traffic.reached)),
                Status::Completed { .. } | Status::Crashed { .. } | Status::LimitExceeded(_) | Status::Cancelled => {
                    reason(&end.stderr)
                }
            };
            return Err(Trouble::NoRegistry(denied.unwrap_or_else(said)));
        }
        let hosts: Vec<String> = traffic.reached.into_iter().collect();
        store.write("registries", &file, &serde_json::to_vec(&hosts).unwrap_or_default()).ok();
        hosts
    };
    let public = hosts.iter().filter_map(|host| Host::parse(host).ok());
    Ok(Gate::to(public).and(private).behind(proxy.clone()).moving_at_least(SLOWEST))
}
