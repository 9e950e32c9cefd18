//! Conformance cases of failing outbox messages: order, backoff, and dead messages.

use std::collections::BTreeSet;
use std::time::Duration;

use noetl_model::{
    CommandId, EventId, ExecutionId, Message, NoticeReason, NoticeTarget, Pool, Seq, StepName,
};
use serde_json::Map;

use super::Subject;
use super::given::{A, B, C, after, start};
use crate::{
    Append, AttemptOutcome, Failure, MessageState, OUTBOX_ATTEMPTS_MAX, OutboxConsumer,
    OutboxListing, OutboxRow, Sent, Take,
};

const HOLD: Duration = Duration::from_secs(10);
/// Seconds, longer than any backoff.
const LATER: u64 = 1000;

fn notification(command: u64) -> Message {
    Message::CommandReady {
        pool: Pool::shared(),
        command: CommandId(command),
        event_id: EventId(1),
        step: StepName::new("fetch"),
        item: None,
        trace: None,
    }
}

async fn owe(subject: &Subject, execution: ExecutionId, commands: &[u64]) {
    let outbox = commands.iter().map(|command| notification(*command)).collect();
    assert_eq!(subject.append(Append { outbox, ..start(execution) }).await, Ok(()));
}

/// Adds notifications to the outbox of an execution that has one event.
async fn owe_more(subject: &Subject, execution: ExecutionId, commands: &[u64]) {
    let outbox = commands.iter().map(|command| notification(*command)).collect();
    assert_eq!(subject.append(Append { outbox, ..after(execution, 1) }).await, Ok(()));
}

async fn take(subject: &Subject, consumer: OutboxConsumer, limit: usize) -> Vec<OutboxRow> {
    let take = Take { consumer, limit, hold: HOLD };
    subject.store.take(take).await.expect("the store hands out messages")
}

async fn fail(subject: &Subject, rows: &[OutboxRow]) -> Vec<AttemptOutcome> {
    let failures: Vec<Failure> = rows.iter().map(|row| failure(row.id)).collect();
    subject.store.failed(&failures).await.expect("the store takes failures")
}

fn failure(id: i64) -> Failure {
    let delay_max = Duration::from_secs(300);
    Failure { id, error: format!("no broker for {id}"), attempts: None, delay_max, is_final: false }
}

/// Returns the commands of the messages.
fn commands(rows: &[OutboxRow]) -> Vec<u64> {
    rows.iter()
        .map(|row| match row.message {
            Message::CommandReady { command, .. } | Message::CommandCancelled { command } => {
                command.0
            }
            Message::CommandUnparked { .. }
            | Message::ChildEnded { .. }
            | Message::CancelChild { .. }
            | Message::CancelLinked { .. }
            | Message::SignalAwaited { .. }
            | Message::PauseChild { .. }
            | Message::ResumeChild { .. }
            | Message::RequestSlot { .. }
            | Message::ReleaseSlot { .. }
            | Message::Notification { .. } => {
                panic!("nobody wrote {:?}", row.message)
            }
        })
        .collect()
}

async fn states(subject: &Subject) -> Vec<(u64, MessageState)> {
    let page = OutboxListing { state: None, after: 0, limit: usize::MAX };
    let listed = subject.store.list_messages(page).await.expect("the store lists messages");
    listed.iter().map(|it| (commands(std::slice::from_ref(&it.row))[0], it.state)).collect()
}

async fn pending(subject: &Subject) -> u64 {
    subject.store.pending().await.expect("the store counts messages")
}

pub async fn fresh_messages_do_not_wait_behind_failing_ones(subject: Subject) {
    owe(&subject, A, &[1, 2, 3, 4]).await;
    let failing = subject.take(HOLD).await;
    assert_eq!(
        fail(&subject, &failing).await,
        [AttemptOutcome::RetryIn(Duration::from_secs(1)); 4]
    );
    owe_more(&subject, A, &[5]).await;
    subject.at(5);
    assert_eq!(pending(&subject).await, 5);
    assert_eq!(commands(&take(&subject, OutboxConsumer::Relay, 1).await), [5]);
    assert_eq!(pending(&subject).await, 4);
}

pub async fn failing_messages_do_not_wait_for_ever_behind_fresh_ones(subject: Subject) {
    owe(&subject, A, &[1, 2]).await;
    let failing = subject.take(HOLD).await;
    fail(&subject, &failing).await;
    let fresh: Vec<u64> = (10..20).collect();
    owe_more(&subject, A, &fresh).await;
    subject.at(5);
    assert_eq!(commands(&take(&subject, OutboxConsumer::Relay, 4).await), [1, 10, 11, 12]);
    assert_eq!(commands(&take(&subject, OutboxConsumer::Relay, 4).await), [2, 13, 14, 15]);
}

