//! The table of all settings: key in `noetl.toml`, environment variable, type and default.
//!
//! Invariant: reading, `noetl config show` and [docs/configuration.md] use this table; a setting
//! that is not here does not exist.

use noetl_isolation::IsolationMode;

use super::kind::Kind;

/// A setting; each has a row in [`TABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Setting {
    Db,
    PayloadDirectory,
    StoreTimeout,
    Context,
    Token,
    TokenOrigin,
    ServerUrl,
    ServerCa,
    ServerHost,
    ServerPort,
    ServerPublicUrl,
    ServerMachineId,
    ServerDrain,
    ServerCert,
    ServerKey,
    ServerClientCa,
    ServerClientCert,
    ServerClientKey,
    ServerAccess,
    ServerTokens,
    ServerTokensFile,
    ServerInternalToken,
    ServerCors,
    ServerConnectionsMax,
    ServerConnectionsPerAddress,
    ServerIngressBytes,
    FeedsSubjectPrefix,
    ServerRateLimit,
    ServerRateBurst,
    ServerMetricsOff,
    ServerUiOff,
    ServerSqlDsn,
    SecretsKey,
    SecretsKeysOld,
    SecretsInsecure,
    NatsUrl,
    PostgresUrl,
    PostgresShards,
    PostgresCluster,
    PostgresHost,
    PostgresPort,
    PostgresUser,
    PostgresPassword,
    PostgresDatabase,
    PostgresConnectionsMax,
    PostgresConnectionsMin,
    PostgresAcquireTimeout,
    PostgresStatementCache,
    CommandAttemptsMax,
    BacklogMax,
    Retention,
    AuditKeep,
    StepLogCommandBytes,
    StepLogExecutionBytes,
    StepLogRetention,
    OutboxNotifications,
    WorkersIdentity,
    CredentialsDefaultPolicy,
    WorkerPool,
    WorkerConcurrency,
    WorkerDrain,
    ToolsPython,
    ToolsPythonUserSite,
    ToolsDuckdb,
    ToolsMemory,
    ToolsDirectories,
    ToolsDuckdbExternal,
    EgressAllow,
    IsolationMode,
    IsolationUser,
    IsolationCpu,
    IsolationMemory,
    IsolationOpenFiles,
    IsolationProcesses,
    IsolationFileSize,
    LintLevels,
    LogFilter,
    LogFormat,
    OtelEndpoint,
    OtelHeaders,
    OtelService,
    ServerSnapshotAfter,
}

/// The choice between showing a value and masking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    Shown,
    Masked,
}

use Secrecy::{Masked, Shown};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) setting: Setting,
    /// The key in the settings file.
    pub(crate) key: &'static str,
    pub(crate) variable: &'static str,
    pub(crate) kind: Kind,
    /// The default value; `None` if the setting is then unset or determined at run time.
    pub(crate) default: Option<&'static str>,
    pub(crate) secrecy: Secrecy,
    pub(crate) about: &'static str,
}

impl Setting {
    pub(crate) fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.setting == self).expect("every setting has a row")
    }
}

const fn row(
    setting: Setting,
    key: &'static str,
    variable: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    secrecy: Secrecy,
    about: &'static str,
) -> Row {
    Row { setting, key, variable, kind, default, secrecy, about }
}

/// Seconds until a drain is given up.
const DRAIN: Kind = Kind::Number { min: 0, max: 3600 };
const LOG_BYTES: Kind = Kind::Number { min: 0, max: 1_099_511_627_776 };
const CONNECTIONS: Kind = Kind::Number { min: 0, max: 10_000 };
/// A boolean, in the spellings of environment variables.
/// The value of `server.access` that requires a token.
pub(crate) const TOKEN_ACCESS: &str = "token";
/// The value of `credentials.default_policy` that closes credentials without a policy.
pub(crate) const CLOSED_POLICY: &str = "closed";
/// The value of `workers.identity` that requires secrets of leases.
pub(crate) const REQUIRED_IDENTITY: &str = "required";
const SWITCH: Kind = Kind::OneOf(&["true", "false", "1", "0", "yes", "no", "on", "off"]);
/// A limit of a step's processes; 0 for none.
const STEP_LIMIT: Kind = Kind::Number { min: 0, max: 1_000_000_000 };
const PORT: Kind = Kind::Number { min: 0, max: 65_535 };

