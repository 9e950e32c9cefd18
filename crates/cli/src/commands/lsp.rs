//! `noetl lsp`: serves an editor on standard input and output.

mod context;

use noetl_lsp::{EditorContext, OfflineContext, serve_stdio};

use crate::args::LspArgs;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
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
    serve_stdio(context).map_err(Failure::broken)?;
    Ok(Exit::Completed)
}
