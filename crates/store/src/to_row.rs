//! Conversion of model values to the values of columns.

use noetl_model::CommandId;
use serde::Serialize;

/// The stored command of an index entry without one; smaller than every command id.
pub(crate) const NO_COMMAND: i64 = -1;

/// Converts the command of an index entry to a database integer.
pub fn index_command(command: Option<CommandId>) -> i64 {
    command.map_or(NO_COMMAND, |command| stored(command.0))
}

/// Converts a number to a database integer; no real value comes near the limit.
pub fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the row limit of a statement: the requested number, up to a bound.
pub fn at_most(limit: usize, max: usize) -> i64 {
    i64::try_from(limit.min(max)).expect("a bound on rows fits")
}

pub fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the model's words are JSON")
}
