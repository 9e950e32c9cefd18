//! Connections to NATS servers, cached for later calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, ServerAddr};
use noetl_model::{ErrorKind, ToolError};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::sync::OnceCell;
use url::Url;

use crate::protect::allowed_hosts::AllowedHosts;
use crate::protect::credentials::{CredentialResolver, keep_destination};
use crate::protect::outgoing::{Egress, Unresolved};
use crate::run::call::Call;
use crate::run::keys::{ToolConfig, scalar_text};

/// The maximum number of cached connections.
const CONNECTIONS_MAX: usize = 16;
/// The spellings of the address of the servers.
const URLS: &[&str] = &["url", "nats_url", "server", "servers"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The servers to connect to and the identity to use.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NatsEndpoint {
    servers: Vec<String>,
    identity: Identity,
    /// True if the credential may be sent to certain hosts only.
    has_limited_hosts: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Anonymous,
    Token(String),
    User { user: String, password: String },
}

impl NatsEndpoint {
    /// Reads the tool's keys; settings that they omit come from the credential they name.
    pub(crate) async fn read(
        call: &Call,
        keys: ToolConfig<'_>,
        credentials: &dyn CredentialResolver,
    ) -> Result<Self, ToolError> {
        let alias = match keys.find(&["auth", "credential"]) {
            None => None,
            Some((_, Value::String(alias))) => Some(alias.as_str()),
            Some((_, Value::Object(said))) => said.get("credential").and_then(Value::as_str),
            Some((key, other)) => {
                return Err(keys.wrong(key, "a map or the alias of a credential", other));
            }
        };
        let mut hosts = AllowedHosts::default();
        let kept = match alias {
            Some(alias) => {
                let mut stored = credentials.resolve(call, alias).await?;
                hosts = AllowedHosts::take(&mut stored);
                keep_destination(keys, URLS, (&stored, keys.config()))?;
                stored
            }
            None => keys.map(&["auth", "credential"])?.cloned().unwrap_or_default(),
        };
        let field = |spellings: &[&'static str]| -> Result<Option<String>, ToolError> {
            let own = keys.text(spellings)?;
            Ok(own.or_else(|| spellings.iter().find_map(|name| scalar_text(kept.get(*name)?))))
        };
        let url = field(URLS)?.ok_or_else(|| {
            keys.error("there is no address: give `url`, or `auth` with the alias of a credential")
        })?;
        let (servers, mut identity) = read_address(keys, &url)?;
        check_hosts(keys, &servers, &hosts)?;
        let user = field(&["user", "nats_user", "username"])?;
        let password = field(&["password", "nats_password"])?;
        if let (Some(user), Some(password)) = (user, password) {
            identity = Identity::User { user, password };
        } else if let Some(token) = field(&["token", "nats_token"])? {
            identity = Identity::Token(token);
        }
        Ok(Self { servers, identity, has_limited_hosts: hosts.are_limited() })
    }

    fn options(&self) -> ConnectOptions {
        let options = ConnectOptions::new().name("noetl").connection_timeout(CONNECT_TIMEOUT);
        match &self.identity {
            Identity::Anonymous => options,
            Identity::Token(token) => options.token(token.clone()),
            Identity::User { user, password } => {
                options.user_and_password(user.clone(), password.clone())
            }
        }
    }

    async fn connect(&self, egress: &Egress) -> Result<Client, ToolError> {
        let servers = self.servers.iter().map(|server| server.parse::<ServerAddr>());
        let servers = servers.collect::<Result<Vec<_>, _>>().map_err(|error| {
            ToolError::new(ErrorKind::Config, format!("nats: `url` is no NATS server: {error}"))
        })?;
        for server in &servers {
            check(egress, server).await?;
        }
        let options = match egress.is_any() {
            true if !self.has_limited_hosts => self.options(),
            // Servers that a server announces have not been checked.
            true | false => self.options().ignore_discovered_servers(),
        };
        options.connect(servers).await.map_err(|error| {
            let kind = match error.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    ErrorKind::Auth
                }
                ConnectErrorKind::TimedOut => ErrorKind::Timeout,
                ConnectErrorKind::ServerParse => ErrorKind::Config,
                ConnectErrorKind::Dns
                | ConnectErrorKind::Tls
                | ConnectErrorKind::Io
                | ConnectErrorKind::MaxReconnects => ErrorKind::Connection,
            };
            let servers = self.servers.join(", ");
            super::failed(kind, &format!("cannot connect to {servers}"), &error)
        })
    }
}

/// Checks that the credential may be sent to all servers.
fn check_hosts(
    keys: ToolConfig<'_>,
    servers: &[String],
    hosts: &AllowedHosts,
) -> Result<(), ToolError> {
    for server in servers {
        let address: ServerAddr = server
            .parse()
            .map_err(|error| keys.error(format!("`url` is no NATS server: {error}")))?;
        hosts.check(address.host(), address.port())?;
    }
    Ok(())
}

