//! `noetl pools`, `noetl limits`, and pauses of executions and playbooks.

use noetl_api::wire::{LimitDetail, LimitView, PauseView, SlotView};
use noetl_control::PauseCaller;

use crate::args::{
    CallerArgs, CatalogPauseArgs, ClientArgs, HoldListArgs, LimitArgs, LimitListArgs,
    LimitsCommand, PauseArgs, PoolsCommand,
};
use crate::backend::{self, HoldAction, HoldTarget};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::table;
use crate::show::terminal::{FAINT, Terminal, paint};

pub(crate) async fn pools(
    command: &PoolsCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (args, action) = match command {
        PoolsCommand::List(args) => return pauses(args, config, terminal).await,
        PoolsCommand::Pause(args) => (args, HoldAction::Pause),
        PoolsCommand::Resume(args) => (args, HoldAction::Resume),
    };
    let target = HoldTarget::Pool(args.pool.clone());
    hold(&args.client, (target, action), caller(&args.caller, config), config, terminal).await
}

pub(crate) async fn limits(
    command: &LimitsCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        LimitsCommand::List(args) => list(args, config, terminal).await,
        LimitsCommand::Show(args) => show(args, config, terminal).await,
    }
}

/// Pauses or resumes an execution.
pub(crate) async fn execution(
    args: &PauseArgs,
    action: HoldAction,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let caller = caller(&args.caller, config);
    let done = backend::with(&args.client, config, async |backend| {
        let id = backend.reader().chosen(args.execution).await?.summary.execution;
        backend.hold(&HoldTarget::Execution(id), action, caller).await
    });
    terminal.say(done.await?);
    Ok(Exit::Completed)
}

/// Pauses or resumes a playbook.
pub(crate) async fn playbook(
    args: &CatalogPauseArgs,
    action: HoldAction,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let target = HoldTarget::Playbook(args.path.clone());
    hold(&args.client, (target, action), caller(&args.caller, config), config, terminal).await
}

async fn hold(
    client: &ClientArgs,
    (target, action): (HoldTarget, HoldAction),
    caller: PauseCaller,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    // The header of the request has the same name.
    let config = config.acting_as(caller.actor.as_deref());
    let done =
        backend::with(client, &config, async |backend| backend.hold(&target, action, caller).await);
    terminal.say(done.await?);
    Ok(Exit::Completed)
}

/// Returns the caller: as named, else the user's login name.
fn caller(args: &CallerArgs, config: &Config) -> PauseCaller {
    let actor = args.actor.clone().or_else(|| config.actor().map(String::from));
    PauseCaller { actor, reason: args.reason.clone() }
}

async fn pauses(
    args: &HoldListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let listed = backend::with(&args.client, config, async |backend| backend.pauses().await);
    let text = ListText {
        empty: "no pool and no playbook is paused",
        header: &["KIND", "NAME", "SINCE", "BY", "REASON"],
        row: |it: &PauseView| {
            vec![
                it.kind.clone(),
                it.name.clone(),
                it.since.to_string(),
                it.actor.clone().unwrap_or_default(),
                it.reason.clone().unwrap_or_default(),
            ]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

async fn list(
    args: &LimitListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let listed = backend::with(&args.client, config, async |backend| backend.limits().await);
    let text = ListText {
        empty: "no limit is in use",
        header: &["LIMIT", "ALLOWS", "HOLDERS", "WAITING", "OLDEST"],
        row: |it: &LimitView| {
            vec![
                it.name.clone(),
                it.allows.clone(),
                it.holders.to_string(),
                it.queued.to_string(),
                it.oldest_wait_seconds.map(seconds).unwrap_or_default(),
            ]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

async fn show(args: &LimitArgs, config: &Config, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let loaded =
        backend::with(&args.client, config, async |backend| backend.limit(&args.name).await);
    terminal.show(args.output, &loaded.await?, shown)
}

fn shown(detail: &LimitDetail) -> String {
    let LimitDetail { limit, slots, queue } = detail;
    let mut text = format!("{}  {}\n", limit.name, paint(FAINT, &limit.allows));
    let row = |(place, it): (usize, &SlotView)| {
        let command = it.command.map(|command| format!("command {command}")).unwrap_or_default();
        let (id, priority) = (it.execution_id.to_string(), format!("priority {}", it.priority));
        vec![place.to_string(), id, command, priority, seconds(it.seconds)]
    };
    for (title, rows, total) in
        [("holders", slots, limit.holders), ("waiting", queue, limit.queued)]
    {
        text.push_str(&format!("\n{} ({total})\n", paint(FAINT, title)));
        let rows: Vec<Vec<String>> = (1..).zip(rows).map(row).collect();
        text.push_str(&table(&rows));
    }
    text
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.1} s")
}
