//! The rule of limits: which requests for slots are granted now.
//!
//! Requests are granted in the order of the queue, and none before the one ahead of it. A rate is a
//! bucket of `burst` grants that fills evenly: `full_at` is the time at which it is full again. A grant
//! that no command has begun with counts against the bucket, beyond what begins in a second: commands
//! that could not begin for a while do not begin all at once.

use noetl_model::{LimitAmount, LimitDecision, LimitState, OnConflict, SlotDecision, Timestamp};

/// Decides which requests of a limit are granted.
pub fn grant_slots(state: &LimitState) -> LimitDecision {
    match state.amount {
        LimitAmount::Slots { max } => grant_free(state, u64::from(max)),
        LimitAmount::Rate { burst, .. } => grant_rate(state, u64::from(burst.max(1))),
    }
}

fn grant_free(state: &LimitState, max: u64) -> LimitDecision {
    let mut free = max.saturating_sub(state.holders);
    let mut wanted: u64 = 0;
    let requests = state.queue.iter().map(|on_conflict| {
        if let Some(left) = free.checked_sub(1) {
            free = left;
            return SlotDecision::Granted;
        }
        match on_conflict {
            OnConflict::Queue => SlotDecision::Waits,
            OnConflict::Skip | OnConflict::Fail => SlotDecision::Denied,
            OnConflict::CancelRunning => {
                wanted += 1;
                SlotDecision::Waits
            }
        }
    });
    let requests = requests.collect();
    let end = wanted.min(state.holders).saturating_sub(state.ending);
    LimitDecision { requests, end, full_at: state.full_at, next_at: None }
}

/// The time whose grants may wait for their commands to begin before the rate grants less.
const BEGIN_WITHIN_US: i64 = 1_000_000;

