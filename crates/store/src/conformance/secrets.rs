//! Conformance cases of credentials, the keychain and the audit log.

use noetl_model::{CatalogId, CredentialPolicy, ExecutionId, Timestamp};
use serde_json::json;

use super::Subject;
use super::given::{A, B, at};
use crate::{
    AuditEntry, AuditFilter, Credential, CredentialFilter, CredentialKey, KeychainEntry, Rewrap,
    Sealed, SealedTable,
};

const SAYS: &str = "the store answers";

fn sealed(text: &str) -> Sealed {
    Sealed {
        key_version: "k1".into(),
        wrapped_key: format!("wrapped {text}").into_bytes(),
        ciphertext: vec![0, 255, 7],
    }
}

fn credential(id: i64, name: &str) -> Credential {
    Credential {
        id,
        name: name.into(),
        kind: "postgres".into(),
        meta: Some(json!({ "b": 1, "a": [1.0, null] })),
        tags: vec!["x".into(), "ü".into()],
        description: Some("Main Database".into()),
        policy: Some(CredentialPolicy {
            paths: vec!["team/*".into()],
            hosts: vec!["*.example.org:5432".parse().expect("a host")],
            ..CredentialPolicy::default()
        }),
        sealed: sealed(name),
        created_at: at(1),
        updated_at: at(1),
    }
}

async fn put(subject: &Subject, credential: &Credential) -> Option<Credential> {
    subject.records.put_credential(credential).await.expect(SAYS)
}

async fn found(subject: &Subject, key: CredentialKey) -> Option<Credential> {
    subject.records.credential(&key).await.expect(SAYS)
}

pub async fn a_credential_is_found_by_id_and_by_name_and_keeps_its_beginning(subject: Subject) {
    let first = credential(7, "pg");
    assert_eq!(put(&subject, &first).await.as_ref(), Some(&first));
    let changed = Credential {
        kind: "bearer".into(),
        meta: None,
        tags: vec![],
        description: None,
        policy: None,
        sealed: sealed("other"),
        created_at: at(9),
        updated_at: at(9),
        ..first.clone()
    };
    let expected = Credential { created_at: at(1), ..changed.clone() };
    assert_eq!(put(&subject, &changed).await.as_ref(), Some(&expected));
    assert_eq!(found(&subject, CredentialKey::Id(7)).await.as_ref(), Some(&expected));
    assert_eq!(found(&subject, CredentialKey::Name("pg".into())).await, Some(expected));
    assert_eq!(found(&subject, CredentialKey::Id(8)).await, None);
    assert_eq!(found(&subject, CredentialKey::Name("PG".into())).await, None);
}

pub async fn a_name_that_is_another_ids_is_not_written_over(subject: Subject) {
    let first = credential(7, "pg");
    put(&subject, &first).await;
    assert_eq!(put(&subject, &credential(8, "pg")).await, None);
    assert_eq!(found(&subject, CredentialKey::Name("pg".into())).await, Some(first));
}