pub async fn a_failed_message_waits_longer_each_time_and_is_dead_in_the_end(subject: Subject) {
    owe(&subject, A, &[1]).await;
    let mut waits = Vec::new();
    for attempt in 1.. {
        subject.at(u64::from(attempt) * LATER);
        let taken = subject.take(HOLD).await;
        assert_eq!(taken[0].attempts, attempt);
        match fail(&subject, &taken).await[0] {
            AttemptOutcome::RetryIn(delay) => waits.push(delay.as_secs()),
            AttemptOutcome::Dead => break,
            outcome @ (AttemptOutcome::Over | AttemptOutcome::Unknown) => {
                panic!("it is owed: {outcome:?}")
            }
        }
        assert_eq!(subject.take(HOLD).await, [], "before its time");
        assert_eq!(states(&subject).await, [(1, MessageState::Failed)]);
    }
    assert_eq!(waits.len(), usize::try_from(OUTBOX_ATTEMPTS_MAX - 1).expect("it fits"));
    assert_eq!(waits[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 256]);
    assert_eq!(states(&subject).await, [(1, MessageState::Dead)]);
    subject.at(1_000_000);
    assert_eq!(subject.take(HOLD).await, []);
    assert_eq!((subject.owed().await, pending(&subject).await), (0, 0));
}

pub async fn a_message_whose_consumers_all_die_is_dead_in_the_end(subject: Subject) {
    owe(&subject, A, &[1]).await;
    for attempt in 1..=OUTBOX_ATTEMPTS_MAX {
        subject.at(u64::from(attempt) * LATER);
        assert_eq!(commands(&subject.take(HOLD).await), [1]);
    }
    subject.at(u64::from(OUTBOX_ATTEMPTS_MAX + 1) * LATER);
    assert_eq!(subject.take(HOLD).await, []);
    assert_eq!(states(&subject).await, [(1, MessageState::Dead)]);
}

pub async fn a_message_that_was_sent_or_dropped_never_comes_back(subject: Subject) {
    owe(&subject, A, &[1]).await;
    let taken = subject.take(HOLD).await;
    let ids = [taken[0].id];
    let sent = subject.store.sent(&ids).await.expect("the store forgets messages");
    assert_eq!(sent, Sent { marked: 1, unknown: Vec::new() });
    assert_eq!(fail(&subject, &taken).await, [AttemptOutcome::Over]);
    let again = subject.store.sent(&ids).await.expect("the store forgets messages");
    assert_eq!(again, Sent::default());
    assert_eq!(subject.store.revive(&ids).await.expect("the store revives messages"), 0);
    subject.at(LATER);
    assert_eq!(subject.take(HOLD).await, []);
}

pub async fn ids_that_no_message_had_are_named(subject: Subject) {
    let never = i64::MAX / 4096;
    for id in [0, never] {
        let sent = subject.store.sent(&[id]).await.expect("the store forgets messages");
        assert_eq!(sent, Sent { marked: 0, unknown: vec![id] });
        let attempt_outcomes =
            subject.store.failed(&[failure(id)]).await.expect("the store answers");
        assert_eq!(attempt_outcomes, [AttemptOutcome::Unknown]);
    }
}

pub async fn a_postponed_try_does_not_count(subject: Subject) {
    owe(&subject, A, &[1]).await;
    for hour in 1..=u64::from(OUTBOX_ATTEMPTS_MAX) * 2 {
        subject.at(hour * LATER);
        let ids: Vec<i64> = subject.take(HOLD).await.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), 1);
        subject.store.postpone(&ids, HOLD * 2).await.expect("the store postpones");
        subject.at(hour * LATER + 19);
        assert_eq!(subject.take(HOLD).await, []);
    }
    assert_eq!(states(&subject).await, [(1, MessageState::InFlight)]);
}

pub async fn messages_are_listed_by_state_a_page_at_a_time(subject: Subject) {
    for (execution, command) in [(A, 1), (B, 2), (C, 3)] {
        owe(&subject, execution, &[command]).await;
    }
    let taken = subject.take(HOLD).await;
    let failed = taken.iter().find(|row| commands(std::slice::from_ref(row)) == [2]);
    let failed = failed.expect("it was taken").clone();
    fail(&subject, std::slice::from_ref(&failed)).await;
    owe(&subject, ExecutionId(1010), &[4]).await;

    let mut listed = states(&subject).await;
    listed.sort_by_key(|(command, _)| *command);
    use MessageState::{Failed, InFlight, Pending};
    assert_eq!(listed, [(1, InFlight), (2, Failed), (3, InFlight), (4, Pending)]);

    let page = OutboxListing { state: Some(Failed), after: 0, limit: 10 };
    let listed = subject.store.list_messages(page).await.expect("the store lists messages");
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].row, failed);
    assert_eq!(listed[0].last_error, Some(format!("no broker for {}", failed.id)));
    assert_eq!(listed[0].available_at, Some(super::given::at(1)));
    assert_eq!(listed[0].created_at, super::given::T0);

    let mut after = 0;
    let mut seen = BTreeSet::new();
    loop {
        let page = OutboxListing { state: None, after, limit: 1 };
        let listed = subject.store.list_messages(page).await.expect("the store lists messages");
        let Some(listed) = listed.first() else { break };
        assert!(listed.row.id > after);
        after = listed.row.id;
        seen.insert(after);
    }
    assert_eq!(seen.len(), 4);
}