/// Checks that the network policy allows all addresses of a server.
async fn check(egress: &Egress, server: &ServerAddr) -> Result<(), ToolError> {
    let (host, port) = (server.host(), server.port());
    egress.check_all(host, port).await.map_err(|error| match error {
        Unresolved::Blocked(blocked) => {
            let message = format!("nats: {host}:{port} is not allowed: {blocked}");
            ToolError::new(ErrorKind::Config, message)
        }
        Unresolved::Lookup(error) => super::failed(
            ErrorKind::Connection,
            &format!("cannot connect to {host}:{port}"),
            &error,
        ),
    })
}

/// Splits an address into its servers without user information, and the identity it contained.
fn read_address(keys: ToolConfig<'_>, text: &str) -> Result<(Vec<String>, Identity), ToolError> {
    let wrong = || keys.error("`url` is not the address of a NATS server: nats://HOST:PORT");
    let mut servers = Vec::new();
    let mut identity = Identity::Anonymous;
    for part in text.split(',').map(str::trim) {
        let full = if part.contains("://") { part.to_owned() } else { format!("nats://{part}") };
        let mut url = Url::parse(&full).map_err(|_| wrong())?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong());
        }
        let decode = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
        identity = match (url.username(), url.password()) {
            ("", _) => identity,
            (token, None) => Identity::Token(decode(token)),
            (user, Some(password)) => {
                Identity::User { user: decode(user), password: decode(password) }
            }
        };
        url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| wrong())?;
        servers.push(url.to_string());
    }
    Ok((servers, identity))
}

/// The connections of a worker, by server and identity.
pub(crate) struct NatsConnections {
    egress: Egress,
    open: Mutex<BTreeMap<NatsEndpoint, Arc<OnceCell<Client>>>>,
}

impl NatsConnections {
    /// Creates connections to servers that the network policy allows.
    pub(crate) fn new(egress: Egress) -> Self {
        Self { egress, open: Mutex::default() }
    }

    /// Returns the cached connection, or connects. A failed attempt is repeated by the next call.
    pub(crate) async fn get(&self, place: NatsEndpoint) -> Result<Client, ToolError> {
        let cell = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if CONNECTIONS_MAX <= open.len() && !open.contains_key(&place) {
                open.pop_first();
            }
            open.entry(place.clone()).or_default().clone()
        };
        cell.get_or_try_init(|| place.connect(&self.egress)).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::protect::credentials::FixedCredentials;
    use crate::testing::call;

    async fn read(config: Value) -> Result<NatsEndpoint, String> {
        let limited = r#"{"type": "nats", "token": "hunter2", "_hosts": ["broker:4222"]}"#;
        let limited = ("NOETL_CREDENTIAL_LIMITED".to_owned(), limited.to_owned());
        let stored = r#"{"type": "nats", "nats_url": "nats://broker:4222", "token": "hunter2"}"#;
        let variable = ("NOETL_CREDENTIAL_BROKER".to_owned(), stored.to_owned());
        let credentials = FixedCredentials::from_environment([variable, limited]);
        let call = call(config);
        let keys = ToolConfig::new("nats", &call.config);
        NatsEndpoint::read(&call, keys, &credentials).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_playbook_does_not_choose_where_a_stored_token_is_sent() {
        for (config, key) in [
            (json!({"auth": "broker", "url": "nats://evil:4222"}), "url"),
            (json!({"credential": "broker", "servers": "nats://evil:4222"}), "servers"),
            (json!({"auth": {"credential": "broker"}, "server": "evil"}), "server"),
        ] {
            let error = read(config).await.err().expect("refused");
            assert!(error.starts_with(&format!("nats: `{key}` differs")), "{error}");
        }
        let same = json!({"auth": "broker", "url": "nats://broker:4222"});
        assert!(read(same).await.is_ok());
        assert!(read(json!({"auth": {"token": "t"}, "url": "nats://other:4222"})).await.is_ok());
    }

    #[tokio::test]
    async fn a_token_is_sent_to_the_hosts_of_its_policy_only() {
        let to = |url: &str| read(json!({"auth": "limited", "url": url}));
        assert!(to("nats://broker:4222").await.is_ok());
        for url in ["nats://evil:4222", "nats://broker:4223", "nats://broker:4222,nats://evil:4222"]
        {
            let error = to(url).await.err().expect("refused");
            assert!(error.contains("may not be sent to"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_server_that_the_network_policy_refuses_is_not_connected_to() {
        let place =
            read(json!({"url": "nats://127.0.0.1:1"})).await.unwrap_or_else(|e| panic!("{e}"));
        let refused = NatsConnections::new(Egress::Public).get(place).await.expect_err("refused");
        assert!(refused.message.contains("is not allowed"), "{}", refused.message);
    }
}
