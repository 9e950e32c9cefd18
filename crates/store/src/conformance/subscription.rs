//! Conformance cases of subscriptions.

use noetl_model::{CatalogId, EventId, ExecutionId, Seq, SubscriptionEvent};

use super::Subject;
use super::given::{A, B, at};
use crate::{SubscriptionRecord, SubscriptionRow};

fn row(id: ExecutionId, path: &str, seq: u64, event: SubscriptionEvent) -> SubscriptionRow {
    SubscriptionRow {
        id,
        path: path.to_owned(),
        catalog_id: CatalogId(7),
        seq: Seq(seq),
        last_event: event,
        updated_at: at(seq),
    }
}

async fn record(subject: &Subject, row: &SubscriptionRow) -> bool {
    let event = EventId(row.id.0 * 100 + i64::try_from(row.seq.0).expect("small"));
    subject.store.record(row, event).await.expect("the store records")
}

pub async fn a_subscription_is_what_happened_to_it_last(subject: Subject) {
    let first = row(A, "subs/größe", 1, SubscriptionEvent::Registered);
    let second = row(A, "subs/größe", 2, SubscriptionEvent::Activated);
    assert!(record(&subject, &first).await);
    assert!(record(&subject, &second).await);
    let store = &subject.store;
    assert_eq!(store.subscription(A).await.expect("it reads"), Some(second.clone()));
    assert_eq!(store.subscription(B).await.expect("it reads"), None);
    assert_eq!(store.subscription_at("subs/größe").await.expect("it reads"), Some(second));
    assert_eq!(store.subscription_at("subs/other").await.expect("it reads"), None);
    let of = |seq: u64, event| SubscriptionRecord {
        seq: Seq(seq),
        event_id: EventId(A.0 * 100 + i64::try_from(seq).expect("small")),
        event,
        at: at(seq),
    };
    let (one, two) = (of(1, SubscriptionEvent::Registered), of(2, SubscriptionEvent::Activated));
    let events = store.subscription_events(A, Seq::ZERO).await.expect("it reads");
    assert_eq!(events, [one, two]);
    assert_eq!(store.subscription_events(A, Seq(1)).await.expect("it reads"), [two]);
}

pub async fn of_two_that_move_a_subscription_at_once_one_comes_too_late(subject: Subject) {
    assert!(record(&subject, &row(A, "s", 1, SubscriptionEvent::Registered)).await);
    assert!(record(&subject, &row(A, "s", 2, SubscriptionEvent::Activated)).await);
    assert!(!record(&subject, &row(A, "s", 2, SubscriptionEvent::Deactivated)).await);
    assert!(!record(&subject, &row(A, "s", 4, SubscriptionEvent::Paused)).await);
    assert!(!record(&subject, &row(A, "s", 1, SubscriptionEvent::Registered)).await);
    let kept = subject.store.subscription(A).await.expect("it reads").expect("it is there");
    assert_eq!((kept.seq, kept.last_event), (Seq(2), SubscriptionEvent::Activated));
}

pub async fn a_path_has_one_live_subscription(subject: Subject) {
    assert!(record(&subject, &row(A, "s", 1, SubscriptionEvent::Registered)).await);
    assert!(!record(&subject, &row(B, "s", 1, SubscriptionEvent::Registered)).await);
    assert!(record(&subject, &row(A, "s", 2, SubscriptionEvent::Deactivated)).await);
    assert!(record(&subject, &row(B, "s", 1, SubscriptionEvent::Registered)).await);
    assert!(!record(&subject, &row(A, "s", 3, SubscriptionEvent::Activated)).await);
    let at_path = subject.store.subscription_at("s").await.expect("it reads");
    assert_eq!(at_path.map(|row| row.id), Some(B));
    let all = subject.store.subscriptions(None, 10).await.expect("it lists");
    assert_eq!(all.iter().map(|row| row.id).collect::<Vec<_>>(), [B, A]);
    let older = subject.store.subscriptions(Some(B), 10).await.expect("it lists");
    assert_eq!(older.iter().map(|row| row.id).collect::<Vec<_>>(), [A]);
}

pub async fn registering_at_once_makes_one_subscription(subject: Subject) {
    let register = |number: i64| {
        let subject = subject.clone();
        tokio::spawn(async move {
            let id = ExecutionId(3000 + number);
            record(&subject, &row(id, "s", 1, SubscriptionEvent::Registered)).await
        })
    };
    let registering: Vec<_> = (0..8).map(register).collect();
    let mut made = 0;
    for it in registering {
        made += usize::from(it.await.expect("nobody panics"));
    }
    assert_eq!(made, 1);
}
