//! `noetl signals`: lists and drops the signals that no step has taken.

use noetl_api::wire::KeptSignalView;
use noetl_app::KeptSignalFilter;

use crate::args::{SignalDropArgs, SignalFilterArgs, SignalListArgs, SignalsCommand};
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::line;
use crate::show::terminal::Terminal;

/// The most characters of a body in the table.
const BODY_CHARS_MAX: usize = 40;
/// The most signals of one request.
const AT_ONCE: usize = 100;

pub(crate) async fn signals(
    command: &SignalsCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        SignalsCommand::List(args) => list(args, config, terminal).await,
        SignalsCommand::Drop(args) => drop_all(args, config, terminal).await,
    }
}

async fn list(
    args: &SignalListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let listed = backend::with(&args.client, config, async |backend| {
        kept_signals(backend, &args.filter, limit).await
    });
    let text = ListText {
        empty: "no signal waits for a step",
        header: &["SIGNAL", "NAME", "KEY", "SINCE", "UNTIL", "SENDER", "BODY"],
        row: |it: &KeptSignalView| {
            let body = match &it.body {
                Some(body) => line(&body.to_string(), BODY_CHARS_MAX),
                None => format!("{} bytes", it.body_bytes),
            };
            vec![
                it.signal_id.to_string(),
                it.name.clone(),
                it.key.clone(),
                it.received_at.to_string(),
                it.expires_at.to_string(),
                it.sender.clone().or_else(|| it.actor.clone()).unwrap_or_default(),
                body,
            ]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

async fn drop_all(
    args: &SignalDropArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let dropped = backend::with(&args.client, config, async |backend| {
        let chosen = match args.signals.is_empty() {
            false => args.signals.clone(),
            true => {
                let kept = kept_signals(backend, &args.filter, usize::MAX).await?;
                kept.iter().map(|it| it.signal_id.0).collect()
            }
        };
        for id in &chosen {
            backend.drop_signal(*id).await?;
        }
        Ok(chosen.len())
    });
    terminal.say(format!("dropped signals: {}", dropped.await?));
    Ok(Exit::Completed)
}

/// Lists at most `limit` of the signals that no step has taken.
async fn kept_signals(
    backend: &dyn Backend,
    filter: &SignalFilterArgs,
    limit: usize,
) -> Result<Vec<KeptSignalView>, Failure> {
    let SignalFilterArgs { name, key } = filter.clone();
    let mut filter = KeptSignalFilter { name, key, after: None, limit: None };
    let mut listed = Vec::new();
    while listed.len() < limit {
        filter.limit = Some(AT_ONCE.min(limit - listed.len()));
        let page = backend.kept_signals(&filter).await?;
        listed.extend(page.signals);
        match page.next {
            Some(next) => filter.after = Some(next.0),
            None => break,
        }
    }
    Ok(listed)
}
