//! The network policy for outgoing connections. A host name is resolved once, and the connection
//! goes to an address that was checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;
use url::{Host, Url};

use super::metadata;

/// The addresses to which a worker connects on behalf of a playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Egress {
    /// All addresses except metadata services, for a worker whose owner trusts the authors of the
    /// playbooks.
    Any,
    /// All addresses; of the metadata services, those named by the worker's owner.
    AnyAnd(Arc<[EgressRule]>),
    /// Only addresses of the public internet.
    Public,
    /// Addresses of the public internet, and the exceptions named by the worker's owner.
    PublicAnd(Arc<[EgressRule]>),
}

/// A network or host that is allowed although it is not on the public internet. A metadata service is
/// allowed only by its own address or name.
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

    /// True if the rule names this one address.
    fn is_address(&self, given: IpAddr) -> bool {
        match self {
            Self::Network { address: IpAddr::V4(_), bits: 32 }
            | Self::Network { address: IpAddr::V6(_), bits: 128 } => self.has_address(given),
            Self::Network { .. } | Self::Host(_) => false,
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
    #[error(
        "the host is a metadata service of a cloud; NOETL_EGRESS_ALLOW allows it by its own address"
    )]
    Metadata,
}

/// The reason why a host has no address to connect to.
#[derive(Debug, Error)]
pub(crate) enum Unresolved {
    #[error(transparent)]
    Blocked(#[from] Blocked),
    #[error("failed to lookup address information: {0}")]
    Lookup(#[from] std::io::Error),
}

impl Egress {
    /// Checks the URL. The addresses of a host name are checked by [`Resolver`].
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), Blocked> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Blocked::Scheme);
        }
        let host = url.host().ok_or(Blocked::NoHost)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked::UserInfo);
        }
        match host {
            Host::Ipv4(address) => self.check_address("", address.into()),
            Host::Ipv6(address) => self.check_address("", address.into()),
            Host::Domain(name) => self.check_name(name),
        }
    }

    fn exceptions(&self) -> &[EgressRule] {
        match self {
            Egress::Any | Egress::Public => &[],
            Egress::AnyAnd(exceptions) | Egress::PublicAnd(exceptions) => exceptions,
        }
    }

    /// True if the policy restricts nothing except metadata services.
    pub(crate) fn is_any(&self) -> bool {
        match self {
            Egress::Any | Egress::AnyAnd(_) => true,
            Egress::Public | Egress::PublicAnd(_) => false,
        }
    }

    /// Checks a host name before it is resolved.
    fn check_name(&self, name: &str) -> Result<(), Blocked> {
        if metadata::has_name(name) && !self.trusts(name) {
            return Err(Blocked::Metadata);
        }
        Ok(())
    }

    /// Checks an address of a host; the host is empty if there is only the address.
    pub(crate) fn check_address(&self, host: &str, address: IpAddr) -> Result<(), Blocked> {
        if metadata::has_address(address) {
            let is_named = self.exceptions().iter().any(|it| it.is_address(address))
                || (metadata::has_name(host) && self.trusts(host));
            return if is_named { Ok(()) } else { Err(Blocked::Metadata) };
        }
        let is_public = match address {
            IpAddr::V4(address) => is_public_v4(address),
            IpAddr::V6(address) => is_public_v6(address),
        };
        let is_allowed = self.is_any()
            || is_public
            || self.exceptions().iter().any(|exception| exception.has_address(address))
            || self.trusts(host);
        if is_allowed { Ok(()) } else { Err(Blocked::Address) }
    }

    /// True if a host name may resolve to any address.
    fn trusts(&self, name: &str) -> bool {
        self.exceptions().iter().any(|exception| exception.has_name(name))
    }

    /// Resolves a host, and returns the addresses that may be connected to; fails if there is none.
    pub(crate) async fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Unresolved> {
        self.check_name(host)?;
        let mut refusal = Blocked::Address;
        let mut allowed = Vec::new();
        for found in tokio::net::lookup_host((host, port)).await? {
            match self.check_address(host, found.ip()) {
                Ok(()) => allowed.push(found),
                Err(blocked) => refusal = blocked,
            }
        }
        if allowed.is_empty() { Err(refusal.into()) } else { Ok(allowed) }
    }

    /// Resolves a host for a client that resolves it again; fails unless all its addresses may be
    /// connected to.
    pub(crate) async fn check_all(&self, host: &str, port: u16) -> Result<(), Unresolved> {
        self.check_name(host)?;
        for found in tokio::net::lookup_host((host, port)).await? {
            self.check_address(host, found.ip())?;
        }
        Ok(())
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
            match egress.resolve(name.as_str(), 0).await {
                Ok(allowed) => Ok(Box::new(allowed.into_iter()) as Addrs),
                Err(Unresolved::Blocked(blocked)) => Err(blocked.into()),
                Err(Unresolved::Lookup(error)) => Err(error.into()),
            }
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
            let url = format!("http://{host}/");
            let blocked = check(&url).expect_err(host);
            assert!(matches!(blocked, Blocked::Address | Blocked::Metadata), "{host}");
        }
    }

    #[test]
    fn every_spelling_of_a_metadata_service_is_blocked_unless_it_is_named() {
        let hosts = [
            "169.254.169.254",
            "2852039166",
            "0xA9FEA9FE",
            "0251.0376.0251.0376",
            "169.254.43518",
            "169.254.169.254.",
            "[::ffff:169.254.169.254]",
            "[::ffff:a9fe:a9fe]",
            "[64:ff9b::a9fe:a9fe]",
            "[2002:a9fe:a9fe::]",
            "①⑥⑨.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "[fd00:ec2::254]",
            "metadata.google.internal",
            "METADATA.google.internal.",
        ];
        let wide = ["0.0.0.0/0", "::/0", "169.254.0.0/16"].map(|it| it.parse().unwrap());
        let any = Egress::AnyAnd(Arc::new(wide.clone()));
        for egress in [Egress::Any, any, Egress::Public, Egress::PublicAnd(Arc::new(wide))] {
            for host in hosts {
                let url = format!("http://{host}/").parse().unwrap();
                assert_eq!(egress.check_url(&url), Err(Blocked::Metadata), "{host} {egress:?}");
            }
        }
        let named = ["169.254.169.254", "metadata.google.internal"].map(|it| it.parse().unwrap());
        let named = Egress::AnyAnd(Arc::new(named));
        for host in ["169.254.169.254", "[::ffff:a9fe:a9fe]", "metadata.google.internal"] {
            let url = format!("http://{host}/").parse().unwrap();
            assert_eq!(named.check_url(&url), Ok(()), "{host}");
        }
        let other = "http://100.100.100.200/".parse().unwrap();
        assert_eq!(named.check_url(&other), Err(Blocked::Metadata));
    }

    #[test]
    fn a_trusted_name_does_not_lead_to_a_metadata_service() {
        let egress = Egress::PublicAnd(Arc::new(["db.internal".parse().unwrap()]));
        let check = |address: &str| egress.check_address("db.internal", address.parse().unwrap());
        assert_eq!(check("10.0.0.1"), Ok(()));
        assert_eq!(check("169.254.169.254"), Err(Blocked::Metadata));
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
        for egress in [Egress::Any, Egress::Public] {
            for url in ["http://user@1.1.1.1/", "http://:p@1.1.1.1/", "http://a:b@localhost/"] {
                assert_eq!(
                    egress.check_url(&url.parse().unwrap()),
                    Err(Blocked::UserInfo),
                    "{url}"
                );
            }
        }
    }

    #[test]
    fn allowed_addresses_pass_and_their_neighbours_do_not() {
        let exceptions = ["10.1.0.0/16", "192.168.7.7", "fd00::/8"].map(|it| it.parse().unwrap());
        let egress = Egress::PublicAnd(Arc::new(exceptions));
        let check = |host: &str| egress.check_url(&format!("http://{host}/").parse().unwrap());
        for host in ["10.1.2.3", "192.168.7.7", "[fd12::1]", "[::ffff:10.1.2.3]", "1.1.1.1"] {
            assert_eq!(check(host), Ok(()), "{host}");
        }
        for host in ["10.2.0.1", "192.168.7.8", "[fe80::1]", "127.0.0.1"] {
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
