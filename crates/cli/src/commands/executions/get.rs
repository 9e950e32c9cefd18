//! `noetl executions get`: one execution at length.

use crate::args::GetArgs;
use crate::config::Config;
use crate::database;
use crate::failure::{Exit, Failure};
use crate::history::History;
use crate::output::document;
use crate::output::execution::{document_of, output_of, text};
use crate::terminal::Terminal;

pub(crate) async fn get(
    args: &GetArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let db = database::path_of(&args.database, config);
    let history = History::open(&db).await?;
    let summary = history.chosen(args.execution).await?;
    let overview = history.overview(&summary).await?;
    let shown = match args.output.document() {
        Some(format) => document(format, &document_of(&overview, &history, Some(&db)).await?),
        None => text(&overview, &output_of(&overview, &history).await?),
    };
    terminal.data(&shown)?;
    Ok(Exit::Completed)
}
