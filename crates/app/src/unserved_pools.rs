//! Hints about executions that do not advance: a pause, the queue of a limit, pools that have waiting
//! commands and no worker, and waits for callbacks, times, signals, approvals, children and retries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_api::wire::WORKER_KIND;
use noetl_control::LoadError;
use noetl_engine::{CommandView, CommandWait, Execution, OpenHolder, OpenPart, Pause};
use noetl_model::{
    CommandId, ExecutionId, ExecutionStatus, LimitName, PauseScope, Pool, Seq, SignalName,
    StepName, Summary, Timestamp, WaitCondition,
};
use noetl_store::{PausedKind, Runtime, SlotKey, StoreError};
use tokio::time::Instant;

use crate::app::App;
use crate::busy_pools::{BusyWait, ShortTime};

/// Maximum age of the cached lookup.
const FRESH: Duration = Duration::from_secs(2);
/// Time a command waits before a hint is given.
const HINT_AFTER: Duration = Duration::from_secs(10);
/// Time for which a pool counts as served after a worker's request for its commands.
const SERVED_FOR: Duration = Duration::from_secs(60);
/// Maximum number of remembered pools.
const POOLS_MAX: usize = 10_000;

/// The reason why a running execution does not advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitHint {
    NoWorker(UnservedWait),
    /// Workers of the pool are connected, and run other commands.
    Busy(BusyWait),
    /// The execution, its playbook or its parent is paused.
    Paused(Pause),
    /// The pool of the execution is paused.
    PoolPaused {
        pool: Pool,
        actor: Option<String>,
        since: Timestamp,
    },
    /// The execution waits for a slot before its first step.
    Queued {
        limit: LimitName,
        /// The place in the queue, from 1 on, if it is known.
        place: Option<u64>,
        since: Timestamp,
    },
    /// Nothing is left for a worker: all open work waits for callbacks, times, signals, approvals, slots,
    /// children or retries; the part that has waited longest.
    Declared {
        step: StepName,
        since: Timestamp,
        wait: DeclaredWait,
    },
}

/// The condition that a command waits for without a worker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeclaredWait {
    Callback,
    Time {
        until: Timestamp,
    },
    Signal {
        name: SignalName,
    },
    Approval {
        title: String,
    },
    /// The end of a child execution.
    Child {
        child: ExecutionId,
    },
    /// The next try of a failed task.
    Retry {
        due_at: Timestamp,
    },
    /// A slot of a limit.
    Slot {
        limit: LimitName,
        command: CommandId,
        /// The place in the queue, from 1 on, if it is known.
        place: Option<u64>,
    },
}

/// A pool without a worker for which commands of an execution wait; the text tells how to help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnservedWait {
    pub pool: Pool,
    /// The number of commands of the execution that wait.
    pub commands: u64,
    /// The time that the oldest of them has waited.
    pub waited: Duration,
}

/// The pools that have waiting commands and no worker; cached briefly.
#[derive(Default)]
pub(crate) struct UnservedPools {
    known: Mutex<Option<(Instant, Arc<BTreeSet<Pool>>)>>,
    /// The last request for commands of each pool to this server, including workers that do not
    /// register.
    asked: Mutex<BTreeMap<Pool, Instant>>,
}

impl UnservedPools {
    /// Records that a worker asks for commands of a pool.
    pub(crate) fn asked_for(&self, pool: &Pool) {
        let mut asked = self.asked.lock().expect("nothing panics while it holds the pools");
        if asked.len() >= POOLS_MAX {
            asked.retain(|_, at| at.elapsed() < SERVED_FOR);
        }
        if asked.len() < POOLS_MAX {
            asked.insert(pool.clone(), Instant::now());
        }
    }

    fn was_asked_for(&self, pool: &Pool) -> bool {
        let asked = self.asked.lock().expect("nothing panics while it holds the pools");
        asked.get(pool).is_some_and(|at| at.elapsed() < SERVED_FOR)
    }

    async fn look(&self, app: &App) -> Result<Arc<BTreeSet<Pool>>, StoreError> {
        let known = self.known().clone();
        if let Some((_, known)) = known.filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(known);
        }
        let mut found = find(app).await?;
        found.retain(|pool| !self.was_asked_for(pool));
        let found = Arc::new(found);
        *self.known() = Some((Instant::now(), found.clone()));
        Ok(found)
    }

    fn known(&self) -> MutexGuard<'_, Option<(Instant, Arc<BTreeSet<Pool>>)>> {
        self.known.lock().expect("nothing panics while it holds the pools")
    }
}

