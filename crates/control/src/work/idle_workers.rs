//! Waiting workers: a command issued while a worker waits is leased to it in the commit that issues
//! it.
//!
//! Invariants: a slot is filled only with a durable lease, or freed; a worker does not get more
//! commands than it has slots; a lease whose worker is gone can be taken by another at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_bus::Hint;
use noetl_engine::{Decision, Execution, Input, decide, lease_of, leased_with_report};
use noetl_model::{Attempt, CommandId, Event, Held, Lease, LeaseScope, Pool, Recorded, WorkerId};
use noetl_playbook::Playbook;
use tokio::sync::Notify;

use crate::Control;
use crate::error::{Damage, LoadError};
use crate::submit::draft::PendingAppend;
use crate::work::lease::has_leases;

/// The waiting workers by pool, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct IdleWorkers {
    pools: Mutex<BTreeMap<Pool, VecDeque<Arc<IdleWorker>>>>,
}

/// A waiting worker.
#[derive(Debug)]
struct IdleWorker {
    pool: Pool,
    scope: LeaseScope,
    worker: WorkerId,
    places: Mutex<WorkerSlots>,
    changed: Notify,
}

#[derive(Debug)]
struct WorkerSlots {
    /// Slots that may still be reserved; zero once the worker has a lease.
    free: usize,
    /// Slots reserved by batches that are not written yet.
    taken: usize,
    filled: Vec<Lease>,
}

impl IdleWorker {
    fn places(&self) -> MutexGuard<'_, WorkerSlots> {
        self.places.lock().expect("nothing panics while it holds the places")
    }

    /// Waits until `holds` is true of the slots.
    async fn wait(&self, holds: impl Fn(&WorkerSlots) -> bool) {
        loop {
            let changed = self.changed.notified();
            if holds(&self.places()) {
                return;
            }
            changed.await;
        }
    }
}

impl IdleWorkers {
    /// Reserves a slot of the worker that has waited longest in a pool for commands of `state`.
    fn take(&self, pool: &Pool, state: &Execution) -> Option<ReservedSlot> {
        let pools = self.pools();
        let waiting = pools.get(pool)?;
        let in_scope = |scope| waiting.iter().filter(move |idle_worker| idle_worker.scope == scope);
        let mut for_all = in_scope(LeaseScope::All);
        let mut for_idle = in_scope(LeaseScope::Idle);
        for_all.find_map(reserve).or_else(|| {
            for_idle.find_map(|idle_worker| (!has_leases(state)).then(|| reserve(idle_worker))?)
        })
    }

    /// Returns the pools in which a worker waits.
    pub(crate) fn awaited(&self) -> Vec<Pool> {
        self.pools().keys().cloned().collect()
    }

    fn remove(&self, idle_worker: &Arc<IdleWorker>) {
        let mut pools = self.pools();
        if let Some(waiting) = pools.get_mut(&idle_worker.pool) {
            waiting.retain(|other| !Arc::ptr_eq(other, idle_worker));
            if waiting.is_empty() {
                pools.remove(&idle_worker.pool);
            }
        }
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<Pool, VecDeque<Arc<IdleWorker>>>> {
        self.pools.lock().expect("nothing panics while it holds the idle_workers")
    }
}

fn reserve(idle_worker: &Arc<IdleWorker>) -> Option<ReservedSlot> {
    let mut places = idle_worker.places();
    places.free = places.free.checked_sub(1)?;
    places.taken += 1;
    Some(ReservedSlot { idle_worker: Arc::clone(idle_worker) })
}

/// A reserved slot of a waiting worker, freed when dropped.
#[derive(Debug)]
struct ReservedSlot {
    idle_worker: Arc<IdleWorker>,
}

impl ReservedSlot {
    fn fill(self, lease: Lease) {
        let mut places = self.idle_worker.places();
        places.filled.push(lease);
        // No further slots are reserved, so that the worker does not wait for them.
        places.free = 0;
    }
}

impl Drop for ReservedSlot {
    fn drop(&mut self) {
        let mut places = self.idle_worker.places();
        places.taken -= 1;
        if places.filled.is_empty() {
            places.free += 1;
        }
        drop(places);
        self.idle_worker.changed.notify_waiters();
    }
}

/// A lease that is delivered to a waiting worker once it is durable.
#[derive(Debug)]
pub(crate) struct LeaseGrant {
    place: ReservedSlot,
    lease: Lease,
}

impl LeaseGrant {
    /// Delivers the lease after it was committed.
    pub(crate) fn deliver(self) {
        self.place.fill(self.lease);
    }
}

/// The command that a reporting worker continues with.
pub(crate) enum Next {
    /// Leased in this batch.
    Handed(Lease),
    /// Leased when the same report was first applied.
    HandedBefore(Lease),
}

/// The wait of a worker, held by its request.
pub(crate) struct WorkerWait<'a> {
    control: &'a Control,
    idle_worker: Option<Arc<IdleWorker>>,
}

impl WorkerWait<'_> {
    /// Waits until a command has been leased to the worker.
    pub(crate) async fn filled(&self) {
        match &self.idle_worker {
            Some(idle_worker) => idle_worker.wait(|places| !places.filled.is_empty()).await,
            None => std::future::pending().await,
        }
    }

    /// Ends the wait. Returns the leases, including those still being written.
    pub(crate) async fn close(mut self) -> Vec<Lease> {
        let Some(idle_worker) = &self.idle_worker else { return Vec::new() };
        let leases = self.control.leave(idle_worker).await;
        self.idle_worker = None;
        leases
    }
}

