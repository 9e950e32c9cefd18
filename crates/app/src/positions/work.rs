//! Open work at a position, with what each part waits for.

use std::collections::{BTreeMap, BTreeSet};

use noetl_api::wire::{OpenWait, OpenWorkGroup, OpenWorkPart, PositionOpen, TimeLimitScope};
use noetl_control::LoadError;
use noetl_engine::{CommandView, CommandWait, Execution, OpenPart, TimeLimit};
use noetl_model::{CommandId, Pool, StepName, Timestamp, WaitCondition};
use noetl_store::{Holder, OpenWork, StoreError};

use super::AtPosition;
use crate::app::App;

/// Maximum number of open parts that are listed one by one.
const OPEN_SHOWN_MAX: usize = 100;
/// Maximum number of open parts for which the leases are read from the queue.
const LEASES_READ_MAX: usize = 1000;
/// Maximum number of commands whose places in the queues of limits are read.
const PLACES_READ_MAX: usize = 20;

/// Facts about the present that the log does not have; empty for a position in the past.
#[derive(Debug, Default)]
struct Present {
    /// The pools that have waiting commands and no worker; `None` for a position in the past.
    unserved: Option<BTreeSet<Pool>>,
    /// The current leases.
    leases: BTreeMap<CommandId, Timestamp>,
    /// The places of the first commands that wait in the queue of a limit.
    places: BTreeMap<CommandId, u64>,
}

impl App {
    pub(super) async fn open_work_at(&self, at: &AtPosition) -> Result<PositionOpen, LoadError> {
        let state = &at.state;
        if state.open_parts_len() == 0 {
            return Ok(PositionOpen { total: 0, groups: Vec::new(), parts: Vec::new() });
        }
        let present = self.present(at).await?;
        let parts = state.open_parts().map(|part| part_of(&part, &present));
        let (mut shown, mut groups) = (Vec::new(), WaitGroups::default());
        for part in parts {
            groups.add(&part);
            if shown.len() < OPEN_SHOWN_MAX {
                shown.push(part);
            }
        }
        let total = u64::try_from(state.open_parts_len()).unwrap_or(u64::MAX);
        Ok(PositionOpen { total, groups: groups.list, parts: shown })
    }

    async fn present(&self, at: &AtPosition) -> Result<Present, LoadError> {
        if !at.is_latest() {
            return Ok(Present::default());
        }
        let execution = at.summary.execution;
        let failed = |error| LoadError::of_store(execution, error);
        let unserved = self.unserved_pools().await.map_err(failed)?;
        let work = if at.state.open_parts_len() <= LEASES_READ_MAX {
            self.store().open_work(execution).await.map_err(failed)?
        } else {
            OpenWork::default()
        };
        let leases = work.commands.into_iter().filter_map(|(command, open)| match open.holder {
            Holder::Worker { lease_until, .. } => Some((command, lease_until)),
            Holder::Nobody { .. } | Holder::Parked => None,
        });
        let places = self.places_of(&at.state).await.map_err(failed)?;
        Ok(Present { unserved: Some((*unserved).clone()), leases: leases.collect(), places })
    }

    /// Returns the places of the first commands of an execution that wait in the queue of a limit.
    async fn places_of(&self, state: &Execution) -> Result<BTreeMap<CommandId, u64>, StoreError> {
        let waiting = state.slots().filter(|(_, slot)| slot.granted_at.is_none());
        let waiting = waiting.filter_map(|(command, slot)| Some((command?, slot)));
        let mut places = BTreeMap::new();
        for (command, slot) in waiting.take(PLACES_READ_MAX) {
            let place = self.slot_place(&slot.limit.name, state.id(), Some(command)).await?;
            places.extend(place.map(|place| (command, place)));
        }
        Ok(places)
    }
}

/// Open parts by step and by what they wait for.
#[derive(Debug, Default)]
struct WaitGroups {
    list: Vec<OpenWorkGroup>,
    places: BTreeMap<(Option<String>, String), usize>,
}

impl WaitGroups {
    fn add(&mut self, part: &OpenWorkPart) {
        let key = (part.step.clone(), key_of(&part.wait));
        if let Some(group) = self.places.get(&key).and_then(|place| self.list.get_mut(*place)) {
            group.count += 1;
            if since_of(&part.wait) < since_of(&group.wait) {
                group.wait = part.wait.clone();
            }
            return;
        }
        self.places.insert(key, self.list.len());
        let (step, wait) = (part.step.clone(), part.wait.clone());
        self.list.push(OpenWorkGroup { step, wait, count: 1 });
    }
}

