//! One file per command.

mod completions;
mod graph;
mod schema;
mod validate;

use crate::args::Command;
use crate::failure::{Exit, Failure};
use crate::terminal::Terminal;

/// Carries out a command.
pub(crate) fn dispatch(command: Command, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        Command::Validate(args) => validate::validate(&args, terminal),
        Command::Graph(args) => graph::graph(&args, terminal),
        Command::Schema(_) => schema::schema(terminal),
        Command::Completions(args) => completions::completions(&args, terminal),
    }
}
