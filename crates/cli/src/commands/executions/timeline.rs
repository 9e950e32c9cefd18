//! `noetl executions timeline`: shows how the time of one execution was spent.

use noetl_replay::{ReadOn, TimelineFold};

use crate::args::TimelineArgs;
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::timeline::drawn;
use crate::show::terminal::Terminal;

pub(crate) async fn timeline(
    args: &TimelineArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let reader = backend::open_reader(&args.client, config).await?;
    let execution = reader.chosen_here(args.execution).await?.execution;
    let mut fold = TimelineFold::new(execution);
    reader
        .read(execution, |recorded| {
            fold.see(recorded);
            Ok(ReadOn::Yes)
        })
        .await?;
    let timeline = fold.finish(Some(reader.now().await?));
    terminal.show(args.output, &timeline, drawn)
}
