//! Workers that wait: a command issued while one does is handed to it in the commit that issues it.
//!
//! Invariants: a place is filled only with a lease that is durable, or given back; a worker is not
//! handed more than it has room for; what nobody is there to receive any more can be leased again at
//! once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_bus::Hint;
use noetl_engine::{Decision, Input, decide, handed_over, lease_of};
use noetl_model::{Attempt, CommandId, Event, Lease, Pool, Recorded, WorkerId};
use noetl_playbook::Playbook;
use noetl_store::Held;
use tokio::sync::Notify;

use crate::Control;
use crate::draft::Draft;
use crate::error::{Damage, LoadError};

/// The workers that wait, by pool, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Vacancies {
    pools: Mutex<BTreeMap<Pool, VecDeque<Arc<Vacancy>>>>,
}

/// A worker that waits.
#[derive(Debug)]
struct Vacancy {
    pool: Pool,
    worker: WorkerId,
    places: Mutex<Places>,
    changed: Notify,
}

#[derive(Debug)]
struct Places {
    /// How many more may be taken; none once the worker has been given something.
    free: usize,
    /// Taken by turns that are not written yet.
    taken: usize,
    filled: Vec<Lease>,
}

impl Vacancy {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().expect("nothing panics while it holds the places")
    }

    /// Waits until `holds` is true of the places.
    async fn wait(&self, holds: impl Fn(&Places) -> bool) {
        loop {
            let changed = self.changed.notified();
            if holds(&self.places()) {
                return;
            }
            changed.await;
        }
    }
}

impl Vacancies {
    /// Takes a place at the worker that has waited longest in a pool.
    fn take(&self, pool: &Pool) -> Option<Place> {
        let pools = self.pools();
        pools.get(pool)?.iter().find_map(|vacancy| {
            let mut places = vacancy.places();
            places.free = places.free.checked_sub(1)?;
            places.taken += 1;
            Some(Place { vacancy: Arc::clone(vacancy) })
        })
    }

    /// The pools in which a worker waits.
    pub(crate) fn awaited(&self) -> Vec<Pool> {
        self.pools().keys().cloned().collect()
    }

    fn remove(&self, vacancy: &Arc<Vacancy>) {
        let mut pools = self.pools();
        if let Some(waiting) = pools.get_mut(&vacancy.pool) {
            waiting.retain(|other| !Arc::ptr_eq(other, vacancy));
            if waiting.is_empty() {
                pools.remove(&vacancy.pool);
            }
        }
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<Pool, VecDeque<Arc<Vacancy>>>> {
        self.pools.lock().expect("nothing panics while it holds the vacancies")
    }
}

/// A place at a worker that waits; dropped, it is free again.
#[derive(Debug)]
struct Place {
    vacancy: Arc<Vacancy>,
}

impl Place {
    fn fill(self, lease: Lease) {
        let mut places = self.vacancy.places();
        places.filled.push(lease);
        // Nothing more is taken, so that what is there is not kept waiting for it.
        places.free = 0;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.vacancy.places();
        places.taken -= 1;
        if places.filled.is_empty() {
            places.free += 1;
        }
        drop(places);
        self.vacancy.changed.notify_waiters();
    }
}

/// A lease that is the worker's once it is written.
#[derive(Debug)]
pub(crate) struct Grant {
    place: Place,
    lease: Lease,
}

impl Grant {
    /// It is durable.
    pub(crate) fn deliver(self) {
        self.place.fill(self.lease);
    }
}

/// The command that a worker goes on with.
pub(crate) enum Next {
    /// Handed over with this turn.
    Handed(Lease),
    /// Handed over when the same report was applied.
    HandedBefore(Lease),
}

/// A worker's wait, as the worker's request holds it.
pub(crate) struct Waiting<'a> {
    control: &'a Control,
    vacancy: Option<Arc<Vacancy>>,
}

impl Waiting<'_> {
    /// Waits until something has been handed over.
    pub(crate) async fn filled(&self) {
        match &self.vacancy {
            Some(vacancy) => vacancy.wait(|places| !places.filled.is_empty()).await,
            None => std::future::pending().await,
        }
    }

    /// Ends the wait: what has been handed over, what is being written included.
    pub(crate) async fn close(mut self) -> Vec<Lease> {
        let Some(vacancy) = &self.vacancy else { return Vec::new() };
        let leases = self.control.leave(vacancy).await;
        self.vacancy = None;
        leases
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(vacancy) = self.vacancy.take() else { return };
        let control = self.control.clone();
        self.control.parts.vacancies.remove(&vacancy);
        self.control.parts.tasks.spawn(async move {
            let leases = control.leave(&vacancy).await;
            control.give_back(&leases).await;
        });
    }
}

#[cfg(test)]
impl Control {
    /// Whether a worker waits in a pool.
    pub(crate) fn is_awaited(&self, pool: &Pool) -> bool {
        self.parts.vacancies.pools().contains_key(pool)
    }
}

