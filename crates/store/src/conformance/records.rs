//! Conformance cases of variables, runtimes, named results, objects, and their expiry.

use std::sync::Arc;

use noetl_model::{Digest, ExecutionId, Timestamp};
use serde_json::{Value, json};

use super::Subject;
use super::given::{A, B, T0, at, start};
use crate::{
    Append, AuditEntry, Collected, Horizon, NamedResult, Object, ObjectKey, ResultRef, Runtime,
    RuntimeKey, Variable, VariableType,
};

const SAYS: &str = "the store answers";

fn variable(name: &str, value: Value) -> Variable {
    Variable {
        name: name.into(),
        kind: VariableType::Computed,
        value,
        source_step: Some("fetch".into()),
        created_at: at(1),
        accessed_at: None,
        access_count: 0,
    }
}

async fn names(subject: &Subject, execution: ExecutionId) -> Vec<String> {
    let variables = subject.records.variables(execution).await.expect(SAYS);
    variables.into_iter().map(|it| it.name).collect()
}

pub async fn variables_are_set_anew_listed_by_name_and_counted(subject: Subject) {
    let [b, a] = [variable("b", json!({ "z": 1.0, "a": [null] })), variable("a", json!("x"))];
    subject.records.put_variables(A, &[b.clone(), a.clone()]).await.expect(SAYS);
    let listed = subject.records.variables(A).await.expect(SAYS);
    assert_eq!(listed, [a, b.clone()]);
    let ask = async |name: &str, now| subject.records.variable(A, name, now).await.expect(SAYS);
    let asked = Variable { access_count: 1, accessed_at: Some(at(5)), ..b.clone() };
    assert_eq!(ask("b", at(5)).await.as_ref(), Some(&asked));
    assert_eq!(ask("c", at(5)).await, None);
    let anew = Variable { value: json!(2), source_step: None, ..b };
    subject.records.put_variables(A, std::slice::from_ref(&anew)).await.expect(SAYS);
    let asked = Variable { access_count: 1, accessed_at: Some(at(6)), ..anew };
    assert_eq!(ask("b", at(6)).await, Some(asked));
}

pub async fn variables_of_other_executions_are_left_alone(subject: Subject) {
    for execution in [A, B] {
        let variables = [variable("a", json!(1)), variable("b", json!(1))];
        subject.records.put_variables(execution, &variables).await.expect(SAYS);
    }
    let remove = async |name| subject.records.remove_variables(A, name).await.expect(SAYS);
    assert_eq!(remove(Some("a")).await, 1);
    assert_eq!(remove(Some("a")).await, 0);
    assert_eq!(names(&subject, A).await, ["b"]);
    assert_eq!(remove(None).await, 1);
    assert_eq!(names(&subject, A).await, [""; 0]);
    assert_eq!(names(&subject, B).await, ["a", "b"]);
}

fn key(kind: &str, name: &str) -> RuntimeKey {
    RuntimeKey { kind: kind.into(), name: name.into() }
}

fn runtime(id: i64, key: RuntimeKey, now: Timestamp) -> Runtime {
    Runtime {
        id,
        key,
        uri: Some("http://w".into()),
        status: "ready".into(),
        labels: Some(json!({ "pool": "x" })),
        capabilities: Some(json!(["http"])),
        capacity: Some(8),
        runtime: Some(json!({ "kind": "rust" })),
        heartbeat: now,
        created_at: now,
        updated_at: now,
    }
}

pub async fn a_runtime_registers_beats_and_leaves(subject: Subject) {
    let mine = key("worker_pool", "w-1");
    let kept = runtime(7, mine.clone(), at(1));
    assert_eq!(subject.records.put_runtime(&kept).await.expect(SAYS), kept);
    let other = runtime(8, key("server_api", "w-1"), at(1));
    subject.records.put_runtime(&other).await.expect(SAYS);
    assert!(subject.records.heard_runtime(&mine, at(5)).await.expect(SAYS));
    assert!(!subject.records.heard_runtime(&key("broker", "w-1"), at(5)).await.expect(SAYS));
    let beaten = Runtime { heartbeat: at(5), ..kept };
    assert_eq!(subject.records.runtime(&mine).await.expect(SAYS).as_ref(), Some(&beaten));
    assert_eq!(subject.records.runtimes("worker_pool").await.expect(SAYS), [beaten]);
    assert!(subject.records.remove_runtime(&mine).await.expect(SAYS));
    assert!(!subject.records.remove_runtime(&mine).await.expect(SAYS));
    assert_eq!(subject.records.runtime(&mine).await.expect(SAYS), None);
    assert_eq!(subject.records.runtimes("server_api").await.expect(SAYS), [other]);
}

