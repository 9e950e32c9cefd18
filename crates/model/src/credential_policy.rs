//! Policies of credentials: the executions that may use one, and the hosts that it may be sent to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Label, Labels};

/// The most entries of each list of a policy.
pub const POLICY_ENTRIES_MAX: usize = 100;
/// The longest entry of a policy, in bytes.
pub const POLICY_ENTRY_MAX: usize = 500;
/// The field by which a worker gets the hosts that a credential may be sent to, beside its secret
/// fields.
pub const HOSTS_FIELD: &str = "_hosts";
/// The mark at the end of a path for every path that begins so, and at the beginning of a host for
/// every host below it.
const ANY: char = '*';

/// A restriction of a credential. An execution may use the credential if every list that is not empty
/// has an entry for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialPolicy {
    /// Paths of playbooks and subscriptions; `team/*` is every path below `team/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Labels, of which an execution has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// The names of those who may start the executions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// The hosts that the credential may be sent to; any if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPattern>,
}

/// The user of a credential.
#[derive(Debug, Clone, Copy)]
pub struct CredentialUser<'a> {
    /// The path of the playbook or subscription.
    pub path: &'a str,
    pub labels: &'a Labels,
    /// The name of the person or program that has started the execution.
    pub owner: Option<&'a str>,
}

/// The reason why a policy is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidPolicy {
    #[error("each list of a policy has at most {POLICY_ENTRIES_MAX} entries")]
    TooMany,
    #[error("an entry of a policy has 1 to {POLICY_ENTRY_MAX} bytes")]
    Entry,
}

impl CredentialPolicy {
    /// Checks the sizes of the lists and of their entries.
    pub fn check(&self) -> Result<(), InvalidPolicy> {
        let Self { paths, labels, owners, hosts } = self;
        if [paths.len(), labels.len(), owners.len(), hosts.len()]
            .into_iter()
            .any(|count| count > POLICY_ENTRIES_MAX)
        {
            return Err(InvalidPolicy::TooMany);
        }
        let is_valid = |text: &String| (1..=POLICY_ENTRY_MAX).contains(&text.len());
        if paths.iter().chain(owners).all(is_valid) { Ok(()) } else { Err(InvalidPolicy::Entry) }
    }

    /// True if the policy lets an execution or a subscription use the credential.
    pub fn permits(&self, user: CredentialUser<'_>) -> bool {
        let Self { paths, labels, owners, hosts: _ } = self;
        let has_path = || paths.iter().any(|wanted| path_fits(wanted, user.path));
        let has_label = || labels.iter().any(|label| user.labels.has(label));
        let has_owner = || owners.iter().any(|owner| user.owner == Some(owner.as_str()));
        (paths.is_empty() || has_path())
            && (labels.is_empty() || has_label())
            && (owners.is_empty() || has_owner())
    }
}

fn path_fits(wanted: &str, path: &str) -> bool {
    match wanted.strip_suffix(ANY) {
        Some(start) => path.starts_with(start),
        None => path == wanted,
    }
}

/// A host that a credential may be sent to: `api.example.org`, `*.example.org` for every host below it,
/// each perhaps with a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    /// The name in lower case, without brackets; of a pattern with `*`, what follows it.
    name: String,
    is_suffix: bool,
    port: Option<u16>,
}

/// The error of parsing a host.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no host: write `api.example.org`, `*.example.org` or `api.example.org:8443`")]
pub struct InvalidHost(pub String);

impl HostPattern {
    /// True if the pattern includes a host and port. The host may be written in brackets.
    pub fn permits(&self, host: &str, port: u16) -> bool {
        let host = plain(host);
        // Some tools take lists of hosts.
        if !is_one_host(&host) {
            return false;
        }
        let is_name = match self.is_suffix {
            true => host.len() > self.name.len() && host.ends_with(&self.name),
            false => host == self.name,
        };
        is_name && self.port.is_none_or(|own| own == port)
    }
}

fn is_one_host(name: &str) -> bool {
    !name.contains(|c: char| c.is_whitespace() || "/@?#*,".contains(c))
}

/// Returns a host in lower case, without brackets and without the dot of the root.
fn plain(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.chars().take(POLICY_ENTRY_MAX).collect());
        let text = text.trim();
        let is_address = text.parse::<std::net::Ipv6Addr>().is_ok();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !is_address && !port.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| invalid())?))
            }
            Some(_) | None => (text, None),
        };
        let (name, is_suffix) = match host.strip_prefix(ANY) {
            Some(rest) => (rest, true),
            None => (host, false),
        };
        let name = plain(name);
        let is_valid = (1..=POLICY_ENTRY_MAX).contains(&name.len())
            && (!is_suffix || (name.starts_with('.') && name.len() > 1))
            && is_one_host(&name);
        if is_valid { Ok(Self { name, is_suffix, port }) } else { Err(invalid()) }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_suffix {
            f.write_str("*")?;
        }
        match (self.name.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.name),
            (false, Some(port)) => write!(f, "{}:{port}", self.name),
            (_, None) => f.write_str(&self.name),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = InvalidHost;

    fn try_from(text: String) -> Result<Self, InvalidHost> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(host: HostPattern) -> Self {
        host.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, permitted: &[(&str, u16)], refused: &[(&str, u16)]) {
        let pattern: HostPattern = pattern.parse().expect(pattern);
        for (host, port) in permitted {
            assert!(pattern.permits(host, *port), "{pattern} {host}:{port}");
        }
        for (host, port) in refused {
            assert!(!pattern.permits(host, *port), "{pattern} {host}:{port}");
        }
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
    }

    #[test]
    fn a_host_is_one_name_or_every_name_below_one() {
        check(
            "Api.example.org",
            &[("api.example.org", 443), ("API.example.org.", 80)],
            &[("example.org", 443), ("evil-api.example.org", 443), ("api.example.org.evil", 443)],
        );
        check(
            "*.example.org:8443",
            &[("a.example.org", 8443), ("a.b.example.org", 8443)],
            &[("a.example.org", 443), ("example.org", 8443), ("evil,a.example.org", 8443)],
        );
        check("::1", &[("::1", 1), ("[::1]", 2)], &[("::2", 1)]);
        check("[::1]:5432", &[("[::1]", 5432)], &[("::1", 1)]);
    }

    #[test]
    fn a_text_that_is_no_host_is_refused() {
        for text in ["", "*", "*.", "*example.org", "a b", "http://a", "u@a", "a/b", "a,b", "a:x"] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_list_that_is_not_empty_has_to_fit() {
        let labels = Labels::default().with(["team:ops".parse().expect("a label")]).expect("few");
        let user = CredentialUser { path: "team-a/import", labels: &labels, owner: Some("ada") };
        let permits = |policy: &str| {
            let policy: CredentialPolicy = serde_json::from_str(policy).expect("a policy");
            policy.permits(user)
        };
        assert!(permits("{}"));
        assert!(permits(r#"{"paths": ["team-a/*"], "labels": ["team:ops"], "owners": ["ada"]}"#));
        assert!(permits(r#"{"paths": ["team-b/*", "team-a/import"]}"#));
        assert!(!permits(r#"{"paths": ["team-b/*"], "owners": ["ada"]}"#));
        assert!(!permits(r#"{"labels": ["team:dev"]}"#));
        assert!(!permits(r#"{"owners": ["eve"]}"#));
        let anonymous = CredentialUser { owner: None, ..user };
        let owned = CredentialPolicy { owners: vec!["ada".into()], ..Default::default() };
        assert!(!owned.permits(anonymous));
    }
}
