//! `noetl notifications`: lists, tests, pauses and resumes notifications about executions.

use noetl_api::wire::{NotificationItem, NotificationTestResult};

use crate::args::{NotificationArgs, NotificationListArgs, NotificationsCommand};
use crate::backend::{self, NotificationChange};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::line;
use crate::show::terminal::Terminal;

/// The most characters of the receivers in the table.
const RECEIVERS_CHARS_MAX: usize = 80;

pub(crate) async fn notifications(
    command: &NotificationsCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        NotificationsCommand::List(args) => list(args, config, terminal).await,
        NotificationsCommand::Test(args) => test(args, config, terminal).await,
        NotificationsCommand::Pause(args) => {
            change(args, NotificationChange::Pause, config, terminal).await
        }
        NotificationsCommand::Resume(args) => {
            change(args, NotificationChange::Resume, config, terminal).await
        }
    }
}

async fn list(
    args: &NotificationListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let listed = backend::with(&args.client, config, async |it| it.notifications().await);
    let text = ListText {
        empty: "no notifications; `noetl register FILE` registers one",
        header: &["NOTIFICATION", "VERSION", "STATE", "PLAYBOOKS", "RECEIVERS"],
        row: |it: &NotificationItem| {
            let state = match (&it.problem, it.paused) {
                (Some(_), _) => "invalid",
                (None, true) => "paused",
                (None, false) => "active",
            };
            let paths = if it.paths.is_empty() { "*".to_owned() } else { it.paths.join(", ") };
            let matched = [paths].into_iter().chain(it.labels.iter().cloned());
            let matched = matched.collect::<Vec<_>>().join(" ");
            vec![
                it.path.clone(),
                it.version.to_string(),
                state.to_owned(),
                matched,
                line(&receivers(it), RECEIVERS_CHARS_MAX),
            ]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

fn receivers(item: &NotificationItem) -> String {
    let told = item.on.iter().map(|(reason, to)| format!("{reason}: {}", to.join(", ")));
    told.collect::<Vec<_>>().join("; ")
}

async fn test(
    args: &NotificationArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let tested =
        backend::with(&args.client, config, async |it| it.test_notification(&args.path).await);
    let tested = tested.await?;
    for NotificationTestResult { reason, receiver, sent: _, error } in &tested {
        match error {
            None => terminal.say(format!("{reason}: sent to {receiver}")),
            Some(error) => terminal.say(format!("{reason}: not sent to {receiver}: {error}")),
        }
    }
    let is_sent = tested.iter().all(|result| result.sent);
    Ok(if is_sent { Exit::Completed } else { Exit::Failed })
}

async fn change(
    args: &NotificationArgs,
    change: NotificationChange,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let changed = backend::with(&args.client, config, async |it| {
        it.change_notification(&args.path, change).await
    });
    changed.await?;
    let done = match change {
        NotificationChange::Pause => "paused",
        NotificationChange::Resume => "resumed",
    };
    terminal.say(format!("{done} {}", args.path));
    Ok(Exit::Completed)
}
