//! Requests that this server makes itself: to an authorization server for its keys, and to wherever an operator wants
//! traces. Never for a guest.

use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

/// Slow servers are not waited for.
const TIME: Duration = Duration::from_secs(10);

/// Makes requests. Trusts the certificates that this system trusts; follows no redirect.
pub fn agent() -> ureq::Agent {
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .build();
    ureq::Agent::config_builder()
        .tls_config(tls)
        .timeout_global(Some(TIME))
        .max_redirects(0)
        .user_agent(concat!("belljar/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}
