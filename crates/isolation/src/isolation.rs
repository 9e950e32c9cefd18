//! The isolation of a worker's steps: which protections this system allows, and how a program is
//! started with them.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::hidden::HiddenFiles;
use crate::protection::{IsolationReport, Protection, ProtectionState, ProtectionStatus};
use crate::settings::{IsolationMode, IsolationSettings};
use crate::spec::{
    LAUNCHER_COMMAND, LaunchPurpose, LaunchSpec, Namespaces, REFUSED_CODE, VARIABLE_PREFIX,
};
use crate::system::{is_root, os_supports_isolation};

/// The namespaces to try, from the strongest to none.
const CANDIDATES: [Namespaces; 5] = [
    Namespaces::UserMountProcess,
    Namespaces::MountProcess,
    Namespaces::UserMount,
    Namespaces::Mount,
    Namespaces::None,
];

/// The search path of programs whose environment has none.
const PATH_DEFAULT: &str = "/bin:/usr/bin";
/// The error number `ENOENT`.
const NO_SUCH_FILE: i32 = 2;

/// The isolation of the programs that a worker starts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Isolation {
    start: Arc<ProgramStart>,
    report: Arc<IsolationReport>,
    mode: IsolationMode,
}

/// The way in which a program is started.
#[derive(Debug)]
enum ProgramStart {
    Direct,
    /// The specification names the files that were hidden when it was made.
    Launcher {
        launcher: PathBuf,
        spec: Box<LaunchSpec>,
        hidden: HiddenFiles,
    },
}

/// A required protection is missing.
#[derive(Debug, thiserror::Error)]
#[error("`isolation.mode` is `required`, and these protections are not available: {}", .missing.join("; "))]
pub struct IsolationRefused {
    pub missing: Vec<String>,
}

/// A command that starts a program with its protections.
#[derive(Debug)]
pub struct LaunchedCommand {
    pub command: Command,
    /// The text that begins a launcher's own message; `None` without a launcher.
    mark: Option<String>,
}

impl Isolation {
    /// Returns the isolation of a worker whose steps have none.
    pub fn off() -> Self {
        Self::none(IsolationMode::Off, "`isolation.mode` is `off`")
    }

    fn none(mode: IsolationMode, reason: &str) -> Self {
        let report = IsolationReport::uniform(&ProtectionState::Inactive(reason.to_owned()));
        Self { start: Arc::new(ProgramStart::Direct), report: Arc::new(report), mode }
    }

    /// Tries which protections this system allows. `launcher` is a binary that calls
    /// [`crate::run_launcher`].
    pub fn probe(settings: &IsolationSettings, launcher: &Path) -> Result<Self, IsolationRefused> {
        let isolation = match settings.mode {
            IsolationMode::Off => return Ok(Self::off()),
            IsolationMode::Auto | IsolationMode::Required if !os_supports_isolation() => {
                Self::none(settings.mode, "isolation of steps needs Linux")
            }
            IsolationMode::Auto | IsolationMode::Required => Self::of_probe(settings, launcher),
        };
        match settings.mode {
            IsolationMode::Off | IsolationMode::Auto => Ok(isolation),
            IsolationMode::Required => {
                let missing: Vec<String> = isolation
                    .report
                    .inactive()
                    .map(|(protection, reason)| format!("{protection} ({reason})"))
                    .collect();
                if missing.is_empty() { Ok(isolation) } else { Err(IsolationRefused { missing }) }
            }
        }
    }

    fn of_probe(settings: &IsolationSettings, launcher: &Path) -> Self {
        let mut failed: BTreeMap<Protection, ProtectionState> = BTreeMap::new();
        for namespaces in CANDIDATES {
            let spec = LaunchSpec {
                purpose: LaunchPurpose::Probe,
                namespaces,
                user: settings.user.filter(|_| is_root()),
                hidden: settings.hidden.present(),
                read_only: Vec::new(),
                landlock: true,
                seccomp: true,
                capabilities: true,
                limits: settings.limits,
                mark: String::new(),
            };
            match run_probe(launcher, &spec) {
                Ok(statuses) => {
                    let report = completed(statuses, &failed, settings);
                    return Self::of_report(spec, report, launcher, settings);
                }
                Err(reason) => {
                    let state = ProtectionState::Inactive(reason);
                    if namespaces.has_process() {
                        failed.entry(Protection::ProcessNamespace).or_insert(state.clone());
                    }
                    if namespaces.has_mount() {
                        failed.entry(Protection::MountNamespace).or_insert(state);
                    } else {
                        let ProtectionState::Inactive(reason) = state else { continue };
                        return Self::none(
                            settings.mode,
                            &format!("the launcher does not run: {reason}"),
                        );
                    }
                }
            }
        }
        Self::none(settings.mode, "the launcher does not run")
    }