pub async fn credentials_are_listed_newest_first_by_type_and_by_text(subject: Subject) {
    put(&subject, &credential(1, "alpha")).await;
    put(&subject, &Credential { kind: "bearer".into(), ..credential(2, "beta") }).await;
    put(&subject, &Credential { description: None, ..credential(3, "gamma_50%") }).await;
    let listed = async |kind: Option<&str>, text: Option<&str>, limit| {
        let filter = CredentialFilter { kind: kind.map(Into::into), text: text.map(Into::into) };
        let found = subject.records.credentials(&filter, limit).await.expect(SAYS);
        found.into_iter().map(|it| it.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(None, None, 10).await, [3, 2, 1]);
    assert_eq!(listed(None, None, 2).await, [3, 2]);
    assert_eq!(listed(Some("postgres"), None, 10).await, [3, 1]);
    assert_eq!(listed(None, Some("ALPH"), 10).await, [1]);
    assert_eq!(listed(None, Some("main data"), 10).await, [2, 1]);
    assert_eq!(listed(None, Some("0%"), 10).await, [3], "a part is taken as it is");
    assert_eq!(listed(None, Some("a_5"), 10).await, [3]);
    assert_eq!(listed(None, Some("%"), 10).await, [3]);
    assert_eq!(listed(Some("bearer"), Some("alpha"), 10).await, [0; 0]);
}

pub async fn a_removed_credential_is_gone(subject: Subject) {
    put(&subject, &credential(7, "pg")).await;
    assert!(subject.records.remove_credential(7).await.expect(SAYS));
    assert!(!subject.records.remove_credential(7).await.expect(SAYS));
    assert_eq!(found(&subject, CredentialKey::Id(7)).await, None);
    assert!(put(&subject, &credential(8, "pg")).await.is_some(), "the name is free");
}

pub async fn a_key_is_wrapped_anew_unless_the_record_has_changed(subject: Subject) {
    put(&subject, &credential(7, "pg")).await;
    let entry = entry("token:1:global", CatalogId(1), 60);
    subject.records.put_keychain_entry(&entry).await.expect(SAYS);
    for (table, key) in [(SealedTable::Credential, "pg"), (SealedTable::Keychain, "token:1:global")]
    {
        let change = Rewrap {
            key: key.into(),
            expected: sealed(key).wrapped_key,
            wrapped_key: vec![9],
            key_version: "k2".into(),
        };
        let rewrap = async |change: &Rewrap| subject.records.rewrap(table, change).await;
        assert!(rewrap(&change).await.expect(SAYS));
        assert!(!rewrap(&change).await.expect(SAYS), "its key is another by now");
        let unknown = Rewrap { key: "nobody".into(), ..change };
        assert!(!rewrap(&unknown).await.expect(SAYS));
        let versions = subject.records.key_versions(table).await.expect(SAYS);
        assert_eq!(versions, [("k2".to_owned(), 1)]);
    }
    let kept = found(&subject, CredentialKey::Id(7)).await.expect("it is there").sealed;
    let expected =
        Sealed { key_version: "k2".into(), wrapped_key: vec![9], ciphertext: vec![0, 255, 7] };
    assert_eq!(kept, expected);
}

pub async fn rows_under_other_keys_are_listed_in_order_from_any_place(subject: Subject) {
    for (id, name) in [(1, "c"), (2, "a"), (3, "B")] {
        put(&subject, &credential(id, name)).await;
    }
    let change = Rewrap {
        key: "B".into(),
        expected: sealed("B").wrapped_key,
        wrapped_key: vec![9],
        key_version: "k2".into(),
    };
    assert!(subject.records.rewrap(SealedTable::Credential, &change).await.expect(SAYS));
    let others = async |version: &str, after: &str, limit| {
        let table = SealedTable::Credential;
        let rows = subject.records.sealed_otherwise(table, version, after, limit).await;
        let rows = rows.expect(SAYS);
        rows.into_iter().map(|row| (row.key, row.id)).collect::<Vec<_>>()
    };
    assert_eq!(others("k2", "", 10).await, [("a".into(), 2), ("c".into(), 1)]);
    assert_eq!(others("k2", "a", 10).await, [("c".into(), 1)]);
    assert_eq!(others("k2", "", 1).await, [("a".into(), 2)]);
    assert_eq!(others("k1", "", 10).await, [("B".into(), 3)]);
}

fn entry(cache_key: &str, catalog_id: CatalogId, expires: u64) -> KeychainEntry {
    KeychainEntry {
        cache_key: cache_key.into(),
        name: "token".into(),
        catalog_id,
        scope: "global".into(),
        execution: Some(A),
        sealed: sealed(cache_key),
        expires_at: at(expires),
        auto_renew: true,
        renew_config: Some(json!({ "url": "x" })),
        access_count: 0,
        accessed_at: None,
        created_at: at(1),
    }
}

pub async fn a_keychain_entry_is_counted_when_it_is_asked_for(subject: Subject) {
    let kept = entry("token:1:global", CatalogId(1), 60);
    subject.records.put_keychain_entry(&kept).await.expect(SAYS);
    let ask = async |key: &str, now: Timestamp| {
        subject.records.keychain_entry(key, now).await.expect(SAYS)
    };
    let first = KeychainEntry { access_count: 1, accessed_at: Some(at(5)), ..kept.clone() };
    assert_eq!(ask("token:1:global", at(5)).await, Some(first));
    let second = ask("token:1:global", at(6)).await.expect("it is there");
    assert_eq!((second.access_count, second.accessed_at), (2, Some(at(6))));
    assert_eq!(ask("token:2:global", at(5)).await, None);
    let anew = KeychainEntry { execution: None, renew_config: None, ..kept };
    subject.records.put_keychain_entry(&anew).await.expect(SAYS);
    assert_eq!(ask("token:1:global", at(7)).await.map(|it| it.access_count), Some(1));
    let remove = async || subject.records.remove_keychain_entry("token:1:global").await;
    assert!(remove().await.expect(SAYS));
    assert!(!remove().await.expect(SAYS));
}

pub async fn keychain_entries_are_listed_by_playbook_version(subject: Subject) {
    for (key, catalog_id) in [("b:1:global", 1), ("a:1:global", 1), ("a:2:global", 2)] {
        let entry = entry(key, CatalogId(catalog_id), 60);
        subject.records.put_keychain_entry(&entry).await.expect(SAYS);
    }
    let listed = async |id, limit| {
        let entries = subject.records.keychain_entries(CatalogId(id), limit).await.expect(SAYS);
        entries.into_iter().map(|it| it.cache_key).collect::<Vec<_>>()
    };
    assert_eq!(listed(1, 10).await, ["a:1:global", "b:1:global"]);
    assert_eq!(listed(1, 1).await, ["a:1:global"]);
    assert_eq!(listed(3, 10).await, [""; 0]);
}

pub async fn accesses_are_listed_newest_first_by_what_they_are_about(subject: Subject) {
    let access = |id, credential: &str, execution: Option<ExecutionId>| AuditEntry {
        id,
        at: at(id.unsigned_abs()),
        credential: credential.into(),
        operation: "read".into(),
        outcome: "ok".into(),
        worker: Some("w".into()),
        execution,
        parent_execution: None,
        key_version: Some("k1".into()),
        notes: None,
    };
    for entry in [access(1, "pg", Some(A)), access(2, "api", Some(A)), access(3, "pg", Some(B))] {
        subject.records.note_access(&entry).await.expect(SAYS);
    }
    let listed = async |filter: AuditFilter, limit| {
        let entries = subject.records.accesses(&filter, limit).await.expect(SAYS);
        entries.into_iter().map(|it| it.id).collect::<Vec<_>>()
    };
    let all = AuditFilter::default();
    assert_eq!(listed(all.clone(), 10).await, [3, 2, 1]);
    assert_eq!(listed(all.clone(), 2).await, [3, 2]);
    let pg = AuditFilter { credential: Some("pg".into()), ..all.clone() };
    assert_eq!(listed(pg, 10).await, [3, 1]);
    assert_eq!(listed(AuditFilter { execution: Some(A), ..all.clone() }, 10).await, [2, 1]);
    let between = AuditFilter { from: Some(at(2)), to: Some(at(3)), ..all.clone() };
    assert_eq!(listed(between, 10).await, [2]);
    let whole = subject.records.accesses(&all, 1).await.expect(SAYS);
    assert_eq!(whole, [access(3, "pg", Some(B))]);
}
