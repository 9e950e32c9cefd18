//! Conformance cases of signals that are sent by a correlation key.

use noetl_model::{CommandId, ExecutionId, IndexKey};
use serde_json::json;

use super::Subject;
use super::given::at;
use crate::{KeyedSignal, SignalState, SignalTarget, StoredSignal};

fn signal(id: i64, key: &str, once: Option<&str>) -> StoredSignal {
    StoredSignal {
        id,
        index_key: IndexKey::new(format!("payment {key}")),
        once: once.map(str::to_owned),
        state: SignalState::Kept,
        expires_at: at(100),
        signal: KeyedSignal {
            name: "payment".parse().expect("a name"),
            key: key.parse().expect("a key"),
            body: json!({ "größe": [1, null, "\u{7f}"] }),
            sender: Some("shop".into()),
            actor: Some("ada".parse().expect("a name")),
            received_at: at(id.unsigned_abs()),
        },
    }
}

fn target(execution: i64, command: u64) -> SignalTarget {
    SignalTarget { execution: ExecutionId(execution), command: CommandId(command) }
}

async fn added(subject: &Subject, signal: &StoredSignal) -> StoredSignal {
    subject.store.add_signal(signal).await.expect("the store adds a signal")
}

async fn undelivered(subject: &Subject, key: &str) -> Vec<i64> {
    let key = IndexKey::new(format!("payment {key}"));
    let undelivered = subject
        .store
        .undelivered_signals(&key, i64::MIN, 10)
        .await
        .expect("the store lists signals");
    undelivered.iter().map(|it| it.id).collect()
}

async fn open(subject: &Subject, after: i64, limit: usize) -> Vec<(i64, SignalState)> {
    let open = subject.store.open_signals(after, limit).await.expect("the store lists signals");
    open.iter().map(|it| (it.id, it.state)).collect()
}

pub async fn signals_of_a_key_are_kept_in_the_order_in_which_they_were_stored(subject: Subject) {
    // The numbers come from servers whose clocks differ.
    for (id, number) in [(3, 3), (1, 4), (7, 7), (2, 8)] {
        let stored = StoredSignal { id: number, ..signal(id, "a", None) };
        assert_eq!(added(&subject, &signal(id, "a", None)).await, stored);
    }
    assert_eq!(added(&subject, &signal(3, "b", None)).await.id, 5, "3 and 4 are taken");
    assert_eq!(undelivered(&subject, "a").await, [3, 4, 7, 8]);
    assert_eq!(undelivered(&subject, "b").await, [5]);
    assert_eq!(undelivered(&subject, "c").await, [0; 0]);
    let key = IndexKey::new("payment a");
    let listed = async |after, limit| {
        let listed = subject.store.undelivered_signals(&key, after, limit).await;
        listed.expect("the store lists signals")
    };
    assert_eq!(listed(i64::MIN, 1).await, [signal(3, "a", None)]);
    let later: Vec<i64> = listed(4, 9).await.iter().map(|it| it.id).collect();
    assert_eq!(later, [7, 8]);
    assert_eq!(subject.store.count_signals(9).await.expect("the store counts"), 5);
    assert_eq!(subject.store.count_signals(2).await.expect("the store counts"), 2);
    for (key, max, count) in [("a", 9, 4), ("a", 3, 3), ("b", 9, 1), ("c", 9, 0)] {
        let key = IndexKey::new(format!("payment {key}"));
        let counted = subject.store.count_signals_of(&key, max).await.expect("the store counts");
        assert_eq!(counted, count, "{key} {max}");
    }
}

pub async fn a_deduplication_key_stores_one_signal(subject: Subject) {
    let first = added(&subject, &signal(1, "a", Some("k"))).await;
    assert_eq!(added(&subject, &signal(2, "a", Some("k"))).await, first);
    assert_eq!(added(&subject, &signal(3, "a", Some("l"))).await.id, 3);
    assert_eq!(undelivered(&subject, "a").await, [1, 3]);
}

