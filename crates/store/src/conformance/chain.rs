//! Conformance cases of event digests and of forks.

use std::collections::BTreeMap;

use noetl_model::{CommandId, Digest, ExecutionId, ForkPoint, Recorded, Seq, TimerId};

use super::Subject;
use super::given::{A, B, C, add, after, at, events_after, lease, park, remove, sized, start};
use crate::{Append, AppendError, Holder, OpenWork, READ_BYTES_MAX, READ_EVENTS_MAX, TimerChange};

/// Returns the append with its events chained after an event with digest `before`.
fn chained(append: Append, before: Digest) -> Append {
    let mut head = before;
    let mut append = append;
    for recorded in &mut append.events {
        recorded.prev = Some(head);
        head = recorded.digest_after(&head);
    }
    append.summary.head = Some(head);
    append
}

fn head(append: &Append) -> Digest {
    append.summary.head.expect("it is chained")
}

pub async fn digests_are_kept_with_events_and_with_the_summary(subject: Subject) {
    let first = chained(events_after(A, Seq::ZERO, 3), Digest::before(A));
    assert_eq!(subject.append(first.clone()).await, Ok(()));
    let second = chained(after(A, 3), head(&first));
    assert_eq!(subject.append(second.clone()).await, Ok(()));
    let written: Vec<Recorded> = [first.events, second.events.clone()].concat();
    assert_eq!(subject.read(A).await, written);
    let found = subject.store.find(written[1].event_id).await.expect("the store answers");
    assert_eq!(found, Some((A, written[1].clone())));
    let summary = subject.store.summary(A).await.expect("the store answers");
    assert_eq!(summary, Some(second.summary));
}

pub async fn an_event_that_does_not_follow_the_last_one_is_refused(subject: Subject) {
    let first = chained(start(A), Digest::before(A));
    assert_eq!(subject.append(first.clone()).await, Ok(()));
    let other = chained(after(A, 1), Digest::of(b"another past"));
    assert_eq!(subject.append(other).await, Err(AppendError::Conflict));
    let batch = [chained(after(A, 1), head(&first)), chained(after(A, 2), head(&first))];
    assert_eq!(subject.append_all(&batch).await, [Ok(()), Err(AppendError::Conflict)]);
}

pub async fn a_log_without_digests_goes_on_with_them(subject: Subject) {
    assert_eq!(subject.append(start(A)).await, Ok(()));
    let old = subject.read(A).await[0].digest_after(&Digest::UNKNOWN);
    let next = chained(after(A, 1), old);
    assert_eq!(subject.append(next.clone()).await, Ok(()));
    assert_eq!(subject.read(A).await[1], next.events[0]);
}

/// Starts `fork` after event `seq` of `origin`, with `count` events of its own.
pub(super) fn fork(fork: ExecutionId, origin: ExecutionId, seq: u64, count: u64) -> Append {
    let mut append = events_after(fork, Seq(seq), count);
    append.summary.fork = Some(ForkPoint { execution: origin, seq: Seq(seq) });
    append
}

