//! Reads the server, database and user of a call, from the tool's keys, a connection string or a
//! credential.

use std::collections::BTreeMap;
use std::path::Path;

use noetl_model::ToolError;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use url::Url;

use crate::protect::allowed_hosts::AllowedHosts;
use crate::protect::credentials::{CredentialResolver, alias_within, fixed_destination};
use crate::run::call::Call;
use crate::run::keys::{ToolConfig, scalar_text};
use crate::sql::redact::SecretMasker;

/// The protection of a connection, as in libpq's `sslmode`, from the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SslMode {
    Disable,
    /// Encrypted if the server supports it; the certificate is not verified.
    Prefer,
    /// Encrypted; the certificate is not verified.
    Require,
    /// Encrypted, with a certificate of a known authority.
    VerifyCa,
    /// Encrypted, with a certificate of a known authority for this host.
    VerifyFull,
}

/// The server, database and user to connect to. Equal targets share a pool.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PostgresTarget {
    /// A host name, an address, or the directory of a socket.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) ssl_mode: SslMode,
    /// A file of root certificates, instead of those of the machine.
    pub(crate) ssl_root: Option<String>,
    pub(crate) application: String,
}

/// The alternative spellings of each setting; the name is libpq's.
const SPELLINGS: &[(&str, &[&str])] = &[
    ("host", &["host", "db_host", "hostaddr", "hostname"]),
    ("port", &["port", "db_port"]),
    ("dbname", &["dbname", "database", "db_name", "db_database", "db"]),
    ("user", &["user", "db_user", "username", "db_username"]),
    ("password", &["password", "db_password"]),
    ("sslmode", &["sslmode", "ssl_mode", "db_sslmode"]),
    ("sslrootcert", &["sslrootcert", "ssl_root_cert"]),
    ("application_name", &["application_name"]),
];
/// The port of a server that names none.
const PORT: &str = "5432";
const CONNECTION_STRINGS: &[&str] = &["connection_string", "dsn", "db_url", "database_url", "url"];
/// Settings of a connection string that are accepted and ignored.
const IGNORED_SETTINGS: &[&str] = &[
    "channel_binding",
    "connect_timeout",
    "gssencmode",
    "keepalives",
    "keepalives_idle",
    "options",
    "target_session_attrs",
];

/// Returns the connection in a map with a single named entry: `{db: {credential: alias}}`.
fn only_one(named: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let mut values = named.values();
    values.next().filter(|_| named.len() == 1).and_then(Value::as_object)
}

type ConnectionParams = BTreeMap<&'static str, String>;

impl PostgresTarget {
    /// Reads the target. A key of the tool takes precedence over the connection string, and the
    /// connection string over the credential.
    pub(crate) async fn read(
        call: &Call,
        keys: ToolConfig<'_>,
        credentials: &dyn CredentialResolver,
    ) -> Result<Self, ToolError> {
        let mut said = ConnectionParams::new();
        let mut stored = ConnectionParams::new();
        let mut hosts = AllowedHosts::default();
        match keys.find(&["auth", "credential", "connection"]) {
            None => {}
            Some((_, Value::String(dsn))) if is_connection_string(dsn) => {
                said = parse(keys, dsn)?;
            }
            Some((_, Value::String(alias))) => {
                let fields = credentials.resolve(call, alias).await?;
                hosts = AllowedHosts::of(&fields);
                stored = of_fields(keys, &fields)?;
            }
            Some((_, Value::Object(fields))) => {
                let fields = only_one(fields).unwrap_or(fields);
                if let Some(alias) = alias_within(fields) {
                    let fields = credentials.resolve(call, alias).await?;
                    hosts = AllowedHosts::of(&fields);
                    stored = of_fields(keys, &fields)?;
                }
                said.extend(of_fields(keys, fields)?);
            }
            Some((key, other)) => {
                return Err(keys.wrong(key, "the alias of a credential, or a map", other));
            }
        }
        said.extend(of_keys(keys)?);
        keep_stored(keys, &stored, &said)?;
        stored.extend(said);
        let target = Self::of(keys, &stored)?;
        hosts.check(&target.host, target.port)?;
        Ok(target)
    }

