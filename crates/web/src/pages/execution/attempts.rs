//! The commands of a run of a step, read from the part of the log that holds them.

use std::collections::BTreeMap;

use noetl_api::wire::PositionRun;
use noetl_app::App;
use noetl_model::{
    Bindings, CommandId, Event, ExecutionId, Payload, Place, Recorded, RunId, Seq, StepName,
    TaskAddress, Timestamp, ToolError,
};

use crate::error::PageError;

/// Maximum number of commands that the page shows; the latest ones of a longer run.
const COMMANDS_MAX: usize = 40;
/// Number of events at the end of a run that are read.
const RUN_TAIL: u64 = 900;

/// The end of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CommandEnd {
    Completed(Payload),
    Failed(ToolError),
    Cancelled(String),
}

/// A command with its latest claim.
#[derive(Debug, Clone)]
pub(super) struct CommandRecord {
    pub(super) command: CommandId,
    pub(super) task: TaskAddress,
    pub(super) bindings: Bindings,
    pub(super) issued_at: Timestamp,
    pub(super) issued: Seq,
    pub(super) claims: Vec<Claim>,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) end: Option<CommandEnd>,
}

#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) worker: String,
    pub(super) at: Timestamp,
}

/// The commands of a run up to a position, and the steps that led to it.
#[derive(Debug, Clone, Default)]
pub(super) struct RunRecord {
    pub(super) from: Vec<StepName>,
    pub(super) commands: Vec<CommandRecord>,
    /// True if the run has more commands than are listed.
    pub(super) is_partial: bool,
}

/// The part of a run that the visitor has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChosenPart {
    None,
    Command(CommandId),
    Item {
        item: u64,
        /// The event that issued the first command of the item.
        issued: Option<Seq>,
    },
}

impl RunRecord {
    /// Reads the run of a step up to an event: its beginning, and if it is long, its end and the
    /// commands of a chosen item.
    pub(super) async fn load(
        app: &App,
        execution: ExecutionId,
        run: &PositionRun,
        end: u64,
        chosen: ChosenPart,
    ) -> Result<Self, PageError> {
        let mut events = app.log(execution, Seq(run.entered.saturating_sub(1))).await?;
        let mut read = events.last().map_or(run.entered, |last| last.seq.0);
        // The commands of an item follow each other closely.
        if let ChosenPart::Item { issued: Some(issued), .. } = chosen
            && issued.0 > read
        {
            events.extend(app.log(execution, Seq(issued.0 - 1)).await?);
            read = events.last().map_or(read, |last| last.seq.0);
        }
        if read < end {
            let tail = app.log(execution, Seq(end.saturating_sub(RUN_TAIL).max(read))).await?;
            events.extend(tail);
        }
        events.retain(|recorded| recorded.seq.0 <= end);
        Ok(Self::of(RunId(run.run), &events, chosen))
    }

    fn of(run: RunId, events: &[Recorded], chosen: ChosenPart) -> Self {
        let mut found = Self::default();
        let mut commands: BTreeMap<CommandId, CommandRecord> = BTreeMap::new();
        for recorded in events {
            if let Event::StepEntered { run: entered, from, .. } = &recorded.event
                && *entered == run
            {
                found.from.clone_from(from);
            }
            note(&mut commands, run, recorded);
        }
        found.is_partial = commands.len() > COMMANDS_MAX;
        let skipped = commands.len().saturating_sub(COMMANDS_MAX);
        let mut all: Vec<CommandRecord> = commands.into_values().collect();
        let is_chosen = |command: &CommandRecord| match chosen {
            ChosenPart::None => false,
            ChosenPart::Command(chosen) => command.command == chosen,
            ChosenPart::Item { item, .. } => command.task.place.item() == Some(item),
        };
        all.sort_by_key(|command| (is_chosen(command), command.failed(), command.issued));
        found.commands = all.into_iter().skip(skipped).collect();
        found.commands.sort_by_key(|command| command.issued);
        found
    }

    /// Returns the command of an item that failed last, or the last one.
    pub(super) fn of_item(&self, item: u64) -> Option<CommandId> {
        let own = || self.commands.iter().rev().filter(|it| it.task.place.item() == Some(item));
        let telling = own().find(|command| command.failed()).or_else(|| own().next());
        telling.map(|command| command.command)
    }

    /// Returns a command of the run.
    pub(super) fn command(&self, command: CommandId) -> Option<&CommandRecord> {
        self.commands.iter().find(|it| it.command == command)
    }

    /// Returns the command that failed last, or the last command.
    pub(super) fn telling(&self) -> Option<&CommandRecord> {
        self.commands.iter().rev().find(|command| command.failed()).or(self.commands.last())
    }
}

impl CommandRecord {
    pub(super) fn failed(&self) -> bool {
        matches!(self.end, Some(CommandEnd::Failed(_)))
    }

    /// Returns the index of the task that the command runs.
    pub(super) fn task_index(&self) -> u32 {
        match self.task.place {
            Place::Task(task) | Place::Item { task, .. } => task,
            Place::Claim { .. } => 0,
        }
    }
}

/// Adds an event of a command to its record.
fn note(commands: &mut BTreeMap<CommandId, CommandRecord>, run: RunId, recorded: &Recorded) {
    if let Event::CommandIssued { command, task, bindings, .. } = &recorded.event
        && task.run == run
    {
        commands.insert(
            *command,
            CommandRecord {
                command: *command,
                task: *task,
                bindings: bindings.clone(),
                issued_at: recorded.at,
                issued: recorded.seq,
                claims: Vec::new(),
                ended_at: None,
                end: None,
            },
        );
    }
    let Some((command, change)) = change_of(&recorded.event) else { return };
    let Some(record) = commands.get_mut(&command) else { return };
    match change {
        Change::Claimed { worker } => {
            record.claims.push(Claim { worker, at: recorded.at });
        }
        Change::Ended { end } => {
            record.ended_at = Some(recorded.at);
            record.end = Some(end);
        }
    }
}

enum Change {
    Claimed { worker: String },
    Ended { end: CommandEnd },
}

fn change_of(event: &Event) -> Option<(CommandId, Change)> {
    if let Event::CommandClaimed { command, worker, .. } = event {
        let change = Change::Claimed { worker: worker.to_string() };
        return Some((*command, change));
    }
    if let Event::CommandCompleted { command, output, .. } = event {
        let end = CommandEnd::Completed(output.clone());
        return Some((*command, Change::Ended { end }));
    }
    if let Event::CommandFailed { command, error, .. } = event {
        let end = CommandEnd::Failed(error.clone());
        return Some((*command, Change::Ended { end }));
    }
    if let Event::CommandCancelled { command, reason, .. } = event {
        let end = CommandEnd::Cancelled(reason.clone());
        return Some((*command, Change::Ended { end }));
    }
    None
}
