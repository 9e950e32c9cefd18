//! The network policy for outgoing connections. A host name is resolved once, and the connection
//! goes to an address that was checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;
use url::{Host, Url};

/// The addresses to which a worker connects on behalf of a playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Egress {
    /// All addresses, for a worker whose owner trusts the authors of the playbooks.
    Any,
    /// Only addresses of the public internet.
    Public,
    /// Addresses of the public internet, and the exceptions named by the worker's owner.
    PublicAnd(Arc<[EgressRule]>),
}

/// A network or host that is allowed although it is not on the public internet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EgressRule {
    Network {
        address: IpAddr,
        /// The prefix length.
        bits: u32,
    },
    /// A host name, with any address.
    Host(String),
}

/// The error for text that is neither a network nor a host name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is neither a network such as 10.0.0.0/8 nor the name of a host")]
pub struct InvalidEgressRule(String);

impl FromStr for EgressRule {
    type Err = InvalidEgressRule;

    fn from_str(text: &str) -> Result<Self, InvalidEgressRule> {
        let refused = || InvalidEgressRule(text.to_owned());
        let (head, bits) = match text.split_once('/') {
            Some((head, bits)) => (head, Some(bits.parse::<u32>().map_err(|_| refused())?)),
            None => (text, None),
        };
        if let Ok(address) = head.parse::<IpAddr>() {
            let widest = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.unwrap_or(widest);
            return if bits <= widest {
                Ok(Self::Network { address, bits })
            } else {
                Err(refused())
            };
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if bits.is_some() || head.is_empty() || !head.chars().all(is_name) {
            return Err(refused());
        }
        Ok(Self::Host(head.to_ascii_lowercase()))
    }
}

impl EgressRule {
    fn has_address(&self, given: IpAddr) -> bool {
        match (self, given.to_canonical()) {
            (Self::Network { address: IpAddr::V4(network), bits }, IpAddr::V4(given)) => {
                let differs = u32::from(*network) ^ u32::from(given);
                differs.checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (Self::Network { address: IpAddr::V6(network), bits }, IpAddr::V6(given)) => {
                let differs = u128::from(*network) ^ u128::from(given);
                differs.checked_shr(128 - bits).unwrap_or(0) == 0
            }
            (Self::Network { .. } | Self::Host(_), _) => false,
        }
    }

    fn has_name(&self, name: &str) -> bool {
        match self {
            Self::Network { .. } => false,
            Self::Host(host) => host.eq_ignore_ascii_case(name.trim_end_matches('.')),
        }
    }
}

/// A target forbidden by the policy. The message does not reveal anything about the target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Blocked {
    #[error("only http and https are spoken")]
    Scheme,
    #[error("a URL must name a host")]
    NoHost,
    #[error("a URL may not carry a user or a password")]
    UserInfo,
    #[error("the host is not on the public internet; NOETL_EGRESS_ALLOW names exceptions")]
    Address,
}

impl Egress {
    /// Checks the URL. The addresses of a host name are checked by [`Resolver`].
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), Blocked> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Blocked::Scheme);
        }
        let host = url.host().ok_or(Blocked::NoHost)?;
        if *self == Egress::Any {
            return Ok(());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked::UserInfo);
        }
        let is_allowed = match host {
            Host::Ipv4(address) => self.allows(address.into()),
            Host::Ipv6(address) => self.allows(address.into()),
            Host::Domain(_) => true,
        };
        if is_allowed { Ok(()) } else { Err(Blocked::Address) }
    }

    fn exceptions(&self) -> &[EgressRule] {
        match self {
            Egress::Any | Egress::Public => &[],
            Egress::PublicAnd(exceptions) => exceptions,
        }
    }

    fn allows(&self, address: IpAddr) -> bool {
        let is_public = match address {
            IpAddr::V4(address) => is_public_v4(address),
            IpAddr::V6(address) => is_public_v6(address),
        };
        *self == Egress::Any
            || is_public
            || self.exceptions().iter().any(|exception| exception.has_address(address))
    }

    /// True if a connection to an address of a host is allowed.
    pub(crate) fn allows_host(&self, host: &str, address: IpAddr) -> bool {
        self.allows(address) || self.trusts(host)
    }

    /// True if a host name may resolve to any address.
    fn trusts(&self, name: &str) -> bool {
        self.exceptions().iter().any(|exception| exception.has_name(name))
    }
}

/// Resolves host names to addresses that the policy allows.
#[derive(Debug)]
pub(crate) struct Resolver {
    egress: Egress,
}

