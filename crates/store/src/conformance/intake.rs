//! Conformance cases of failed messages and of named locks.

use std::time::Duration;

use noetl_model::{Arrival, Bytes, ExecutionId};
use serde_json::{Map, json};

use super::Subject;
use super::given::{A, B, at};
use crate::{FailedMark, FailedMessage, FailedStanding};

const SAYS: &str = "the store answers";

fn message(subscription: ExecutionId, once: &str, order_key: Option<&str>) -> FailedMessage {
    FailedMessage {
        subscription,
        arrival: Arrival {
            id: format!("id of {once}"),
            once: once.to_owned(),
            headers: Map::from_iter([("k".to_owned(), json!("größe"))]),
            attributes: Map::new(),
            metadata: Map::from_iter([("seq".to_owned(), json!(7))]),
            body: Bytes(vec![0xff, 0, 7]),
        },
        order_key: order_key.map(str::to_owned),
        failures: 1,
        reason: "no such playbook".to_owned(),
        standing: FailedStanding::Waiting { until: at(5) },
        first_at: at(1),
        last_at: at(1),
    }
}

fn dead(message: FailedMessage) -> FailedMessage {
    FailedMessage { failures: 5, standing: FailedStanding::Dead, last_at: at(9), ..message }
}

async fn put(subject: &Subject, message: &FailedMessage) {
    subject.records.put_failed_message(message).await.expect(SAYS);
}

pub async fn a_failed_message_is_kept_whole_until_it_is_removed(subject: Subject) {
    let first = message(A, "a", None);
    put(&subject, &first).await;
    let find = async |once: &str| subject.records.failed_message(A, once).await.expect(SAYS);
    assert_eq!(find("a").await, Some(first.clone()));
    put(&subject, &dead(first.clone())).await;
    assert_eq!(find("a").await, Some(dead(first)));
    assert_eq!(find("b").await, None);
    let remove = async |named: &[&str]| {
        let named: Vec<String> = named.iter().map(ToString::to_string).collect();
        subject.records.remove_failed_messages(A, &named).await.expect(SAYS)
    };
    assert_eq!(remove(&["a", "b"]).await, 1);
    assert_eq!(remove(&["a"]).await, 0);
    assert_eq!(find("a").await, None);
}

pub async fn failed_messages_are_listed_a_page_at_a_time(subject: Subject) {
    for once in ["c", "a", "b"] {
        put(&subject, &message(A, once, None)).await;
    }
    put(&subject, &message(B, "z", None)).await;
    let list = async |after: &str, limit| {
        let found = subject.records.failed_messages(A, after, limit).await.expect(SAYS);
        found.into_iter().map(|it| it.arrival.once).collect::<Vec<_>>()
    };
    assert_eq!(list("", 2).await, ["a", "b"]);
    assert_eq!(list("b", 2).await, ["c"]);
}

pub async fn messages_waiting_under_a_key_are_found_and_failed_ones_are_not(subject: Subject) {
    put(&subject, &message(A, "a", Some("x"))).await;
    put(&subject, &dead(message(A, "b", Some("x")))).await;
    put(&subject, &message(A, "c", None)).await;
    put(&subject, &message(B, "d", Some("x"))).await;
    let among = async |named: &[&str], keys: &[&str]| {
        let texts = |it: &[&str]| it.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found = subject.records.failed_among(A, &texts(named), &texts(keys)).await;
        let mut found = found.expect(SAYS);
        found.sort_by(|one, other| one.once.cmp(&other.once));
        found
    };
    let mark = |once: &str, key: Option<&str>| FailedMark {
        once: once.to_owned(),
        order_key: key.map(str::to_owned),
        failures: 1,
        standing: FailedStanding::Waiting { until: at(5) },
        first_at: at(1),
    };
    assert_eq!(among(&["c"], &["x"]).await, [mark("a", Some("x")), mark("c", None)]);
    assert_eq!(among(&["d"], &["y"]).await, []);
    let gone = among(&["b"], &[]).await;
    assert_eq!(
        gone.iter().map(|it| (it.failures, it.standing)).collect::<Vec<_>>(),
        [(5, FailedStanding::Dead)]
    );
}

pub async fn a_lock_has_one_holder_until_it_is_released_or_expires(subject: Subject) {
    let take = async |name: &str, holder: &str| {
        subject.records.acquire_lock(name, holder, Duration::from_secs(10)).await.expect(SAYS)
    };
    assert!(take("t", "one").await);
    assert!(take("t", "one").await);
    assert!(!take("t", "two").await);
    assert!(take("other", "two").await);
    subject.at(9);
    assert!(take("t", "one").await, "it is kept for longer");
    subject.at(18);
    assert!(!take("t", "two").await);
    subject.at(19);
    assert!(take("t", "two").await, "it is over");
    subject.records.release_lock("t", "one").await.expect(SAYS);
    assert!(!take("t", "one").await, "only its holder gives it up");
    subject.records.release_lock("t", "two").await.expect(SAYS);
    assert!(take("t", "one").await);
}
