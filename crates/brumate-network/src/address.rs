//! Addresses that lead to another place than a host of the internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses with a special purpose: first address, length of the prefix, name.
type Block<A> = (A, u8, &'static str);

/// IANA's registry of special-purpose addresses of IPv4 (RFC 6890), multicast (RFC 5771) and reserved addresses (RFC 1112).
const SPECIAL_V4: [Block<Ipv4Addr>; 18] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "AS112"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "automatic multicast tunneling"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "AS112"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The part of IPv6 that is given to hosts (RFC 4291, section 2.4). Everything outside of it has a special purpose.
const GLOBAL_V6: Block<Ipv6Addr> = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3, "global");

/// IANA's registry of special-purpose addresses of IPv6 (RFC 6890), within the global ones.
const SPECIAL_V6: [Block<Ipv6Addr>; 6] = [
    // Teredo, benchmarking, ORCHID and other assignments, some of which lead to addresses of IPv4.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "protocol assignments"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "AS112"),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, "6bone"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
];

/// Names of the blocks outside of [`GLOBAL_V6`], for messages.
const OTHER_V6: [Block<Ipv6Addr>; 9] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "translated (NAT64)"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "translated (NAT64)"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard-only"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

fn in_v4((first, prefix, _): &Block<Ipv4Addr>, address: Ipv4Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= u32::from(*prefix)
}

fn in_v6((first, prefix, _): &Block<Ipv6Addr>, address: Ipv6Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= u32::from(*prefix)
}

/// Returns the address of IPv4 that an IPv4-mapped address means, and any other address as it is.
pub fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// A special purpose, and the length of the prefix of the addresses that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialPurpose {
    /// Its name.
    pub name: &'static str,
    /// Length of the prefix, in bits.
    pub prefix: u8,
}

/// Returns the special purpose of an address, or `None` for an address of the internet.
pub fn special_purpose(address: IpAddr) -> Option<SpecialPurpose> {
    let found = match canonical(address) {
        IpAddr::V4(four) => SPECIAL_V4.iter().find(|block| in_v4(block, four)).map(|block| (block.2, block.1)),
        IpAddr::V6(six) if in_v6(&GLOBAL_V6, six) => {
            SPECIAL_V6.iter().find(|block| in_v6(block, six)).map(|block| (block.2, block.1))
        }
        IpAddr::V6(six) => {
            let block = OTHER_V6.iter().find(|block| in_v6(block, six));
            Some(block.map_or(("reserved", 128), |block| (block.2, block.1)))
        }
    };
    found.map(|(name, prefix)| SpecialPurpose { name, prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_internet_have_no_special_purpose() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "2001:200::1",
            "::ffff:8.8.8.8",
        ] {
            assert_eq!(special_purpose(text.parse().unwrap()), None, "{text}");
        }
    }

    /// Each block of the registries, at its ends, and addresses that lead to others.
    #[test]
    fn special_addresses_are_known() {
        for text in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.1",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "169.254.0.0",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "192.31.196.1",
            "192.52.193.1",
            "192.88.99.1",
            "192.168.255.255",
            "192.175.48.1",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2620:4f:8000::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(special_purpose(text.parse().unwrap()).is_some(), "{text}");
        }
    }
}
