//! Secrets by name: encrypted in the store, decrypted when read, with an audit entry per access.

mod inputs;
mod keychain;
mod rotation;

use std::sync::{Arc, OnceLock};

use noetl_model::{CredentialPolicy, ExecutionId, IdGenerator, Timestamp, TrailFact, TrailOutcome};
use noetl_store::{
    AuditEntry, Clock, Credential, CredentialFilter, CredentialKey, PAGE_MAX, Records, SealedTable,
    StoreError,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

pub use keychain::{KeychainSecret, NewKeychainSecret};
pub use rotation::{Rotation, RotationProgress};

use crate::envelope::{self, BoundRow, DecryptError};
use crate::key::Keyring;

/// The largest size of a secret's JSON in bytes.
pub const DATA_MAX: usize = 1024 * 1024;
/// The number of tries to store a credential that is changed concurrently.
const PUTS_MAX: usize = 5;

/// The reason why a secret could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the secret `{name}` cannot be opened")]
    Unreadable {
        name: String,
        #[source]
        source: DecryptError,
    },
    #[error("the secret has more than {DATA_MAX} bytes")]
    TooLarge,
    #[error("the credential `{0}` is being changed by another request; try again")]
    Contended(String),
}

/// A credential to be stored.
#[derive(Clone)]
pub struct NewCredential {
    pub name: String,
    pub kind: String,
    /// The secret part.
    pub data: Value,
    pub meta: Option<Value>,
    pub tags: Vec<String>,
    pub description: Option<String>,
    pub policy: PolicyChange,
}

/// The policy of a credential that is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PolicyChange {
    /// The policy of the credential that is replaced; none for a new one.
    #[default]
    Keep,
    /// No policy: the default of the server applies.
    Remove,
    Set(CredentialPolicy),
}

impl<'de> Deserialize<'de> for PolicyChange {
    /// Reads a policy, or `null` for none. A field that is missing is its default.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let policy = Option::deserialize(deserializer)?;
        Ok(policy.map_or(Self::Remove, Self::Set))
    }
}

impl PolicyChange {
    fn applied(&self, known: Option<CredentialPolicy>) -> Option<CredentialPolicy> {
        match self {
            PolicyChange::Keep => known,
            PolicyChange::Remove => None,
            PolicyChange::Set(policy) => Some(policy.clone()),
        }
    }
}

/// A credential's id or name, as entered by people; the id takes precedence.
#[derive(Debug, Clone, Copy)]
pub struct Identifier<'a>(pub &'a str);

/// An operation on a secret, as recorded in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretOperation {
    Put,
    Read,
    ReadSealed,
    Remove,
}

impl SecretOperation {
    fn as_str(self) -> &'static str {
        match self {
            SecretOperation::Put => "put",
            SecretOperation::Read => "read",
            SecretOperation::ReadSealed => "read_sealed",
            SecretOperation::Remove => "remove",
        }
    }
}

/// The result of an access to a secret, as recorded in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretOutcome {
    Done,
    /// The document that the sender works for does not name the secret.
    NotNamed,
    /// The policy of the credential does not let the execution use it.
    NotPermitted,
    /// The secret cannot be decrypted.
    Unreadable,
}

impl SecretOutcome {
    fn as_str(self) -> &'static str {
        match self {
            SecretOutcome::Done => "ok",
            SecretOutcome::NotNamed => "not_named",
            SecretOutcome::NotPermitted => "not_permitted",
            SecretOutcome::Unreadable => "unreadable",
        }
    }

    fn of_trail(self) -> TrailOutcome {
        match self {
            SecretOutcome::Done => TrailOutcome::Done,
            SecretOutcome::NotNamed | SecretOutcome::NotPermitted => TrailOutcome::Refused,
            SecretOutcome::Unreadable => TrailOutcome::Failed,
        }
    }
}

/// The worker and the execution on whose behalf a secret is accessed.
#[derive(Debug, Clone, Default)]
pub struct SecretAccess {
    pub worker: Option<String>,
    pub execution: Option<ExecutionId>,
    pub parent_execution: Option<ExecutionId>,
}

/// The audit log, as far as accesses to secrets are concerned.
pub trait AccessLog: Send + Sync {
    /// Takes a fact that is stored soon; the caller does not wait.
    fn note_access(&self, fact: TrailFact);
}

/// Returns the fields of a credential that the process received from outside the store.
pub type ExternalCredentials = Arc<dyn Fn(&str) -> Option<Map<String, Value>> + Send + Sync>;

/// The encrypted store of credentials and keychain entries.
pub struct Vault {
    records: Arc<dyn Records>,
    keyring: Keyring,
    ids: Arc<IdGenerator>,
    clock: Arc<dyn Clock>,
    given: Option<ExternalCredentials>,
    log: OnceLock<Arc<dyn AccessLog>>,
}

impl Vault {
    pub fn new(
        records: Arc<dyn Records>,
        keyring: Keyring,
        ids: Arc<IdGenerator>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { records, keyring, ids, clock, given: None, log: OnceLock::new() }
    }

    /// Adds a source of credentials outside the store; keychain entries may refer to them.
    #[must_use]
    pub fn with_given(self, given: ExternalCredentials) -> Self {
        Self { given: Some(given), ..self }
    }

    /// Sets the audit log; only the first call has an effect.
    pub fn log_to(&self, log: Arc<dyn AccessLog>) {
        let _set_before = self.log.set(log);
    }

    /// Returns a credential from outside the store.
    pub fn given(&self, name: &str) -> Option<Map<String, Value>> {
        self.given.as_ref().and_then(|given| given(name))
    }

    /// Derives a key for another purpose from the operator's current key. Every process with the same
    /// key derives the same.
    pub fn derived_key(&self, purpose: &str) -> zeroize::Zeroizing<[u8; 32]> {
        self.keyring.current().derive(purpose)
    }