    /// True if the host is the directory of a Unix socket.
    pub(crate) fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    fn of(keys: ToolConfig<'_>, said: &ConnectionParams) -> Result<Self, ToolError> {
        let text = |name: &str| said.get(name).filter(|text| !text.is_empty()).cloned();
        let user = text("user").unwrap_or_else(|| "postgres".into());
        let host = text("host").unwrap_or_else(|| "localhost".into());
        let port = text("port").unwrap_or_else(|| PORT.into());
        let port: u16 = port.parse().map_err(|_| {
            keys.error(format!("`port` must be a number from 1 to 65535, but is \"{port}\""))
        })?;
        if host.starts_with('@') {
            return Err(keys.error("`host` is an abstract socket, which is not supported"));
        }
        if host.starts_with('/') {
            keys.file(Path::new(&host).join(format!(".s.PGSQL.{port}")))?;
        }
        Ok(Self {
            host,
            port,
            database: text("dbname").unwrap_or_else(|| "postgres".into()),
            user,
            password: text("password"),
            ssl_mode: ssl_mode(keys, text("sslmode").as_deref())?,
            ssl_root: text("sslrootcert"),
            application: text("application_name").unwrap_or_else(|| "noetl".into()),
        })
    }

    pub(crate) fn secrets(&self) -> SecretMasker {
        let mut secrets = SecretMasker::default();
        if let Some(password) = &self.password {
            secrets.add(password);
        }
        secrets
    }

    /// The server and the database, for messages.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}/{}", self.host, self.port, self.database)
    }
}

/// Checks that the password of a stored credential goes to the server it was stored for, with at
/// least the protection it was stored with.
fn keep_stored(
    keys: ToolConfig<'_>,
    stored: &ConnectionParams,
    said: &ConnectionParams,
) -> Result<(), ToolError> {
    if let Some(host) = stored.get("host") {
        let port = stored.get("port").map_or(PORT, String::as_str);
        if said.get("host").is_some_and(|said| said != host) {
            return Err(fixed_destination(keys, "host"));
        }
        if said.get("port").is_some_and(|said| said != port) {
            return Err(fixed_destination(keys, "port"));
        }
    }
    let mode = |of: &ConnectionParams| {
        of.get("sslmode").map(|mode| ssl_mode(keys, Some(mode))).transpose()
    };
    if let (Some(stored), Some(said)) = (mode(stored)?, mode(said)?)
        && said < stored
    {
        return Err(keys.error(
            "`sslmode` protects less than that of the stored credential: leave `sslmode` out",
        ));
    }
    let roots = |of: &ConnectionParams| of.get("sslrootcert").cloned();
    match (roots(stored), roots(said)) {
        (Some(stored), Some(said)) if stored != said => Err(fixed_destination(keys, "sslrootcert")),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

fn ssl_mode(keys: ToolConfig<'_>, mode: Option<&str>) -> Result<SslMode, ToolError> {
    Ok(match mode {
        None | Some("prefer" | "allow") => SslMode::Prefer,
        Some("disable") => SslMode::Disable,
        Some("require") => SslMode::Require,
        Some("verify-ca") => SslMode::VerifyCa,
        Some("verify-full") => SslMode::VerifyFull,
        Some(other) => {
            return Err(keys.error(format!(
                "`sslmode` is `{other}`; known are disable, prefer, require, verify-ca and verify-full"
            )));
        }
    })
}

fn of_keys(keys: ToolConfig<'_>) -> Result<ConnectionParams, ToolError> {
    let mut said = match keys.text(CONNECTION_STRINGS)? {
        None => ConnectionParams::new(),
        Some(dsn) => parse(keys, &dsn)?,
    };
    for (name, spellings) in SPELLINGS {
        if let Some(text) = keys.text(spellings)? {
            said.insert(*name, text);
        }
    }
    Ok(said)
}

fn of_fields(
    keys: ToolConfig<'_>,
    fields: &Map<String, Value>,
) -> Result<ConnectionParams, ToolError> {
    let field =
        |names: &[&str]| names.iter().find_map(|name| fields.get(*name).and_then(scalar_text));
    let kind = field(&["type"]).map(|kind| kind.to_ascii_lowercase());
    if let Some(kind) = kind.filter(|kind| !kind.starts_with("postgres") && kind != "generic") {
        return Err(keys.error(format!(
            "`auth` must be a credential of type postgres, but is of type {kind}"
        )));
    }
    let mut said = match field(CONNECTION_STRINGS) {
        None => ConnectionParams::new(),
        Some(dsn) => parse(keys, &dsn)?,
    };
    for (name, spellings) in SPELLINGS {
        if let Some(text) = field(spellings) {
            said.insert(*name, text);
        }
    }
    Ok(said)
}

pub(crate) fn is_connection_string(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://") || text.contains("host=")
}

/// Parses a connection string: a URL, or pairs such as `host=a port=1`. Errors never quote it.
fn parse(keys: ToolConfig<'_>, text: &str) -> Result<ConnectionParams, ToolError> {
    let pairs = if text.contains("://") { url_pairs(text) } else { plain_pairs(text) };
    let pairs = pairs.ok_or_else(|| {
        keys.error("the connection string is neither postgres://user:password@host:port/database nor pairs such as host=… dbname=…")
    })?;
    let mut said = ConnectionParams::new();
    for (key, value) in pairs {
        let known = SPELLINGS.iter().find(|(_, spellings)| spellings.contains(&key.as_str()));
        match known {
            Some((name, _)) => drop(said.insert(*name, value)),
            None if IGNORED_SETTINGS.contains(&key.as_str()) => {}
            None => {
                return Err(
                    keys.error(format!("the connection string has an unknown setting `{key}`"))
                );
            }
        }
    }
    Ok(said)
}

fn url_pairs(text: &str) -> Option<Vec<(String, String)>> {
    let url = Url::parse(text).ok()?;
    if !matches!(url.scheme(), "postgres" | "postgresql") {
        return None;
    }
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().ok().map(String::from);
    let mut pairs = Vec::new();
    let mut add = |key: &str, text: &str| {
        if !text.is_empty() {
            pairs.push((key.to_owned(), decoded(text)?));
        }
        Some(())
    };
    add("user", url.username())?;
    add("password", url.password().unwrap_or_default())?;
    add("host", url.host_str().unwrap_or_default().trim_matches(['[', ']']))?;
    add("port", &url.port().map(|port| port.to_string()).unwrap_or_default())?;
    add("dbname", url.path().trim_start_matches('/'))?;
    pairs.extend(url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned())));
    Some(pairs)
}

