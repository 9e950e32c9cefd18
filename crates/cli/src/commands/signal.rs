//! `noetl signal`: sends a signal to an execution, or to the step that waits with a correlation key.

use anyhow::anyhow;
use noetl_app::KeyedSignalResult;
use noetl_control::{SentSignal, SignalByKey};
use noetl_model::{SignalKey, SignalName};
use serde_json::Value;

use crate::args::{Chosen, SignalArgs};
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
    match &args.key {
        Some(key) => to_key(args, key, config, terminal).await,
        None => to_execution(args, config, terminal).await,
    }
}

async fn to_execution(
    args: &SignalArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let execution: Chosen =
        args.first.parse().map_err(|error| Failure::bad_input(anyhow!("{error}")))?;
    let name = name_of(args.second.as_deref().unwrap_or_default())?;
    let body = body_of(args.data.as_deref())?;
    let sent = SentSignal {
        name: name.clone(),
        body,
        sender: args.sender.clone(),
        key: args.idempotency_key.clone(),
        actor: None,
    };
    let execution = backend::with(&args.client, config, async |backend| {
        let execution = backend.reader().chosen(execution).await?.summary.execution;
        backend.signal(execution, sent).await?;
        Ok(execution)
    });
    terminal.say(format!("sent signal {name} to execution {}", execution.await?));
    Ok(Exit::Completed)
}

async fn to_key(
    args: &SignalArgs,
    key: &SignalKey,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let name = name_of(&args.first)?;
    let sent = SignalByKey {
        name: name.clone(),
        key: key.clone(),
        body: body_of(args.second.as_deref().or(args.data.as_deref()))?,
        sender: args.sender.clone(),
        actor: None,
        once: args.idempotency_key.clone(),
        kept_for: None,
    };
    let result =
        backend::with(&args.client, config, async |backend| backend.signal_by_key(sent).await);
    terminal.say(match result.await? {
        KeyedSignalResult::Delivered(execution) => {
            format!("delivered signal {name} to execution {execution}")
        }
        KeyedSignalResult::Kept => {
            format!("kept signal {name}: no step waits for it with key {key} yet")
        }
    });
    Ok(Exit::Completed)
}

fn name_of(text: &str) -> Result<SignalName, Failure> {
    text.parse().map_err(|error: noetl_model::BadSignalName| Failure::bad_input(error))
}

fn body_of(said: Option<&str>) -> Result<Value, Failure> {
    match said {
        Some(said) => read_value("the body", said).map_err(Failure::bad_input),
        None => Ok(Value::Null),
    }
}