pub async fn a_fork_is_read_after_the_past_it_shares(subject: Subject) {
    let origin = events_after(A, Seq::ZERO, 5);
    assert_eq!(subject.append(origin.clone()).await, Ok(()));
    let forked = fork(B, A, 3, 2);
    assert_eq!(subject.append(forked.clone()).await, Ok(()));
    let mut more = after(B, 5);
    more.summary.fork = forked.summary.fork;
    assert_eq!(subject.append(more).await, Ok(()));
    let whole = subject.read(B).await;
    assert_eq!(whole[..3], origin.events[..3]);
    assert_eq!(whole[3..5], forked.events);
    assert_eq!(whole.iter().map(|it| it.seq.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(subject.read(A).await, origin.events, "the origin is not touched");
    for (seq, limit) in [(0, 2), (0, 4), (2, 1), (2, 2), (3, 10), (5, 10), (6, 10)] {
        let page = subject.store.read(B, Seq(seq), limit).await.expect("the store reads");
        let expected: Vec<_> =
            whole.iter().filter(|it| it.seq > Seq(seq)).take(limit).cloned().collect();
        assert_eq!(page, expected, "{limit} after {seq}");
    }
    let summary = subject.store.summary(B).await.expect("the store answers");
    assert_eq!(summary.and_then(|it| it.fork), forked.summary.fork);
    let found = subject.store.find(origin.events[1].event_id).await.expect("the store answers");
    assert_eq!(found.map(|(execution, _)| execution), Some(A));
}

pub async fn a_past_that_fills_a_page_is_read_whole_before_the_fork(subject: Subject) {
    let mut origin = events_after(A, Seq::ZERO, 4);
    origin.events[1].event = sized(READ_BYTES_MAX);
    assert_eq!(subject.append(origin).await, Ok(()));
    assert_eq!(subject.append(fork(B, A, 3, 2)).await, Ok(()));
    let page = async |after: u64| -> Vec<u64> {
        let events = subject.store.read(B, Seq(after), usize::MAX).await;
        events.expect("the store reads").iter().map(|recorded| recorded.seq.0).collect()
    };
    assert_eq!(page(0).await, [1, 2]);
    assert_eq!(page(2).await, [3, 4, 5]);
}

pub async fn a_fork_of_a_fork_may_leave_before_the_first_one_did(subject: Subject) {
    let origin = events_after(A, Seq::ZERO, 5);
    assert_eq!(subject.append(origin.clone()).await, Ok(()));
    assert_eq!(subject.append(fork(B, A, 3, 4)).await, Ok(()));
    let later = fork(C, B, 5, 1);
    assert_eq!(subject.append(later.clone()).await, Ok(()));
    let first = subject.read(B).await;
    assert_eq!(subject.read(C).await, [&first[..5], &later.events[..]].concat());
    let earlier = ExecutionId(C.0 + 1);
    let forked = fork(earlier, B, 2, 1);
    assert_eq!(subject.append(forked.clone()).await, Ok(()));
    assert_eq!(subject.read(earlier).await, [&origin.events[..2], &forked.events[..]].concat());
}

pub async fn a_fork_begins_after_the_event_it_leaves_at(subject: Subject) {
    assert_eq!(subject.append(events_after(A, Seq::ZERO, 5)).await, Ok(()));
    let misplaced = Append { summary: fork(B, A, 3, 1).summary, ..start(B) };
    assert_eq!(subject.append(misplaced).await, Err(AppendError::Conflict));
    assert_eq!(subject.append(fork(B, A, 3, 1)).await, Ok(()));
    assert_eq!(subject.append(fork(B, A, 3, 1)).await, Err(AppendError::Conflict));
}

pub async fn a_fork_whose_origin_lacks_the_event_conflicts(subject: Subject) {
    assert_eq!(subject.append(fork(B, A, 3, 1)).await, Err(AppendError::Conflict), "no origin");
    assert_eq!(subject.append(events_after(A, Seq::ZERO, 2)).await, Ok(()));
    assert_eq!(subject.append(fork(B, A, 3, 1)).await, Err(AppendError::Conflict), "too short");
    assert_eq!(subject.read(B).await, [], "nothing is written");
    assert_eq!(subject.append(after(A, 2)).await, Ok(()));
    assert_eq!(subject.append(fork(B, A, 3, 1)).await, Ok(()));
}

pub async fn a_fork_of_another_history_conflicts(subject: Subject) {
    let first = chained(start(A), Digest::before(A));
    assert_eq!(subject.append(first.clone()).await, Ok(()));
    let with_prev = |execution, prev| {
        let mut append = fork(execution, A, 1, 1);
        append.events[0].prev = Some(prev);
        append
    };
    let other = Digest::of(b"another history");
    let is_last = subject.append(with_prev(B, other)).await;
    assert_eq!(is_last, Err(AppendError::Conflict), "the fork point is the last event");
    assert_eq!(subject.append(with_prev(B, head(&first))).await, Ok(()));
    assert_eq!(subject.append(chained(after(A, 1), head(&first))).await, Ok(()));
    let is_earlier = subject.append(with_prev(C, other)).await;
    assert_eq!(is_earlier, Err(AppendError::Conflict), "the origin has gone on");
    assert_eq!(subject.append(with_prev(C, head(&first))).await, Ok(()));
}

pub async fn a_long_shared_past_is_read_in_pages(subject: Subject) {
    let count = READ_EVENTS_MAX as u64 + 10;
    assert_eq!(subject.append(events_after(A, Seq::ZERO, count)).await, Ok(()));
    assert_eq!(subject.append(fork(B, A, count - 5, 1)).await, Ok(()));
    let page = subject.read(B).await;
    assert_eq!(page.len(), READ_EVENTS_MAX);
    let rest = subject.store.read(B, Seq(READ_EVENTS_MAX as u64), READ_EVENTS_MAX).await;
    let rest: Vec<u64> = rest.expect("the store reads").iter().map(|it| it.seq.0).collect();
    assert_eq!(rest, (READ_EVENTS_MAX as u64 + 1..=count - 4).collect::<Vec<_>>());
}

pub async fn the_open_work_of_an_execution_is_its_own(subject: Subject) {
    let timer = |timer, seconds| TimerChange::Set { timer: TimerId(timer), due_at: at(seconds) };
    let work = Append {
        queue: vec![add(1), add(2), lease(2, 1, 30), add(3), park(3), add(4), remove(4)],
        timers: vec![timer(1, 9), timer(2, 8), TimerChange::Remove { timer: TimerId(2) }],
        ..start(A)
    };
    let other = Append { queue: vec![add(1)], timers: vec![timer(1, 3)], ..start(B) };
    assert_eq!(subject.append_all(&[work, other]).await, [Ok(()), Ok(())]);
    let OpenWork { commands, timers } =
        subject.store.open_work(A).await.expect("the store answers");
    let holders: BTreeMap<CommandId, &str> = commands
        .iter()
        .map(|(command, open)| {
            let holder = match &open.holder {
                Holder::Nobody { .. } => "nobody",
                Holder::Worker { .. } => "worker",
                Holder::Parked => "child",
            };
            (*command, holder)
        })
        .collect();
    let expected = [(1, "nobody"), (2, "worker"), (3, "child")];
    assert_eq!(holders, expected.map(|(command, who)| (CommandId(command), who)).into());
    assert_eq!(timers, BTreeMap::from([(TimerId(1), at(9))]));
    assert_eq!(subject.store.open_work(C).await.expect("the store answers"), OpenWork::default());
}