async fn find(app: &App) -> Result<BTreeSet<Pool>, StoreError> {
    let waiting = app.store().ready_pools().await?;
    let mut waiting: BTreeSet<Pool> =
        waiting.into_iter().filter(|pool| pool.as_str() != Pool::CONTROL).collect();
    if waiting.is_empty() {
        return Ok(waiting);
    }
    let silence = app.worker_silence();
    let (now, workers) = (app.now(), app.records().runtimes(WORKER_KIND).await?);
    for worker in workers.iter().filter(|it| now.since(it.heartbeat) <= silence) {
        match pool_name(worker) {
            Some(name) => waiting.retain(|pool| pool.as_str() != name),
            // The worker may take commands of any pool.
            None => return Ok(BTreeSet::new()),
        }
    }
    Ok(waiting)
}

/// Returns the pool that a worker is registered for.
pub(crate) fn pool_name(worker: &Runtime) -> Option<&str> {
    worker.labels.as_ref()?.get("pool_name")?.as_str()
}

impl App {
    /// Records that a worker asks for commands of a pool.
    pub fn pool_asked_for(&self, pool: &Pool) {
        self.unserved().asked_for(pool);
    }

    /// Returns the pools that have waiting commands and no worker.
    pub(crate) async fn unserved_pools(&self) -> Result<Arc<BTreeSet<Pool>>, StoreError> {
        self.unserved().look(self).await
    }

    /// Returns the reason why a running execution does not advance; `None` if a worker has a command of
    /// it, or can take one.
    pub async fn hint(&self, summary: &Summary) -> Result<Option<WaitHint>, LoadError> {
        if summary.status != ExecutionStatus::Running {
            return Ok(None);
        }
        let execution = summary.execution;
        let unserved = self.unserved().look(self).await;
        let unserved = unserved.map_err(|error| LoadError::of_store(execution, error))?;
        let state = self.control().state_after(execution, summary.seq).await?;
        if let Some(hint) = self.hold_of(&state).await? {
            return Ok(Some(hint));
        }
        let is_unserved = unserved.contains(state.pool());
        // A worker that runs another command of the execution moves it.
        let is_moved =
            state.open_commands().any(|(_, _, holder)| matches!(holder, OpenHolder::Worker(_)));
        if !is_unserved && is_moved {
            return Ok(declared_wait(&state));
        }
        let waiting: Vec<_> = state
            .open_commands()
            .filter(|(_, _, holder)| *holder == OpenHolder::Nobody)
            .map(|(command, _, _)| command)
            .collect();
        let first = waiting.iter().filter_map(|command| state.issued_by(*command)).min();
        let Some(first) = first else { return Ok(declared_wait(&state)) };
        let events = self.events(execution, Seq(first.0 - 1), 1).await?;
        let since = events.first().map(|recorded| recorded.at);
        let waited = since.map(|since| self.now().since(since)).unwrap_or_default();
        if waited < HINT_AFTER {
            return Ok(None);
        }
        let pool = state.pool().clone();
        if !is_unserved {
            let busy = self.busy_wait(&pool, waited).await;
            let busy = busy.map_err(|error| LoadError::of_store(execution, error))?;
            return Ok(busy.map(WaitHint::Busy));
        }
        let commands = u64::try_from(waiting.len()).unwrap_or(u64::MAX);
        Ok(Some(WaitHint::NoWorker(UnservedWait { pool, commands, waited })))
    }
}

