//! Database settings from the environment. An invalid value is an error, never a fallback to a
//! default; and no error repeats a value, since it may contain a password.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;

/// The maximum number of shards in a cluster.
pub(crate) const SHARDS_MAX: usize = 1024;

/// The number of connections to one database that a single append may hold: one for the lock that
/// keeps a command from getting two children, one to write.
const CONNECTIONS_NEEDED: u32 = 2;

/// The connection settings of one database.
#[derive(Clone)]
pub struct PgSettings {
    pub database: PgConnectOptions,
    pub pool: PoolSettings,
}

/// The connection pool settings of each database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSettings {
    pub connections_max: u32,
    pub connections_min: u32,
    /// The time a statement waits for a connection, within the deadline of its call.
    pub acquire_timeout: Duration,
    /// The time after which the database cancels a statement.
    pub deadline: Duration,
    /// The number of prepared statements that each connection caches; zero behind a transaction
    /// pooler.
    pub statement_cache: usize,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            connections_max: 10,
            connections_min: 1,
            acquire_timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(10),
            statement_cache: 100,
        }
    }
}

/// The connection settings of a cluster: its shards, in order, and the database for data that does
/// not belong to one execution.
pub struct ClusterSettings {
    /// The shards; at least one.
    pub(crate) shards: Vec<PgConnectOptions>,
    /// The cluster's database; by default the first shard.
    pub(crate) cluster: Option<PgConnectOptions>,
    pub(crate) pool: PoolSettings,
}

/// An error in the environment variables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{variable} is not {expected}")]
    Value { variable: &'static str, expected: &'static str },
    #[error("entry {entry} of {variable} {problem}")]
    Dsn { variable: &'static str, entry: usize, problem: DsnProblem },
    #[error("NOETL_SHARDS lists more than {SHARDS_MAX} databases")]
    TooManyShards,
}

/// An error in one entry of a list of databases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DsnProblem {
    #[error("is empty")]
    Empty,
    #[error("is not a PostgreSQL URL")]
    Url,
    #[error("has a part that is not key=value")]
    NotAPair,
    #[error("has the unknown key `{0}`")]
    UnknownKey(String),
    #[error("has the key `{0}` twice")]
    RepeatedKey(String),
    #[error("names no host")]
    NoHost,
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    #[error("is the same database as entry {0}")]
    SameAs(usize),
}

impl ClusterSettings {
    /// Returns the settings of a cluster with one database.
    pub fn single(settings: PgSettings) -> Self {
        let PgSettings { database, pool } = settings;
        Self { shards: vec![database], cluster: None, pool }
    }

    /// Reads the settings from the environment: `NOETL_SHARDS` (and `NOETL_CLUSTER_DSN`), else
    /// `DATABASE_URL`, else `POSTGRES_HOST`, `_PORT`, `_USER`, `_PASSWORD` and `_DATABASE`. An
    /// empty variable counts as not set.
    pub fn from_env(read: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let read = |variable: &str| read(variable).filter(|value| !value.trim().is_empty());
        let shards = match read("NOETL_SHARDS") {
            Some(list) => parse_list("NOETL_SHARDS", &list)?,
            None => vec![single_database(read)?],
        };
        if shards.len() > SHARDS_MAX {
            return Err(SettingsError::TooManyShards);
        }
        let cluster = match read("NOETL_CLUSTER_DSN") {
            Some(dsn) => {
                let variable = "NOETL_CLUSTER_DSN";
                let failed = |problem| SettingsError::Dsn { variable, entry: 1, problem };
                Some(parse_dsn(&dsn).map_err(failed)?)
            }
            None => None,
        };
        Ok(Self { shards, cluster, pool: pool_settings(read)? })
    }
}

fn single_database(
    read: impl Fn(&str) -> Option<String>,
) -> Result<PgConnectOptions, SettingsError> {
    if let Some(url) = read("DATABASE_URL") {
        let variable = "DATABASE_URL";
        let failed = |_| SettingsError::Value { variable, expected: "a PostgreSQL URL" };
        return parse_url(&url).map_err(failed);
    }
    let port = number(&read, "POSTGRES_PORT", "a number from 1 to 65535", 5432)?;
    let text = |variable, default: &str| read(variable).unwrap_or_else(|| default.to_owned());
    let options = base(&text("POSTGRES_HOST", "localhost"))
        .port(port)
        .username(&text("POSTGRES_USER", "noetl"))
        .database(&text("POSTGRES_DATABASE", "noetl"));
    Ok(match read("POSTGRES_PASSWORD") {
        Some(password) => options.password(&password),
        None => options,
    })
}

