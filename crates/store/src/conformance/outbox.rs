//! Conformance cases of the outbox.

use std::sync::Arc;
use std::time::Duration;

use noetl_model::{
    CatalogId, CommandId, ErrorKind, EventId, ExecutionStatus, LimitAmount, LimitDefinition,
    Message, OnConflict, Payload, Pool, Priority, StepName, ToolError,
};
use serde_json::json;

use super::Subject;
use super::given::{A, B, C, T0, after, start};
use crate::{Append, AppendError, OutboxConsumer, OutboxRow, Take};

const VISIBILITY: Duration = Duration::from_secs(10);

fn message(command: u64) -> Message {
    Message::CommandCancelled { command: CommandId(command) }
}

fn commands(rows: &[OutboxRow]) -> Vec<(u64, u32)> {
    rows.iter()
        .map(|row| match row.message {
            Message::CommandCancelled { command } => (command.0, row.attempts),
            Message::CommandReady { .. }
            | Message::ChildEnded { .. }
            | Message::CancelChild { .. }
            | Message::CancelLinked { .. }
            | Message::SignalAwaited { .. }
            | Message::CommandUnparked { .. }
            | Message::PauseChild { .. }
            | Message::ResumeChild { .. }
            | Message::RequestSlot { .. }
            | Message::ReleaseSlot { .. }
            | Message::Notification { .. } => panic!("nobody wrote {:?}", row.message),
        })
        .collect()
}

pub async fn outbox_row_exists_exactly_when_its_event_does(subject: Subject) {
    assert_eq!(subject.append(start(B)).await, Ok(()));
    let answers = subject
        .append_all(&[
            Append { outbox: vec![message(1)], ..start(A) },
            Append { outbox: vec![message(2)], ..start(B) },
            Append { outbox: vec![message(3), message(4)], ..after(B, 1) },
        ])
        .await;
    assert_eq!(answers, [Ok(()), Err(AppendError::Conflict), Ok(())]);
    assert_eq!(subject.owed().await, 3);
    let rows = subject.take(VISIBILITY).await;
    assert_eq!(commands(&rows), [(1, 1), (3, 1), (4, 1)]);
    let executions: Vec<_> = rows.iter().map(|row| row.execution).collect();
    assert_eq!(executions, [A, B, B]);
}

pub async fn messages_are_taken_oldest_first_as_they_were_written(subject: Subject) {
    let ended = |output, error| Message::ChildEnded {
        parent: A,
        command: CommandId(1),
        status: ExecutionStatus::Failed,
        output,
        error,
    };
    let outbox = vec![
        Message::CommandReady {
            pool: Pool::shared(),
            command: CommandId(1),
            event_id: EventId(i64::MAX),
            step: StepName::new("größe"),
            item: None,
            trace: None,
        },
        Message::CommandReady {
            pool: Pool::new("gpu"),
            command: CommandId(2),
            event_id: EventId(2),
            step: StepName::new("each"),
            item: Some(0),
            trace: Some(Arc::new(json!({ "traceparent": "00-1-2-01" }))),
        },
        message(1),
        ended(Payload::inline(json!({ "z": 1, "a": [0.1, u64::MAX] })), None),
        ended(Payload::null(), Some(ToolError::new(ErrorKind::Timeout, "too slow"))),
        Message::CancelChild { child: C, reason: "the parent was cancelled".into() },
        Message::CancelLinked { reason: "the parent was cancelled".into() },
        Message::SignalAwaited {
            name: "payment".parse().expect("a name"),
            key: "A-1001".parse().expect("a key"),
        },
        Message::CommandUnparked { command: CommandId(3), pool: Pool::shared() },
        Message::PauseChild { child: C, actor: Some("ada".into()), reason: None },
        Message::ResumeChild { child: C, actor: None, reason: Some("repaired".into()) },
        Message::RequestSlot {
            command: Some(CommandId(4)),
            limit: LimitDefinition {
                name: "crm".parse().expect("a name"),
                amount: LimitAmount::Rate { count: 50, per_ms: 1000, burst: 10 },
            },
            on_conflict: OnConflict::CancelRunning,
            priority: Priority::HIGHEST,
            defined_by: CatalogId(7),
            at: T0,
        },
        Message::ReleaseSlot { command: None, limit: "crm".parse().expect("a name") },
    ];
    assert_eq!(subject.append(Append { outbox: outbox.clone(), ..start(A) }).await, Ok(()));
    let rows = subject.take(VISIBILITY).await;
    assert!(rows.is_sorted_by(|a, b| a.id < b.id), "ids grow");
    let messages: Vec<_> = rows.into_iter().map(|row| row.message).collect();
    assert_eq!(messages, outbox);
}

pub async fn taken_outbox_rows_are_invisible_until_the_visibility_runs_out(subject: Subject) {
    let outbox = vec![message(1), message(2)];
    assert_eq!(subject.append(Append { outbox, ..start(A) }).await, Ok(()));
    let take = Take { consumer: OutboxConsumer::Relay, limit: 1, hold: VISIBILITY };
    let first = subject.store.take(take).await.expect("the store hands out messages");
    assert_eq!(commands(&first), [(1, 1)]);
    subject.at(9);
    assert_eq!(commands(&subject.take(VISIBILITY).await), [(2, 1)]);
    assert_eq!(subject.owed().await, 2, "taken is not sent");
    subject.at(10);
    assert_eq!(commands(&subject.take(VISIBILITY).await), [(1, 2)]);
    subject.at(20);
    assert_eq!(commands(&subject.take(VISIBILITY).await), [(1, 3), (2, 2)]);
}

pub async fn sent_rows_are_gone_and_sent_twice_is_fine(subject: Subject) {
    let outbox = vec![message(1), message(2), message(3)];
    assert_eq!(subject.append(Append { outbox, ..start(A) }).await, Ok(()));
    let rows = subject.take(VISIBILITY).await;
    for _ in 0..2 {
        subject.store.sent(&[rows[0].id, rows[2].id]).await.expect("the store forgets messages");
        assert_eq!(subject.owed().await, 1);
    }
    subject.store.sent(&[]).await.expect("the store forgets nothing");
    subject.at(10);
    assert_eq!(commands(&subject.take(VISIBILITY).await), [(2, 2)]);

    // The id of a deleted message is never reused.
    subject.store.sent(&[rows[1].id]).await.expect("the store forgets messages");
    assert_eq!(subject.append(Append { outbox: vec![message(4)], ..start(B) }).await, Ok(()));
    let later = subject.take(VISIBILITY).await;
    assert!(later[0].id > rows[2].id);
}
