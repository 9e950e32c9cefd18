//! Connections to NATS servers, cached for later calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, ServerAddr};
use noetl_model::{ErrorKind, ToolError};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use url::Url;

use crate::protect::credentials::CredentialResolver;
use crate::run::call::Call;
use crate::run::keys::{ToolConfig, scalar_text};

/// The maximum number of cached connections.
const CONNECTIONS_MAX: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The servers to connect to and the identity to use.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NatsEndpoint {
    servers: Vec<String>,
    identity: Identity,
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
        let kept = match keys.find(&["auth", "credential"]) {
            None => Map::new(),
            Some((_, Value::String(alias))) => credentials.resolve(call, alias).await?,
            Some((_, Value::Object(said))) => {
                match said.get("credential").and_then(Value::as_str) {
                    Some(alias) => credentials.resolve(call, alias).await?,
                    None => said.clone(),
                }
            }
            Some((key, other)) => {
                return Err(keys.wrong(key, "a map or the alias of a credential", other));
            }
        };
        let field = |spellings: &[&'static str]| -> Result<Option<String>, ToolError> {
            let own = keys.text(spellings)?;
            Ok(own.or_else(|| spellings.iter().find_map(|name| scalar_text(kept.get(*name)?))))
        };
        let url = field(&["url", "nats_url", "server", "servers"])?.ok_or_else(|| {
            keys.error("there is no address: give `url`, or `auth` with the alias of a credential")
        })?;
        let (servers, mut identity) = read_address(keys, &url)?;
        let user = field(&["user", "nats_user", "username"])?;
        let password = field(&["password", "nats_password"])?;
        if let (Some(user), Some(password)) = (user, password) {
            identity = Identity::User { user, password };
        } else if let Some(token) = field(&["token", "nats_token"])? {
            identity = Identity::Token(token);
        }
        Ok(Self { servers, identity })
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

    async fn connect(&self) -> Result<Client, ToolError> {
        let servers = self.servers.iter().map(|server| server.parse::<ServerAddr>());
        let servers = servers.collect::<Result<Vec<_>, _>>().map_err(|error| {
            ToolError::new(ErrorKind::Config, format!("nats: `url` is no NATS server: {error}"))
        })?;
        self.options().connect(servers).await.map_err(|error| {
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
#[derive(Default)]
pub(crate) struct NatsConnections {
    open: Mutex<BTreeMap<NatsEndpoint, Arc<OnceCell<Client>>>>,
}

impl NatsConnections {
    /// Returns the cached connection, or connects. A failed attempt is repeated by the next call.
    pub(crate) async fn get(&self, place: NatsEndpoint) -> Result<Client, ToolError> {
        let cell = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if CONNECTIONS_MAX <= open.len() && !open.contains_key(&place) {
                open.pop_first();
            }
            open.entry(place.clone()).or_default().clone()
        };
        cell.get_or_try_init(|| place.connect()).await.cloned()
    }
}
