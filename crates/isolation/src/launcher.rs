//! The launcher: applies protections to its own process, starts the program and waits for it.
//!
//! With a process namespace there are three processes: the launcher, which the worker waits for; the
//! first process of the namespace, with whose end the kernel kills all others in it; and the program.
//! Without one, the launcher itself adopts and kills the processes that the program leaves behind.
//!
//! Invariant: the launcher has one thread. The steps run in this order, because each takes away
//! rights that the earlier ones need.

mod files;
mod limits;
mod namespaces;
mod privileges;
mod supervise;
mod system_calls;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::protection::{Protection, ProtectionState, ProtectionStatus};
use crate::spec::{LAUNCHER_COMMAND, LaunchPurpose, LaunchSpec, REFUSED_CODE, VARIABLE_PREFIX};
use supervise::ProgramEnd;

pub(crate) fn os_supports_isolation() -> bool {
    true
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes memory, environment and open files of this process unreadable for other processes of the
/// same user, and turns off core dumps, which would hold its secrets.
pub fn protect_own_process() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Runs the launcher if the arguments of this process ask for it; otherwise returns `None`. Must be
/// called before the process starts threads.
pub fn run_launcher() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != LAUNCHER_COMMAND {
        return None;
    }
    let spec = arguments.next().and_then(|text| text.into_string().ok());
    let spec = spec.and_then(|text| serde_json::from_str::<LaunchSpec>(&text).ok());
    let Some(spec) = spec else {
        refuse("", "the command `step-launcher` is for noetl itself");
        return Some(refused());
    };
    let argv: Vec<_> = arguments.collect();
    let code = match launch(&spec, &argv) {
        Ok(end) => end.imitate(),
        Err(refusal) => {
            refuse(&spec.mark, &refusal.0);
            refused()
        }
    };
    Some(code)
}

/// The reason why a program is not started.
#[derive(Debug)]
struct LaunchFailure(String);

impl LaunchFailure {
    fn of(what: &str) -> impl FnOnce(io::Error) -> Self {
        let what = what.to_owned();
        move |error| Self(format!("{what}: {error}"))
    }
}

fn refused() -> ExitCode {
    ExitCode::from(u8::try_from(REFUSED_CODE).expect("it is an exit code"))
}

fn refuse(mark: &str, reason: &str) {
    // There is nowhere else to report to.
    let _unread = writeln!(io::stderr(), "{mark}: {reason}");
}

/// Carries out a specification: in a process namespace of its own if it has one.
fn launch(spec: &LaunchSpec, argv: &[std::ffi::OsString]) -> Result<ProgramEnd, LaunchFailure> {
    let cwd =
        std::env::current_dir().map_err(LaunchFailure::of("cannot find the working directory"))?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| LaunchFailure::of("cannot set no_new_privs")(error.into()))?;
    limits::without_core_dumps();
    if let Some(user) = spec.user {
        privileges::become_user(user)
            .map_err(LaunchFailure::of("cannot become the user of steps"))?;
    }
    namespaces::enter(spec.namespaces)?;
    let inner = RestrictedLaunch { spec, argv, cwd };
    if spec.namespaces.has_process() {
        return supervise::in_first_process(|| inner.run());
    }
    supervise::adopt_orphans()?;
    let end = inner.run()?;
    supervise::kill_orphans();
    Ok(end)
}

/// The part of a launch that runs inside the namespaces.
struct RestrictedLaunch<'a> {
    spec: &'a LaunchSpec,
    argv: &'a [std::ffi::OsString],
    cwd: PathBuf,
}

impl RestrictedLaunch<'_> {
    fn run(&self) -> Result<ProgramEnd, LaunchFailure> {
        let spec = self.spec;
        let mut states = vec![active(Protection::NoNewPrivileges), active(Protection::ProcessTree)];
        if spec.namespaces.has_mount() {
            namespaces::arrange_mounts(spec)?;
            // The directory is looked up again: the old one may be below a covered directory.
            std::env::set_current_dir(&self.cwd)
                .map_err(LaunchFailure::of("the working directory is not accessible to steps"))?;
            states.push(active(Protection::MountNamespace));
        }
        if spec.namespaces.has_process() {
            states.push(active(Protection::ProcessNamespace));
        }
        let limited = limits::apply(spec.limits, spec.namespaces.has_process());
        states.push(self.settle(Protection::Limits, true, limited)?);
        let dropped = || privileges::drop_capabilities().map_err(|error| error.to_string());
        states.push(self.step(Protection::Capabilities, spec.capabilities, dropped)?);
        states.push(self.step(Protection::Landlock, spec.landlock, || files::restrict(spec))?);
        states.push(self.step(Protection::Seccomp, spec.seccomp, system_calls::restrict)?);
        match spec.purpose {
            LaunchPurpose::Probe => {
                let text = serde_json::to_string(&states).expect("states are JSON");
                writeln!(io::stdout(), "{text}").map_err(LaunchFailure::of("cannot print"))?;
                Ok(ProgramEnd::SUCCESS)
            }
            LaunchPurpose::Program => supervise::run_program(self.argv, environment()),
        }
    }

    /// Applies a protection if the specification has it.
    fn step(
        &self,
        protection: Protection,
        wanted: bool,
        apply: impl FnOnce() -> Result<(), String>,
    ) -> Result<ProtectionStatus, LaunchFailure> {
        let result = if wanted { apply() } else { Err("not requested".into()) };
        self.settle(protection, wanted, result)
    }

    /// Turns the result of a protection into its state. A failure is a refusal unless this is a
    /// probe.
    fn settle(
        &self,
        protection: Protection,
        wanted: bool,
        result: Result<(), String>,
    ) -> Result<ProtectionStatus, LaunchFailure> {
        match (result, self.spec.purpose) {
            (Ok(()), LaunchPurpose::Probe | LaunchPurpose::Program) => Ok(active(protection)),
            (Err(reason), LaunchPurpose::Program) if wanted => {
                Err(LaunchFailure(format!("cannot apply {protection}: {reason}")))
            }
            (Err(reason), LaunchPurpose::Probe | LaunchPurpose::Program) => {
                Ok(ProtectionStatus { protection, state: ProtectionState::Inactive(reason) })
            }
        }
    }
}

fn active(protection: Protection) -> ProtectionStatus {
    ProtectionStatus { protection, state: ProtectionState::Active }
}

/// Returns the environment of the program: the variables with the prefix, without it.
fn environment() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let renamed = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let name = name.as_bytes().strip_prefix(VARIABLE_PREFIX.as_bytes())?;
        Some((std::ffi::OsString::from_vec(name.to_owned()), value))
    };
    std::env::vars_os().filter_map(renamed).collect()
}
