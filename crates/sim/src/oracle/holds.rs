//! The rules of rates, of pauses of the pool and of signals that several waits share, by the times and
//! the order in which the store was changed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use noetl_model::{CommandId, Event, ExecutionId, Recorded};
use tokio::time::Instant;

use super::StoredExecution;
use crate::ledger::LedgerRecords;
use crate::playbooks::{RATE_LIMIT, SHARED_RATE, SHARED_SIGNAL};

/// The longest time from the look at the pauses to the write of a claim: some calls of the store, each
/// with its delays and its deadline.
const CLAIM_MAX: Duration = Duration::from_secs(45);

/// Checks that no window of a rate holds more grants, or more claims, than it allows. Returns the
/// number of claims.
pub(super) fn rates(
    pages: &LedgerRecords,
    found: &BTreeMap<ExecutionId, StoredExecution>,
) -> Result<u64, String> {
    let grants = pages.grants.iter().filter(|(_, limit)| limit.as_str() == RATE_LIMIT);
    // A look that comes late may grant one more.
    let burst = SHARED_RATE.burst + 1;
    window("grants", burst, grants.map(|(at, _)| *at).collect())?;
    let mut seen = BTreeSet::new();
    let rated: BTreeMap<ExecutionId, BTreeSet<CommandId>> =
        found.iter().map(|(execution, known)| (*execution, rated(&known.log))).collect();
    let is_first = |(_, execution, command): &&(Instant, ExecutionId, CommandId)| {
        let is_rated = rated.get(execution).is_some_and(|rated| rated.contains(command));
        is_rated && seen.insert((*execution, *command))
    };
    let claims: Vec<Instant> = pages.claims.iter().filter(is_first).map(|(at, ..)| *at).collect();
    let count = u64::try_from(claims.len()).expect("a count in memory fits");
    // Grants of one second may wait for their workers.
    window("claims", burst + SHARED_RATE.count, claims)?;
    Ok(count)
}

/// Checks that no window holds more than a burst and what the rate adds in its time.
fn window(what: &str, burst: u32, mut times: Vec<Instant>) -> Result<(), String> {
    times.sort();
    for (first, from) in times.iter().enumerate() {
        for (last, until) in times.iter().enumerate().skip(first) {
            let count = f64::from(u32::try_from(last - first + 1).expect("few"));
            let passed = (*until - *from).as_secs_f64();
            let most = f64::from(burst) + f64::from(SHARED_RATE.count) * passed;
            // The store counts microseconds.
            if count > most + 0.001 {
                return Err(format!("{count} {what} in {passed} s, not {most}"));
            }
        }
    }
    Ok(())
}

/// Returns the commands of an execution that begin at the shared rate.
fn rated(log: &[Recorded]) -> BTreeSet<CommandId> {
    let asked = log.iter().filter_map(|recorded| match &recorded.event {
        Event::SlotRequested { command, limit, .. } if limit.name.as_str() == RATE_LIMIT => {
            *command
        }
        _ => None,
    });
    asked.collect()
}

/// Checks that no worker claims a command while the pool is paused.
pub(super) fn pool_pauses(pages: &LedgerRecords) -> Result<(), String> {
    for (from, until) in &pages.pool_pauses {
        let during = |at: &Instant| *at > *from + CLAIM_MAX && at < until;
        if let Some((at, execution, command)) = pages.claims.iter().find(|(at, ..)| during(at)) {
            let passed = *at - *from;
            return Err(format!(
                "command {command} of {execution} was claimed {passed:?} after the pool was paused"
            ));
        }
    }
    Ok(())
}

/// Checks that signals that several waits share are delivered in their order, each of them once.
/// Returns their number.
pub(super) fn shared_signals(
    pages: &LedgerRecords,
    found: &BTreeMap<ExecutionId, StoredExecution>,
) -> Result<u64, String> {
    if let Some(pair) = pages.assigned.windows(2).find(|pair| pair[1] < pair[0]) {
        return Err(format!("signal {} was assigned after {}", pair[1], pair[0]));
    }
    let mut seen: BTreeMap<u64, ExecutionId> = BTreeMap::new();
    for (execution, known) in found {
        for order in received(&known.log) {
            if let Some(other) = seen.insert(order, *execution) {
                return Err(format!("{execution} and {other} got signal {order}"));
            }
        }
    }
    Ok(u64::try_from(seen.len()).expect("a count in memory fits"))
}

/// Returns the numbers of the shared signals that an execution has received, without those of the
/// execution it is forked from.
fn received(log: &[Recorded]) -> Vec<u64> {
    let mut orders = Vec::new();
    for recorded in log {
        match &recorded.event {
            Event::ExecutionForked { .. } => orders.clear(),
            Event::SignalReceived { name, body, .. } if name.as_str() == SHARED_SIGNAL => {
                orders.extend(body.as_inline().and_then(|body| body["order"].as_u64()));
            }
            _ => {}
        }
    }
    orders
}
