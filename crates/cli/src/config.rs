//! The configuration, in order of precedence: flags, environment, the project's `noetl.toml`, the
//! user's `noetl.toml`, defaults. Only `environment` reads environment variables.
//!
//! Invariants: an invalid value is an error that names its source. A project file that the user
//! does not trust cannot set anything that runs a program, moves data or reveals a secret. A token
//! of the user is never sent to a server that a project file names.

mod environment;
pub(crate) mod file;
mod kind;
pub(crate) mod settings;
mod sockets;
mod token;
pub(crate) mod trust;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use noetl_app::{DefaultPolicy, LeaseVerification, LogLimits, LogSettings, RetentionRules};
use noetl_app::{SettingInForce, SettingSource};
use noetl_control::NotificationSender;
use noetl_isolation::{IsolationMode, StepLimits};
use noetl_model::Actor;
use noetl_playbook::LintLevels;
use url::Url;

use crate::input::nearest::nearest;
use crate::show::failure::Failure;
pub(crate) use environment::Environment;
use file::SettingsFile;
use settings::{CLOSED_POLICY, REQUIRED_IDENTITY, Row, Secrecy, Setting, TABLE, TOKEN_ACCESS};
pub(crate) use token::NamedBy;
use trust::{TrustLevel, TrustList, Withheld};

/// The default server URL.
const USUAL_SERVER: &str = "http://127.0.0.1:8082";

/// The settings that name services beside this process, or turn the web interface off.
const OF_OTHERS: &[Setting] = &[
    Setting::NatsUrl,
    Setting::PayloadDirectory,
    Setting::PostgresCluster,
    Setting::PostgresHost,
    Setting::PostgresShards,
    Setting::PostgresUrl,
    Setting::ServerPublicUrl,
    Setting::ServerSqlDsn,
    Setting::ServerUiOff,
];

/// The global flags about configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    pub(crate) config: Option<PathBuf>,
    pub(crate) context: Option<String>,
    pub(crate) log_format: Option<String>,
}

/// The configuration, read once.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    environment: Environment,
    /// The files in use, in order of increasing precedence.
    files: Vec<PathBuf>,
    /// The project file that would set more if the user trusted it.
    withheld: Option<Withheld>,
    contexts: Vec<String>,
    /// The values that are set; all other settings have their default.
    said: BTreeMap<Setting, Said>,
    /// The action of this command for the audit log.
    action: Option<&'static str>,
}

/// A value and its source.
#[derive(Debug, Clone)]
struct Said {
    value: String,
    by: Source,
    author: Author,
}

impl Said {
    fn by_user(value: impl Into<String>, by: Source) -> Self {
        Self { value: value.into(), by, author: Author::User }
    }
}

/// The author of a value: the user of this machine, or the author of the project's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    User,
    Project,
}

/// A settings file.
#[derive(Debug)]
struct Layer {
    path: PathBuf,
    author: Author,
    content: SettingsFile,
}

/// The text shown instead of a secret.
pub(crate) const MASK: &str = "********";

/// The ending of a variable that names the file of a secret setting.
const IN_FILE: &str = "_FILE";

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Context,
    Environment,
    File,
    Default,
}

impl Config {
    /// Loads the configuration from the environment, the files and the flags.
    pub(crate) fn load(environment: Environment, flags: &Flags) -> Result<Self, Failure> {
        let named = flags.config.clone();
        let named = named.or_else(|| environment.get("NOETL_CONFIG").map(PathBuf::from));
        let (layers, withheld) = match named {
            Some(path) => {
                let content = file::read(&path)?.0;
                (vec![Layer { path, author: Author::User, content }], None)
            }
            None => found_layers(&environment)?,
        };
        Ok(Self { withheld, ..Self::of_parts(environment, layers, flags)? })
    }