impl App {
    /// Returns what holds an execution back: a pause of it or of its pool, or the queue of a limit,
    /// with its place there.
    async fn hold_of(&self, state: &Execution) -> Result<Option<WaitHint>, LoadError> {
        let execution = state.id();
        let failed = |error| LoadError::of_store(execution, error);
        let hint = declared_wait(state);
        match hint {
            Some(WaitHint::Paused(_)) => return Ok(hint),
            Some(WaitHint::Queued { limit, since, place: _ }) => {
                let place = self.slot_place(&limit, execution, None).await.map_err(failed)?;
                return Ok(Some(WaitHint::Queued { limit, place, since }));
            }
            Some(WaitHint::Declared {
                step,
                since,
                wait: DeclaredWait::Slot { limit, command, place: _ },
            }) => {
                let place = self.slot_place(&limit, execution, Some(command)).await;
                let place = place.map_err(failed)?;
                let wait = DeclaredWait::Slot { limit, command, place };
                return Ok(Some(WaitHint::Declared { step, since, wait }));
            }
            Some(
                WaitHint::NoWorker(_)
                | WaitHint::Busy(_)
                | WaitHint::PoolPaused { .. }
                | WaitHint::Declared { .. },
            )
            | None => {}
        }
        let waits = state.open_commands().any(|(_, _, holder)| holder == OpenHolder::Nobody);
        if !waits {
            return Ok(None);
        }
        let pauses = self.control().pauses().await.map_err(failed)?;
        let pool = state.pool();
        let paused = pauses
            .into_iter()
            .find(|row| row.kind == PausedKind::Pool && row.name == pool.as_str());
        Ok(paused.map(|row| WaitHint::PoolPaused {
            pool: pool.clone(),
            actor: row.actor,
            since: row.since,
        }))
    }

    pub(crate) async fn slot_place(
        &self,
        limit: &LimitName,
        execution: ExecutionId,
        command: Option<CommandId>,
    ) -> Result<Option<u64>, StoreError> {
        self.store().slot_place(&SlotKey { limit: limit.clone(), execution, command }).await
    }
}

/// Returns the pause or the queue that holds an execution back, otherwise the callback, time, signal,
/// approval, slot, child or retry that it has waited for longest, if no command waits for a worker.
pub(crate) fn declared_wait(state: &Execution) -> Option<WaitHint> {
    if let Some(pause) = state.pause() {
        return Some(WaitHint::Paused(pause.clone()));
    }
    if let Some(slot) = state.slot(None).filter(|slot| slot.granted_at.is_none()) {
        let (limit, since) = (slot.limit.name.clone(), slot.asked_at);
        return Some(WaitHint::Queued { limit, place: None, since });
    }
    let mut longest: Option<(Timestamp, &StepName, DeclaredWait)> = None;
    for part in state.open_parts() {
        let (step, since, wait) = match part {
            OpenPart::Command(CommandView { command, step, waits_for, .. }) => match waits_for {
                CommandWait::Slot(slot) => {
                    let limit = slot.limit.name.clone();
                    (step, slot.asked_at, DeclaredWait::Slot { limit, command, place: None })
                }
                CommandWait::Resumption(_) => continue,
                CommandWait::Callback { since, .. } => (step, since, DeclaredWait::Callback),
                CommandWait::Condition { condition, since, .. } => {
                    (step, since, DeclaredWait::from(condition))
                }
                CommandWait::Approval { request, since, .. } => {
                    (step, since, DeclaredWait::Approval { title: request.title.clone() })
                }
                CommandWait::Child { execution, since, .. } => {
                    (step, since, DeclaredWait::Child { child: execution })
                }
                CommandWait::Worker | CommandWait::Report { .. } => return None,
            },
            OpenPart::Retry { step: Some(step), since, due_at, .. } => {
                (step, since, DeclaredWait::Retry { due_at })
            }
            OpenPart::Retry { step: None, .. } => return None,
            OpenPart::TimeLimit { .. } | OpenPart::Join { .. } => continue,
        };
        let this = (since, step, wait);
        longest = Some(match longest {
            Some(before) if before <= this => before,
            Some(_) | None => this,
        });
    }
    longest.map(|(since, step, wait)| WaitHint::Declared { step: step.clone(), since, wait })
}

impl From<&WaitCondition> for DeclaredWait {
    fn from(condition: &WaitCondition) -> Self {
        match condition {
            WaitCondition::Time { until } => Self::Time { until: *until },
            WaitCondition::Signal { name, .. } => Self::Signal { name: name.clone() },
        }
    }
}

