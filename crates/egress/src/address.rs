//! Which addresses a tunnel may lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far away an address is, the harmless first: a gate that allows one allows those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Anywhere on the internet. The documentation ranges count: some networks use them as if they were public.
    Public,
    /// This machine, or the operator's own network: only for a host that the operator named.
    Private,
    /// For nobody: clouds' metadata services, groups, addresses that mean "this host" or nothing at all.
    Never,
}

impl Reach {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => v4(address),
            IpAddr::V6(address) => v6(address),
        }
    }
}

#[expect(clippy::match_same_arms, reason = "a table: one line for one kind of address")]
fn v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        [0, ..] => Reach::Never, // this host
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Reach::Private,
        [100, 100, 100, 200] => Reach::Never,  // metadata (Alibaba)
        [100, 64..=127, ..] => Reach::Private, // a carrier's NAT
        [127, ..] => Reach::Private,           // loopback
        [168, 63, 129, 16] => Reach::Never,    // metadata (Azure)
        [169, 254, ..] => Reach::Never,        // link-local, with most clouds' metadata
        [192, 0, 0, _] => Reach::Never,        // protocols, with metadata (Oracle)
        [192, 88, 99, _] => Reach::Never,      // relays of 6to4
        [198, 18..=19, ..] => Reach::Private,  // benchmarks
        [224..=255, ..] => Reach::Never,       // groups, reserved, broadcast
        _ => Reach::Public,
    }
}

#[expect(clippy::match_same_arms, reason = "a table: one line for one kind of address")]
fn v6(address: Ipv6Addr) -> Reach {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Private, // loopback
        // An IPv4 address in other clothes (mapped, NAT64, 6to4) is as far away as that one.
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(inner(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(inner(high, low)),
        [0x2002, high, low, ..] => v4(inner(high, low)),
        [0x2001, 0..=0x1ff, ..] => Reach::Never, // protocols, with Teredo
        [0x2000..=0x3fff, ..] => Reach::Public,  // all global unicast
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => Reach::Never, // metadata (Amazon, Google)
        [0xfc00..=0xfdff, ..] => Reach::Private, // unique local
        [0xfec0..=0xfeff, ..] => Reach::Private, // site-local
        // Unspecified, IPv4-compatible, link-local, groups, what nobody has assigned yet; and NAT64 of a network's own (64:ff9b:1::/48), in
        // which nobody can tell from here where the IPv4 address stands.
        _ => Reach::Never,
    }
}

fn inner(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}
