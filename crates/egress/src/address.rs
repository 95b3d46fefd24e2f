//! Which addresses a tunnel may lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far away an address is, the harmless first: a gate that allows one allows those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Anywhere on the internet. The documentation ranges count: some networks use them as if they were public.
    Public,
    /// This machine, or the operator's own network: only for a host that the operator named.
    Private,
    /// For nobody: metadata services (link-local), groups, addresses that mean "this host" or nothing at all.
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

fn v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        // This network; groups, reserved and broadcast; link-local, protocol assignments, 6to4 relays.
        [0 | 224..=255, ..] | [169, 254, ..] | [192, 0, 0, _] | [192, 88, 99, _] => Reach::Never,
        // The operator's network, loopback, carriers' NAT, benchmarks.
        [10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] | [198, 18..=19, ..] => {
            Reach::Private
        }
        _ => Reach::Public,
    }
}

fn v6(address: Ipv6Addr) -> Reach {
    match address.segments() {
        // An IPv4 address in other clothes (mapped, NAT64, 6to4) is as far away as that one.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            v4(inner(high, low))
        }
        // Loopback, unique local, site-local; and NAT64 of a network's own, in which nobody can tell from here where the IPv4 address stands.
        [0, 0, 0, 0, 0, 0, 0, 1] | [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] | [0x64, 0xff9b, 1, ..] => Reach::Private,
        // Protocol assignments, among them Teredo, which has an IPv4 address at its end too.
        [0x2001, 0..=0x1ff, ..] => Reach::Never,
        // All that was ever given out as global unicast.
        [0x2000..=0x3fff, ..] => Reach::Public,
        // Unspecified, IPv4-compatible, link-local, groups, and what nobody has assigned yet.
        _ => Reach::Never,
    }
}

fn inner(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}