fn pool_settings(read: impl Fn(&str) -> Option<String>) -> Result<PoolSettings, SettingsError> {
    const COUNT: &str = "a number of connections";
    let usual = PoolSettings::default();
    let connections_max = number(&read, "POSTGRES_MAX_CONNECTIONS", COUNT, usual.connections_max)?;
    if connections_max < CONNECTIONS_NEEDED {
        let variable = "POSTGRES_MAX_CONNECTIONS";
        return Err(SettingsError::Value { variable, expected: "at least 2" });
    }
    let seconds = number(
        &read,
        "POSTGRES_ACQUIRE_TIMEOUT",
        "a number of seconds",
        usual.acquire_timeout.as_secs(),
    )?;
    let deadline = number(
        &read,
        "NOETL_STORE_TIMEOUT_SECONDS",
        "a number of seconds",
        usual.deadline.as_secs(),
    )?;
    Ok(PoolSettings {
        connections_max,
        connections_min: number(&read, "POSTGRES_MIN_CONNECTIONS", COUNT, usual.connections_min)?,
        acquire_timeout: Duration::from_secs(seconds),
        deadline: Duration::from_secs(deadline),
        statement_cache: number(
            &read,
            "NOETL_PG_STATEMENT_CACHE_CAPACITY",
            "a number of statements",
            usual.statement_cache,
        )?,
    })
}

fn number<T: std::str::FromStr>(
    read: impl Fn(&str) -> Option<String>,
    variable: &'static str,
    expected: &'static str,
    default: T,
) -> Result<T, SettingsError> {
    match read(variable) {
        Some(text) => text.trim().parse().map_err(|_| SettingsError::Value { variable, expected }),
        None => Ok(default),
    }
}

/// Parses a comma-separated list of databases.
fn parse_list(variable: &'static str, list: &str) -> Result<Vec<PgConnectOptions>, SettingsError> {
    let mut databases: Vec<PgConnectOptions> = Vec::new();
    for (index, dsn) in list.split(',').enumerate() {
        let failed = |problem| SettingsError::Dsn { variable, entry: index + 1, problem };
        let database = parse_dsn(dsn).map_err(failed)?;
        if let Some(same) = databases.iter().position(|other| place(other) == place(&database)) {
            return Err(failed(DsnProblem::SameAs(same + 1)));
        }
        databases.push(database);
    }
    Ok(databases)
}

/// Parses one database: a URL, or `host=…;port=…;user=…;password=…;database=…`.
fn parse_dsn(dsn: &str) -> Result<PgConnectOptions, DsnProblem> {
    let dsn = dsn.trim();
    if dsn.is_empty() {
        return Err(DsnProblem::Empty);
    }
    if dsn.contains("://") {
        return parse_url(dsn);
    }
    let mut seen: Vec<&str> = Vec::new();
    let (mut host, mut port, mut password) = (None, 5432, None);
    let (mut user, mut database) = ("noetl", "noetl");
    for part in dsn.split(';').filter(|part| !part.trim().is_empty()) {
        let (key, value) = part.split_once('=').ok_or(DsnProblem::NotAPair)?;
        let key = match key.trim() {
            "dbname" => "database",
            key => key,
        };
        if seen.contains(&key) {
            return Err(DsnProblem::RepeatedKey(key.to_owned()));
        }
        seen.push(key);
        match key {
            "host" => host = Some(value.trim()),
            "port" => port = parse_port(value)?,
            "user" => user = value.trim(),
            "password" => password = Some(value),
            "database" => database = value.trim(),
            unknown => return Err(DsnProblem::UnknownKey(unknown.to_owned())),
        }
    }
    let host = host.filter(|host| !host.is_empty()).ok_or(DsnProblem::NoHost)?;
    let options = base(host).port(port).username(user).database(database);
    Ok(match password {
        Some(password) => options.password(password),
        None => options,
    })
}

fn parse_port(text: &str) -> Result<u16, DsnProblem> {
    match text.trim().parse() {
        Ok(0) | Err(_) => Err(DsnProblem::Port),
        Ok(port) => Ok(port),
    }
}

fn parse_url(url: &str) -> Result<PgConnectOptions, DsnProblem> {
    let known = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
    if !known {
        return Err(DsnProblem::Url);
    }
    url.parse().map_err(|_| DsnProblem::Url)
}

/// Returns options for a host name or, if it is a path, for a socket directory.
fn base(host: &str) -> PgConnectOptions {
    let options = PgConnectOptions::new();
    if host.starts_with('/') { options.socket(host).host(host) } else { options.host(host) }
}

/// Returns the identity of a database. For a socket connection, the socket directory identifies the
/// server.
fn place(options: &PgConnectOptions) -> (Option<&Path>, &str, u16, Option<&str>) {
    let socket = options.get_socket().map(PathBuf::as_path);
    (socket, options.get_host(), options.get_port(), options.get_database())
}

#[cfg(test)]
mod tests;
