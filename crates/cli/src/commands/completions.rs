//! `noetl completions`: prints the completion script of a shell.

use clap::CommandFactory as _;

use crate::args::{Arguments, CompletionsArgs};
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) fn completions(
    args: &CompletionsArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "noetl", &mut script);
    terminal.file(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Completed)
}
