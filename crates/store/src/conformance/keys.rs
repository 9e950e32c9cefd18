//! Conformance cases of start keys.

use std::time::Duration;

use noetl_model::{Digest, ExecutionId, Seq};

use super::Subject;
use super::chain::fork;
use super::given::{A, after, events_after, start};
use crate::{Append, AppendError, KEEP_MAX, KeyHolder, StartKey};

fn key(scope: &str, name: &str, seconds: u64) -> StartKey {
    let keep = Duration::from_secs(seconds);
    StartKey { scope: scope.into(), name: name.into(), keep, request: None }
}

fn taken(execution: ExecutionId) -> Result<(), AppendError> {
    Err(AppendError::KeyTaken(KeyHolder { execution, request: None }))
}

/// Starts the first execution, from id `first` on, that can be started under a key.
async fn start_under(
    subject: &Subject,
    first: i64,
    key: StartKey,
) -> (ExecutionId, Result<(), AppendError>) {
    let execution = admitted(subject, first, &key);
    (execution, subject.append(Append { key: Some(key), ..start(execution) }).await)
}

fn admitted(subject: &Subject, first: i64, key: &StartKey) -> ExecutionId {
    (first..)
        .map(ExecutionId)
        .find(|execution| subject.store.admits(*execution, key))
        .expect("every key admits some execution")
}

pub async fn a_key_starts_one_execution(subject: Subject) {
    let (first, answer) = start_under(&subject, 1, key("0", "k", 60)).await;
    assert_eq!(answer, Ok(()));
    let (second, answer) = start_under(&subject, 100, key("0", "k", 60)).await;
    assert_eq!(answer, taken(first));
    assert_eq!(subject.read(second).await, []);
    let others = [key("0", "l", 60), key("1", "k", 60), key("", "", 60), key("0", "k\0", 60)];
    for (other, first) in others.into_iter().zip((200..).step_by(100)) {
        let (_, answer) = start_under(&subject, first, other.clone()).await;
        assert_eq!(answer, Ok(()), "{other:?}");
    }
}

pub async fn a_taken_start_key_has_the_digest_of_its_request(subject: Subject) {
    let request = Some(Digest::of(b"wish"));
    let asking = StartKey { request, ..key("0", "k", 60) };
    let (first, answer) = start_under(&subject, 1, asking).await;
    assert_eq!(answer, Ok(()));
    let (_, answer) = start_under(&subject, 100, key("0", "k", 60)).await;
    assert_eq!(answer, Err(AppendError::KeyTaken(KeyHolder { execution: first, request })));
}

pub async fn a_key_is_free_once_it_is_no_longer_kept(subject: Subject) {
    let (first, answer) = start_under(&subject, 1, key("0", "k", 60)).await;
    assert_eq!(answer, Ok(()));
    subject.at(59);
    let (_, answer) = start_under(&subject, 100, key("0", "k", 1)).await;
    assert_eq!(answer, taken(first));
    subject.at(60);
    let (second, answer) = start_under(&subject, 200, key("0", "k", 60)).await;
    assert_eq!(answer, Ok(()));
    let (_, answer) = start_under(&subject, 300, key("0", "k", 60)).await;
    assert_eq!(answer, taken(second));
    let (_, answer) =
        start_under(&subject, 400, StartKey { keep: Duration::MAX, ..key("0", "l", 0) }).await;
    assert_eq!(answer, Ok(()));
    subject.at(KEEP_MAX.as_secs() / 2);
    let (_, answer) = start_under(&subject, 500, key("0", "l", 60)).await;
    assert!(answer.is_err());
}

pub async fn a_start_that_is_refused_leaves_its_key_free(subject: Subject) {
    let name = key("0", "k", 60);
    let execution = admitted(&subject, 1, &name);
    let twice = vec![super::given::add(1), super::given::add(1)];
    let refused = Append { key: Some(name.clone()), queue: twice, ..start(execution) };
    assert_eq!(subject.append(refused).await, Err(AppendError::Conflict));
    let (_, answer) = start_under(&subject, 100, name).await;
    assert_eq!(answer, Ok(()));
}

pub async fn one_batch_takes_a_key_once(subject: Subject) {
    let name = key("0", "k", 60);
    let first = admitted(&subject, 1, &name);
    let second = admitted(&subject, first.0 + 1, &name);
    let under = |execution| Append { key: Some(name.clone()), ..start(execution) };
    let answers = subject.append_all(&[under(first), start(A), under(second)]).await;
    assert_eq!(answers, [Ok(()), Ok(()), taken(first)]);
    // A key on an append to an existing execution is ignored.
    let more = Append { key: Some(name.clone()), ..after(A, 1) };
    assert_eq!(subject.append(more).await, Ok(()));
    // A repeated start is detected by its log, not by its key.
    assert_eq!(subject.append(under(first)).await, Err(AppendError::Conflict));
}

pub async fn concurrent_starts_under_one_key_admit_exactly_one(subject: Subject) {
    const WRITERS: i64 = 8;
    let starts = (0..WRITERS).map(|writer| {
        let subject = subject.clone();
        tokio::spawn(
            async move { start_under(&subject, 1000 * writer + 1, key("0", "k", 60)).await },
        )
    });
    let mut admitted = Vec::new();
    let mut refused = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        match start.await.expect("the writer does not panic") {
            (execution, Ok(())) => admitted.push(execution),
            (_, answer) => refused.push(answer),
        }
    }
    assert_eq!(admitted.len(), 1);
    assert!(refused.iter().all(|answer| *answer == taken(admitted[0])), "{refused:?}");
}

pub async fn a_key_starts_one_fork(subject: Subject) {
    assert_eq!(subject.append(events_after(A, Seq::ZERO, 5)).await, Ok(()));
    let wanted = key("bulk", "1/1", 60);
    let mut ids = (100..).map(ExecutionId).filter(|id| subject.store.admits(*id, &wanted));
    let mut forked = async || {
        let id = ids.next().expect("an id on the shard of the key");
        let append = Append { key: Some(wanted.clone()), ..fork(id, A, 3, 2) };
        (id, subject.append(append).await)
    };
    let (first, answer) = forked().await;
    assert_eq!(answer, Ok(()));
    let (second, answer) = forked().await;
    assert_eq!(answer, taken(first));
    assert_eq!(subject.read(second).await, []);
}