#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    row(Setting::Db, "db", "NOETL_DB", Kind::Text, None, Shown,
        "the embedded database; `noetl/noetl.db` in the user's data directory unless set"),
    row(Setting::PayloadDirectory, "payloads.directory", "NOETL_PAYLOAD_DIR", Kind::Text, None, Shown,
        "a directory for large values, shared by all servers of a database; in the database unless set"),
    row(Setting::StoreTimeout, "store.timeout_seconds", "NOETL_STORE_TIMEOUT_SECONDS",
        Kind::Number { min: 1, max: 600 }, Some("10"), Shown,
        "the deadline of a database call; after it the request gets 503. Health checks wait less than 1 s"),
    row(Setting::Context, "context", "NOETL_CONTEXT", Kind::Text, None, Shown,
        "the context (`[contexts.NAME]`) whose server client commands use"),
    row(Setting::Token, "token", "NOETL_API_TOKEN", Kind::Text, None, Masked,
        "the token that clients and workers send, and that a server requires"),
    row(Setting::TokenOrigin, "token_origin", "NOETL_API_TOKEN_ORIGIN", Kind::Url, None, Shown,
        "the only server to which clients and workers send the token"),
    row(Setting::ServerUrl, "server.url", "NOETL_SERVER_URL", Kind::Url, None, Shown,
        "the server that client commands and workers connect to"),
    row(Setting::ServerCa, "server.ca", "NOETL_TLS_CA", Kind::Text, None, Shown,
        "a PEM file with the certificate authority that clients trust instead of the machine's list"),
    row(Setting::ServerHost, "server.host", "NOETL_HOST", Kind::Text, Some("127.0.0.1"), Shown,
        "the address a server listens on"),
    row(Setting::ServerPort, "server.port", "NOETL_PORT", PORT, Some("8082"), Shown,
        "the port a server listens on; 0 for any free port"),
    row(Setting::ServerPublicUrl, "server.public_url", "NOETL_PUBLIC_SERVER_URL", Kind::Url, None, Shown,
        "the URL of this server in NATS notifications, at which workers reach it"),
    row(Setting::ServerMachineId, "server.machine_id", "NOETL_SERVER_MACHINE_ID",
        Kind::Number { min: 0, max: 1023 }, None, Shown,
        "the machine number in the ids that this server generates, unique among servers; a free number unless set"),
    row(Setting::ServerDrain, "server.drain_seconds", "NOETL_DRAIN_SECONDS", DRAIN, Some("10"), Shown,
        "how long running requests and commands may take after a server was told to stop"),
    row(Setting::ServerCert, "server.cert", "NOETL_TLS_CERT", Kind::Text, None, Shown,
        "a PEM file with the server's certificate; with `server.key`, the server accepts only TLS"),
    row(Setting::ServerKey, "server.key", "NOETL_TLS_KEY", Kind::Text, None, Shown,
        "a PEM file with the private key of `server.cert`"),
    row(Setting::ServerClientCa, "server.client_ca", "NOETL_TLS_CLIENT_CA", Kind::Text, None, Shown,
        "a PEM file with the certificate authority of clients; clients must present a certificate (mutual TLS)"),
    row(Setting::ServerClientCert, "server.client_cert", "NOETL_TLS_CLIENT_CERT", Kind::Text, None, Shown,
        "a PEM file with the certificate that clients and workers present"),
    row(Setting::ServerClientKey, "server.client_key", "NOETL_TLS_CLIENT_KEY", Kind::Text, None, Shown,
        "a PEM file with the private key of `server.client_cert`"),
    row(Setting::ServerAccess, "server.access", "NOETL_SERVER_ACCESS", Kind::OneOf(&["open", TOKEN_ACCESS]),
        Some("open"), Shown,
        "`token` to require a token on this machine as well; a server with an embedded database creates one beside it, which commands of the same user send"),
    row(Setting::ServerTokens, "server.tokens", "NOETL_API_TOKENS", Kind::Text, None, Masked,
        "tokens with their scopes, such as `read=TOKEN run+work=sha256:DIGEST`"),
    row(Setting::ServerTokensFile, "server.tokens_file", "NOETL_API_TOKENS_FILE", Kind::Text, None, Shown,
        "a file with tokens in the format of `server.tokens`"),
    row(Setting::ServerInternalToken, "server.internal_token", "NOETL_INTERNAL_API_TOKEN", Kind::Text, None,
        Masked, "the token for `/api/internal/`, which existing workers send with every request"),
    row(Setting::ServerCors, "server.cors_origins", "NOETL_CORS_ORIGINS", Kind::Text, None, Shown,
        "the origins whose pages may call the server, separated by commas or spaces; none unless set"),
    row(Setting::ServerConnectionsMax, "server.connections_max", "NOETL_CONNECTIONS_MAX",
        Kind::Number { min: 1, max: 1_000_000 }, None, Shown,
        "the maximum number of open connections; 10,000 unless set, or three quarters of the process's limit of open files if that is less"),
    row(Setting::ServerConnectionsPerAddress, "server.connections_per_address_max",
        "NOETL_CONNECTIONS_PER_ADDRESS_MAX", Kind::Number { min: 1, max: 1_000_000 }, Some("1000"), Shown,
        "the maximum number of open connections from one address (IPv6: one /64 network); raise it behind a proxy"),
    row(Setting::ServerIngressBytes, "server.ingress_bytes_max", "NOETL_INGRESS_BYTES_MAX",
        Kind::Number { min: 1_048_576, max: 1_099_511_627_776 }, Some("67108864"), Shown,
        "the maximum total size of the `/ingress/` messages being received"),
    row(Setting::FeedsSubjectPrefix, "feeds.subject_prefix", "NOETL_FEED_SUBJECT_PREFIX", Kind::Text,
        Some("noetl.events"), Shown, "the prefix of the subjects to which feeds may be published"),
    row(Setting::ServerRateLimit, "server.rate_limit", "NOETL_RATE_LIMIT",
        Kind::Number { min: 1, max: 1_000_000 }, None, Shown,
        "the maximum number of requests per second of one token, or of one address without a token; no limit unless set"),
    row(Setting::ServerRateBurst, "server.rate_burst", "NOETL_RATE_BURST",
        Kind::Number { min: 1, max: 1_000_000 }, None, Shown, "the maximum number of requests at once (burst); twice `server.rate_limit` unless set"),
    row(Setting::ServerMetricsOff, "server.disable_metrics", "NOETL_DISABLE_METRICS",
        SWITCH, None, Shown, "true to not serve `/metrics`"),
    row(Setting::ServerUiOff, "server.disable_ui", "NOETL_DISABLE_UI",
        SWITCH, None, Shown, "true to not serve the web interface below `/ui/`"),
    row(Setting::ServerSqlDsn, "server.sql_dsn", "NOETL_SQL_DSN", Kind::Text, None, Masked,
        "the PostgreSQL database of `POST /api/postgres/execute`; the route is off unless set"),
    row(Setting::SecretsKey, "secrets.key", "NOETL_ENCRYPTION_KEY", Kind::Text, None, Masked,
        "the key that encrypts secrets: 32 bytes in base64"),
    row(Setting::SecretsKeysOld, "secrets.keys_old", "NOETL_ENCRYPTION_KEYS_OLD", Kind::Text, None, Masked,
        "previous encryption keys, separated by commas; needed until all secrets are encrypted with `secrets.key`"),
    row(Setting::SecretsInsecure, "secrets.insecure_default_key", "NOETL_ALLOW_INSECURE_DEFAULT_KEY",
        SWITCH, None, Shown,
        "true to let a server start with a temporary encryption key, which is lost when the server stops"),
    row(Setting::NatsUrl, "nats.url", "NOETL_NATS_URL", Kind::Text, None, Masked,
        "the NATS server for hints and notifications"),
    row(Setting::PostgresUrl, "postgres.url", "DATABASE_URL", Kind::Text, None, Masked,
        "the PostgreSQL database of a server"),
    row(Setting::PostgresShards, "postgres.shards", "NOETL_SHARDS", Kind::Text, None, Masked,
        "several PostgreSQL databases (shards), in order, instead of one"),
    row(Setting::PostgresCluster, "postgres.cluster", "NOETL_CLUSTER_DSN", Kind::Text, None, Masked,
        "the database for data outside executions, such as the catalog; the first shard unless set"),
    row(Setting::PostgresHost, "postgres.host", "POSTGRES_HOST", Kind::Text, None, Shown,
        "the host of the PostgreSQL database, if no URL names it"),
    row(Setting::PostgresPort, "postgres.port", "POSTGRES_PORT", PORT, Some("5432"), Shown, "the port of the PostgreSQL database"),
    row(Setting::PostgresUser, "postgres.user", "POSTGRES_USER", Kind::Text, Some("noetl"), Shown, "the user of the PostgreSQL database"),
    row(Setting::PostgresPassword, "postgres.password", "POSTGRES_PASSWORD", Kind::Text, None, Masked,
        "the password of `postgres.user`"),
    row(Setting::PostgresDatabase, "postgres.database", "POSTGRES_DATABASE", Kind::Text, Some("noetl"), Shown,
        "the name of the PostgreSQL database"),
    row(Setting::PostgresConnectionsMax, "postgres.max_connections", "POSTGRES_MAX_CONNECTIONS",
        CONNECTIONS, Some("10"), Shown, "the maximum number of connections of a server to each database"),
    row(Setting::PostgresConnectionsMin, "postgres.min_connections", "POSTGRES_MIN_CONNECTIONS",
        CONNECTIONS, Some("1"), Shown, "the number of connections that a server keeps open to each database"),
    row(Setting::PostgresAcquireTimeout, "postgres.acquire_timeout_seconds", "POSTGRES_ACQUIRE_TIMEOUT",
        Kind::Number { min: 1, max: 3600 }, Some("30"), Shown, "how long a statement waits for a connection"),
    row(Setting::PostgresStatementCache, "postgres.statement_cache", "NOETL_PG_STATEMENT_CACHE_CAPACITY",
        CONNECTIONS, Some("100"), Shown, "the number of prepared statements kept per connection; 0 behind a pooler in transaction mode"),
    row(Setting::CommandAttemptsMax, "commands.attempts_max", "NOETL_COMMAND_ATTEMPTS_MAX",
        Kind::Number { min: 1, max: 1000 }, Some("3"), Shown,
        "how many worker processes may end while they run one command before the command fails"),
    row(Setting::WorkersIdentity, "workers.identity", "NOETL_WORKERS_IDENTITY",
        Kind::OneOf(&["optional", REQUIRED_IDENTITY]), Some("optional"), Shown,
        "`required` to accept only workers that prove that they hold a command, with the secret of its lease; existing workers of the public protocol cannot"),
    row(Setting::CredentialsDefaultPolicy, "credentials.default_policy",
        "NOETL_CREDENTIALS_DEFAULT_POLICY", Kind::OneOf(&["open", CLOSED_POLICY]), Some("open"), Shown,
        "`closed` to let no playbook use a credential that has no policy"),
    row(Setting::BacklogMax, "executions.backlog_max", "NOETL_BACKLOG_MAX",
        Kind::Number { min: 0, max: 10_000_000 }, Some("4000"), Shown,
        "how many executions may wait for a worker in a pool before starts are refused with 429; 0 for no limit"),
    row(Setting::Retention, "executions.retention", "NOETL_RETENTION", Kind::Text, None, Shown,
        "how long ended executions are kept: rules such as `keep path=audit/*; 30d status=COMPLETED; 400d`, of which the first that applies decides; for ever unless set"),
    row(Setting::AuditKeep, "audit.keep", "NOETL_AUDIT_KEEP_DAYS",
        Kind::Number { min: 30, max: 36_500 }, Some("400"), Shown,
        "how many days a server keeps the entries of the audit log"),
    row(Setting::StepLogCommandBytes, "step_logs.command_bytes_max", "NOETL_STEP_LOG_COMMAND_BYTES_MAX",
        LOG_BYTES, Some("10485760"), Shown,
        "the maximum size of the output of one attempt of a command that is stored while it runs; the end is stored beyond it"),
    row(Setting::StepLogExecutionBytes, "step_logs.execution_bytes_max", "NOETL_STEP_LOG_EXECUTION_BYTES_MAX",
        LOG_BYTES, Some("104857600"), Shown,
        "the maximum size of the output of one execution that is stored while its steps run"),
    row(Setting::StepLogRetention, "step_logs.retention_days", "NOETL_STEP_LOG_RETENTION_DAYS",
        Kind::Number { min: 0, max: 36_500 }, Some("30"), Shown,
        "how many days a server keeps the output of steps after an execution last printed; 0 for ever"),
    row(Setting::OutboxNotifications, "outbox.notifications", "NOETL_OUTBOX_NOTIFICATIONS",
        Kind::OneOf(&["relay", "external"]), Some("relay"), Shown,
        "the sender of notifications to workers: the server's relay, or an external program that claims them"),
    row(Setting::WorkerPool, "worker.pool", "WORKER_POOL_NAME", Kind::Text, Some("shared"), Shown,
        "the pool whose commands a worker runs"),
    row(Setting::WorkerConcurrency, "worker.concurrency", "WORKER_MAX_CONCURRENT",
        Kind::Number { min: 1, max: 1024 }, Some("64"), Shown, "how many commands a worker runs at once"),
    row(Setting::WorkerDrain, "worker.drain_seconds", "NOETL_WORKER_DRAIN_SECONDS", DRAIN, Some("30"), Shown,
        "how long running commands may take after a worker was told to stop"),
    row(Setting::ToolsPython, "tools.python", "NOETL_PYTHON", Kind::Text, Some("python3"), Shown,
        "the Python interpreter of `python` steps"),
    row(Setting::ToolsPythonUserSite, "tools.python_user_site", "NOETL_PYTHON_USER_SITE", SWITCH, Some("false"), Shown,
        "true to let `python` steps import packages from the home directory of the worker's user, where steps can write"),
    row(Setting::ToolsDuckdb, "tools.duckdb_library", "NOETL_DUCKDB_LIBRARY", Kind::Text, None, Shown,
        "the file of DuckDB's library; unless set, the one of `noetl tools install duckdb` or of the system"),
    row(Setting::ToolsMemory, "tools.memory_mb", "NOETL_TOOLS_MEMORY_MB",
        Kind::Number { min: 16, max: 1_000_000 }, None, Shown,
        "the memory limit in MiB for the values of all running steps, half of it for one step; 1024 unless set, or half of the machine's memory if that is less"),
    row(Setting::ToolsDirectories, "tools.directories", "NOETL_TOOLS_DIRECTORIES", Kind::List, None, Shown,
        "the directories in which `sqlite`, `duckdb`, `transfer`, `http` and scripts open files, or `any`; unless set, `any` for the user of this machine, otherwise the working directory and the directory of temporary files. Files of the server are never open"),
    row(Setting::ToolsDuckdbExternal, "tools.duckdb_external_access", "NOETL_DUCKDB_EXTERNAL_ACCESS", SWITCH,
        Some("false"), Shown,
        "true to let statements of `duckdb` open any file, load extensions and connect to any host"),
    row(Setting::EgressAllow, "egress.allow", "NOETL_EGRESS_ALLOW", Kind::List, None, Shown,
        "networks (10.0.0.0/8) and hosts outside the public internet that tools may connect to; `any` for all"),
    row(Setting::IsolationMode, "isolation.mode", "NOETL_ISOLATION",
        Kind::OneOf(IsolationMode::NAMES), Some("off"), Shown,
        "the isolation of the programs of steps: every protection that the system allows (`auto`), all or nothing is run (`required`), or none (`off`)"),
    row(Setting::IsolationUser, "isolation.user", "NOETL_ISOLATION_USER", Kind::Text, None, Shown,
        "the user of the programs of steps, by name or as `UID:GID`, if noetl runs as root; root without capabilities unless set"),
    row(Setting::IsolationCpu, "isolation.cpu_seconds", "NOETL_STEP_CPU_SECONDS", STEP_LIMIT, Some("21600"), Shown,
        "the processor time of one process of a step; 0 for no limit"),
    row(Setting::IsolationMemory, "isolation.memory_mb", "NOETL_STEP_MEMORY_MB", STEP_LIMIT, Some("8192"), Shown,
        "the writable memory of one process of a step in MiB; 0 for no limit"),
    row(Setting::IsolationOpenFiles, "isolation.open_files", "NOETL_STEP_OPEN_FILES", STEP_LIMIT, Some("4096"), Shown,
        "the open files of one process of a step; 0 for no limit"),
    row(Setting::IsolationProcesses, "isolation.processes", "NOETL_STEP_PROCESSES", STEP_LIMIT, Some("1024"), Shown,
        "the processes and threads of a step; 0 for no limit"),
    row(Setting::IsolationFileSize, "isolation.file_mb", "NOETL_STEP_FILE_MB", STEP_LIMIT, Some("16384"), Shown,
        "the size of a file that a process of a step writes in MiB; 0 for no limit"),
    row(Setting::LintLevels, "lint.levels", "NOETL_LINT_LEVELS", Kind::List, None, Shown,
        "the severities of rules of `noetl lint`, `noetl dev` and editors, such as `old-spelling=off` or `shell-template=error`"),
    row(Setting::LogFilter, "log.filter", "RUST_LOG", Kind::Text, None, Shown,
        "the log filter, such as `info,noetl_control=debug`; overrides -v"),
    row(Setting::LogFormat, "log.format", "NOETL_LOG_FORMAT", Kind::OneOf(&["text", "json"]), Some("text"), Shown,
        "the log format: text, or one JSON object per line"),
    row(Setting::OtelEndpoint, "otel.endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", Kind::Url, None, Shown,
        "the OpenTelemetry collector for spans, such as http://localhost:4318"),
    row(Setting::OtelHeaders, "otel.headers", "OTEL_EXPORTER_OTLP_HEADERS", Kind::Text, None, Masked,
        "headers of requests to the collector: `name=value`, separated by commas"),
    row(Setting::OtelService, "otel.service", "OTEL_SERVICE_NAME", Kind::Text, Some("noetl"), Shown,
        "the service name in traces"),
    row(Setting::ServerSnapshotAfter, "server.snapshot_after_seconds", "NOETL_SNAPSHOT_AFTER_SECONDS",
        Kind::Number { min: 1, max: 1_000_000 }, Some("600"), Shown,
        "the age of an unsaved state at which a snapshot is saved, in addition to a snapshot every 1,000 events"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_and_variable_is_there_once_and_every_default_is_one_of_its_kind() {
        let keys: BTreeSet<&str> = TABLE.iter().map(|row| row.key).collect();
        let variables: BTreeSet<&str> = TABLE.iter().map(|row| row.variable).collect();
        assert_eq!((keys.len(), variables.len()), (TABLE.len(), TABLE.len()));
        for row in TABLE {
            if let Some(default) = row.default {
                assert_eq!(row.kind.check(default), Ok(()), "{}", row.key);
            }
        }
    }

    /// Compares the table with docs/settings.md; `UPDATE_EXPECT=1` rewrites the page.
    #[test]
    fn the_documentation_lists_every_setting() {
        let mut text = String::from(
            "| key | variable | is | default | what it does |\n| --- | --- | --- | --- | --- |\n",
        );
        for row in TABLE {
            let default = row.default.map(|it| format!("`{it}`")).unwrap_or_default();
            let secret = if row.secrecy == Masked { " (secret)" } else { "" };
            let about = row.about.replace('|', "\\|");
            text.push_str(&format!(
                "| `{}` | `{}` | {}{secret} | {default} | {about} |\n",
                row.key, row.variable, row.kind
            ));
        }
        expect_test::expect_file!["../../../../docs/settings.md"].assert_eq(&format!(
            "# Settings\n\n\
             All settings; [configuration](configuration.md) explains how to set them. A test compares\n\
             this page with the binary.\n\n{text}"
        ));
    }
}