pub async fn dead_messages_are_tried_again_or_dropped_on_request_only(subject: Subject) {
    owe(&subject, A, &[1, 2, 3]).await;
    for attempt in 1..=OUTBOX_ATTEMPTS_MAX {
        subject.at(u64::from(attempt) * LATER);
        let mut taken = subject.take(HOLD).await;
        taken.truncate(2);
        fail(&subject, &taken).await;
    }
    use MessageState::{Dead, InFlight};
    assert_eq!(states(&subject).await, [(1, Dead), (2, Dead), (3, InFlight)]);
    let page = OutboxListing { state: None, after: 0, limit: 10 };
    let listed = subject.store.list_messages(page).await.expect("the store lists messages");
    assert_eq!(listed[0].available_at, None);
    let ids: Vec<i64> = listed.iter().map(|it| it.row.id).collect();

    let revived = subject.store.revive(&[ids[0], ids[2]]).await;
    assert_eq!(revived.expect("the store revives messages"), 1, "what is in flight is left alone");
    let dropped = subject.store.discard(&ids).await;
    assert_eq!(dropped.expect("the store drops messages"), 1, "only the dead can be dropped");
    let taken = subject.take(HOLD).await;
    assert_eq!((commands(&taken), taken[0].attempts), (vec![1], 1));
}

pub async fn publishers_are_given_notifications_in_the_order_of_each_execution(subject: Subject) {
    let mut outbox: Vec<Message> = [1, 2, 3].map(notification).into();
    outbox.insert(0, Message::CommandCancelled { command: CommandId(9) });
    assert_eq!(subject.append(Append { outbox, ..start(A) }).await, Ok(()));
    let first = take(&subject, OutboxConsumer::Publisher, 1).await;
    assert_eq!(commands(&first), [1]);
    assert_eq!(take(&subject, OutboxConsumer::Publisher, 9).await, [], "the first is not sent yet");
    owe(&subject, B, &[4, 5]).await;
    assert_eq!(commands(&take(&subject, OutboxConsumer::Publisher, 1).await), [4]);

    fail(&subject, &first).await;
    assert_eq!(
        take(&subject, OutboxConsumer::Publisher, 9).await,
        [],
        "the first waits to be tried again"
    );
    subject.at(1);
    assert_eq!(commands(&take(&subject, OutboxConsumer::Publisher, 9).await), [1, 2, 3]);
    subject.at(11);
    let all = take(&subject, OutboxConsumer::Publisher, 9).await;
    let of = |execution| all.iter().filter(move |row| row.execution == execution).cloned();
    assert_eq!(commands(&of(A).collect::<Vec<_>>()), [1, 2, 3]);
    assert_eq!(commands(&of(B).collect::<Vec<_>>()), [4, 5]);
}

pub async fn an_internal_relay_leaves_notifications_to_publishers(subject: Subject) {
    let cancelled = |command| Message::CommandCancelled { command: CommandId(command) };
    let outbox = vec![notification(1), cancelled(2), notification(3), cancelled(4)];
    assert_eq!(subject.append(Append { outbox, ..start(A) }).await, Ok(()));
    assert_eq!(commands(&take(&subject, OutboxConsumer::InternalRelay, 1).await), [2]);
    assert_eq!(commands(&take(&subject, OutboxConsumer::InternalRelay, 9).await), [4]);
    assert_eq!(take(&subject, OutboxConsumer::InternalRelay, 9).await, []);
    assert_eq!(commands(&take(&subject, OutboxConsumer::Publisher, 9).await), [1, 3]);
    subject.at(11);
    let again = take(&subject, OutboxConsumer::InternalRelay, 9).await;
    assert_eq!(commands(&again), [2, 4], "their holds are over");
    assert_eq!(commands(&take(&subject, OutboxConsumer::Publisher, 9).await), [1, 3]);
}

