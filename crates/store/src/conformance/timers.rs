//! Conformance cases of durable timers.

use noetl_model::{TimerId, Timestamp};

use super::Subject;
use super::given::{A, B, after, at, start};
use crate::{Append, TimerChange};

fn set(timer: u64, due_at: Timestamp) -> TimerChange {
    TimerChange::Set { timer: TimerId(timer), due_at }
}

fn remove(timer: u64) -> TimerChange {
    TimerChange::Remove { timer: TimerId(timer) }
}

/// Returns the timers due at a second, as (execution, timer).
async fn due(subject: &Subject, seconds: u64, limit: usize) -> Vec<(i64, u64)> {
    let rows = subject.store.due(at(seconds), limit).await.expect("the store lists timers");
    rows.iter().map(|row| (row.execution.0, row.timer.0)).collect()
}

pub async fn the_time_is_that_of_the_stores_clock(subject: Subject) {
    let clock = subject.store.clock();
    for seconds in [5, 7200, 1] {
        subject.at(seconds);
        assert_eq!(subject.store.time().await.expect("the store tells the time"), at(seconds));
        assert_eq!(clock.now(), at(seconds));
    }
}

pub async fn timers_come_due_in_order(subject: Subject) {
    let next_due = async || subject.store.next_due().await.expect("the store answers");
    assert_eq!(next_due().await, None);
    let timers = vec![set(1, at(30)), set(2, at(10))];
    assert_eq!(subject.append(Append { timers, ..start(A) }).await, Ok(()));
    let timers = vec![set(1, at(20))];
    assert_eq!(subject.append(Append { timers, ..start(B) }).await, Ok(()));
    assert_eq!(next_due().await, Some(at(10)));
    assert_eq!(due(&subject, 9, 10).await, []);
    assert_eq!(due(&subject, 10, 10).await, [(A.0, 2)]);
    assert_eq!(due(&subject, 30, 10).await, [(A.0, 2), (B.0, 1), (A.0, 1)]);
    assert_eq!(due(&subject, 30, 2).await, [(A.0, 2), (B.0, 1)]);
}

pub async fn a_timer_set_again_moves(subject: Subject) {
    assert_eq!(subject.append(Append { timers: vec![set(1, at(10))], ..start(A) }).await, Ok(()));
    let moved = Append { timers: vec![set(1, at(20))], ..after(A, 1) };
    assert_eq!(subject.append(moved).await, Ok(()));
    assert_eq!(due(&subject, 10, 10).await, []);
    assert_eq!(due(&subject, 20, 10).await, [(A.0, 1)]);
}

pub async fn removed_timer_never_fires(subject: Subject) {
    let timers = vec![set(1, at(10)), set(2, at(20))];
    assert_eq!(subject.append(Append { timers, ..start(A) }).await, Ok(()));
    let removed = Append { timers: vec![remove(1), remove(9)], ..after(A, 1) };
    assert_eq!(subject.append(removed).await, Ok(()));
    assert_eq!(due(&subject, 1000, 10).await, [(A.0, 2)]);
    let next_due = subject.store.next_due().await.expect("the store answers");
    assert_eq!(next_due, Some(at(20)));
}
