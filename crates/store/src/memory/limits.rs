//! In-memory pauses and limits.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use noetl_model::{
    CatalogId, GrantRule, LimitAmount, LimitName, LimitState, SlotDecision, Timestamp,
};

use super::MemoryStore;
use crate::{
    LIMIT_QUEUE_MAX, LimitChanges, LimitFigures, LimitOutcome, PAGE_MAX, PauseProgress, PauseRow,
    PausedKind, SlotKey, SlotRow, StoreError,
};

#[derive(Clone, Default)]
pub(super) struct LimitTable {
    limits: BTreeMap<LimitName, MemoryLimit>,
}

#[derive(Clone)]
struct MemoryLimit {
    amount: LimitAmount,
    defined_by: CatalogId,
    full_at: Timestamp,
    next_at: Option<Timestamp>,
    slots: BTreeMap<SlotKey, MemorySlot>,
}

#[derive(Clone)]
struct MemorySlot {
    row: SlotRow,
    is_answered: bool,
}

impl MemoryLimit {
    fn held(&self) -> Vec<&SlotRow> {
        let rows = self.slots.values().map(|slot| &slot.row);
        let mut held: Vec<&SlotRow> = rows.filter(|row| row.granted_at.is_some()).collect();
        held.sort_by_key(|row| (row.granted_at, &row.key));
        held
    }

    fn queue(&self) -> Vec<&SlotRow> {
        let rows = self.slots.values().map(|slot| &slot.row);
        let mut queue: Vec<&SlotRow> = rows.filter(|row| row.granted_at.is_none()).collect();
        queue.sort_by_key(|row| (Reverse(row.priority), row.asked_at, &row.key));
        queue
    }

    fn figures(&self, name: &LimitName) -> LimitFigures {
        let count = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
        let queue = self.queue();
        LimitFigures {
            name: name.clone(),
            amount: self.amount,
            holders: count(self.held().len()),
            queued: count(queue.len()),
            oldest_at: queue.iter().map(|row| row.asked_at).min(),
        }
    }

    fn apply(&mut self, rule: GrantRule, now: Timestamp) -> LimitOutcome {
        let head: Vec<SlotRow> = self.queue().into_iter().take(LIMIT_QUEUE_MAX).cloned().collect();
        let held: Vec<SlotRow> = self.held().into_iter().cloned().collect();
        let count = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
        let holders = count(held.len());
        let ending = count(held.iter().filter(|row| row.is_ending).count());
        let queue = head.iter().map(|row| row.on_conflict).collect();
        let (amount, full_at, due_at) = (self.amount, self.full_at, self.next_at);
        let decision = rule(&LimitState { amount, holders, ending, queue, full_at, due_at, now });
        let is_cut = head.len() == LIMIT_QUEUE_MAX;
        let mut outcome =
            LimitOutcome { next_at: decision.next_at, is_cut, ..LimitOutcome::default() };
        for (row, decided) in head.into_iter().zip(&decision.requests) {
            match decided {
                SlotDecision::Granted => {
                    if let Some(slot) = self.slots.get_mut(&row.key) {
                        slot.row.granted_at = Some(now);
                    }
                    outcome.granted.push(row.key);
                }
                SlotDecision::Denied => {
                    self.slots.remove(&row.key);
                    outcome.denied.push(row.key);
                }
                SlotDecision::Waits => {}
            }
        }
        let end = usize::try_from(decision.end).unwrap_or(usize::MAX);
        for row in held.iter().filter(|row| !row.is_ending).take(end) {
            if let Some(slot) = self.slots.get_mut(&row.key) {
                (slot.row.is_ending, slot.is_answered) = (true, false);
            }
            outcome.ending.push(row.key.clone());
        }
        (self.full_at, self.next_at) = (decision.full_at, decision.next_at);
        outcome.holders = holders.saturating_add(count(outcome.granted.len()));
        outcome
    }
}

impl LimitTable {
    fn change(&mut self, changes: &LimitChanges, rule: GrantRule, now: Timestamp) -> LimitOutcome {
        for request in changes.requests() {
            let limit = self.limits.entry(request.limit.name.clone()).or_insert(MemoryLimit {
                amount: request.limit.amount,
                defined_by: request.defined_by,
                full_at: Timestamp::from_micros(0),
                next_at: None,
                slots: BTreeMap::new(),
            });
            if limit.defined_by < request.defined_by {
                (limit.amount, limit.defined_by) = (request.limit.amount, request.defined_by);
            }
            let key = request.key();
            let row = SlotRow {
                key: key.clone(),
                priority: request.priority,
                on_conflict: request.on_conflict,
                asked_at: request.asked_at,
                granted_at: None,
                is_ending: false,
            };
            limit.slots.entry(key).or_insert(MemorySlot { row, is_answered: false });
        }
        let name = changes.limit();
        let Some(limit) = self.limits.get_mut(name) else { return LimitOutcome::default() };
        for key in changes.releases() {
            limit.slots.remove(key);
        }
        let outcome = limit.apply(rule, now);
        if limit.slots.is_empty() && name.as_str().starts_with("playbook:") {
            self.limits.remove(name);
        }
        outcome
    }

    fn slots(&self) -> impl Iterator<Item = &MemorySlot> {
        self.limits.values().flat_map(|limit| limit.slots.values())
    }
}

impl MemoryStore {
    pub(crate) async fn put_pause(&self, pause: &PauseRow) -> Result<PauseRow, StoreError> {
        let mut tables = self.lock();
        let key = (pause.kind, pause.name.clone());
        let kept = match tables.pauses.get(&key) {
            Some(known) if known.progress.stops_work() || !pause.progress.stops_work() => {
                let PauseRow { kind, name, progress: _, actor, reason, since, .. } = known.clone();
                PauseRow { kind, name, actor, reason, since, ..pause.clone() }
            }
            Some(_) | None => pause.clone(),
        };
        tables.pauses.insert(key, kept.clone());
        Ok(kept)
    }

