//! Conformance cases of the event log.

use std::sync::Arc;

use noetl_model::{Digest, EventId, ExecutionId, Recorded, Seq};

use super::Subject;
use super::events::every_event;
use super::given::{A, B, C, add, after, at, events_after, recorded, sized, start, summary};
use crate::{Append, AppendError, READ_BYTES_MAX, READ_EVENTS_MAX};

pub async fn append_then_read_gives_the_same_events(subject: Subject) {
    let events: Vec<Recorded> = every_event()
        .into_iter()
        .zip(1..)
        .map(|(event, seq)| Recorded { at: at(seq), ..recorded(Seq(seq), event) })
        .collect();
    let summary = summary(A, Seq(events.len() as u64));
    let append = Append { events: events.clone(), summary, ..start(A) };
    assert_eq!(subject.append(append).await, Ok(()));
    let read = subject.read(A).await;
    assert_eq!(read, events);
    // Equality ignores the order of JSON keys, but storage has to preserve it.
    let text = |events: &[Recorded]| serde_json::to_string(events).expect("events are JSON");
    assert_eq!(text(&read), text(&events));
}

pub async fn second_writer_at_the_same_seq_is_refused(subject: Subject) {
    let first = after(A, 1);
    assert_eq!(subject.append(start(A)).await, Ok(()));
    assert_eq!(subject.append(start(A)).await, Err(AppendError::Conflict));
    assert_eq!(subject.append(first.clone()).await, Ok(()));
    assert_eq!(subject.append(after(A, 1)).await, Err(AppendError::Conflict));
    assert_eq!(subject.read(A).await.last(), first.events.last());
}

pub async fn a_gap_is_refused(subject: Subject) {
    assert_eq!(subject.append(after(A, 1)).await, Err(AppendError::Conflict));
    assert_eq!(subject.append(start(A)).await, Ok(()));
    assert_eq!(subject.append(after(A, 2)).await, Err(AppendError::Conflict));
    let numbered_too_high = Append { expected: Seq(1), ..after(A, 2) };
    assert_eq!(subject.append(numbered_too_high).await, Err(AppendError::Conflict));
    let mut with_a_hole = events_after(A, Seq(1), 3);
    with_a_hole.events.remove(1);
    assert_eq!(subject.append(with_a_hole).await, Err(AppendError::Conflict));
    assert_eq!(subject.read(A).await.len(), 1);
}

pub async fn a_used_event_id_is_refused(subject: Subject) {
    let first = start(A);
    let mut second = start(B);
    second.events[0].event_id = first.events[0].event_id;
    assert_eq!(subject.append(first).await, Ok(()));
    assert_eq!(subject.append(second).await, Err(AppendError::Conflict));
    assert_eq!(subject.append(start(B)).await, Ok(()));
}

pub async fn batch_is_all_or_nothing_per_execution(subject: Subject) {
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(B) }).await, Ok(()));
    let bytes = b"\"large\"".to_vec();
    let digest = Digest::of(&bytes);
    // The second command conflicts, after rows of every other kind could have been written.
    let refused = Append {
        queue: vec![add(2), add(1)],
        payloads: vec![(digest, Arc::new(bytes))],
        ..events_after(B, Seq(1), 2)
    };
    let answers = subject.append_all(&[start(A), refused, start(C)]).await;
    assert_eq!(answers, [Ok(()), Err(AppendError::Conflict), Ok(())]);
    assert_eq!(subject.read(A).await.len(), 1);
    assert_eq!(subject.read(C).await.len(), 1);

    assert_eq!(subject.read(B).await.len(), 1);
    assert_eq!(subject.ready().await, [(B.0, 1, 0)]);
    let summary = subject.store.summary(B).await.expect("the store answers");
    assert_eq!(summary.map(|summary| summary.seq), Some(Seq(1)));
    assert_eq!(subject.store.payload(&digest).await.expect("the store answers"), None);
}

pub async fn one_batch_may_continue_what_it_starts(subject: Subject) {
    let answers = subject.append_all(&[start(A), after(A, 1), after(A, 1), after(A, 2)]).await;
    assert_eq!(answers, [Ok(()), Ok(()), Err(AppendError::Conflict), Ok(())]);
    assert_eq!(subject.read(A).await.len(), 3);
    assert_eq!(subject.append_all(&[]).await, []);
}

