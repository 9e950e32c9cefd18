//! The settings of a worker's tools, depending on who can start playbooks.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use noetl_isolation::HiddenFiles;
use noetl_tools::{Egress, EgressRule, FileAccess, InvalidEgressRule, ToolSettings};
use url::{Host, Url};

use crate::config::Config;
use crate::show::failure::Failure;
use crate::wiring::isolation;

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

/// The clients of a server, by what they need for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerClients {
    /// No token, or the one that only the user of the database can read.
    LocalUser,
    /// A token that was configured.
    WithTokens,
}

impl Tools {
    /// Returns the choice for a server that listens at an address. With tokens that were given to
    /// clients, a proxy may pass on the requests of other machines.
    pub(crate) fn of_address(address: IpAddr, clients: ServerClients) -> Self {
        match clients {
            ServerClients::LocalUser if address.is_loopback() => Tools::LocalUser,
            ServerClients::LocalUser | ServerClients::WithTokens => Tools::AnyClient,
        }
    }

    /// Returns the choice for a worker of a server.
    pub(crate) fn of_server(url: &Url, clients: ServerClients) -> Self {
        match url.host() {
            Some(Host::Ipv4(address)) => Self::of_address(address.into(), clients),
            Some(Host::Ipv6(address)) => Self::of_address(address.into(), clients),
            Some(Host::Domain("localhost")) => {
                Self::of_address(Ipv4Addr::LOCALHOST.into(), clients)
            }
            Some(Host::Domain(_)) | None => Tools::AnyClient,
        }
    }

    pub(crate) fn settings(self, config: &Config) -> Result<ToolSettings, Failure> {
        let egress = self.egress(config.egress_allow()).map_err(|error| {
            Failure::bad_input(error).help("list networks and hosts in NOETL_EGRESS_ALLOW")
        })?;
        Ok(ToolSettings {
            egress,
            files: self.files(config.tool_directories(), isolation::hidden(config, None)),
            duckdb_external_access: config.duckdb_external_access(),
            python_user_site: config.python_user_site(),
            ..ToolSettings::from_environment(config.variables())
        })
    }

    /// Returns the settings of a worker whose process has this embedded database open.
    pub(crate) fn settings_beside(
        self,
        database: Option<&Path>,
        config: &Config,
    ) -> Result<ToolSettings, Failure> {
        let files = self.files(config.tool_directories(), isolation::hidden(config, database));
        Ok(ToolSettings { files, ..self.settings(config)? })
    }

    /// Returns the files that tools of this process may open.
    fn files(self, directories: Option<&str>, hidden: HiddenFiles) -> FileAccess {
        let named: Vec<PathBuf> = match (directories, self) {
            (None, Tools::LocalUser) => return FileAccess::any(hidden),
            (None, Tools::AnyClient) => vec![PathBuf::from("."), std::env::temp_dir()],
            (Some(directories), _) => {
                let named = directories.split(',').map(str::trim).filter(|it| !it.is_empty());
                named.map(PathBuf::from).collect()
            }
        };
        if named.contains(&PathBuf::from(ANY)) {
            return FileAccess::any(hidden);
        }
        FileAccess::below(named, hidden)
    }

    fn egress(self, allow: Option<&str>) -> Result<Egress, InvalidEgressRule> {
        let entries: Vec<&str> = match (allow, self) {
            (None, Tools::LocalUser) => return Ok(Egress::Any),
            (None, Tools::AnyClient) => return Ok(Egress::Public),
            (Some(allow), _) => allow.split(',').map(str::trim).collect(),
        };
        let rules = entries.iter().filter(|entry| **entry != ANY).map(|entry| entry.parse());
        let rules = rules.collect::<Result<Arc<[EgressRule]>, InvalidEgressRule>>()?;
        Ok(match (entries.contains(&ANY), rules.is_empty()) {
            (true, true) => Egress::Any,
            (true, false) => Egress::AnyAnd(rules),
            (false, _) => Egress::PublicAnd(rules),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_below_named_directories_and_never_those_of_the_server() {
        let hidden = HiddenFiles::new(vec![PathBuf::from("/var/lib/noetl")]);
        let files = |tools: Tools, directories| tools.files(directories, hidden.clone());
        let any = FileAccess::any(hidden.clone());
        let below = |named: &[&str]| {
            FileAccess::below(named.iter().map(PathBuf::from).collect(), hidden.clone())
        };
        assert_eq!(files(Tools::LocalUser, None), any);
        assert_eq!(
            files(Tools::AnyClient, None),
            FileAccess::below(vec![PathBuf::from("."), std::env::temp_dir()], hidden.clone(),)
        );
        assert_eq!(files(Tools::LocalUser, Some("/srv, /opt")), below(&["/srv", "/opt"]));
        assert_eq!(files(Tools::AnyClient, Some("any")), any);
    }

    #[track_caller]
    fn check(server: &str, allow: Option<&str>, expected: &str) {
        let clients = ServerClients::LocalUser;
        let tools = Tools::of_server(&server.parse().expect("a URL"), clients);
        let found = match tools.egress(allow) {
            Ok(Egress::Any) => "any".to_owned(),
            Ok(Egress::AnyAnd(exceptions)) => format!("any and {}", exceptions.len()),
            Ok(Egress::Public) => "public".to_owned(),
            Ok(Egress::PublicAnd(exceptions)) => format!("public and {}", exceptions.len()),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{server} {allow:?}");
    }

    #[test]
    fn local_tools_reach_every_address_by_default() {
        check("http://127.0.0.1:8082", None, "any");
        check("http://[::1]:8082", None, "any");
        check("http://localhost:8082", None, "any");
        check("http://localhost:8082", Some("10.0.0.0/8"), "public and 1");
    }

    #[test]
    fn a_server_on_loopback_with_tokens_of_clients_is_not_that_of_the_user_of_this_machine() {
        let of = |address: &str, clients| {
            Tools::of_address(address.parse().expect("an address"), clients)
        };
        assert_eq!(of("127.0.0.1", ServerClients::LocalUser), Tools::LocalUser);
        assert_eq!(of("127.0.0.1", ServerClients::WithTokens), Tools::AnyClient);
        assert_eq!(of("10.0.0.1", ServerClients::LocalUser), Tools::AnyClient);
        let url = "http://localhost:8082".parse().expect("a URL");
        assert_eq!(Tools::of_server(&url, ServerClients::WithTokens), Tools::AnyClient);
    }

    #[test]
    fn for_others_they_reach_the_public_internet_and_what_is_named() {
        check("http://10.0.0.5:8082", None, "public");
        check("https://noetl.example.org", None, "public");
        check("http://server:8082", Some("10.0.0.0/8, db"), "public and 2");
        check("http://server:8082", Some("any"), "any");
        check("http://server:8082", Some("any, 169.254.169.254"), "any and 1");
        let refused =
            "`10.0.0.0/99` is neither a network such as 10.0.0.0/8 nor the name of a host";
        check("http://server:8082", Some("10.0.0.0/99"), refused);
    }
}
