//! `noetl lsp`: serves an editor on standard input and output.

use crate::args::LspArgs;
use crate::show::failure::{Exit, Failure};

pub(crate) fn lsp(_: &LspArgs) -> Result<Exit, Failure> {
    noetl_lsp::serve_stdio().map_err(Failure::broken)?;
    Ok(Exit::Completed)
}
