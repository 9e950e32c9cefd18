//! The isolation of the steps that this process runs: its settings, and the files that steps must
//! not reach.

use std::path::Path;

use noetl_app::StepProtection;
use noetl_isolation::{
    HiddenFiles, Isolation, IsolationRefused, IsolationReport, IsolationSettings, Protection,
    ProtectionState, StepUser, UnknownUser,
};

use crate::config::Config;
use crate::show::failure::Failure;

/// The launcher of steps: this binary, also if its file has been replaced since.
const LAUNCHER: &str = "/proc/self/exe";
const USERS: &str = "/etc/passwd";

/// The reason why no step can be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoIsolation {
    #[error("`isolation.user`: {0}")]
    User(#[from] UnknownUser),
    #[error(transparent)]
    Refused(#[from] IsolationRefused),
}

impl NoIsolation {
    pub(crate) fn help(&self) -> &'static str {
        match self {
            NoIsolation::User(_) => "name a user, or UID:GID, in NOETL_ISOLATION_USER",
            NoIsolation::Refused(_) => {
                "provide what is missing, or set NOETL_ISOLATION=auto to run steps without it"
            }
        }
    }
}

/// Returns the isolation of the steps of this process. `database` is the embedded database, if the
/// process has one open.
pub(crate) fn of_process(config: &Config, database: Option<&Path>) -> Result<Isolation, Failure> {
    probe(config, database).map_err(|error| {
        let help = error.help();
        Failure::bad_input(error).help(help)
    })
}

/// Finds out which protections this system allows.
pub(crate) fn probe(config: &Config, database: Option<&Path>) -> Result<Isolation, NoIsolation> {
    let settings = IsolationSettings {
        mode: config.isolation_mode(),
        user: user(config)?,
        hidden: hidden(config, database),
        limits: config.step_limits(),
    };
    Ok(Isolation::probe(&settings, Path::new(LAUNCHER))?)
}

/// Logs which protections are active and why others are not.
pub(crate) fn log(isolation: &Isolation) {
    let (mode, report) = (isolation.mode().as_str(), isolation.report());
    tracing::info!(mode, active = report.active_text(), "isolation of steps");
    if runs_steps_as_root(isolation) {
        tracing::warn!(
            "steps run as root: they can change this system; set `isolation.user` to a user without \
             rights, and `isolation.mode` to `required` to refuse to run without it"
        );
    }
    for (protection, reason) in report.inactive() {
        tracing::info!(%protection, reason, "steps run without a protection");
    }
}

/// True if programs of steps have the user id of root.
fn runs_steps_as_root(isolation: &Isolation) -> bool {
    rustix::process::geteuid().is_root() && !isolation.report().is_active(Protection::User)
}

/// Returns the states of the protections, for display.
pub(crate) fn shown(report: &IsolationReport) -> Vec<StepProtection> {
    let shown = report.protections.iter().map(|status| {
        let (state, reason) = match &status.state {
            ProtectionState::Active => ("active", None),
            ProtectionState::Inactive(reason) => ("inactive", Some(reason.clone())),
            ProtectionState::NotNeeded(reason) => ("not_needed", Some(reason.clone())),
        };
        StepProtection { name: status.protection.as_str(), state, reason }
    });
    shown.collect()
}

fn user(config: &Config) -> Result<Option<StepUser>, UnknownUser> {
    let users = || std::fs::read_to_string(USERS).unwrap_or_default();
    config.isolation_user().map(|name| StepUser::find(name, &users())).transpose()
}

/// Returns the files of this process: data, settings, keys and tokens, also those that appear later.
pub(crate) fn hidden(config: &Config, database: Option<&Path>) -> HiddenFiles {
    let mut paths = vec![config.data_directory()];
    paths.extend(config.payload_directory());
    paths.extend(config.files().iter().cloned());
    paths.extend(config.user_settings_directory());
    paths.extend(config.secret_files());
    let database = database.map_or_else(|| config.database(), Path::to_owned);
    HiddenFiles::new(paths).with_database(&database)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_files_of_a_database_and_the_directories_of_the_user_are_hidden() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for name in ["a.db", "a.db-wal", "a.db.key", "a.dbx", "b.db"] {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::create_dir_all(path(".local/share/noetl")).unwrap();
        std::fs::create_dir_all(path(".config/noetl")).unwrap();
        let config = Config::of(&[
            ("HOME", &home.path().display().to_string()),
            ("NOETL_TLS_KEY", &path("b.db").display().to_string()),
        ]);
        let expected =
            [".config/noetl", ".local/share/noetl", "a.db", "a.db-wal", "a.db.key", "b.db"];
        let real = home.path().canonicalize().unwrap();
        let expected: Vec<PathBuf> = expected.map(|name| real.join(name)).into();
        let hidden = hidden(&config, Some(&path("a.db")));
        assert_eq!(hidden.present(), expected);
        assert!(hidden.hides(&real.join("a.db-shm")), "a file that appears later");
    }

    #[test]
    fn an_unknown_user_is_an_error() {
        let config = Config::of(&[("NOETL_ISOLATION_USER", "no-such-user-here")]);
        let error = probe(&config, None).unwrap_err();
        assert!(error.to_string().contains("no-such-user-here"), "{error}");
    }
}
