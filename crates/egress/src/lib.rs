//! The only way out of an install jail.
//!
//! Such a jail has a network namespace with nothing but loopback. Its first process listens on 127.0.0.1 in there and hands that socket to
//! the server, which [`serve`]s on it: HTTP `CONNECT`, to the hosts of a [`Gate`], and nothing else. So the jail holds no proxy, no socket path
//! and no name server, and every decision is made outside of it.
//!
//! What a jail can do through a gate, and no more:
//! * open a tunnel to a listed host and port. The *server* looks the name up, and connects to an address that it has checked: a registry's
//!   name that resolves to a private, link-local or otherwise special address leads nowhere, unless the operator named that very host;
//! * move bytes through it, up to a limit for all tunnels together;
//! * learn whether a listed host exists and answers.
//!
//! Not defended against: what is said inside a tunnel, which is encrypted. A listed host that serves many sites can be asked for another of
//! them (domain fronting), and one that takes uploads can be sent what is in the jail. So a jail with a gate is given no secrets and runs no guest code.

mod address;
mod dial;
mod gate;
mod head;
mod host;
mod serve;
mod traffic;
mod tunnel;
mod upstream;

#[cfg(test)]
mod tests;

pub use gate::Gate;
pub use host::{Host, HostError};
pub use serve::serve;
pub use traffic::{Denied, End, Log, Reason, Traffic};
pub use upstream::{Upstream, UpstreamError};
