//! The settings of a worker's tools, depending on who can start playbooks.

use std::net::IpAddr;
use std::sync::Arc;

use noetl_tools::{Egress, EgressRule, InvalidEgressRule, ToolSettings};
use url::{Host, Url};

use crate::config::Config;
use crate::show::failure::Failure;

/// The setting that allows every address.
const ANY: &str = "any";

/// The people on whose behalf tools run, which decides the default egress rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    /// The user of this machine, who can reach every address anyway.
    LocalUser,
    /// Anyone who can start a playbook on a server that other machines can reach.
    AnyClient,
}

impl Tools {
    /// Returns the choice for a server that listens at an address.
    pub(crate) fn of_address(address: IpAddr) -> Self {
        if address.is_loopback() { Tools::LocalUser } else { Tools::AnyClient }
    }

    /// Returns the choice for a worker of a server.
    pub(crate) fn of_server(url: &Url) -> Self {
        match url.host() {
            Some(Host::Ipv4(address)) => Self::of_address(address.into()),
            Some(Host::Ipv6(address)) => Self::of_address(address.into()),
            Some(Host::Domain("localhost")) => Tools::LocalUser,
            Some(Host::Domain(_)) | None => Tools::AnyClient,
        }
    }

    pub(crate) fn settings(self, config: &Config) -> Result<ToolSettings, Failure> {
        let egress = self.egress(config.egress_allow()).map_err(|error| {
            Failure::bad_input(error).help("list networks and hosts in NOETL_EGRESS_ALLOW")
        })?;
        Ok(ToolSettings { egress, ..ToolSettings::from_environment(config.variables()) })
    }

    fn egress(self, allow: Option<&str>) -> Result<Egress, InvalidEgressRule> {
        let entries: Vec<&str> = match (allow, self) {
            (None, Tools::LocalUser) => return Ok(Egress::Any),
            (None, Tools::AnyClient) => return Ok(Egress::Public),
            (Some(allow), _) => allow.split(',').map(str::trim).collect(),
        };
        if entries.contains(&ANY) {
            return Ok(Egress::Any);
        }
        let exceptions = entries.into_iter().map(str::parse);
        Ok(Egress::PublicAnd(exceptions.collect::<Result<Arc<[EgressRule]>, InvalidEgressRule>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: &str, allow: Option<&str>, expected: &str) {
        let tools = Tools::of_server(&server.parse().expect("a URL"));
        let found = match tools.egress(allow) {
            Ok(Egress::Any) => "any".to_owned(),
            Ok(Egress::Public) => "public".to_owned(),
            Ok(Egress::PublicAnd(exceptions)) => format!("public and {}", exceptions.len()),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{server} {allow:?}");
    }

    #[test]
    fn on_this_machine_tools_reach_everything_unless_told_otherwise() {
        check("http://127.0.0.1:8082", None, "any");
        check("http://[::1]:8082", None, "any");
        check("http://localhost:8082", None, "any");
        check("http://localhost:8082", Some("10.0.0.0/8"), "public and 1");
    }

    #[test]
    fn for_others_they_reach_the_public_internet_and_what_is_named() {
        check("http://10.0.0.5:8082", None, "public");
        check("https://noetl.example.org", None, "public");
        check("http://server:8082", Some("10.0.0.0/8, db"), "public and 2");
        check("http://server:8082", Some("any"), "any");
        let refused =
            "`10.0.0.0/99` is neither a network such as 10.0.0.0/8 nor the name of a host";
        check("http://server:8082", Some("10.0.0.0/99"), refused);
    }
}