pub async fn reads_page_by_seq(subject: Subject) {
    let count = READ_EVENTS_MAX as u64 + 5;
    assert_eq!(subject.append(events_after(A, Seq::ZERO, count)).await, Ok(()));
    assert_eq!(subject.append(start(B)).await, Ok(()));
    let page = async |execution: ExecutionId, after: u64, limit: usize| -> Vec<u64> {
        let events = subject.store.read(execution, Seq(after), limit).await;
        events.expect("the store reads").iter().map(|recorded| recorded.seq.0).collect()
    };
    assert_eq!(page(A, 0, 3).await, [1, 2, 3]);
    assert_eq!(page(A, 3, 2).await, [4, 5]);
    assert_eq!(page(A, count - 1, 10).await, [count]);
    assert!(page(A, count, 10).await.is_empty());
    assert!(page(A, u64::MAX, 10).await.is_empty());
    assert_eq!(page(A, 0, usize::MAX).await.len(), READ_EVENTS_MAX);
    assert!(page(C, 0, 10).await.is_empty());
}

pub async fn a_page_ends_with_the_event_that_fills_it(subject: Subject) {
    let mut append = events_after(A, Seq::ZERO, 5);
    append.events[1].event = sized(READ_BYTES_MAX / 2);
    append.events[2].event = sized(READ_BYTES_MAX / 2);
    append.events[4].event = sized(READ_BYTES_MAX + 1);
    assert_eq!(subject.append(append).await, Ok(()));
    let page = async |after: u64| -> Vec<u64> {
        let events = subject.store.read(A, Seq(after), usize::MAX).await;
        events.expect("the store reads").iter().map(|recorded| recorded.seq.0).collect()
    };
    assert_eq!(page(0).await, [1, 2, 3]);
    assert_eq!(page(3).await, [4, 5]);
    assert_eq!(page(4).await, [5], "however large it is");
    assert!(page(5).await.is_empty());
}

pub async fn an_event_is_found_by_its_id_in_its_execution(subject: Subject) {
    let events = events_after(B, Seq::ZERO, 3);
    let second = events.events[1].clone();
    assert_eq!(subject.append_all(&[start(A), events, start(C)]).await, [Ok(()), Ok(()), Ok(())]);
    let find = async |event| subject.store.find(event).await.expect("the store answers");
    assert_eq!(find(second.event_id).await, Some((B, second)));
    assert_eq!(find(EventId(i64::MAX)).await, None);
}

pub async fn concurrent_appends_to_one_execution_admit_exactly_one(subject: Subject) {
    const WRITERS: usize = 8;
    assert_eq!(subject.append(start(A)).await, Ok(()));
    for expected in 1..=5 {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let subject = subject.clone();
                tokio::spawn(async move { subject.append(after(A, expected)).await })
            })
            .collect();
        let mut admitted = 0;
        for writer in writers {
            match writer.await.expect("the writer does not panic") {
                Ok(()) => admitted += 1,
                Err(error) => assert_eq!(error, AppendError::Conflict),
            }
        }
        assert_eq!(admitted, 1, "after event {expected}");
    }
    let seqs: Vec<u64> = subject.read(A).await.iter().map(|recorded| recorded.seq.0).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5, 6]);
}

pub async fn payloads_are_found_by_digest_and_stored_once(subject: Subject) {
    let bytes = vec![b'x'; 100_000];
    let digest = Digest::of(&bytes);
    let find = async |digest| subject.store.payload(&digest).await.expect("the store answers");
    assert_eq!(find(digest).await, None);
    for execution in [A, B] {
        let payloads = vec![(digest, Arc::new(bytes.clone())), (digest, Arc::new(bytes.clone()))];
        assert_eq!(subject.append(Append { payloads, ..start(execution) }).await, Ok(()));
        assert_eq!(find(digest).await.as_ref(), Some(&bytes));
    }
    assert_eq!(find(Digest::of(b"something else")).await, None);
}