fn grant_rate(state: &LimitState, burst: u64) -> LimitDecision {
    let interval = state.amount.interval().unwrap_or_default();
    let interval = i64::try_from(interval.as_micros()).unwrap_or(i64::MAX).max(1);
    let burst = i64::try_from(burst).unwrap_or(i64::MAX);
    let capacity = interval.saturating_mul(burst);
    let now = state.now.as_micros();
    let ahead = BEGIN_WITHIN_US / interval;
    let not_begun = i64::try_from(state.holders).unwrap_or(i64::MAX);
    let used = not_begun.saturating_sub(ahead).clamp(0, burst).saturating_mul(interval);
    // A look that comes late does not make the rate slower, as long as requests wait.
    let late = state.due_at.map_or(0, |due_at| now.saturating_sub(due_at.as_micros()));
    let empty_at = now.saturating_sub(late.clamp(0, interval)).saturating_add(used);
    // A clock that was set back must not close the limit for longer than a whole burst.
    let full_max = now.saturating_add(capacity);
    let mut full_at = state.full_at.as_micros().clamp(empty_at.min(full_max), full_max);
    let mut room = burst.saturating_add(ahead).saturating_sub(not_begun);
    let mut next_at = None;
    let requests = state.queue.iter().map(|_| {
        let after = full_at.saturating_add(interval);
        if after.saturating_sub(now) <= capacity {
            full_at = after;
            room = room.saturating_sub(1);
            return SlotDecision::Granted;
        }
        // Without room it is not time that is needed, but a command that begins.
        if room > 0 {
            next_at.get_or_insert(Timestamp::from_micros(after.saturating_sub(capacity)));
        }
        SlotDecision::Waits
    });
    let requests = requests.collect();
    LimitDecision { requests, end: 0, full_at: Timestamp::from_micros(full_at), next_at }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn words(decision: &LimitDecision) -> String {
        let words = decision.requests.iter().map(|request| match request {
            SlotDecision::Granted => 'g',
            SlotDecision::Waits => 'w',
            SlotDecision::Denied => 'd',
        });
        words.collect()
    }

    #[track_caller]
    fn check_slots(
        (max, holders, ending): (u32, u64, u64),
        queue: &[OnConflict],
        expected: (&str, u64),
    ) {
        let (amount, queue) = (LimitAmount::Slots { max }, queue.to_vec());
        let (full_at, due_at) = (NOW, None);
        let state = LimitState { amount, holders, ending, queue, full_at, due_at, now: NOW };
        let decision = grant_slots(&state);
        assert_eq!((words(&decision).as_str(), decision.end), expected, "{state:?}");
        assert_eq!(decision.next_at, None);
    }

    #[test]
    fn free_slots_are_granted_in_order_and_never_more_than_there_are() {
        use OnConflict::{CancelRunning, Fail, Queue, Skip};
        check_slots((3, 0, 0), &[], ("", 0));
        check_slots((3, 1, 0), &[Queue; 4], ("ggww", 0));
        check_slots((3, 3, 0), &[Queue; 2], ("ww", 0));
        // A limit that was lowered has more holders than slots for a while.
        check_slots((1, 5, 0), &[Queue], ("w", 0));
        check_slots((1, 0, 0), &[Skip, Fail, Queue], ("gdw", 0));
        check_slots((1, 1, 0), &[Skip], ("d", 0));
        check_slots((1, 1, 0), &[CancelRunning], ("w", 1));
        check_slots((1, 1, 1), &[CancelRunning], ("w", 0));
        check_slots((1, 1, 0), &[CancelRunning; 3], ("www", 1));
        check_slots((2, 2, 1), &[CancelRunning, Queue, CancelRunning], ("www", 1));
        check_slots((2, 1, 0), &[CancelRunning], ("g", 0));
    }

    #[track_caller]
    fn check_rate(
        (count, burst): (u32, u32),
        full_in_ms: i64,
        queue: usize,
        expected: (&str, i64),
    ) {
        let amount = LimitAmount::Rate { count, per_ms: 1000, burst };
        let full_at = Timestamp::from_millis(1_000_000 + full_in_ms);
        let queue = vec![OnConflict::Queue; queue];
        let (holders, ending, due_at) = (0, 0, None);
        let state = LimitState { amount, holders, ending, queue, full_at, due_at, now: NOW };
        let decision = grant_slots(&state);
        let next_ms = decision.next_at.map_or(0, |at| (at.as_micros() - NOW.as_micros()) / 1000);
        assert_eq!((words(&decision).as_str(), next_ms), expected, "{state:?}");
    }

    #[test]
    fn a_rate_grants_a_burst_and_then_one_in_each_interval() {
        check_rate((50, 1), -5000, 3, ("gww", 20));
        check_rate((50, 3), -5000, 4, ("gggw", 20));
        check_rate((50, 3), 60, 2, ("ww", 20));
        check_rate((50, 3), 45, 2, ("ww", 5));
        check_rate((50, 3), 20, 3, ("ggw", 20));
        check_rate((1, 1), 0, 2, ("gw", 1000));
        check_rate((50, 1), 0, 0, ("", 0));
        // A clock that was set back by an hour.
        check_rate((50, 1), 3_600_000, 1, ("w", 20));
    }

    fn is_granted(decision: &LimitDecision) -> usize {
        decision.requests.iter().filter(|it| **it == SlotDecision::Granted).count()
    }

    /// Looks at a limit for a minute as often as it asks for it, each time late. Returns the number of
    /// grants. Commands begin at once.
    fn granted_in_a_minute(amount: LimitAmount, mut late_ms: impl FnMut() -> u64) -> usize {
        let (mut now, mut full_at, mut due_at, mut granted) = (NOW, NOW, None, 0);
        let end = NOW.after(Duration::from_secs(60));
        while now < end {
            let queue = vec![OnConflict::Queue; 100];
            let state = LimitState { amount, holders: 0, ending: 0, queue, full_at, due_at, now };
            let decision = grant_slots(&state);
            granted += is_granted(&decision);
            (full_at, due_at) = (decision.full_at, decision.next_at);
            now = due_at.expect("some wait").after(Duration::from_millis(late_ms()));
        }
        granted
    }

    #[test]
    fn a_rate_is_kept_over_a_minute_although_it_is_looked_at_late() {
        let amount = LimitAmount::Rate { count: 50, per_ms: 1000, burst: 5 };
        let mut late = 0;
        let granted = granted_in_a_minute(amount, || {
            late = (late + 7) % 60;
            late
        });
        assert!((2950..=3010).contains(&granted), "{granted}");
        for count in [1, 9, 19] {
            let amount = LimitAmount::Rate { count, per_ms: 1000, burst: 1 };
            let expected = f64::from(count) * 60.0;
            let granted = granted_in_a_minute(amount, || 5);
            let error = (f64::from(u32::try_from(granted).expect("few")) - expected) / expected;
            assert!(error.abs() <= 0.02, "{count}: {granted}");
        }
    }

    #[test]
    fn a_rate_grants_no_more_while_no_command_begins() {
        for (count, per_ms, burst, most) in
            [(5, 1000, 1, 6), (50, 1000, 5, 55), (1, 60_000, 1, 1), (1, 60_000, 3, 3)]
        {
            let amount = LimitAmount::Rate { count, per_ms, burst };
            let (mut holders, mut full_at, mut now) = (0, NOW, NOW);
            let mut look = |holders: u64, now| {
                let (ending, queue) = (0, vec![OnConflict::Queue; 100]);
                let state =
                    LimitState { amount, holders, ending, queue, full_at, due_at: None, now };
                let decision = grant_slots(&state);
                full_at = decision.full_at;
                (u64::try_from(is_granted(&decision)).expect("few"), decision.next_at)
            };
            loop {
                let (granted, next_at) = look(holders, now);
                holders += granted;
                let Some(next_at) = next_at else { break };
                now = next_at;
            }
            assert_eq!(holders, most, "{amount}");
            // All begin at once after an hour: the next grants come at the rate.
            now = now.after(Duration::from_secs(3600));
            assert_eq!(look(holders, now), (0, None), "{amount}");
            let (granted, next_at) = look(0, now);
            let next_at = next_at.expect("time is needed").since(now);
            assert_eq!((granted, Some(next_at)), (0, amount.interval()), "{amount}");
        }
    }
}