impl Control {
    /// Lets a worker wait for up to `room` commands of a pool.
    pub(crate) fn wait_in(&self, pool: &Pool, worker: &WorkerId, room: usize) -> Waiting<'_> {
        let vacancy = Arc::new(Vacancy {
            pool: pool.clone(),
            worker: worker.clone(),
            places: Mutex::new(Places { free: room, taken: 0, filled: Vec::new() }),
            changed: Notify::new(),
        });
        let mut pools = self.parts.vacancies.pools();
        pools.entry(pool.clone()).or_default().push_back(Arc::clone(&vacancy));
        drop(pools);
        Waiting { control: self, vacancy: Some(vacancy) }
    }

    async fn leave(&self, vacancy: &Arc<Vacancy>) -> Vec<Lease> {
        self.parts.vacancies.remove(vacancy);
        vacancy.wait(|places| places.taken == 0).await;
        std::mem::take(&mut vacancy.places().filled)
    }

    /// Ends leases that nobody has received.
    pub(crate) async fn give_back(&self, leases: &[Lease]) {
        if leases.is_empty() {
            return;
        }
        let held: Vec<Held> = leases
            .iter()
            .map(|lease| Held {
                execution: lease.execution,
                command: lease.command,
                attempt: lease.attempt,
            })
            .collect();
        match self.parts.store.extend(&held, Duration::ZERO).await {
            Ok(_) => self.parts.bus.publish(Hint::LookAgain).await,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "leases not given back; they will run out");
            }
        }
    }

    /// Hands what a draft issues to workers that wait, as far as there are any.
    pub(crate) async fn grant(
        &self,
        draft: &mut Draft,
        playbook: &Playbook,
    ) -> Result<Vec<Grant>, LoadError> {
        let issued: Vec<(CommandId, Pool)> =
            issued(draft.events()).map(|(command, pool)| (command, pool.clone())).collect();
        let mut grants = Vec::new();
        for (command, pool) in issued {
            if draft.state.is_held(command) {
                continue;
            }
            let Some(place) = self.parts.vacancies.take(&pool) else { continue };
            let worker = &place.vacancy.worker;
            if let Some(lease) = self.claim_for((worker, None), command, draft, playbook).await? {
                grants.push(Grant { place, lease });
            }
        }
        Ok(grants)
    }

    /// Hands the worker that reports and has room the first command of a pool among the events that a
    /// draft has from `next` on, or the one it was handed before if the report is a repetition; nothing if
    /// there is none, or if it is another execution's turn: one
    /// with several open commands does not go on while others wait.
    pub(crate) async fn go_on(
        &self,
        input: &Input,
        next: Option<(usize, &Pool)>,
        draft: &mut Draft,
        playbook: &Playbook,
    ) -> Result<Option<Next>, LoadError> {
        let (Input::Report { worker, command: reported, .. }, Some((begun, wanted))) =
            (input, next)
        else {
            return Ok(None);
        };
        if draft.events().len() == begun {
            // The report was applied before, and its answer may have been lost.
            let held = handed_over(&draft.state, *reported, worker);
            let lease = held.and_then(|held| lease_of(&draft.state, playbook, held));
            return Ok(lease.map(Next::HandedBefore));
        }
        let found = issued(&draft.events()[begun..]).find(|(_, pool)| *pool == wanted);
        let Some((command, _)) = found else { return Ok(None) };
        let is_wide = draft.state.open_commands().nth(1).is_some();
        if is_wide && self.parts.rounds.others_wait(wanted, draft.state.id()) {
            return Ok(None);
        }
        let after = Some(*reported);
        let lease = self.claim_for((worker, after), command, draft, playbook).await?;
        Ok(lease.map(Next::Handed))
    }

    /// Drafts the claim of a command for a worker; nothing if it cannot be claimed.
    async fn claim_for(
        &self,
        (worker, after): (&WorkerId, Option<CommandId>),
        command: CommandId,
        draft: &mut Draft,
        playbook: &Playbook,
    ) -> Result<Option<Lease>, LoadError> {
        let claim = Input::Claim {
            command,
            attempt: Attempt(1),
            worker: worker.clone(),
            lease: self.parts.settings.lease,
            after,
        };
        let decision =
            self.decide_on(draft, playbook, |state, given| decide(state, &claim, given)).await?;
        let events = match decision {
            Decision::Accepted(events) => events,
            // The same draft has cancelled it.
            Decision::Refused { refusal: _, recorded: _ } => return Ok(None),
        };
        for event in events {
            draft.record(event, playbook, &self.parts.stamps).map_err(|illegal| {
                LoadError::damaged(draft.state.id(), Damage::Illegal(illegal))
            })?;
        }
        Ok(lease_of(&draft.state, playbook, command))
    }
}

/// The commands that events issue, each with its pool.
pub(crate) fn issued(events: &[Recorded]) -> impl Iterator<Item = (CommandId, &Pool)> {
    events.iter().filter_map(|recorded| {
        let Event::CommandIssued { command, pool, .. } = &recorded.event else { return None };
        Some((*command, pool))
    })
}