impl fmt::Display for WaitHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitHint::NoWorker(wait) => wait.fmt(f),
            WaitHint::Busy(wait) => wait.fmt(f),
            WaitHint::Paused(pause) => paused(f, pause),
            WaitHint::PoolPaused { pool, actor: Some(actor), since } => {
                write!(f, "Pool `{pool}` is paused by {actor} since {since}.")
            }
            WaitHint::PoolPaused { pool, actor: None, since } => {
                write!(f, "Pool `{pool}` is paused since {since}.")
            }
            WaitHint::Queued { limit, place: Some(place), since } => {
                let place = Ordinal(*place);
                write!(f, "{place} in the queue of limit `{limit}` since {since}.")
            }
            WaitHint::Queued { limit, place: None, since } => {
                write!(f, "Waiting in the queue of limit `{limit}` since {since}.")
            }
            WaitHint::Declared { step, since, wait: DeclaredWait::Slot { limit, place, .. } } => {
                match place {
                    Some(place) => {
                        let place = Ordinal(*place);
                        write!(
                            f,
                            "Step `{step}` is {place} in the queue of limit `{limit}` since {since}."
                        )
                    }
                    None => {
                        write!(
                            f,
                            "Step `{step}` waits in the queue of limit `{limit}` since {since}."
                        )
                    }
                }
            }
            WaitHint::Declared { step, since, wait: DeclaredWait::Callback } => {
                write!(f, "Waiting for the callback of step `{step}` since {since}.")
            }
            WaitHint::Declared { step, since: _, wait: DeclaredWait::Time { until } } => {
                write!(f, "Step `{step}` waits until {until}.")
            }
            WaitHint::Declared { step, since, wait: DeclaredWait::Signal { name } } => {
                write!(f, "Step `{step}` waits for signal `{name}` since {since}.")
            }
            WaitHint::Declared { step: _, since, wait: DeclaredWait::Approval { title } } => {
                write!(f, "Waiting for approval `{title}` since {since}.")
            }
            WaitHint::Declared { step, since, wait: DeclaredWait::Child { child } } => {
                write!(f, "Step `{step}` waits for the child execution {child} since {since}.")
            }
            WaitHint::Declared { step, since: _, wait: DeclaredWait::Retry { due_at } } => {
                write!(f, "Step `{step}` is tried again at {due_at}.")
            }
        }
    }
}

fn paused(f: &mut fmt::Formatter<'_>, pause: &Pause) -> fmt::Result {
    let what = match pause.scope {
        PauseScope::Execution => "Paused",
        PauseScope::Playbook => "Playbook paused",
        PauseScope::Parent => "Parent paused",
    };
    write!(f, "{what}")?;
    if let Some(actor) = &pause.actor {
        write!(f, " by {actor}")?;
    }
    write!(f, " since {}", pause.since)?;
    match &pause.reason {
        Some(reason) => write!(f, ": {reason}"),
        None => write!(f, "."),
    }
}

/// A place in a queue: `1st`, `2nd`, `3rd`, `4th`.
pub struct Ordinal(pub u64);

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match (self.0 % 10, self.0 % 100) {
            (1, tens) if tens != 11 => "st",
            (2, tens) if tens != 12 => "nd",
            (3, tens) if tens != 13 => "rd",
            (_, _) => "th",
        };
        write!(f, "{}{end}", self.0)
    }
}

impl fmt::Display for UnservedWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, commands, waited } = self;
        let commands = match commands {
            1 => "1 command has".to_owned(),
            count => format!("{count} commands have"),
        };
        let waited = ShortTime(*waited);
        write!(
            f,
            "No worker is connected for pool `{pool}`; {commands} been waiting for {waited}. Start \
             one with `noetl worker --pool {pool}`."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(commands: u64, seconds: u64, expected: &str) {
        let (pool, waited) = (Pool::new("gpu"), Duration::from_secs(seconds));
        let hint = UnservedWait { pool, commands, waited }.to_string();
        let (hint, _) = hint.split_once(". ").expect("two sentences");
        assert_eq!(hint, format!("No worker is connected for pool `gpu`; {expected}"));
    }

    #[test]
    fn places_are_ordinal_numbers() {
        let places = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(|place| Ordinal(place).to_string());
        let expected =
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"];
        assert_eq!(places, expected);
    }

    #[test]
    fn a_hint_says_how_many_wait_and_for_how_long() {
        check(1, 7, "1 command has been waiting for 7 s");
        check(3, 121, "3 commands have been waiting for 2 min");
        check(3, 3 * 3600, "3 commands have been waiting for 3 h");
    }
}
