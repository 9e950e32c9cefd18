//! The result of a command: its exit code, and the reason of a failure.

use std::fmt;
use std::io;
use std::process::ExitCode;

use noetl_playbook::Problems;

use crate::show::output::problems;
use crate::show::terminal::{BAD, CAREFUL, Terminal, paint};

/// The outcome of a command. Scripts rely on the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Completed,
    Failed,
    BadInput,
    Cancelled,
    /// The user did not wait for the cancellation.
    Aborted,
    /// The process was terminated by a signal before the work was done.
    Stopped,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Completed => 0,
            Exit::Failed => 1,
            Exit::BadInput => 2,
            Exit::Cancelled | Exit::Aborted => 130,
            Exit::Stopped => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A document has problems, each with its place.
    Invalid(Problems),
    /// The request is invalid or names something that does not exist.
    BadInput(Explained),
    /// The request is valid but failed.
    Broken(Explained),
}

/// An error for people, with help.
#[derive(Debug)]
pub(crate) struct Explained {
    error: anyhow::Error,
    help: Option<String>,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl Failure {
    pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> Self {
        Self::BadInput(Explained { error: error.into(), help: None })
    }

    pub(crate) fn broken(error: impl Into<anyhow::Error>) -> Self {
        Self::Broken(Explained { error: error.into(), help: None })
    }

    /// Adds a help text.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        let with = |explained: Explained| Explained { help: Some(help.into()), ..explained };
        match self {
            Failure::Invalid(problems) => Failure::Invalid(problems),
            Failure::BadInput(explained) => Failure::BadInput(with(explained)),
            Failure::Broken(explained) => Failure::Broken(with(explained)),
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Invalid(_) | Failure::BadInput(_) => Exit::BadInput,
            Failure::Broken(_) => Exit::Failed,
        }
    }

    /// Prints the failure, unless the reader of standard output has gone.
    pub(crate) fn explain(&self, terminal: &mut Terminal) {
        match self {
            Failure::Invalid(found) => {
                let color = terminal.stderr_color;
                terminal.say(problems::render(found, color).trim_end());
            }
            Failure::BadInput(explained) | Failure::Broken(explained) => {
                if is_broken_pipe(&explained.error) {
                    return;
                }
                terminal.say(format!("{} {explained}", paint(BAD, "error:")));
                if let Some(help) = &explained.help {
                    terminal.say(format!("{} {help}", paint(CAREFUL, " help:")));
                }
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::broken(error)
    }
}

/// True if the reader of the output has closed it, as `head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