pub async fn only_the_notifier_takes_notifications_about_executions(subject: Subject) {
    let outbox = vec![notification(1), notice(7), notification(3), notice(9)];
    assert_eq!(subject.append(Append { outbox, ..start(A) }).await, Ok(()));
    assert_eq!(events(&take(&subject, OutboxConsumer::Notifier, 1).await), [7]);
    assert_eq!(commands(&take(&subject, OutboxConsumer::Relay, 9).await), [1, 3]);
    assert_eq!(take(&subject, OutboxConsumer::InternalRelay, 9).await, []);
    let rest = take(&subject, OutboxConsumer::Notifier, 9).await;
    assert_eq!((events(&rest), rest[0].execution), (vec![9], A));
    assert_eq!(take(&subject, OutboxConsumer::Notifier, 9).await, []);
    subject.at(11);
    let mut again = events(&take(&subject, OutboxConsumer::Notifier, 9).await);
    again.sort_unstable();
    assert_eq!(again, [7, 9], "their holds are over");
    assert_eq!(commands(&take(&subject, OutboxConsumer::Publisher, 9).await), [1, 3]);
}

pub async fn a_message_that_no_attempt_can_deliver_is_dead_at_once(subject: Subject) {
    let outbox = vec![notice(7)];
    assert_eq!(subject.append(Append { outbox, ..start(A) }).await, Ok(()));
    let taken = take(&subject, OutboxConsumer::Notifier, 9).await;
    let failures = [Failure { is_final: true, ..failure(taken[0].id) }];
    let outcomes = subject.store.failed(&failures).await.expect("the store takes failures");
    assert_eq!(outcomes, [AttemptOutcome::Dead]);
    subject.at(LATER);
    assert_eq!(take(&subject, OutboxConsumer::Notifier, 9).await, []);
    assert_eq!(subject.store.revive(&[taken[0].id]).await.expect("the store revives"), 1);
    assert_eq!(events(&take(&subject, OutboxConsumer::Notifier, 9).await), [7]);
}

fn notice(event: u64) -> Message {
    Message::Notification {
        event: Seq(event),
        reason: NoticeReason::Late,
        document: Some("größe".into()),
        depth: 1,
        target: NoticeTarget::Playbook { path: "größe".into(), workload: Map::new() },
    }
}

/// Returns the events that requested the notifications.
fn events(rows: &[OutboxRow]) -> Vec<u64> {
    let of = |row: &OutboxRow| match &row.message {
        Message::Notification { event, .. } => event.0,
        other => panic!("{other:?} is no notification"),
    };
    rows.iter().map(of).collect()
}

pub async fn a_reminder_is_added_unless_a_notification_of_its_command_is_pending(subject: Subject) {
    owe(&subject, A, &[1]).await;
    owe(&subject, B, &[2]).await;
    let remind = async |execution: ExecutionId, command: u64| {
        let notification = notification(command);
        let added = subject.store.remind(execution, CommandId(command), &notification).await;
        added.expect("the store adds reminders")
    };
    assert!(!remind(A, 1).await, "nobody has taken the first one");
    assert!(remind(A, 2).await, "the pending one is of another execution");
    assert!(!remind(A, 2).await);
    let taken = take(&subject, OutboxConsumer::Publisher, 9).await;
    assert!(!remind(A, 1).await, "the first one is being sent");
    let ids: Vec<i64> = taken.iter().map(|row| row.id).collect();
    subject.store.sent(&ids).await.expect("the store forgets messages");
    assert!(remind(A, 1).await);
    let again = take(&subject, OutboxConsumer::Publisher, 9).await;
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].execution, &again[0].message), (A, &notification(1)));
    assert!(!ids.contains(&again[0].id), "a reminder has an id of its own");
    for attempt in 1..=u64::from(OUTBOX_ATTEMPTS_MAX) {
        subject.at(attempt * LATER);
        take(&subject, OutboxConsumer::Publisher, 9).await;
    }
    assert_eq!(states(&subject).await, [(1, MessageState::Dead)]);
    assert!(remind(A, 1).await, "a dead message is not pending");
}

pub async fn consumers_at_the_same_time_never_share_a_message(subject: Subject) {
    const EACH: u64 = 40;
    for execution in 0..4 {
        let commands: Vec<u64> = (0..EACH).collect();
        owe(&subject, ExecutionId(2000 + execution), &commands).await;
    }
    let consumers = (0..8).map(|number| {
        let subject = subject.clone();
        tokio::spawn(async move {
            let consumer =
                if number % 2 == 0 { OutboxConsumer::Relay } else { OutboxConsumer::Publisher };
            let mut ids = Vec::new();
            for _ in 0..10 {
                ids.extend(take(&subject, consumer, 7).await.iter().map(|row| row.id));
            }
            ids
        })
    });
    let consumers: Vec<_> = consumers.collect();
    let mut ids = Vec::new();
    for consumer in consumers {
        ids.extend(consumer.await.expect("nobody panics"));
    }
    let distinct: BTreeSet<i64> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len());
    assert_eq!(subject.owed().await, 4 * EACH);
}