    /// Derives a key for another purpose from each of the operator's earlier keys.
    pub fn earlier_derived_keys(&self, purpose: &str) -> Vec<zeroize::Zeroizing<[u8; 32]>> {
        self.keyring.earlier().iter().map(|key| key.derive(purpose)).collect()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Stores a credential (replaces one with the same name).
    pub async fn put(
        &self,
        new: NewCredential,
        access: &SecretAccess,
    ) -> Result<Credential, VaultError> {
        let plain = plain_of(&new.data)?;
        for _ in 0..PUTS_MAX {
            let known = self.records.credential(&CredentialKey::Name(new.name.clone())).await?;
            let now = self.now();
            let id = known.as_ref().map_or_else(|| self.ids.next(now), |known| known.id);
            let place = BoundRow { table: SealedTable::Credential.as_str(), key: &new.name, id };
            let credential = Credential {
                id,
                name: new.name.clone(),
                kind: new.kind.clone(),
                meta: new.meta.clone(),
                tags: new.tags.clone(),
                description: new.description.clone(),
                policy: new.policy.applied(known.and_then(|known| known.policy)),
                sealed: envelope::seal(&self.keyring, place, &plain),
                created_at: now,
                updated_at: now,
            };
            if let Some(kept) = self.records.put_credential(&credential).await? {
                self.note(&kept.name, SecretOperation::Put, SecretOutcome::Done, access).await?;
                return Ok(kept);
            }
        }
        Err(VaultError::Contended(new.name))
    }

    pub async fn find(&self, identifier: Identifier<'_>) -> Result<Option<Credential>, VaultError> {
        if let Ok(id) = identifier.0.parse()
            && let Some(found) = self.records.credential(&CredentialKey::Id(id)).await?
        {
            return Ok(Some(found));
        }
        let name = CredentialKey::Name(identifier.0.to_owned());
        Ok(self.records.credential(&name).await?)
    }

    /// Decrypts a credential. The access is recorded in the audit log first.
    pub async fn open(
        &self,
        credential: &Credential,
        operation: SecretOperation,
        access: &SecretAccess,
    ) -> Result<Value, VaultError> {
        let Credential { id, name, sealed, .. } = credential;
        let place = BoundRow { table: SealedTable::Credential.as_str(), key: name, id: *id };
        let opened = self.opened(place, sealed);
        let outcome = match &opened {
            Ok(_) => SecretOutcome::Done,
            Err(_) => SecretOutcome::Unreadable,
        };
        self.note(name, operation, outcome, access).await?;
        opened
    }

    fn opened(
        &self,
        place: BoundRow<'_>,
        sealed: &noetl_store::Sealed,
    ) -> Result<Value, VaultError> {
        let unreadable = |source| VaultError::Unreadable { name: place.key.to_owned(), source };
        let plain = envelope::open(&self.keyring, place, sealed).map_err(unreadable)?;
        serde_json::from_slice(&plain).map_err(|_| unreadable(DecryptError::Damaged))
    }

    /// Lists credentials, newest first.
    pub async fn list(&self, filter: &CredentialFilter) -> Result<Vec<Credential>, VaultError> {
        Ok(self.records.credentials(filter, PAGE_MAX).await?)
    }

    /// Deletes a credential and returns it.
    pub async fn remove(
        &self,
        identifier: Identifier<'_>,
        access: &SecretAccess,
    ) -> Result<Option<Credential>, VaultError> {
        let Some(known) = self.find(identifier).await? else { return Ok(None) };
        let removed = self.records.remove_credential(known.id).await?;
        self.note(&known.name, SecretOperation::Remove, SecretOutcome::Done, access).await?;
        Ok(removed.then_some(known))
    }

    /// Writes an audit entry for an operation on a secret.
    pub async fn note(
        &self,
        name: &str,
        operation: SecretOperation,
        outcome: SecretOutcome,
        access: &SecretAccess,
    ) -> Result<(), VaultError> {
        let at = self.now();
        if let Some(log) = self.log.get() {
            log.note_access(fact_of(name, operation, outcome, access, at));
        }
        let entry = AuditEntry {
            id: self.ids.next(at),
            at,
            credential: name.to_owned(),
            operation: operation.as_str().to_owned(),
            outcome: outcome.as_str().to_owned(),
            worker: access.worker.clone(),
            execution: access.execution,
            parent_execution: access.parent_execution,
            key_version: Some(self.keyring.current().version()),
            notes: None,
        };
        Ok(self.records.note_access(&entry).await?)
    }
}

/// Returns the fact of an access to a secret.
fn fact_of(
    name: &str,
    operation: SecretOperation,
    outcome: SecretOutcome,
    access: &SecretAccess,
    at: Timestamp,
) -> TrailFact {
    let worker = access.worker.as_ref().map(|worker| format!("worker {worker}"));
    let execution = access.execution.map(|execution| format!("execution {execution}"));
    let source: Vec<String> = worker.into_iter().chain(execution).collect();
    TrailFact {
        at,
        actor: None,
        action: format!("secret.{}", operation.as_str()),
        subject: Some(name.to_owned()),
        source: (!source.is_empty()).then(|| source.join(", ")),
        outcome: outcome.of_trail(),
        detail: (outcome != SecretOutcome::Done).then(|| outcome.as_str().to_owned()),
    }
}

fn plain_of(data: &Value) -> Result<zeroize::Zeroizing<Vec<u8>>, VaultError> {
    let plain = zeroize::Zeroizing::new(data.to_string().into_bytes());
    if plain.len() > DATA_MAX { Err(VaultError::TooLarge) } else { Ok(plain) }
}

#[cfg(test)]
mod tests;