    fn of_parts(
        environment: Environment,
        layers: Vec<Layer>,
        flags: &Flags,
    ) -> Result<Self, Failure> {
        let mut said = BTreeMap::new();
        let mut contexts = BTreeMap::new();
        let mut files = Vec::new();
        for Layer { path, author, content } in layers {
            files.push(path);
            said.extend(
                content
                    .values
                    .into_iter()
                    .map(|(setting, value)| (setting, Said { value, by: Source::File, author })),
            );
            contexts.extend(
                content.contexts.into_iter().map(|(name, values)| (name, (author, values))),
            );
        }
        for row in TABLE {
            if let Some(value) = environment.get(row.variable) {
                row.kind.check(value).map_err(|expected| refused(row, &expected))?;
                said.insert(row.setting, Said::by_user(value, Source::Environment));
            }
            if let Some(path) = secret_file(row, &environment) {
                let value = read_secret(row, path, &environment)?;
                said.insert(row.setting, Said::by_user(value, Source::Environment));
            }
        }
        let flagged = [(Setting::Context, &flags.context), (Setting::LogFormat, &flags.log_format)];
        for (setting, value) in flagged {
            if let Some(value) = value {
                said.insert(setting, Said::by_user(value, Source::Flag));
            }
        }
        if let Some(context) = said.get(&Setting::Context) {
            let name = &context.value;
            let found = contexts.get(name);
            let (author, values) =
                found.ok_or_else(|| unknown_context(name, contexts.keys().map(String::as_str)))?;
            // The values of a context replace those of the environment together: they belong to one
            // server.
            said.extend(values.iter().map(|(setting, value)| {
                let said = Said { value: value.clone(), by: Source::Context, author: *author };
                (*setting, said)
            }));
        }
        let contexts = contexts.into_keys().collect();
        Ok(Self { environment, files, withheld: None, contexts, said, action: None })
    }

    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        Self::with(variables, SettingsFile::default(), &Flags::default()).expect("it is right")
    }

    #[cfg(test)]
    fn with(
        variables: &[(&str, &str)],
        content: SettingsFile,
        flags: &Flags,
    ) -> Result<Self, Failure> {
        let layer = Layer { path: PathBuf::from(file::NAME), author: Author::User, content };
        Self::of_parts(Environment::of(variables), vec![layer], flags)
    }

    /// Returns the files in use, in order of increasing precedence.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the project file that would set more if the user trusted it.
    pub(crate) fn withheld(&self) -> Option<&Withheld> {
        self.withheld.as_ref()
    }

    /// Returns the list of project files that the user trusts.
    pub(crate) fn trust_list(&self) -> Result<TrustList, Failure> {
        let directory = user_directory(&self.environment).ok_or_else(|| {
            Failure::bad_input(anyhow!("there is no directory for your settings"))
                .help("set HOME or XDG_CONFIG_HOME to a directory of yours")
        })?;
        Ok(TrustList::of_user(&directory))
    }

    /// Returns the names of the configured servers.
    pub(crate) fn contexts(&self) -> &[String] {
        &self.contexts
    }

    /// Returns the effective value of a setting and its source.
    pub(crate) fn in_force(&self, row: &Row) -> (Option<&str>, Source) {
        match self.said.get(&row.setting) {
            Some(said) => (Some(&said.value), said.by),
            None => (row.default, Source::Default),
        }
    }

    /// Returns all settings and their sources, for display; secrets are masked.
    pub(crate) fn settings_in_force(&self) -> Vec<SettingInForce> {
        let shown = |row: &Row| {
            let (value, source) = self.in_force(row);
            let value = value.map(|value| match row.secrecy {
                Secrecy::Masked => MASK.to_owned(),
                Secrecy::Shown => value.to_owned(),
            });
            let source = match source {
                Source::Flag => SettingSource::Flag,
                Source::Context => SettingSource::Context,
                Source::Environment => SettingSource::Environment,
                Source::File => SettingSource::File,
                Source::Default => SettingSource::Default,
            };
            SettingInForce { key: row.key, variable: row.variable, value, source }
        };
        TABLE.iter().map(shown).collect()
    }

    fn text(&self, setting: Setting) -> Option<&str> {
        self.in_force(setting.row()).0
    }

    /// Returns the author of a setting's value; defaults count as the user's.
    fn author(&self, setting: Setting) -> Author {
        self.said.get(&setting).map_or(Author::User, |said| said.author)
    }

    fn number(&self, setting: Setting) -> u64 {
        let text = self.text(setting).expect("numbers have defaults");
        text.parse().expect("numbers are checked when they are read")
    }

    fn url(&self, setting: Setting) -> Option<Url> {
        self.text(setting).map(|url| url.parse().expect("URLs are checked when they are read"))
    }

    /// Returns all variables for the tools: the environment, with the configured settings under
    /// their variable names.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let said = self.said.iter().map(|(setting, said)| (setting.row().variable, &said.value));
        let mut variables = self.environment.variables().clone();
        variables.extend(said.map(|(name, value)| (name.to_owned(), value.clone())));
        variables.into_iter()
    }

    /// Returns the value of a variable from the settings or the environment, for settings that are
    /// parsed elsewhere.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let row = TABLE.iter().find(|row| row.variable == name);
        match row.and_then(|row| self.said.get(&row.setting)) {
            Some(said) => Some(said.value.clone()),
            None => self.get(name).map(str::to_owned),
        }
    }

    /// Returns the path of the embedded database if none is given by a flag.
    pub(crate) fn database(&self) -> PathBuf {
        match self.text(Setting::Db) {
            Some(path) => PathBuf::from(path),
            None => self.data_directory().join("noetl.db"),
        }
    }

    /// Returns the deadline of a store call.
    pub(crate) fn store_deadline(&self) -> Duration {
        Duration::from_secs(self.number(Setting::StoreTimeout))
    }

    /// Returns the directory of large values; `None` if they are in the database.
    pub(crate) fn payload_directory(&self) -> Option<PathBuf> {
        self.text(Setting::PayloadDirectory).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Replaces the directory of large values by the one from a flag.
    #[must_use]
    pub(crate) fn with_payload_directory(mut self, directory: Option<&Path>) -> Self {
        if let Some(directory) = directory {
            let value = directory.display().to_string();
            self.said.insert(Setting::PayloadDirectory, Said::by_user(value, Source::Flag));
        }
        self
    }

    /// Returns the configuration without the services of others (PostgreSQL, NATS, directory of large
    /// values, public URL), and with the web interface.
    #[must_use]
    pub(crate) fn alone(mut self) -> Self {
        for setting in OF_OTHERS {
            self.said.remove(setting);
            self.environment.remove(setting.row().variable);
        }
        self
    }

    /// Returns the directory of this user's data. A relative `XDG_DATA_HOME` is ignored, as its
    /// specification asks.
    pub(crate) fn data_directory(&self) -> PathBuf {
        let home = || PathBuf::from(self.get("HOME").unwrap_or(".")).join(".local").join("share");
        let data = self.get("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        data.unwrap_or_else(home).join("noetl")
    }

    /// True if a PostgreSQL database is configured.
    pub(crate) fn names_postgres(&self) -> bool {
        [Setting::PostgresShards, Setting::PostgresUrl, Setting::PostgresHost]
            .iter()
            .any(|&setting| self.text(setting).is_some())
    }

    /// Returns the address on which a server listens if no flag is given.
    pub(crate) fn listen(&self) -> String {
        let host = self.text(Setting::ServerHost).expect("it has a default");
        let port = self.number(Setting::ServerPort);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Returns the URL under which workers reach a server that listens at `address`.
    pub(crate) fn public_url(&self, address: SocketAddr) -> String {
        let public = self.text(Setting::ServerPublicUrl).map(str::to_owned);
        let scheme = if self.get("NOETL_TLS_CERT").is_some() { "https" } else { "http" };
        public.unwrap_or_else(|| format!("{scheme}://localhost:{}", address.port()))
    }

    /// True if browsers reach the server by TLS, which a proxy may terminate.
    pub(crate) fn has_encrypted_public_url(&self) -> bool {
        self.url(Setting::ServerPublicUrl).is_some_and(|url| url.scheme() == "https")
    }

    /// Returns the configured server.
    pub(crate) fn server(&self) -> Option<Url> {
        self.url(Setting::ServerUrl)
    }

    /// Returns the server of a worker: the configured one, or the default.
    pub(crate) fn server_or_usual(&self) -> Url {
        self.server().unwrap_or_else(|| USUAL_SERVER.parse().expect("it is a URL"))
    }

    /// Returns the file with the CA certificate of the server.
    pub(crate) fn server_ca(&self) -> Option<&Path> {
        self.text(Setting::ServerCa).map(Path::new)
    }

    /// Returns the token that a server of this process requires.
    pub(crate) fn api_token(&self) -> Option<&str> {
        self.text(Setting::Token)
    }

    /// True if a server requires a token also from requests of this machine.
    pub(crate) fn requires_token(&self) -> bool {
        self.text(Setting::ServerAccess) == Some(TOKEN_ACCESS)
    }

    /// Returns the name under which this command acts: the user's login name.
    pub(crate) fn actor(&self) -> Option<Actor> {
        let names = ["NOETL_ACTOR", "USER", "LOGNAME", "USERNAME"];
        names.iter().find_map(|name| Actor::new(self.environment.get(name)?).ok())
    }

    /// Returns the same settings for a command whose action the audit log records, if it has one.
    pub(crate) fn recording(&self, action: Option<&'static str>) -> Self {
        Self { action, ..self.clone() }
    }

    /// Returns the action of this command for the audit log.
    pub(crate) fn recorded_action(&self) -> Option<&'static str> {
        self.action
    }

    /// Returns the same settings for a command that acts under a name; `None` changes nothing.
    pub(crate) fn acting_as(&self, actor: Option<&str>) -> Self {
        let mut config = self.clone();
        if let Some(actor) = actor {
            config.environment.insert("NOETL_ACTOR", actor);
        }
        config
    }

    /// Returns how long running work may take after a server is told to stop.
    pub(crate) fn server_drain(&self) -> Duration {
        Duration::from_secs(self.number(Setting::ServerDrain))
    }

    /// Returns how long running commands may take after a worker is told to stop.
    pub(crate) fn worker_drain(&self) -> Duration {
        Duration::from_secs(self.number(Setting::WorkerDrain))
    }

    /// Returns the number of lost workers after which a command fails.
    pub(crate) fn attempts_max(&self) -> u32 {
        u32::try_from(self.number(Setting::CommandAttemptsMax)).expect("its bounds are small")
    }

    /// Returns the most executions that may wait in a pool before starts are refused; `None` for no
    /// limit.
    pub(crate) fn backlog_max(&self) -> Option<u64> {
        Some(self.number(Setting::BacklogMax)).filter(|max| *max > 0)
    }

    /// Returns whether workers have to prove that they hold a command.
    pub(crate) fn lease_verification(&self) -> LeaseVerification {
        match self.text(Setting::WorkersIdentity) {
            Some(REQUIRED_IDENTITY) => LeaseVerification::Required,
            Some(_) | None => LeaseVerification::Optional,
        }
    }

    /// Returns who may use a credential without a policy.
    pub(crate) fn default_policy(&self) -> DefaultPolicy {
        match self.text(Setting::CredentialsDefaultPolicy) {
            Some(CLOSED_POLICY) => DefaultPolicy::Closed,
            Some(_) | None => DefaultPolicy::Open,
        }
    }

    /// Returns how long ended executions are kept.
    pub(crate) fn retention(&self) -> Result<RetentionRules, Failure> {
        let Some(rules) = self.text(Setting::Retention) else {
            return Ok(RetentionRules::default());
        };
        let rules = rules.parse::<RetentionRules>();
        rules.map_err(|error| {
            let error = anyhow!(error).context("`executions.retention` is not valid");
            Failure::bad_input(error).help("write rules such as `keep path=audit/*; 30d`")
        })
    }

    /// Returns the limits and the retention of the output of steps.
    pub(crate) fn step_logs(&self) -> LogSettings {
        let days = self.number(Setting::StepLogRetention);
        let day = Duration::from_secs(24 * 60 * 60);
        let days = u32::try_from(days).expect("its bounds are small");
        LogSettings {
            limits: LogLimits {
                command_bytes_max: self.number(Setting::StepLogCommandBytes),
                execution_bytes_max: self.number(Setting::StepLogExecutionBytes),
            },
            kept: (days > 0).then(|| day * days),
        }
    }

    /// Returns the time for which the entries of the audit log are kept.
    pub(crate) fn audit_kept(&self) -> Duration {
        Duration::from_secs(self.number(Setting::AuditKeep).saturating_mul(24 * 60 * 60))
    }

    /// Returns the sender of a server's notifications.
    pub(crate) fn notification_sender(&self) -> NotificationSender {
        match self.text(Setting::OutboxNotifications) {
            Some("external") => NotificationSender::External,
            Some(_) | None => NotificationSender::Relay,
        }
    }

    pub(crate) fn worker_pool(&self) -> &str {
        self.text(Setting::WorkerPool).expect("it has a default")
    }

    pub(crate) fn worker_concurrency(&self) -> usize {
        usize::try_from(self.number(Setting::WorkerConcurrency)).expect("its bounds are small")
    }

    /// Returns the severities of rules that the project chose.
    pub(crate) fn lint_levels(&self) -> Result<LintLevels, Failure> {
        let levels = self.text(Setting::LintLevels).unwrap_or_default().parse::<LintLevels>();
        levels.map_err(|error| {
            Failure::bad_input(anyhow!(error).context("`lint.levels` is not valid"))
                .help("`noetl explain` lists the rules")
        })
    }

    /// Returns the private addresses that tools may reach, if configured.
    pub(crate) fn egress_allow(&self) -> Option<&str> {
        self.text(Setting::EgressAllow)
    }

    /// Returns the directories in which tools open files, if configured.
    pub(crate) fn tool_directories(&self) -> Option<&str> {
        self.text(Setting::ToolsDirectories)
    }

    /// True if statements of DuckDB may open any file and connect anywhere.
    pub(crate) fn duckdb_external_access(&self) -> bool {
        self.is_on(Setting::ToolsDuckdbExternal)
    }

    /// True if `python` steps find the packages in the home directory of the worker's user.
    pub(crate) fn python_user_site(&self) -> bool {
        self.is_on(Setting::ToolsPythonUserSite)
    }

    fn is_on(&self, setting: Setting) -> bool {
        let text = self.text(setting);
        text.is_some_and(|text| ["1", "true", "yes", "on"].contains(&text))
    }

    /// Returns the Python interpreter that steps run in.
    pub(crate) fn python(&self) -> &str {
        self.text(Setting::ToolsPython).expect("it has a default")
    }

    pub(crate) fn isolation_mode(&self) -> IsolationMode {
        let name = self.text(Setting::IsolationMode).expect("it has a default");
        IsolationMode::named(name).expect("its words are checked when they are read")
    }

    /// Returns the user of the programs of steps, if one is configured.
    pub(crate) fn isolation_user(&self) -> Option<&str> {
        self.text(Setting::IsolationUser)
    }

    /// Returns the limits of the programs of steps.
    pub(crate) fn step_limits(&self) -> StepLimits {
        const MIB: u64 = 1024 * 1024;
        let limit = |setting| Some(self.number(setting)).filter(|limit| *limit > 0);
        let bytes = |setting| limit(setting).map(|mib| mib.saturating_mul(MIB));
        StepLimits {
            cpu_seconds: limit(Setting::IsolationCpu),
            memory_bytes: bytes(Setting::IsolationMemory),
            open_files: limit(Setting::IsolationOpenFiles),
            processes: limit(Setting::IsolationProcesses),
            file_bytes: bytes(Setting::IsolationFileSize),
        }
    }

    /// Returns the directory of this user's settings.
    pub(crate) fn user_settings_directory(&self) -> Option<PathBuf> {
        user_directory(&self.environment).map(|directory| directory.join("noetl"))
    }

    /// Returns the files with keys and tokens that are configured.
    pub(crate) fn secret_files(&self) -> Vec<PathBuf> {
        let files = [Setting::ServerKey, Setting::ServerClientKey, Setting::ServerTokensFile];
        let mut files: Vec<PathBuf> =
            files.iter().filter_map(|&setting| self.text(setting)).map(PathBuf::from).collect();
        let named = TABLE.iter().filter_map(|row| secret_file(row, &self.environment));
        files.extend(named.map(PathBuf::from));
        files.extend(self.postgres_sockets());
        files
    }

    /// Returns the sockets of the PostgreSQL server, or their directories.
    fn postgres_sockets(&self) -> Vec<PathBuf> {
        let urls = [Setting::PostgresUrl, Setting::PostgresShards, Setting::ServerSqlDsn];
        let urls = urls.into_iter().filter_map(|setting| self.text(setting));
        let mut found: Vec<PathBuf> = urls.flat_map(sockets::of_urls).collect();
        if let Some(host) = self.text(Setting::PostgresHost) {
            let port = self.text(Setting::PostgresPort).expect("it has a default");
            found.extend(sockets::of_host(host, port));
        }
        found
    }

    /// Returns the name of this machine, or `localhost` if it is unknown.
    pub(crate) fn host(&self) -> String {
        let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let named = named.as_deref().or(self.get("HOSTNAME")).unwrap_or("localhost");
        named.trim().to_owned()
    }

    /// Returns the time after which a snapshot is saved, however few events there were.
    pub(crate) fn snapshot_after(&self) -> Duration {
        Duration::from_secs(self.number(Setting::ServerSnapshotAfter))
    }

    /// Returns the settings of the span exporter, if an endpoint is configured.
    pub(crate) fn otel(&self) -> Option<noetl_otel::ExporterSettings> {
        let endpoint = self.url(Setting::OtelEndpoint)?;
        let headers = self.said.get(&Setting::OtelHeaders);
        // The user's headers may hold an API key, which must not go to a collector that a project
        // names.
        let headers = headers.filter(|headers| {
            headers.author == Author::Project || self.author(Setting::OtelEndpoint) == Author::User
        });
        let headers = headers.map(|said| said.value.clone()).unwrap_or_default();
        let service = self.text(Setting::OtelService).expect("it has a default").to_owned();
        Some(noetl_otel::ExporterSettings { endpoint, headers, service })
    }

    /// Returns the log filter, if one is set.
    pub(crate) fn log_filter(&self) -> Option<&str> {
        self.text(Setting::LogFilter)
    }

    pub(crate) fn logs_json(&self) -> bool {
        self.text(Setting::LogFormat) == Some("json")
    }

    /// Returns a path with the home directory shortened to `~`.
    pub(crate) fn short(&self, path: &Path) -> String {
        let below = self.get("HOME").and_then(|home| path.strip_prefix(home).ok());
        match below {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    /// Returns a variable that is set and not empty.
    fn get(&self, name: &str) -> Option<&str> {
        self.environment.get(name)
    }
}

/// Returns the failure for an invalid variable. The value is not repeated, since it may be a
/// secret.
fn refused(row: &Row, expected: &str) -> Failure {
    Failure::bad_input(anyhow!("the environment variable {} is not {expected}", row.variable))
        .help(format!("unset it, or set it to {expected}"))
}

/// Returns the file that holds a secret setting: the value of its variable with `_FILE`.
fn secret_file<'a>(row: &Row, environment: &'a Environment) -> Option<&'a str> {
    let variable = format!("{}{IN_FILE}", row.variable);
    // A variable with this ending may be a setting of its own.
    let is_setting = TABLE.iter().any(|other| other.variable == variable);
    match row.secrecy {
        Secrecy::Masked if !is_setting => environment.get(&variable),
        Secrecy::Masked | Secrecy::Shown => None,
    }
}

/// Reads a secret setting from its file. The value is never repeated in an error.
fn read_secret(row: &Row, path: &str, environment: &Environment) -> Result<String, Failure> {
    let variable = format!("{}{IN_FILE}", row.variable);
    if environment.get(row.variable).is_some() {
        return Err(Failure::bad_input(anyhow!("{} and {variable} are both set", row.variable))
            .help("unset one of them"));
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {path}, named by {variable}"))
        .map_err(Failure::bad_input)?;
    let value = text.trim();
    row.kind.check(value).map_err(|expected| refused(row, &expected))?;
    Ok(value.to_owned())
}

/// Finds the files of the user and of the project, without the settings that an untrusted project
/// may not set.
fn found_layers(environment: &Environment) -> Result<(Vec<Layer>, Option<Withheld>), Failure> {
    let directory = user_directory(environment);
    let user = directory.as_deref().and_then(file::of_user);
    let project = file::of_project(&file::working_directory()?);
    let mut layers = Vec::new();
    let is_users = |path: &Path| user.as_deref().is_some_and(|user| is_same(user, path));
    let project = project.filter(|path| !is_users(path));
    if let Some(path) = user {
        let content = file::read(&path)?.0;
        layers.push(Layer { path, author: Author::User, content });
    }
    let Some(path) = project else { return Ok((layers, None)) };
    let (mut content, digest) = file::read(&path)?;
    let standing = match &directory {
        Some(directory) => {
            let list = TrustList::of_user(directory);
            let shown = list.path().display().to_string();
            let standing = list.standing(&path, &digest);
            standing.with_context(|| format!("cannot read {shown}")).map_err(Failure::bad_input)?
        }
        None => TrustLevel::Unknown,
    };
    let withheld = Withheld::of(&path, standing, &mut content);
    layers.push(Layer { path, author: Author::Project, content });
    Ok((layers, withheld))
}

fn user_directory(environment: &Environment) -> Option<PathBuf> {
    file::user_directory(environment.get("XDG_CONFIG_HOME"), environment.get("HOME"))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn unknown_context<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let failure = Failure::bad_input(anyhow!("there is no context `{name}`"));
    match nearest(name, known) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help(format!("add [contexts.{name}] with `server` to {}", file::NAME)),
    }
}

#[cfg(test)]
mod tests;