/// Parses `key=value key='va\'lue'`.
fn plain_pairs(text: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quoted = after.starts_with('\'');
        let mut value = String::new();
        let mut chars = after.char_indices().skip(usize::from(quoted));
        let end = loop {
            match chars.next() {
                None if quoted => return None,
                None => break after.len(),
                Some((_, '\\')) => value.push(chars.next()?.1),
                Some((at, '\'')) if quoted => break at + 1,
                Some((at, c)) if !quoted && c.is_whitespace() => break at,
                Some((_, c)) => value.push(c),
            }
        };
        pairs.push((key.trim().to_owned(), value));
        rest = after[end..].trim_start();
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::protect::credentials::FixedCredentials;
    use crate::testing::call;

    fn check(config: Value, expected: Expect) {
        expected.assert_eq(&shown(&config));
    }

    #[track_caller]
    fn check_text(config: &Value, expected: &str) {
        assert_eq!(shown(config), expected, "{config}");
    }

    fn shown(config: &Value) -> String {
        let credential = r#"{"type": "postgres", "data": {"db_host": "db", "db_port": "6000", "db_user": "ada", "db_password": "hunter2", "db_name": "shop"}}"#;
        let credentials = FixedCredentials::from_environment([
            ("NOETL_CREDENTIAL_PG".to_owned(), credential.to_owned()),
            (
                "NOETL_CREDENTIAL_TLS".to_owned(),
                r#"{"type": "postgres", "host": "db", "sslmode": "verify-full"}"#.to_owned(),
            ),
            (
                "NOETL_CREDENTIAL_LIMITED".to_owned(),
                r#"{"type": "postgres", "user": "ada", "password": "hunter2",
                    "_hosts": ["db:6000", "*.db.example"]}"#
                    .to_owned(),
            ),
            ("NOETL_CREDENTIAL_API".to_owned(), r#"{"type": "bearer", "token": "t"}"#.to_owned()),
        ]);
        let call = call(config.clone());
        let keys = ToolConfig::of_call("postgres", &call);
        let read = futures::executor::block_on(PostgresTarget::read(&call, keys, &credentials));
        match read {
            Ok(it) => format!(
                "{}@{} {:?} {:?} {:?}",
                it.user,
                it.name(),
                it.password,
                it.ssl_mode,
                it.ssl_root
            ),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_password_is_sent_to_the_hosts_of_its_policy_only() {
        let to =
            |host: &str, port: u16| shown(&json!({"auth": "limited", "host": host, "port": port}));
        for (host, port) in [("db", 6000), ("a.db.example", 5432)] {
            let told = to(host, port);
            assert!(told.starts_with("ada@"), "{told}");
        }
        for (host, port) in [
            ("db", 5432),
            ("evil", 6000),
            ("db.example", 1),
            ("a.db.example,evil", 1),
            ("evil,a.db.example", 1),
        ] {
            let told = to(host, port);
            assert!(told.starts_with("the credential may not be sent to"), "{told}");
        }
        let named = json!({"auth": {"pg": {"credential": "limited", "host": "evil"}}});
        assert!(shown(&named).starts_with("the credential may not be sent to"));
        let by_url = json!({"auth": "limited", "connection_string": "postgres://evil/x"});
        assert!(shown(&by_url).starts_with("the credential may not be sent to"));
    }

    #[test]
    fn a_target_is_found_in_a_credential_in_keys_and_in_a_connection_string() {
        check(json!({"auth": "pg"}), expect![[r#"ada@db:6000/shop Some("hunter2") Prefer None"#]]);
        check(
            json!({"credential": "pg", "database": "other", "sslmode": "verify-full"}),
            expect![[r#"ada@db:6000/other Some("hunter2") VerifyFull None"#]],
        );
        check(
            json!({"auth": {"source": "credential", "type": "postgres", "key": "pg"}}),
            expect![[r#"ada@db:6000/shop Some("hunter2") Prefer None"#]],
        );
        check(
            json!({"auth": {"shop": {"type": "postgres", "credential": "pg"}}}),
            expect![[r#"ada@db:6000/shop Some("hunter2") Prefer None"#]],
        );
        check(
            json!({"auth": {"credential": "pg", "db_user": "bob"}}),
            expect![[r#"bob@db:6000/shop Some("hunter2") Prefer None"#]],
        );
        check(json!({}), expect!["postgres@localhost:5432/postgres None Prefer None"]);
        check(
            json!({"connection_string": "postgresql://a%40b:p%2Fw@[::1]:99/d?sslmode=require&sslrootcert=/ca.pem&connect_timeout=3"}),
            expect![[r#"a@b@::1:99/d Some("p/w") Require Some("/ca.pem")"#]],
        );
        check(
            json!({"connection_string": r"host=/run/pg  user = ada password='a b\'c' dbname=d"}),
            expect![[r#"ada@/run/pg:5432/d Some("a b'c") Prefer None"#]],
        );
        check(
            json!({"connection": "postgres://noetl@localhost/d?host=/run/pg"}),
            expect!["noetl@/run/pg:5432/d None Prefer None"],
        );
    }

    #[test]
    fn a_playbook_does_not_choose_where_a_stored_password_is_sent() {
        let elsewhere = |key: &str| {
            format!(
                "postgres: `{key}` differs from the one of the stored credential, whose secret is \
                 sent only there: leave `{key}` out, or store a credential for the other destination"
            )
        };
        for (config, key) in [
            (json!({"auth": "pg", "host": "evil"}), "host"),
            (json!({"auth": "pg", "hostaddr": "192.0.2.1"}), "host"),
            (json!({"credential": "pg", "db_host": "evil"}), "host"),
            (json!({"auth": {"credential": "pg", "host": "evil"}}), "host"),
            (json!({"auth": {"a": {"credential": "pg", "hostname": "evil"}}}), "host"),
            (json!({"auth": "pg", "port": 6001}), "port"),
            (json!({"auth": "pg", "connection_string": "postgres://evil/d"}), "host"),
            (json!({"auth": "pg", "dsn": "host=db port=1"}), "port"),
            (json!({"auth": "pg", "url": "postgres://db:6000/d?host=/tmp/evil"}), "host"),
        ] {
            check_text(&config, &elsewhere(key));
        }
        check_text(
            &json!({"auth": "pg", "host": "db", "port": "6000"}),
            r#"ada@db:6000/shop Some("hunter2") Prefer None"#,
        );
        check_text(
            &json!({"auth": "tls", "sslmode": "disable"}),
            "postgres: `sslmode` protects less than that of the stored credential: leave `sslmode` out",
        );
    }

    #[test]
    fn an_invalid_target_is_an_error_without_its_secrets() {
        check(
            json!({"auth": "nobody"}),
            expect!["there is no credential `nobody`: set the variable NOETL_CREDENTIAL_NOBODY"],
        );
        check(
            json!({"auth": "api"}),
            expect![
                "postgres: `auth` must be a credential of type postgres, but is of type bearer"
            ],
        );
        check(
            json!({"auth": 3}),
            expect!["postgres: `auth` must be the alias of a credential, or a map, but is `3`"],
        );
        check(
            json!({"port": "http"}),
            expect![[r#"postgres: `port` must be a number from 1 to 65535, but is "http""#]],
        );
        check(
            json!({"sslmode": "full"}),
            expect![
                "postgres: `sslmode` is `full`; known are disable, prefer, require, verify-ca and verify-full"
            ],
        );
        check(
            json!({"connection_string": "mysql://a:hunter2@b/c"}),
            expect![
                "postgres: the connection string is neither postgres://user:password@host:port/database nor pairs such as host=… dbname=…"
            ],
        );
        check(
            json!({"connection_string": "host=a passwrod=hunter2"}),
            expect!["postgres: the connection string has an unknown setting `passwrod`"],
        );
    }
}
