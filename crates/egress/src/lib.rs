//! The only way out of a jail, for jails that have one: those that install packages, and those of programs that the operator lets out.
//!
//! Such a jail has a network namespace with nothing but loopback. Its first process listens on 127.0.0.1 in there and hands that socket to
//! the server, which [`serve`]s on it: HTTP `CONNECT`, to the hosts of a [`Gate`], and for programs plain HTTP. So the jail holds no proxy, no
//! socket path and no name server, and every decision is made outside of it.
//!
//! What a jail can do through a gate, and no more:
//! * open a tunnel to a listed host and port. The *server* looks the name up, and connects to an address that it has checked: a name that
//!   resolves to a private, link-local or otherwise special address leads nowhere, unless it is a registry that the operator named so;
//! * a program: send a request to such a host in the clear, one for each connection;
//! * move bytes, up to a limit for all connections together;
//! * learn whether a listed host exists and answers.
//!
//! Not defended against: what is said inside a tunnel, which is encrypted. A listed host that serves many sites can be asked for another of
//! them (domain fronting), and one that takes uploads can be sent what is in the jail. So a jail that installs is given no secrets and runs no
//! guest code, and a program has a gate only where its operator says so.

mod address;
mod dial;
mod gate;
mod head;
mod host;
mod pattern;
mod serve;
mod traffic;
mod tunnel;
mod upstream;

#[cfg(test)]
mod tests;

pub use gate::Gate;
pub use host::{Host, HostError};
pub use pattern::Pattern;
pub use serve::serve;
pub use traffic::{Denied, End, Log, Reason, Traffic};
pub use upstream::{Upstream, UpstreamError};