pub async fn a_runtime_that_registers_again_keeps_its_id(subject: Subject) {
    let first = runtime(7, key("worker_pool", "w-1"), at(1));
    subject.records.put_runtime(&first).await.expect(SAYS);
    let again = Runtime {
        uri: None,
        labels: None,
        capabilities: None,
        capacity: None,
        runtime: None,
        ..runtime(8, key("worker_pool", "w-1"), at(9))
    };
    let expected = Runtime { id: 7, created_at: at(1), ..again.clone() };
    assert_eq!(subject.records.put_runtime(&again).await.expect(SAYS), expected);
    assert_eq!(subject.records.runtimes("worker_pool").await.expect(SAYS), [expected]);
}

fn result(execution: ExecutionId, name: &str, id: i64, body: &str) -> NamedResult {
    NamedResult {
        reference: ResultRef { execution, name: name.into(), id },
        digest: Digest::of(body.as_bytes()),
        scope: "execution".into(),
        source_step: Some("fetch".into()),
        created_at: at(1),
        expires_at: None,
    }
}

async fn put(subject: &Subject, result: &NamedResult, body: &str) -> NamedResult {
    subject.records.put_result(result, body.as_bytes()).await.expect(SAYS).expect("it is kept")
}

pub async fn a_result_is_found_by_its_reference_until_it_expires(subject: Subject) {
    let lasting = result(A, "a/b", 1, "[1]");
    assert_eq!(put(&subject, &lasting, "[1]").await, lasting);
    let ending = NamedResult { expires_at: Some(at(10)), ..result(A, "a/b", 2, "[2]") };
    put(&subject, &ending, "[2]").await;
    let find = async |reference: &ResultRef, now| {
        subject.records.result(reference, now).await.expect(SAYS)
    };
    assert_eq!(find(&lasting.reference, at(1000)).await.as_ref(), Some(&lasting));
    assert_eq!(find(&ending.reference, at(9)).await.as_ref(), Some(&ending));
    assert_eq!(find(&ending.reference, at(10)).await, None);
    let elsewhere = ResultRef { execution: B, ..lasting.reference.clone() };
    assert_eq!(find(&elsewhere, at(1)).await, None);
    let other = ResultRef { id: 3, ..lasting.reference };
    assert_eq!(find(&other, at(1)).await, None);
    let body = subject.store.payload(&lasting.digest).await.expect(SAYS);
    assert_eq!(body.as_deref(), Some(&b"[1]"[..]), "the value is a payload");
}

pub async fn the_same_value_under_the_same_name_is_stored_once(subject: Subject) {
    let ending =
        |id, end: Option<u64>| NamedResult { expires_at: end.map(at), ..result(A, "a", id, "[1]") };
    put(&subject, &ending(1, Some(10)), "[1]").await;
    assert_eq!(put(&subject, &ending(2, Some(20)), "[1]").await, ending(1, Some(20)));
    assert_eq!(put(&subject, &ending(3, Some(15)), "[1]").await, ending(1, Some(20)));
    assert_eq!(put(&subject, &ending(4, None), "[1]").await, ending(1, None));
    assert_eq!(put(&subject, &ending(5, Some(30)), "[1]").await, ending(1, None));
    let other_name = result(A, "b", 6, "[1]");
    assert_eq!(put(&subject, &other_name, "[1]").await, other_name);
    let other_execution = result(B, "a", 7, "[1]");
    assert_eq!(put(&subject, &other_execution, "[1]").await, other_execution);
}

fn object(key: ObjectKey, body: &[u8], end: Option<u64>) -> Object {
    Object {
        key,
        media_type: "text/plain".into(),
        digest: Digest::of(body),
        body: body.to_vec(),
        updated_at: T0,
        expires_at: end.map(at),
    }
}

pub async fn an_object_is_replaced_and_expires(subject: Subject) {
    let key = ObjectKey::object("a/b.txt");
    let find = async |now| subject.records.object(&key, now).await.expect(SAYS);
    assert_eq!(find(at(1)).await, None);
    for object in [object(key.clone(), &[0, 255], None), object(key.clone(), b"", Some(10))] {
        subject.records.put_object(&object).await.expect(SAYS);
        assert_eq!(find(at(9)).await, Some(object));
    }
    assert_eq!(find(at(10)).await, None);
}