/// Returns the key by which waits are grouped: workers and children are not told apart.
fn key_of(wait: &OpenWait) -> String {
    match wait {
        OpenWait::Worker { pool, .. } => format!("worker {pool}"),
        OpenWait::Report { .. } => "report".to_owned(),
        OpenWait::Callback { .. } => "callback".to_owned(),
        OpenWait::Time { .. } => "time".to_owned(),
        OpenWait::Signal { name, .. } => format!("signal {name}"),
        OpenWait::Approval { title, .. } => format!("approval {title}"),
        OpenWait::Slot { limit, .. } => format!("slot {limit}"),
        OpenWait::Resumption { .. } => "resumption".to_owned(),
        OpenWait::Child { .. } => "child".to_owned(),
        OpenWait::Retry { .. } => "retry".to_owned(),
        OpenWait::TimeLimit { of, .. } => format!("limit {of:?}"),
        OpenWait::Branches { .. } => "branches".to_owned(),
    }
}

/// Returns the instant since which a part waits; retries and limits by the instant they are due.
fn since_of(wait: &OpenWait) -> Option<Timestamp> {
    match wait {
        OpenWait::Worker { since, .. }
        | OpenWait::Report { since, .. }
        | OpenWait::Callback { since, .. }
        | OpenWait::Time { since, .. }
        | OpenWait::Signal { since, .. }
        | OpenWait::Approval { since, .. }
        | OpenWait::Slot { since, .. }
        | OpenWait::Resumption { since, .. }
        | OpenWait::Child { since, .. } => Some(*since),
        OpenWait::Retry { due_at, .. } | OpenWait::TimeLimit { due_at, .. } => Some(*due_at),
        OpenWait::Branches { .. } => None,
    }
}

fn part_of(part: &OpenPart<'_>, present: &Present) -> OpenWorkPart {
    let named = |step: Option<&StepName>| step.map(StepName::to_string);
    let of =
        |step, wait| OpenWorkPart { step, run: None, item: None, command: None, tool: None, wait };
    match part {
        OpenPart::Command(open) => OpenWorkPart {
            step: Some(open.step.to_string()),
            run: Some(open.task.run.0),
            item: open.task.place.item(),
            command: Some(open.command.0),
            tool: Some(open.tool),
            wait: wait_of(open, present),
        },
        OpenPart::Retry { task, step, since, due_at, timer: _ } => OpenWorkPart {
            run: Some(task.run.0),
            item: task.place.item(),
            ..of(
                named(*step),
                OpenWait::Retry { retry: task.retry, since: *since, due_at: *due_at },
            )
        },
        OpenPart::TimeLimit { limit, step, since, due_at, timer: _ } => {
            let scope = match limit {
                TimeLimit::Expected => TimeLimitScope::Expected,
                TimeLimit::Execution => TimeLimitScope::Execution,
                TimeLimit::Step => TimeLimitScope::Step,
                TimeLimit::Task => TimeLimitScope::Task,
            };
            of(named(*step), OpenWait::TimeLimit { of: scope, since: *since, due_at: *due_at })
        }
        OpenPart::Join { step, arrived } => {
            let arrived = arrived.iter().map(StepName::to_string).collect();
            of(Some(step.to_string()), OpenWait::Branches { arrived })
        }
    }
}

fn wait_of(open: &CommandView<'_>, present: &Present) -> OpenWait {
    match open.waits_for {
        CommandWait::Worker => OpenWait::Worker {
            pool: open.pool.to_string(),
            since: open.issued_at,
            is_served: present.unserved.as_ref().map(|unserved| !unserved.contains(open.pool)),
        },
        CommandWait::Callback { worker, attempt, since, claimed_at: _, parked: _ } => {
            OpenWait::Callback { worker: worker.to_string(), attempt: attempt.0, since }
        }
        CommandWait::Report { worker, attempt, lease_until, since, claimed: _ } => {
            OpenWait::Report {
                worker: worker.to_string(),
                attempt: attempt.0,
                since,
                lease_until: present.leases.get(&open.command).copied().unwrap_or(lease_until),
            }
        }
        CommandWait::Condition { condition, since, opened: _ } => match condition {
            WaitCondition::Time { until } => OpenWait::Time { since, until: *until },
            WaitCondition::Signal { name, key } => OpenWait::Signal {
                name: name.to_string(),
                key: key.as_ref().map(ToString::to_string),
                since,
            },
        },
        CommandWait::Approval { request, since, opened: _ } => {
            OpenWait::Approval { title: request.title.clone(), since }
        }
        CommandWait::Slot(slot) => {
            let (limit, since) = (slot.limit.name.to_string(), slot.asked_at);
            OpenWait::Slot { limit, place: present.places.get(&open.command).copied(), since }
        }
        CommandWait::Resumption(pause) => {
            OpenWait::Resumption { actor: pause.actor.clone(), since: pause.since }
        }
        CommandWait::Child { execution, since, started: _ } => {
            OpenWait::Child { execution_id: execution.into(), since }
        }
    }
}