impl Drop for WorkerWait<'_> {
    fn drop(&mut self) {
        let Some(idle_worker) = self.idle_worker.take() else { return };
        let control = self.control.clone();
        self.control.parts.idle_workers.remove(&idle_worker);
        self.control.parts.tasks.spawn(async move {
            let leases = control.leave(&idle_worker).await;
            control.give_back(&leases).await;
        });
    }
}

#[cfg(test)]
impl Control {
    /// True if a worker waits in the pool.
    pub(crate) fn is_awaited(&self, pool: &Pool) -> bool {
        self.parts.idle_workers.pools().contains_key(pool)
    }
}

impl Control {
    /// Registers a worker that waits for up to `room` commands of a pool.
    pub(crate) fn wait_in(
        &self,
        pool: &Pool,
        scope: LeaseScope,
        worker: &WorkerId,
        room: usize,
    ) -> WorkerWait<'_> {
        let idle_worker = Arc::new(IdleWorker {
            pool: pool.clone(),
            scope,
            worker: worker.clone(),
            places: Mutex::new(WorkerSlots { free: room, taken: 0, filled: Vec::new() }),
            changed: Notify::new(),
        });
        let mut pools = self.parts.idle_workers.pools();
        pools.entry(pool.clone()).or_default().push_back(Arc::clone(&idle_worker));
        drop(pools);
        WorkerWait { control: self, idle_worker: Some(idle_worker) }
    }

    async fn leave(&self, idle_worker: &Arc<IdleWorker>) -> Vec<Lease> {
        self.parts.idle_workers.remove(idle_worker);
        idle_worker.wait(|places| places.taken == 0).await;
        std::mem::take(&mut idle_worker.places().filled)
    }

    /// Ends leases that were not received.
    pub(crate) async fn give_back(&self, leases: &[Lease]) {
        if leases.is_empty() {
            return;
        }
        let held: Vec<Held> = leases.iter().map(Held::from).collect();
        match self.parts.store.extend(&held, Duration::ZERO).await {
            Ok(_) => self.parts.bus.publish(Hint::LookAgain).await,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "cannot release leases; they will expire");
            }
        }
    }

    /// Leases the commands that become ready in a draft to waiting workers, as far as there are any.
    pub(crate) async fn grant(
        &self,
        draft: &mut PendingAppend,
        playbook: &Playbook,
    ) -> Result<Vec<LeaseGrant>, LoadError> {
        let ready: Vec<(CommandId, Pool)> = became_ready(draft).collect();
        let mut grants = Vec::new();
        for (command, pool) in ready {
            let is_free = !draft.state.is_held(command) && !draft.state.is_blocked(command);
            if !is_free || !self.may_lease_at_once(&pool).await {
                continue;
            }
            let Some(place) = self.parts.idle_workers.take(&pool, &draft.state) else { continue };
            let worker = &place.idle_worker.worker;
            if let Some(lease) = self.claim_for((worker, None), command, draft, playbook).await? {
                grants.push(LeaseGrant { place, lease });
            }
        }
        Ok(grants)
    }

    /// Leases a following command to the reporting worker: the first one of the pool issued in the
    /// draft from `next` on or, for a repeated report, the one leased before. Returns `None` if
    /// there is none, or if the execution has several open commands and other executions wait.
    pub(crate) async fn go_on(
        &self,
        input: &Input,
        next: Option<(usize, &Pool)>,
        draft: &mut PendingAppend,
        playbook: &Playbook,
    ) -> Result<Option<Next>, LoadError> {
        let (Input::Report { worker, command: reported, .. }, Some((begun, wanted))) =
            (input, next)
        else {
            return Ok(None);
        };
        if draft.events().len() == begun {
            // The report was applied before, and its answer may have been lost.
            let held = leased_with_report(&draft.state, *reported, worker);
            let lease = held.and_then(|held| lease_of(&draft.state, playbook, held));
            return Ok(lease.map(Next::HandedBefore));
        }
        let found = issued(&draft.events()[begun..])
            .find(|(command, pool)| *pool == wanted && !draft.state.is_blocked(*command));
        let Some((command, _)) = found else { return Ok(None) };
        let is_wide = draft.state.open_commands().nth(1).is_some();
        let own = (draft.state.id(), draft.state.priority());
        let yields = self.parts.round_robin.yields_slot(wanted, own, is_wide);
        if yields || !self.may_lease_at_once(wanted).await {
            return Ok(None);
        }
        let after = Some(*reported);
        let lease = self.claim_for((worker, after), command, draft, playbook).await?;
        Ok(lease.map(Next::Handed))
    }

    /// Drafts the claim of a command for a worker; `None` if it cannot be claimed.
    async fn claim_for(
        &self,
        (worker, after): (&WorkerId, Option<CommandId>),
        command: CommandId,
        draft: &mut PendingAppend,
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
            // The same draft has cancelled the command.
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

/// Returns the commands that a draft issues, or for which it records the slot that they waited for.
fn became_ready(draft: &PendingAppend) -> impl Iterator<Item = (CommandId, Pool)> {
    draft.events().iter().filter_map(|recorded| {
        if let Event::CommandIssued { command, pool, .. } = &recorded.event {
            return Some((*command, pool.clone()));
        }
        let Event::SlotGranted { command: Some(command), .. } = &recorded.event else {
            return None;
        };
        let open = draft.state.open_command(*command)?;
        Some((*command, open.pool.clone()))
    })
}

/// Returns the commands that events issue, with their pools.
pub(crate) fn issued(events: &[Recorded]) -> impl Iterator<Item = (CommandId, &Pool)> {
    events.iter().filter_map(|recorded| {
        let Event::CommandIssued { command, pool, .. } = &recorded.event else { return None };
        Some((*command, pool))
    })
}