pub async fn plugins_and_objects_never_meet(subject: Subject) {
    let keys = [ObjectKey::object("p"), ObjectKey::plugin("p", 1), ObjectKey::plugin("p", 2)];
    for (key, body) in keys.iter().zip([b"0", b"1", b"2"]) {
        subject.records.put_object(&object(key.clone(), body, None)).await.expect(SAYS);
    }
    for (key, body) in keys.iter().zip([b"0", b"1", b"2"]) {
        let found = subject.records.object(key, at(1)).await.expect(SAYS).expect("it is there");
        assert_eq!(found.body, body);
    }
}

pub async fn expired_records_are_collected_and_no_others(subject: Subject) {
    let records = &subject.records;
    for (id, end) in [(1, Some(10)), (2, Some(90)), (3, None)] {
        let body = format!("[{id}]");
        let result = NamedResult { expires_at: end.map(at), ..result(A, "a", id, &body) };
        put(&subject, &result, &body).await;
        let key = ObjectKey::object(&id.to_string());
        records.put_object(&object(key, b"x", end)).await.expect(SAYS);
        let heard = end.unwrap_or(90);
        let runtime = runtime(id, key_of(id), at(heard));
        records.put_runtime(&runtime).await.expect(SAYS);
        let access = AuditEntry {
            id,
            at: at(heard),
            credential: "pg".into(),
            operation: "read".into(),
            outcome: "ok".into(),
            worker: None,
            execution: None,
            parent_execution: None,
            key_version: None,
            notes: None,
        };
        records.note_access(&access).await.expect(SAYS);
    }
    let horizon = horizon(50);
    let collect = async |limit| records.collect(&horizon, limit).await.expect(SAYS);
    assert_eq!(collect(0).await, Collected::default());
    let expected = Collected {
        results: 1,
        payloads: 1,
        objects: 1,
        runtimes: 1,
        audit: 1,
        ..Collected::default()
    };
    assert_eq!(collect(10).await, expected);
    assert_eq!(collect(10).await, Collected::default());
    let left = records.runtimes("worker_pool").await.expect(SAYS);
    assert_eq!(left.iter().map(|it| it.id).collect::<Vec<_>>(), [2, 3]);
    let kept = ResultRef { execution: A, name: "a".into(), id: 2 };
    assert!(records.result(&kept, at(51)).await.expect(SAYS).is_some());
}

/// Returns a horizon that expires everything before a second.
fn horizon(second: u64) -> Horizon {
    let end = at(second);
    Horizon {
        expired: end,
        payloads: end,
        keychain: end,
        runtimes: end,
        audit: end,
        feed: end,
        history: end,
    }
}

pub async fn a_value_goes_with_its_last_name_unless_a_log_refers_to_it(subject: Subject) {
    let records = &subject.records;
    let named = |name, id, body: &str, end| NamedResult {
        expires_at: Some(at(end)),
        ..result(A, name, id, body)
    };
    put(&subject, &named("short", 1, "[1]", 10), "[1]").await;
    put(&subject, &named("long", 2, "[1]", 90), "[1]").await;
    put(&subject, &named("logged", 3, "[2]", 10), "[2]").await;
    let payloads = vec![(Digest::of(b"[2]"), Arc::new(b"[2]".to_vec()))];
    let appended = subject.store.append(&[Append { payloads, ..start(A) }]).await.expect(SAYS);
    assert_eq!(appended, [Ok(())]);
    put(&subject, &named("again", 4, "[2]", 10), "[2]").await;
    let collected = async |second| records.collect(&horizon(second), 10).await.expect(SAYS);
    let is_kept = async |body: &str| {
        let digest = Digest::of(body.as_bytes());
        subject.store.payload(&digest).await.expect(SAYS).is_some()
    };
    let first = collected(50).await;
    assert_eq!((first.results, first.payloads), (3, 0), "one still has a name");
    assert!(is_kept("[1]").await);
    let second = collected(95).await;
    assert_eq!((second.results, second.payloads), (1, 1));
    assert!(!is_kept("[1]").await);
    assert!(is_kept("[2]").await, "the log refers to it");
}

fn key_of(id: i64) -> RuntimeKey {
    key("worker_pool", &format!("w-{id}"))
}