pub async fn a_signal_is_assigned_once_and_settled_or_released(subject: Subject) {
    let store = &subject.store;
    for id in [1, 2] {
        added(&subject, &signal(id, "a", Some(&id.to_string()))).await;
    }
    let (one, other) = (target(10, 3), target(11, 0));
    assert!(store.assign_signal(1, one).await.expect("the store assigns"));
    assert!(!store.assign_signal(1, other).await.expect("the store assigns"));
    assert_eq!(undelivered(&subject, "a").await, [1, 2]);
    let assigned = SignalState::Assigned(one);
    assert_eq!(open(&subject, i64::MIN, 9).await, [(1, assigned), (2, SignalState::Kept)]);
    assert!(!store.release_signal(1, other).await.expect("the store releases"));
    assert!(!store.settle_signal(1, other, at(900)).await.expect("the store settles"));
    assert!(store.release_signal(1, one).await.expect("the store releases"));
    assert!(store.assign_signal(1, other).await.expect("the store assigns"));
    assert!(store.settle_signal(1, other, at(900)).await.expect("the store settles"));
    assert_eq!(undelivered(&subject, "a").await, [2]);
    assert!(!store.settle_signal(1, other, at(900)).await.expect("the store settles"));
    assert!(!store.assign_signal(1, one).await.expect("the store assigns"));
    assert_eq!(open(&subject, i64::MIN, 9).await, [(2, SignalState::Kept)]);
    assert_eq!(open(&subject, 2, 9).await, []);
    let found = async |id| store.find_signal(id).await.expect("the store finds a signal");
    let settled = found(1).await.map(|it| (it.state, it.expires_at));
    assert_eq!(settled, Some((SignalState::Delivered(other), at(100))), "it does not live longer");
    assert_eq!(found(2).await, Some(signal(2, "a", Some("2"))));
    assert_eq!(found(3).await, None);
    let known = added(&subject, &signal(5, "a", Some("1"))).await;
    assert_eq!((known.id, known.state), (1, SignalState::Delivered(other)));
}

pub async fn expired_signals_are_forgotten_unless_they_are_being_delivered(subject: Subject) {
    let store = &subject.store;
    for id in [1, 2, 3, 4] {
        added(&subject, &signal(id, "a", None)).await;
    }
    added(&subject, &StoredSignal { expires_at: at(300), ..signal(5, "a", None) }).await;
    store.assign_signal(1, target(10, 0)).await.expect("the store assigns");
    store.assign_signal(2, target(10, 1)).await.expect("the store assigns");
    store.settle_signal(2, target(10, 1), at(50)).await.expect("the store settles");
    assert_eq!(store.forget_signals(at(50), 9).await.expect("the store forgets"), 0);
    assert_eq!(store.forget_signals(at(100), 9).await.expect("the store forgets"), 1, "delivered");
    assert_eq!(store.forget_signals(at(200), 1).await.expect("the store forgets"), 1);
    assert_eq!(store.forget_signals(at(200), 9).await.expect("the store forgets"), 1);
    let left: Vec<i64> = open(&subject, i64::MIN, 9).await.iter().map(|(id, _)| *id).collect();
    assert_eq!(left, [1, 5]);
}

pub async fn a_signal_is_numbered_although_others_have_the_next_numbers(subject: Subject) {
    added(&subject, &signal(1000, "a", None)).await;
    for id in 1001..1100 {
        added(&subject, &signal(id, "b", None)).await;
    }
    // The clock of this server is behind.
    let late = added(&subject, &signal(3, "a", None)).await;
    assert!(late.id >= 1100, "{}", late.id);
    assert_eq!(undelivered(&subject, "a").await, [1000, late.id]);
}

pub async fn a_signal_is_dropped_only_while_it_is_kept(subject: Subject) {
    let store = &subject.store;
    for id in [1, 2, 3] {
        added(&subject, &signal(id, "a", Some(&id.to_string()))).await;
    }
    let dropped = async |id| store.drop_signal(id).await.expect("the store drops");
    store.assign_signal(2, target(10, 0)).await.expect("the store assigns");
    store.assign_signal(3, target(10, 1)).await.expect("the store assigns");
    store.settle_signal(3, target(10, 1), at(50)).await.expect("the store settles");
    for (id, is_dropped) in [(1, true), (1, false), (2, false), (3, false), (4, false)] {
        assert_eq!(dropped(id).await, is_dropped, "{id}");
    }
    assert_eq!(undelivered(&subject, "a").await, [2]);
    store.release_signal(2, target(10, 0)).await.expect("the store releases");
    assert!(dropped(2).await);
    assert!(!store.assign_signal(2, target(10, 2)).await.expect("the store assigns"));
    let again = added(&subject, &signal(5, "a", Some("1"))).await;
    assert_eq!(again.id, 5, "the key of a dropped signal is free");
}
