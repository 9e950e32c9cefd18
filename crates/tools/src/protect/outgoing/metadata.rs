//! The metadata services of clouds, which give credentials of the machine to any program that asks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses in IPv4. Most clouds use the first; the others are those of containers and of clouds with
/// an address of their own.
const V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    // Containers (credentials of a task, of a pod).
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(169, 254, 42, 42),
    Ipv4Addr::new(169, 254, 0, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    // A public address that a cloud answers inside its own network.
    Ipv4Addr::new(168, 63, 129, 16),
];

/// Addresses in IPv6.
const V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

const NAMES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// True if an address is that of a metadata service, also if it is within an IPv6 address.
pub(super) fn has_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => V4.contains(&address),
        IpAddr::V6(address) => {
            V6.contains(&address) || embedded_v4(address).is_some_and(|it| V4.contains(&it))
        }
    }
}

/// True if a host name is that of a metadata service.
pub(super) fn has_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    NAMES.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Returns the IPv4 address that packets to an IPv6 address may be sent on to: mapped, compatible,
/// NAT64 and 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(of(high, low)),
        [0x64, 0xff9b, 0 | 1, .., high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: bool) {
        assert_eq!(has_address(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn an_address_is_found_in_every_form() {
        check("169.254.169.254", true);
        check("169.254.169.253", false);
        check("::ffff:169.254.169.254", true);
        check("::169.254.169.254", true);
        check("64:ff9b::a9fe:a9fe", true);
        check("64:ff9b:1::a9fe:a9fe", true);
        check("2002:a9fe:a9fe::1", true);
        check("fd00:ec2::254", true);
        check("fd00:ec2::255", false);
        check("::1", false);
    }

    #[test]
    fn a_name_is_found_whatever_its_case_and_its_dot() {
        assert!(has_name("Metadata.Google.Internal."));
        assert!(!has_name("metadata.example.org"));
    }
}
