//! What the SQL tools share: how a script falls into statements, how parameters reach them, and
//! what their results look like to a playbook.

use noetl_model::ToolError;

pub(crate) mod lex;
pub(crate) mod params;
pub(crate) mod redact;
pub(crate) mod result;
pub(crate) mod script;
pub(crate) mod split;

/// Says which of several statements failed.
pub(crate) fn statement_failed(
    mut error: ToolError,
    index: usize,
    count: usize,
    line: usize,
) -> ToolError {
    if 1 < count {
        error.message.push_str(&format!(" (statement {}, line {line})", index + 1));
    }
    error
}