    fn of_report(
        spec: LaunchSpec,
        report: IsolationReport,
        launcher: &Path,
        settings: &IsolationSettings,
    ) -> Self {
        let spec = LaunchSpec {
            purpose: LaunchPurpose::Program,
            landlock: report.is_active(Protection::Landlock),
            seccomp: report.is_active(Protection::Seccomp),
            capabilities: report.is_active(Protection::Capabilities),
            ..spec
        };
        let (launcher, hidden) = (launcher.to_owned(), settings.hidden.clone());
        let start = ProgramStart::Launcher { launcher, spec: Box::new(spec), hidden };
        Self { start: Arc::new(start), report: Arc::new(report), mode: settings.mode }
    }

    pub fn report(&self) -> &IsolationReport {
        &self.report
    }

    pub fn mode(&self) -> IsolationMode {
        self.mode
    }

    /// True if each program has a process namespace of its own.
    pub fn has_own_processes(&self) -> bool {
        match &*self.start {
            ProgramStart::Direct => false,
            ProgramStart::Launcher { spec, .. } => spec.namespaces.has_process(),
        }
    }

    /// True if programs are started by a launcher, which adopts the processes they leave behind.
    pub fn has_launcher(&self) -> bool {
        match &*self.start {
            ProgramStart::Direct => false,
            ProgramStart::Launcher { .. } => true,
        }
    }

    /// Returns the same isolation, with directories that programs may read and not change. Where the
    /// system cannot protect one of them it stays writable, and so do those that hold the working
    /// directory or the directory of temporary files.
    #[must_use]
    pub fn with_read_only(&self, directories: &[PathBuf]) -> Self {
        let start = match &*self.start {
            ProgramStart::Direct => return self.clone(),
            ProgramStart::Launcher { launcher, spec, hidden } => {
                let read_only = directories.iter().filter_map(|it| it.canonicalize().ok());
                let needed = [std::env::current_dir().unwrap_or_default(), std::env::temp_dir()];
                let is_needed = |it: &PathBuf| needed.iter().any(|needed| needed.starts_with(it));
                let mut read_only: Vec<PathBuf> = read_only.filter(|it| !is_needed(it)).collect();
                read_only.sort();
                read_only.dedup_by(|later, earlier| later.starts_with(earlier));
                let spec = Box::new(LaunchSpec { read_only, ..(**spec).clone() });
                ProgramStart::Launcher { launcher: launcher.clone(), spec, hidden: hidden.clone() }
            }
        };
        Self { start: Arc::new(start), ..self.clone() }
    }

    /// Returns a command that starts a program with exactly these environment variables, in `cwd`
    /// if it is given. Fails if the program does not exist and would be started by a launcher.
    pub fn command(
        &self,
        program: &str,
        arguments: &[String],
        environment: &BTreeMap<String, String>,
        cwd: Option<&Path>,
    ) -> io::Result<LaunchedCommand> {
        let mut launched = self.launched(program, arguments, environment, cwd)?;
        if let Some(cwd) = cwd {
            launched.command.current_dir(cwd);
        }
        Ok(launched)
    }

    fn launched(
        &self,
        program: &str,
        arguments: &[String],
        environment: &BTreeMap<String, String>,
        cwd: Option<&Path>,
    ) -> io::Result<LaunchedCommand> {
        match &*self.start {
            ProgramStart::Direct => {
                let mut command = Command::new(program);
                command.args(arguments).env_clear().envs(environment);
                Ok(LaunchedCommand { command, mark: None })
            }
            ProgramStart::Launcher { launcher, spec, hidden } => {
                let search = environment.get("PATH").map_or(PATH_DEFAULT, String::as_str);
                find_program(program, search, cwd.unwrap_or(Path::new(".")))?;
                let hidden = hidden.present();
                let spec = LaunchSpec { mark: random_mark(), hidden, ..(**spec).clone() };
                let text = serde_json::to_string(&spec).expect("a specification is JSON");
                let mut command = Command::new(launcher);
                command.arg(LAUNCHER_COMMAND).arg(text).arg(program).args(arguments).env_clear();
                let prefixed = environment
                    .iter()
                    .map(|(name, value)| (format!("{VARIABLE_PREFIX}{name}"), value));
                command.envs(prefixed);
                Ok(LaunchedCommand { command, mark: Some(spec.mark) })
            }
        }
    }
}

impl LaunchedCommand {
    /// Takes the command apart: the command, and the test for a launcher that did not start the
    /// program.
    pub fn into_parts(self) -> (Command, LaunchRefusal) {
        (self.command, LaunchRefusal { mark: self.mark })
    }
}

/// The test for a launcher that did not start its program.
#[derive(Debug, Clone)]
pub struct LaunchRefusal {
    mark: Option<String>,
}

