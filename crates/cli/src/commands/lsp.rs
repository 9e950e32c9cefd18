//! `noetl lsp`: serves an editor on standard input and output.

mod checks;
mod context;

use std::path::Path;

use noetl_lsp::{EditorContext, EditorServices, OfflineContext, serve_stdio};

use crate::args::LspArgs;
use crate::config::Config;
use crate::input::code_syntax::CodeSyntax;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use checks::EditorChecks;
use context::BackendContext;

pub(crate) fn lsp(
    args: &LspArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let context: Box<dyn EditorContext> = match config.withheld() {
        // The project's file may name a server of somebody else.
        Some(withheld) => {
            withheld.refusal().explain(terminal);
            terminal.say("Credentials, playbooks and values are not shown until then.");
            Box::new(OfflineContext)
        }
        None => Box::new(BackendContext::new(args, config)),
    };
    let checks = EditorChecks { syntax: CodeSyntax::new(config.python()) };
    let levels = config.lint_levels()?;
    let services = EditorServices { context, checks: Some(Box::new(checks)), read_file, levels };
    serve_stdio(services).map_err(Failure::broken)?;
    Ok(Exit::Completed)
}

/// The largest file beside an open document that is read.
const FILE_BYTES_MAX: u64 = 4 << 20;

fn read_file(file: &Path) -> Option<String> {
    let is_small = file.metadata().is_ok_and(|about| about.len() <= FILE_BYTES_MAX);
    is_small.then(|| std::fs::read_to_string(file).ok()).flatten()
}
