use std::sync::atomic::{AtomicU16, Ordering};

use noetl_model::CatalogId;
use noetl_store::{AuditFilter, MemoryStore, Secrets as _, SystemClock};
use serde_json::json;

use super::*;
use crate::key::EncryptionKey;

struct Given {
    store: Arc<MemoryStore>,
    vault: Vault,
}

/// Returns a vault with a machine number of its own, like one of several servers.
fn vault_on(store: Arc<MemoryStore>, keyring: Keyring) -> Vault {
    static MACHINES: AtomicU16 = AtomicU16::new(0);
    let ids = IdGenerator::new(MACHINES.fetch_add(1, Ordering::Relaxed));
    Vault::new(store, keyring, Arc::new(ids), Arc::new(SystemClock))
}

fn given() -> Given {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let vault = vault_on(store.clone(), Keyring::new(EncryptionKey::generate(), Vec::new()));
    Given { store, vault }
}

fn new(name: &str) -> NewCredential {
    NewCredential {
        name: name.into(),
        kind: "bearer".into(),
        data: json!({ "token": "s3cr3t" }),
        meta: None,
        tags: Vec::new(),
        description: None,
        policy: PolicyChange::Keep,
    }
}

fn keychain(key: &str, expires_at: Timestamp) -> NewKeychainSecret {
    NewKeychainSecret {
        cache_key: key.into(),
        name: "token".into(),
        catalog_id: CatalogId(1),
        scope: "global".into(),
        execution: None,
        data: json!("s3cr3t"),
        expires_at,
        auto_renew: false,
        renew_config: None,
    }
}

async fn read(vault: &Vault, name: &str) -> Result<Value, VaultError> {
    let found = vault.find(Identifier(name)).await.unwrap().expect("it is there");
    vault.open(&found, SecretOperation::Read, &SecretAccess::default()).await
}

#[tokio::test]
async fn a_credential_comes_back_as_it_was_put_and_is_sealed_meanwhile() {
    let Given { vault, .. } = given();
    let kept = vault.put(new("api"), &SecretAccess::default()).await.unwrap();
    assert!(!format!("{kept:?}").contains("s3cr3t"));
    assert_eq!(read(&vault, "api").await.unwrap(), json!({ "token": "s3cr3t" }));
    assert_eq!(read(&vault, &kept.id.to_string()).await.unwrap(), json!({ "token": "s3cr3t" }));
    let changed = NewCredential { data: json!({ "token": "other" }), ..new("api") };
    assert_eq!(vault.put(changed, &SecretAccess::default()).await.unwrap().id, kept.id);
    assert_eq!(read(&vault, "api").await.unwrap(), json!({ "token": "other" }));
}

#[tokio::test]
async fn a_row_under_another_name_does_not_open() {
    let Given { store, vault } = given();
    let kept = vault.put(new("api"), &SecretAccess::default()).await.unwrap();
    let moved = Credential { name: "mine".into(), ..kept };
    noetl_store::Secrets::put_credential(&*store, &moved).await.unwrap();
    let opened = read(&vault, "mine").await;
    assert!(matches!(opened, Err(VaultError::Unreadable { .. })), "{opened:?}");
}

#[tokio::test]
async fn every_look_is_noted_also_one_that_fails() {
    let Given { store, vault } = given();
    let access = SecretAccess { worker: Some("w".into()), ..SecretAccess::default() };
    let kept = vault.put(new("api"), &access).await.unwrap();
    vault.open(&kept, SecretOperation::ReadSealed, &access).await.unwrap();
    let other = vault_on(store.clone(), Keyring::new(EncryptionKey::generate(), Vec::new()));
    assert!(other.open(&kept, SecretOperation::Read, &access).await.is_err());
    vault.remove(Identifier("api"), &access).await.unwrap();
    assert!(vault.remove(Identifier("api"), &access).await.unwrap().is_none());
    let mut noted = store.accesses(&AuditFilter::default(), 10).await.unwrap();
    noted.sort_by_key(|it| it.at);
    let noted: Vec<(&str, &str)> =
        noted.iter().map(|it| (it.operation.as_str(), it.outcome.as_str())).collect();
    let expected = [("put", "ok"), ("read_sealed", "ok"), ("read", "unreadable"), ("remove", "ok")];
    assert_eq!(noted, expected);
}

#[tokio::test]
async fn a_secret_of_the_keychain_holds_until_it_expires() {
    let Given { vault, .. } = given();
    let now = SystemClock.now();
    let later = now.after(std::time::Duration::from_secs(60));
    vault.put_keychain(keychain("a", later)).await.unwrap();
    vault.put_keychain(keychain("b", now)).await.unwrap();
    let found = vault.keychain("a").await.unwrap();
    assert!(matches!(found, Some(KeychainSecret::Found { data, .. }) if data == "s3cr3t"));
    assert!(matches!(vault.keychain("b").await.unwrap(), Some(KeychainSecret::Expired(_))));
    assert!(vault.keychain("c").await.unwrap().is_none());
}

#[tokio::test]
async fn a_new_key_takes_over_in_batches_and_can_be_interrupted() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let old = EncryptionKey::generate();
    let before = vault_on(store.clone(), Keyring::new(old.clone(), Vec::new()));
    for name in ["a", "b", "c", "d", "e"] {
        before.put(new(name), &SecretAccess::default()).await.unwrap();
    }
    let far = SystemClock.now().after(std::time::Duration::from_secs(60));
    before.put_keychain(keychain("k", far)).await.unwrap();
    let newer = EncryptionKey::generate();
    let both = vault_on(store.clone(), Keyring::new(newer.clone(), vec![old]));
    let first = both.rotate(2, 1).await.unwrap();
    let expected = RotationProgress {
        processed: 2,
        rewrapped: 2,
        last: Some("b".into()),
        ..RotationProgress::default()
    };
    assert_eq!(first.credential, expected);
    let second = both.rotate(2, 10).await.unwrap();
    assert_eq!((second.credential.rewrapped, second.credential.is_complete), (3, true));
    assert_eq!(second.keychain.rewrapped + first.keychain.rewrapped, 1);
    let third = both.rotate(2, 10).await.unwrap();
    assert_eq!(third.credential.processed, 0);
    let status = both.key_status(SealedTable::Credential).await.unwrap();
    assert_eq!(status, [(newer.version(), 5)]);
    let after = vault_on(store, Keyring::new(newer, Vec::new()));
    assert_eq!(read(&after, "e").await.unwrap(), json!({ "token": "s3cr3t" }));
    assert!(matches!(after.keychain("k").await.unwrap(), Some(KeychainSecret::Found { .. })));
}

#[tokio::test]
async fn rows_under_a_key_that_is_lost_are_counted_and_left() {
    let Given { store, vault } = given();
    vault.put(new("a"), &SecretAccess::default()).await.unwrap();
    let other = vault_on(store, Keyring::new(EncryptionKey::generate(), Vec::new()));
    let rotation = other.rotate(10, 10).await.unwrap();
    assert_eq!((rotation.credential.failed, rotation.credential.rewrapped), (1, 0));
    assert_eq!(read(&vault, "a").await.unwrap(), json!({ "token": "s3cr3t" }));
}

#[tokio::test]
async fn a_secret_above_the_limit_is_refused() {
    let Given { vault, .. } = given();
    let large = NewCredential { data: json!("x".repeat(DATA_MAX)), ..new("a") };
    let refused = vault.put(large, &SecretAccess::default()).await;
    assert!(matches!(refused, Err(VaultError::TooLarge)));
}