impl LaunchRefusal {
    /// Returns the launcher's reason if it did not start the program, from its exit code and its
    /// standard error.
    pub fn reason(&self, code: Option<i32>, stderr: &str) -> Option<String> {
        let mark = self.mark.as_ref().filter(|_| code == Some(REFUSED_CODE))?;
        let line = stderr.lines().find_map(|line| line.split_once(mark.as_str()))?;
        Some(line.1.trim_start_matches(':').trim().to_owned())
    }
}

/// Adds the protections that the launcher does not report.
fn completed(
    statuses: Vec<ProtectionStatus>,
    failed: &BTreeMap<Protection, ProtectionState>,
    settings: &IsolationSettings,
) -> IsolationReport {
    let unknown = ProtectionState::Inactive("the launcher does not report it".into());
    let mut report = IsolationReport::uniform(&unknown);
    for ProtectionStatus { protection, state } in statuses {
        report.set(protection, state);
    }
    for (protection, state) in failed {
        if !report.is_active(*protection) {
            report.set(*protection, state.clone());
        }
    }
    let user = match (is_root(), settings.user) {
        (true, Some(_)) => ProtectionState::Active,
        (true, None) => ProtectionState::Inactive(
            "this process runs as root and `isolation.user` is not set".into(),
        ),
        (false, _) => ProtectionState::NotNeeded("this process does not run as root".into()),
    };
    report.set(Protection::User, user);
    report
}

fn run_probe(launcher: &Path, spec: &LaunchSpec) -> Result<Vec<ProtectionStatus>, String> {
    let text = serde_json::to_string(spec).expect("a specification is JSON");
    let ended = Command::new(launcher)
        .args([LAUNCHER_COMMAND, &text])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !ended.status.success() {
        let stderr = String::from_utf8_lossy(&ended.stderr);
        let reason = stderr.lines().last().unwrap_or("it printed no reason");
        return Err(reason.trim_start_matches(':').trim().to_owned());
    }
    serde_json::from_slice(&ended.stdout).map_err(|error| error.to_string())
}

/// Finds a program as `exec` does: by its path, or by its name in the directories of `search`.
fn find_program(program: &str, search: &str, cwd: &Path) -> io::Result<PathBuf> {
    let is_program = |path: PathBuf| {
        let found = std::fs::metadata(&path)?;
        let is_executable = found.is_file() && found.permissions().mode() & 0o111 != 0;
        if is_executable { Ok(path) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    };
    if program.contains('/') {
        return is_program(cwd.join(program));
    }
    let mut missing = io::Error::from_raw_os_error(NO_SUCH_FILE);
    for directory in search.split(':') {
        match is_program(cwd.join(directory).join(program)) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => missing = error,
            Err(_) => {}
        }
    }
    Err(missing)
}

fn random_mark() -> String {
    let number = getrandom::u64().expect("the system has random numbers");
    format!("noetl-launcher-{number:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_isolation_a_program_is_started_directly() {
        let isolation = Isolation::off();
        let environment = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let launched = isolation.command("env", &[], &environment, None).unwrap();
        let (mut command, refusal) = launched.into_parts();
        let ended = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "A=1\n");
        assert_eq!(refusal.reason(Some(REFUSED_CODE), "x"), None);
        assert!(!isolation.has_own_processes());
        assert_eq!(isolation.report().inactive().count(), Protection::ALL.len());
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let found = |program: &str, search: &str, cwd: &str| {
            find_program(program, search, Path::new(cwd)).map_err(|error| error.kind())
        };
        assert!(found("sh", "/no/such:/bin", "/").is_ok());
        assert!(found("/bin/sh", "", "/").is_ok());
        assert!(found("./sh", "", "/bin").is_ok());
        assert_eq!(found("no-such-program", "/bin", "/"), Err(io::ErrorKind::NotFound));
        assert_eq!(found("/etc/passwd", "", "/"), Err(io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn only_the_launcher_can_refuse() {
        let refusal = LaunchRefusal { mark: Some("mark".into()) };
        let reason = |code, stderr: &str| refusal.reason(code, stderr);
        assert_eq!(reason(Some(125), "a\nmark: no landlock\n"), Some("no landlock".into()));
        assert_eq!(reason(Some(1), "mark: no landlock\n"), None);
        assert_eq!(reason(Some(125), "no landlock\n"), None);
    }

    #[test]
    fn a_missing_launcher_means_no_protection_and_a_refusal_if_they_are_required() {
        let probe = |mode| {
            let settings = IsolationSettings { mode, ..IsolationSettings::default() };
            Isolation::probe(&settings, Path::new("/no/such/launcher"))
        };
        let isolation = probe(IsolationMode::Auto).unwrap();
        assert!(!isolation.has_launcher());
        let refused = probe(IsolationMode::Required).unwrap_err();
        assert!(refused.to_string().contains("landlock"), "{refused}");
    }
}
