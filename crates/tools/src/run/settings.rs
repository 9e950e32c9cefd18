//! The settings of a worker's tools.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use noetl_isolation::Isolation;

use crate::protect::credentials::{CredentialResolver, FixedCredentials};
use crate::protect::files::FileAccess;
use crate::protect::outgoing::Egress;
use crate::run::memory::MemoryBudget;
use crate::run::results::{NoResults, ResultSource};

/// The environment variables that the processes of tools inherit. Other variables of the worker are
/// not passed on.
const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "PYTHONPATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];
const INHERITED_PREFIX: &str = "LC_";

/// The worker and the server of a command, available to templates as `worker_id` and `server_url`.
#[derive(Debug, Clone, Default)]
pub struct WorkerIdentity {
    pub worker: Option<String>,
    pub server_url: Option<String>,
}

/// The configuration of a worker's tools.
#[derive(Clone)]
pub struct ToolSettings {
    /// The environment of processes started by a tool, without the variables that the call adds.
    pub environment: BTreeMap<String, String>,
    /// The isolation of processes started by a tool.
    pub isolation: Isolation,
    /// The Python interpreter: a name on the path or a file.
    pub python: String,
    /// The maximum number of idle Python processes.
    pub python_idle_max: usize,
    /// True if `python` steps find the packages in the home directory of the worker's user.
    pub python_user_site: bool,
    /// The network policy for outgoing HTTP.
    pub egress: Egress,
    /// True if `HTTP_PROXY` and similar variables are used.
    pub proxy_from_environment: bool,
    pub credentials: Arc<dyn CredentialResolver>,
    /// The source of results that are too large to be sent with a command.
    pub results: Arc<dyn ResultSource>,
    /// The configured file of the DuckDB library, if any.
    pub duckdb_library: Option<PathBuf>,
    /// True if statements of DuckDB may open any file and connect anywhere.
    pub duckdb_external_access: bool,
    /// The files that tools of the worker's process may open.
    pub files: FileAccess,
    /// The directories of libraries installed for this user.
    pub library_places: Vec<PathBuf>,
    pub identity: WorkerIdentity,
    /// The memory budget for the values of all calls.
    pub memory: MemoryBudget,
}

impl ToolSettings {
    /// Reads the settings from the environment variables of the worker.
    pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        let said = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        let python = said("NOETL_PYTHON");
        Self {
            python: python.cloned().unwrap_or_else(|| "python3".into()),
            python_idle_max: 16,
            python_user_site: false,
            isolation: Isolation::off(),
            egress: Egress::Any,
            proxy_from_environment: false,
            results: Arc::new(NoResults),
            duckdb_library: said("NOETL_DUCKDB_LIBRARY").map(PathBuf::from),
            duckdb_external_access: false,
            files: FileAccess::default(),
            identity: WorkerIdentity {
                worker: said("WORKER_ID").cloned(),
                server_url: said("NOETL_SERVER_URL").cloned(),
            },
            memory: said("NOETL_TOOLS_MEMORY_MB")
                .and_then(|megabytes| megabytes.parse::<usize>().ok())
                .map_or_else(MemoryBudget::of_machine, |megabytes| {
                    MemoryBudget::new(megabytes.saturating_mul(1024 * 1024))
                }),
            library_places: library_place(|name| said(name).cloned()).into_iter().collect(),
            environment: variables
                .iter()
                .filter(|(name, _)| is_inherited(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            credentials: Arc::new(FixedCredentials::from_environment(variables)),
        }
    }
}

/// Returns the directory for `noetl tools install`, below the user's cache.
pub fn library_place(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let cache = match variable("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(variable("HOME")?).join(".cache"),
    };
    Some(cache.join("noetl/lib"))
}

fn is_inherited(name: &str) -> bool {
    INHERITED.contains(&name) || name.starts_with(INHERITED_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_inherit_what_is_on_the_list_and_nothing_else() {
        let variables = ["PATH", "LC_ALL", "NOETL_CREDENTIAL_X", "AWS_SECRET_ACCESS_KEY", "PATHS"];
        let settings =
            ToolSettings::from_environment(variables.map(|name| (name.to_owned(), "v".to_owned())));
        let names: Vec<&str> = settings.environment.keys().map(String::as_str).collect();
        assert_eq!(names, ["LC_ALL", "PATH"]);
    }

    #[test]
    fn the_interpreter_can_be_pointed_to() {
        let python = |value: &str| {
            ToolSettings::from_environment([("NOETL_PYTHON".to_owned(), value.to_owned())]).python
        };
        assert_eq!(python("/opt/python3.12"), "/opt/python3.12");
        assert_eq!(python(""), "python3");
    }
}
