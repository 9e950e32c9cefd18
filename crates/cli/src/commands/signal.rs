//! `noetl signal`: sends a signal to an execution on the database or server that has it.

use noetl_control::SentSignal;
use serde_json::Value;

use crate::args::SignalArgs;
use crate::backend;
use crate::config::Config;
use crate::input::workload::read_value;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) async fn signal(
    args: &SignalArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let body = match &args.data {
        Some(said) => read_value("--data", said).map_err(Failure::bad_input)?,
        None => Value::Null,
    };
    let sent = SentSignal {
        name: args.name.clone(),
        body,
        sender: args.sender.clone(),
        key: args.key.clone(),
    };
    let execution = backend::with(&args.client, config, async |backend| {
        let execution = backend.reader().chosen(args.execution).await?.summary.execution;
        backend.signal(execution, sent).await?;
        Ok(execution)
    });
    terminal.say(format!("sent signal {} to execution {}", args.name, execution.await?));
    Ok(Exit::Completed)
}
