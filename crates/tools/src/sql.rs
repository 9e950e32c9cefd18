//! Parts shared by the SQL tools: splitting a script into statements, binding parameters, and the
//! format of results.

use noetl_model::ToolError;

pub(crate) mod lex;
pub(crate) mod params;
pub(crate) mod redact;
pub(crate) mod result;
pub(crate) mod script;
pub(crate) mod split;

/// Adds the number and line of the failed statement to an error, if there are several.
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