    pub(crate) async fn settle_pause(&self, pause: &PauseRow) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let key = (pause.kind, pause.name.clone());
        let Some(known) = tables.pauses.get_mut(&key) else { return Ok(false) };
        if (known.since, known.progress) != (pause.since, pause.progress) {
            return Ok(false);
        }
        match pause.progress {
            PauseProgress::Pausing => known.progress = PauseProgress::Paused,
            PauseProgress::Resuming => drop(tables.pauses.remove(&key)),
            PauseProgress::Paused => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) async fn remove_pause(
        &self,
        kind: PausedKind,
        name: &str,
    ) -> Result<bool, StoreError> {
        Ok(self.lock().pauses.remove(&(kind, name.to_owned())).is_some())
    }

    pub(crate) async fn pauses(
        &self,
        after: Option<&PauseRow>,
        limit: usize,
    ) -> Result<Vec<PauseRow>, StoreError> {
        let after = after.map(|row| (row.kind, row.name.clone()));
        let tables = self.lock();
        let rows =
            tables.pauses.iter().filter(|(key, _)| after.as_ref().is_none_or(|it| *key > it));
        Ok(rows.map(|(_, row)| row.clone()).take(limit.min(PAGE_MAX)).collect())
    }

    pub(crate) async fn change_limit(
        &self,
        changes: &LimitChanges,
        rule: GrantRule,
    ) -> Result<LimitOutcome, StoreError> {
        let now = self.clock.now();
        Ok(self.lock().limits.change(changes, rule, now))
    }

    pub(crate) async fn acknowledge_slots(&self, slots: &[SlotKey]) -> Result<(), StoreError> {
        let mut tables = self.lock();
        for key in slots {
            let Some(limit) = tables.limits.limits.get_mut(&key.limit) else { continue };
            if let Some(slot) = limit.slots.get_mut(key) {
                slot.is_answered = true;
            }
        }
        Ok(())
    }

    pub(crate) async fn due_limits(&self, limit: usize) -> Result<Vec<LimitName>, StoreError> {
        let now = self.clock.now();
        let tables = self.lock();
        let due = tables.limits.limits.iter().filter_map(|(name, limit)| {
            limit.next_at.filter(|at| *at <= now).map(|at| (at, name.clone()))
        });
        let mut due: Vec<_> = due.collect();
        due.sort();
        Ok(due.into_iter().take(limit.min(PAGE_MAX)).map(|(_, name)| name).collect())
    }

    pub(crate) async fn next_limit(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().limits.limits.values().filter_map(|limit| limit.next_at).min())
    }

    pub(crate) async fn unanswered_slots(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<SlotRow>, StoreError> {
        let tables = self.lock();
        let rows = tables.limits.slots().filter(|slot| !slot.is_answered).map(|slot| &slot.row);
        let mut rows: Vec<SlotRow> =
            rows.filter(|row| row.granted_at.is_some_and(|at| at < before)).cloned().collect();
        rows.sort_by_key(|row| row.granted_at);
        rows.truncate(limit.min(PAGE_MAX));
        Ok(rows)
    }

    pub(crate) async fn held_slots(
        &self,
        after: Option<&SlotKey>,
        limit: usize,
    ) -> Result<Vec<SlotRow>, StoreError> {
        let tables = self.lock();
        let held = tables.limits.slots().map(|slot| &slot.row);
        let held = held.filter(|row| row.granted_at.is_some());
        let held = held.filter(|row| after.is_none_or(|after| row.key > *after));
        Ok(held.take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn limits(
        &self,
        after: Option<&LimitName>,
        limit: usize,
    ) -> Result<Vec<LimitFigures>, StoreError> {
        let tables = self.lock();
        let limits = tables.limits.limits.iter();
        let limits = limits.filter(|(name, _)| after.is_none_or(|after| *name > after));
        let figures = limits.map(|(name, limit)| limit.figures(name));
        Ok(figures.take(limit.min(PAGE_MAX)).collect())
    }

    pub(crate) async fn limit(&self, name: &LimitName) -> Result<Option<LimitFigures>, StoreError> {
        Ok(self.lock().limits.limits.get(name).map(|limit| limit.figures(name)))
    }

    pub(crate) async fn slot_holders(
        &self,
        name: &LimitName,
        limit: usize,
    ) -> Result<Vec<SlotRow>, StoreError> {
        let tables = self.lock();
        let held = tables.limits.limits.get(name).map(MemoryLimit::held).unwrap_or_default();
        Ok(held.into_iter().take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn slot_queue(
        &self,
        name: &LimitName,
        limit: usize,
    ) -> Result<Vec<SlotRow>, StoreError> {
        let tables = self.lock();
        let queue = tables.limits.limits.get(name).map(MemoryLimit::queue).unwrap_or_default();
        Ok(queue.into_iter().take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn known_slots(&self, slots: &[SlotKey]) -> Result<Vec<SlotKey>, StoreError> {
        let tables = self.lock();
        let is_known = |key: &&SlotKey| {
            tables.limits.limits.get(&key.limit).is_some_and(|limit| limit.slots.contains_key(key))
        };
        Ok(slots.iter().filter(is_known).cloned().collect())
    }

    pub(crate) async fn slot_place(&self, key: &SlotKey) -> Result<Option<u64>, StoreError> {
        let tables = self.lock();
        let queue = tables.limits.limits.get(&key.limit).map(MemoryLimit::queue);
        let place = queue.and_then(|queue| queue.iter().position(|row| row.key == *key));
        Ok(place.and_then(|place| u64::try_from(place + 1).ok()))
    }
}
