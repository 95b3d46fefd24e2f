use std::net::IpAddr;

use crate::address::Reach;

#[test]
fn public_addresses() {
    for address in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        // Documentation, which some networks use.
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "2001:db8::1",
        "2606:4700::1111",
        "2001:200::1",
        "3fff::1",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:101:101::1",
    ] {
        assert_eq!(Reach::of(address.parse().unwrap()), Reach::Public, "{address}");
    }
}

#[test]
fn private_addresses_are_for_hosts_that_the_operator_named() {
    for address in [
        "10.0.0.1",
        "10.255.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.168.0.1",
        "127.0.0.1",
        "127.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "::1",
        "fc00::1",
        "fdff:ffff::1",
        "fec0::1",
        "feff::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::1",
        "2002:c0a8:1::1",
    ] {
        assert_eq!(Reach::of(address.parse().unwrap()), Reach::Private, "{address}");
    }
}

#[test]
fn special_addresses_are_for_nobody() {
    for address in [
        "0.0.0.0",
        "0.255.255.255",
        "169.254.169.254",
        "169.254.0.0",
        "192.0.0.1",
        "192.0.0.192",
        "192.88.99.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::127.0.0.1",
        "::1.1.1.1",
        "::ffff:0:1.1.1.1",
        "fe80::1",
        "febf::1",
        "ff02::1",
        "100::1",
        "5f00::1",
        "4000::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:10::1",
        "2001:20::1",
        "64:ff9b:1::1.1.1.1",
        "64:ff9b:1:a00:0:100::",
        "168.63.129.16",
        "100.100.100.200",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:168.63.129.16",
        "::ffff:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "2002:a9fe:a9fe::1",
        "::ffff:0.0.0.0",
    ] {
        assert_eq!(Reach::of(address.parse().unwrap()), Reach::Never, "{address}");
    }
}

#[test]
fn an_address_in_other_clothes_is_as_far_as_itself() {
    proptest::proptest!(|(bits: u32)| {
        let plain = Reach::of(IpAddr::V4(bits.into()));
        for prefix in [0xffff_u128 << 32, 0x64_ff9b_u128 << 96] {
            proptest::prop_assert_eq!(Reach::of(IpAddr::V6((prefix | u128::from(bits)).into())), plain);
        }
        let six_to_four = 0x2002_u128 << 112 | u128::from(bits) << 80 | 1;
        proptest::prop_assert_eq!(Reach::of(IpAddr::V6(six_to_four.into())), plain);
    });
}