impl Resolver {
    pub(crate) fn new(egress: Egress) -> Self {
        Self { egress }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let egress = self.egress.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let is_trusted = egress.trusts(name.as_str());
            let allowed: Vec<SocketAddr> = found
                .into_iter()
                .filter(|address| is_trusted || egress.allows(address.ip()))
                .collect();
            if allowed.is_empty() {
                return Err(Blocked::Address.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    /// Networks and prefix lengths.
    const BLOCKED: &[([u8; 4], u32)] = &[
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        ([224, 0, 0, 0], 4),
        ([240, 0, 0, 0], 4),
    ];
    BLOCKED.iter().all(|(network, length)| {
        let shift = 32 - length;
        u32::from(address) >> shift != u32::from_be_bytes(*network) >> shift
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let last_v4 = || {
        let [a, b] = [segments[6].to_be_bytes(), segments[7].to_be_bytes()];
        Ipv4Addr::new(a[0], a[1], b[0], b[1])
    };
    match segments {
        // Unspecified, loopback and the old IPv4-compatible form.
        [0, 0, 0, 0, 0, 0, _, _] => false,
        // An embedded IPv4 address, mapped or NAT64, is checked as IPv4.
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => is_public_v4(last_v4()),
        // Local-use NAT64, Teredo, documentation and 6to4: none is a public host.
        [0x64, 0xff9b, 1, ..] | [0x2001, 0 | 0xdb8, ..] | [0x2002, ..] => false,
        // Only this eighth of the address space is allocated to the public internet.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str) -> Result<(), Blocked> {
        Egress::Public.check_url(&url.parse().unwrap())
    }

    #[test]
    fn every_spelling_of_a_private_address_is_blocked() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.0.0.1.",
            "0",
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "198.19.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[2002:7f00:1::]",
            "[::127.0.0.1]",
            "①②⑦.0.0.1",
        ] {
            assert_eq!(check(&format!("http://{host}/")), Err(Blocked::Address), "{host}");
        }
    }

    #[test]
    fn public_addresses_pass() {
        for host in
            ["1.1.1.1", "100.128.0.1", "172.32.0.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]"]
        {
            assert_eq!(check(&format!("https://{host}/")), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_schemes_and_users_are_blocked() {
        assert_eq!(check("file:///etc/passwd"), Err(Blocked::Scheme));
        assert_eq!(check("gopher://1.1.1.1/"), Err(Blocked::Scheme));
        assert_eq!(check("http://user@1.1.1.1/"), Err(Blocked::UserInfo));
    }

    #[test]
    fn allowed_addresses_pass_and_their_neighbours_do_not() {
        let exceptions = ["10.1.0.0/16", "192.168.7.7", "fd00::/8"].map(|it| it.parse().unwrap());
        let egress = Egress::PublicAnd(Arc::new(exceptions));
        let check = |host: &str| egress.check_url(&format!("http://{host}/").parse().unwrap());
        for host in ["10.1.2.3", "192.168.7.7", "[fd12::1]", "[::ffff:10.1.2.3]", "1.1.1.1"] {
            assert_eq!(check(host), Ok(()), "{host}");
        }
        for host in ["10.2.0.1", "192.168.7.8", "[fe80::1]", "169.254.169.254", "127.0.0.1"] {
            assert_eq!(check(host), Err(Blocked::Address), "{host}");
        }
    }

    #[test]
    fn an_exception_is_a_network_or_a_host() {
        let host = |name: &str| EgressRule::Host(name.to_owned());
        assert_eq!("Db.Internal".parse(), Ok(host("db.internal")));
        for text in ["", "10.0.0.0/33", "10.0.0.0/x", "db/8", "http://db", "a b"] {
            assert_eq!(text.parse::<EgressRule>(), Err(InvalidEgressRule(text.to_owned())));
        }
    }

    #[tokio::test]
    async fn a_host_that_is_named_may_mean_a_private_address() {
        let egress = Egress::PublicAnd(Arc::new(["localhost".parse().unwrap()]));
        assert!(Resolver::new(egress).resolve("localhost".parse().unwrap()).await.is_ok());
    }

    #[tokio::test]
    async fn a_name_that_means_a_private_address_does_not_resolve() {
        let resolve = |egress| Resolver::new(egress).resolve("localhost".parse().unwrap());
        assert!(resolve(Egress::Any).await.is_ok());
        let error = resolve(Egress::Public).await.err().expect("blocked");
        assert_eq!(error.to_string(), Blocked::Address.to_string());
    }
}
