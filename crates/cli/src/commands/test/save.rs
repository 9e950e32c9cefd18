//! `noetl test save`: writes the history of an execution to a file, with all its values.

use super::history;
use crate::args::TestSaveArgs;
use crate::config::Config;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(super) async fn save(
    args: &TestSaveArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (history, _reader) = history::stored(&args.client, args.execution, config).await?;
    std::fs::create_dir_all(&args.directory)?;
    let file = args.directory.join(format!("{}.jsonl", history.execution));
    files::write(&file, &history::to_text(&history))?;
    terminal.data(&format!("{}\n", file.display()))?;
    Ok(Exit::Completed)
}
