//! What is configured, and by whom: a flag wins over the environment, that over the project's
//! `noetl.toml`, that over the user's, that over the default. Only `environment` reads the environment.
//!
//! Invariants: a value that cannot be understood is an error that names who said it. A project file
//! that the user does not trust sets nothing that could run a program, move data or show a secret to
//! anybody. A token of the user is never shown to a server that a project file names.

mod environment;
pub(crate) mod file;
mod kind;
pub(crate) mod settings;
mod token;
pub(crate) mod trust;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use url::Url;

use crate::failure::Failure;
use crate::nearest::nearest;
pub(crate) use environment::Environment;
use file::SettingsFile;
use settings::{Row, Setting, TABLE};
pub(crate) use token::NamedBy;
use trust::{Standing, TrustList, Withheld};

/// Where a server is looked for if nobody says.
const USUAL_SERVER: &str = "http://127.0.0.1:8082";

/// What the command line says about configuration, for every command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    pub(crate) config: Option<PathBuf>,
    pub(crate) context: Option<String>,
    pub(crate) log_format: Option<String>,
}

/// What is configured, read once.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    environment: Environment,
    /// The files in force, the one that wins last.
    files: Vec<PathBuf>,
    /// The project file that would set more if the user trusted it.
    withheld: Option<Withheld>,
    contexts: Vec<String>,
    /// What was said by somebody; for all others the default holds.
    said: BTreeMap<Setting, Said>,
}

/// A value, and who said it.
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

/// The author of a value: the user of this machine, or whoever wrote a project's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    User,
    Project,
}

/// A file of settings.
#[derive(Debug)]
struct Layer {
    path: PathBuf,
    author: Author,
    content: SettingsFile,
}

/// Who has said a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Context,
    Environment,
    File,
    Default,
}

