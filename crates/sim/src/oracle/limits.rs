//! The rule of limits: never more holders than slots, by the logs of all executions.

use std::collections::BTreeMap;

use noetl_model::{
    CommandId, Event, ExecutionId, LimitAmount, LimitName, Recorded, Timestamp, WorkChange,
};

use super::StoredExecution;

/// The times at which a slot was granted and given back.
struct HeldSlot {
    limit: LimitName,
    from: Timestamp,
    until: Timestamp,
}

/// Checks that no limit ever had more holders than slots. Returns the number of grants.
pub(super) fn check(found: &BTreeMap<ExecutionId, StoredExecution>) -> Result<u64, String> {
    let mut maxima: BTreeMap<LimitName, u32> = BTreeMap::new();
    let mut changes: BTreeMap<LimitName, Vec<(Timestamp, i32)>> = BTreeMap::new();
    let mut grants = 0;
    for known in found.values() {
        for slot in slots(&known.log, &mut maxima) {
            grants += 1;
            let changes = changes.entry(slot.limit).or_default();
            changes.extend([(slot.from, 1), (slot.until, -1)]);
        }
    }
    for (limit, mut changes) in changes {
        // At the same time, a slot is given back before it is granted again.
        changes.sort();
        let max = i32::try_from(maxima[&limit]).expect("a limit is small");
        let mut holders = 0;
        for (at, change) in changes {
            holders += change;
            if holders > max {
                return Err(format!("limit {limit} has {holders} holders at {at}, not {max}"));
            }
        }
    }
    Ok(grants)
}

/// Returns the slots that an execution has held, without those of the execution it is forked from.
fn slots(log: &[Recorded], maxima: &mut BTreeMap<LimitName, u32>) -> Vec<HeldSlot> {
    let mut open: BTreeMap<Option<CommandId>, (LimitName, Timestamp)> = BTreeMap::new();
    let mut held = Vec::new();
    for recorded in log {
        let at = recorded.at;
        if let Event::SlotRequested { limit, .. } = &recorded.event
            && let LimitAmount::Slots { max } = limit.amount
        {
            maxima.insert(limit.name.clone(), max);
        } else if let Event::SlotGranted { command, limit } = &recorded.event
            && maxima.contains_key(limit)
        {
            open.insert(*command, (limit.clone(), at));
        } else if let Event::ExecutionForked { .. } = &recorded.event {
            open.clear();
            held.clear();
        }
        let ended: Vec<Option<CommandId>> = match recorded.event.work_change() {
            Some(WorkChange::CommandEnded { command, .. }) => vec![Some(command)],
            Some(WorkChange::ExecutionEnded(_)) => open.keys().copied().collect(),
            Some(
                WorkChange::StepEntered { .. }
                | WorkChange::StepEnded { .. }
                | WorkChange::CommandIssued { .. }
                | WorkChange::SlotRequested { .. }
                | WorkChange::SlotGranted { .. }
                | WorkChange::CommandHeld { .. }
                | WorkChange::ItemEnded { .. }
                | WorkChange::RetryDelayed { .. }
                | WorkChange::TimerEnded { .. },
            )
            | None => Vec::new(),
        };
        for command in ended {
            if let Some((limit, from)) = open.remove(&command) {
                held.push(HeldSlot { limit, from, until: at });
            }
        }
    }
    held
}