impl Config {
    /// What the environment, the file in force and the flags say.
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
            // What belongs to one server stays together, whatever the environment says of another.
            said.extend(values.iter().map(|(setting, value)| {
                let said = Said { value: value.clone(), by: Source::Context, author: *author };
                (*setting, said)
            }));
        }
        let contexts = contexts.into_keys().collect();
        Ok(Self { environment, files, withheld: None, contexts, said })
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

    /// The files in force, the one that wins last.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The project file that would set more if the user trusted it.
    pub(crate) fn withheld(&self) -> Option<&Withheld> {
        self.withheld.as_ref()
    }

    /// The list of project files that the user trusts.
    pub(crate) fn trust_list(&self) -> Result<TrustList, Failure> {
        let directory = user_directory(&self.environment).ok_or_else(|| {
            Failure::bad_input(anyhow!("there is no directory for your settings"))
                .help("set HOME or XDG_CONFIG_HOME to a directory of yours")
        })?;
        Ok(TrustList::of_user(&directory))
    }

    /// The servers that have names.
    pub(crate) fn contexts(&self) -> &[String] {
        &self.contexts
    }

    /// A setting's value in force, and who has said it.
    pub(crate) fn in_force(&self, row: &Row) -> (Option<&str>, Source) {
        match self.said.get(&row.setting) {
            Some(said) => (Some(&said.value), said.by),
            None => (row.default, Source::Default),
        }
    }

    fn text(&self, setting: Setting) -> Option<&str> {
        self.in_force(setting.row()).0
    }

    /// The author of a setting's value; defaults are the user's.
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

    /// Every variable, for the tools, which choose what they need; what a file says stands where the
    /// environment could have said it.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let said = self.said.iter().map(|(setting, said)| (setting.row().variable, &said.value));
        let mut variables = self.environment.variables().clone();
        variables.extend(said.map(|(name, value)| (name.to_owned(), value.clone())));
        variables.into_iter()
    }

    /// What a variable is set to, by the environment or the file, for settings that have a reader of
    /// their own.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let row = TABLE.iter().find(|row| row.variable == name);
        match row.and_then(|row| self.said.get(&row.setting)) {
            Some(said) => Some(said.value.clone()),
            None => self.get(name).map(str::to_owned),
        }
    }

    /// The database that is used unless one is named.
    pub(crate) fn database(&self) -> PathBuf {
        match self.text(Setting::Db) {
            Some(path) => PathBuf::from(path),
            None => self.data_directory().join("noetl.db"),
        }
    }

    /// How long a call of the store may take.
    pub(crate) fn store_deadline(&self) -> Duration {
        Duration::from_secs(self.number(Setting::StoreTimeout))
    }

    /// Where large values are kept, if not in the database.
    pub(crate) fn payload_directory(&self) -> Option<PathBuf> {
        self.text(Setting::PayloadDirectory).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// The same, with a directory that a flag names.
    #[must_use]
    pub(crate) fn with_payload_directory(mut self, directory: Option<&Path>) -> Self {
        if let Some(directory) = directory {
            let value = directory.display().to_string();
            self.said.insert(Setting::PayloadDirectory, Said::by_user(value, Source::Flag));
        }
        self
    }

    /// Where this user's data lives. A relative `XDG_DATA_HOME` counts as none, as its
    /// specification asks.
    pub(crate) fn data_directory(&self) -> PathBuf {
        let home = || PathBuf::from(self.get("HOME").unwrap_or(".")).join(".local").join("share");
        let data = self.get("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        data.unwrap_or_else(home).join("noetl")
    }

    /// Whether a PostgreSQL database is named.
    pub(crate) fn names_postgres(&self) -> bool {
        [Setting::PostgresShards, Setting::PostgresUrl, Setting::PostgresHost]
            .iter()
            .any(|&setting| self.text(setting).is_some())
    }

    /// Where a server listens unless a flag says otherwise.
    pub(crate) fn listen(&self) -> String {
        let host = self.text(Setting::ServerHost).expect("it has a default");
        let port = self.number(Setting::ServerPort);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Where workers reach a server that listens at `address`.
    pub(crate) fn public_url(&self, address: SocketAddr) -> String {
        let public = self.text(Setting::ServerPublicUrl).map(str::to_owned);
        let scheme = if self.get("NOETL_TLS_CERT").is_some() { "https" } else { "http" };
        public.unwrap_or_else(|| format!("{scheme}://localhost:{}", address.port()))
    }

    /// The server that commands are told to talk to.
    pub(crate) fn server(&self) -> Option<Url> {
        self.url(Setting::ServerUrl)
    }

    /// The server that a worker talks to.
    pub(crate) fn server_or_usual(&self) -> Url {
        self.server().unwrap_or_else(|| USUAL_SERVER.parse().expect("it is a URL"))
    }

    /// The file with the authority that signed the server's certificate.
    pub(crate) fn server_ca(&self) -> Option<&Path> {
        self.text(Setting::ServerCa).map(Path::new)
    }

    /// The secret that a server of this process asks for.
    pub(crate) fn api_token(&self) -> Option<&str> {
        self.text(Setting::Token)
    }

    /// How long what is under way may take once a server is told to end.
    pub(crate) fn server_drain(&self) -> Duration {
        Duration::from_secs(self.number(Setting::ServerDrain))
    }

    /// How long running commands may take once a worker is told to end.
    pub(crate) fn worker_drain(&self) -> Duration {
        Duration::from_secs(self.number(Setting::WorkerDrain))
    }

    /// How many worker processes may end while they run one command.
    pub(crate) fn attempts_max(&self) -> u32 {
        u32::try_from(self.number(Setting::CommandAttemptsMax)).expect("its bounds are small")
    }

    /// How many executions may wait in a pool before starts are refused; `None` for no limit.
    pub(crate) fn backlog_max(&self) -> Option<u64> {
        Some(self.number(Setting::BacklogMax)).filter(|max| *max > 0)
    }

    pub(crate) fn worker_pool(&self) -> &str {
        self.text(Setting::WorkerPool).expect("it has a default")
    }

    pub(crate) fn worker_concurrency(&self) -> usize {
        usize::try_from(self.number(Setting::WorkerConcurrency)).expect("its bounds are small")
    }

    /// What tools may reach off the public internet, if anything is said about it.
    pub(crate) fn egress_allow(&self) -> Option<&str> {
        self.text(Setting::EgressAllow)
    }

    /// The Python interpreter that steps run in.
    pub(crate) fn python(&self) -> &str {
        self.text(Setting::ToolsPython).expect("it has a default")
    }

    /// The name of this machine, as far as it is known.
    pub(crate) fn host(&self) -> String {
        let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let named = named.as_deref().or(self.get("HOSTNAME")).unwrap_or("localhost");
        named.trim().to_owned()
    }

    /// How old what is not saved of an execution's state may get.
    pub(crate) fn snapshot_after(&self) -> Duration {
        Duration::from_secs(self.number(Setting::ServerSnapshotAfter))
    }

    /// Where spans go, if anywhere.
    pub(crate) fn otel(&self) -> Option<noetl_otel::Settings> {
        let endpoint = self.url(Setting::OtelEndpoint)?;
        let headers = self.said.get(&Setting::OtelHeaders);
        // The user's headers may hold a key, which is not for a collector that a project names.
        let headers = headers.filter(|headers| {
            headers.author == Author::Project || self.author(Setting::OtelEndpoint) == Author::User
        });
        let headers = headers.map(|said| said.value.clone()).unwrap_or_default();
        let service = self.text(Setting::OtelService).expect("it has a default").to_owned();
        Some(noetl_otel::Settings { endpoint, headers, service })
    }

    /// What the log filter is, if one is set.
    pub(crate) fn log_filter(&self) -> Option<&str> {
        self.text(Setting::LogFilter)
    }

    pub(crate) fn logs_json(&self) -> bool {
        self.text(Setting::LogFormat) == Some("json")
    }

    /// A path as the user would write it.
    pub(crate) fn short(&self, path: &Path) -> String {
        let below = self.get("HOME").and_then(|home| path.strip_prefix(home).ok());
        match below {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    /// A variable that is set to something.
    fn get(&self, name: &str) -> Option<&str> {
        self.environment.get(name)
    }
}

/// The value itself is not repeated, since it may be a secret.
fn refused(row: &Row, expected: &str) -> Failure {
    Failure::bad_input(anyhow!("the environment variable {} is not {expected}", row.variable))
        .help(format!("unset it, or set it to {expected}"))
}

/// The files of the user and of the project. What an untrusted project file may not set is left out.
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
        None => Standing::Unknown,
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
