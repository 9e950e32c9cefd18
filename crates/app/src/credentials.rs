//! Credentials: stored encrypted, listed without their secrets, and the audit log of accesses.

use noetl_model::InvalidPolicy;
use noetl_secrets::{Identifier, NewCredential, PolicyChange, Rotation, SecretAccess, VaultError};
use noetl_store::{
    AUDIT_PAGE_MAX, AuditEntry, AuditFilter, Credential, CredentialFilter, StoreError,
};

use crate::app::App;

/// Maximum length of a name, type or tag, in bytes.
const WORD_MAX: usize = 500;
/// Maximum number of tags of a credential.
const TAGS_MAX: usize = 100;
/// Maximum number of batches rotated per call.
const BATCHES_MAX: usize = 1000;
/// Default number of accesses per page.
const AUDIT_PAGE: usize = 100;

/// The reason why an operation on a credential fails.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("`{0}` has 1 to {WORD_MAX} bytes")]
    InvalidWord(&'static str),
    #[error("a credential has at most {TAGS_MAX} tags of {WORD_MAX} bytes")]
    InvalidTags,
    #[error(transparent)]
    InvalidPolicy(#[from] InvalidPolicy),
    #[error("there is no credential {0}")]
    Unknown(String),
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl App {
    /// Stores a credential (replaces one with the same name).
    pub async fn put_credential(&self, new: NewCredential) -> Result<Credential, CredentialError> {
        for (field, word) in [("name", &new.name), ("type", &new.kind)] {
            if word.trim().is_empty() || word.len() > WORD_MAX {
                return Err(CredentialError::InvalidWord(field));
            }
        }
        if new.tags.len() > TAGS_MAX || new.tags.iter().any(|tag| tag.len() > WORD_MAX) {
            return Err(CredentialError::InvalidTags);
        }
        match &new.policy {
            PolicyChange::Set(policy) => policy.check()?,
            PolicyChange::Keep | PolicyChange::Remove => {}
        }
        Ok(self.vault().put(new, &SecretAccess::default()).await?)
    }

    /// Lists credentials, newest first, without their secrets.
    pub async fn list_credentials(
        &self,
        filter: &CredentialFilter,
    ) -> Result<Vec<Credential>, VaultError> {
        self.vault().list(filter).await
    }

    /// Loads a credential by id or name, without its secret.
    pub async fn credential(&self, identifier: &str) -> Result<Credential, CredentialError> {
        let found = self.vault().find(Identifier(identifier)).await?;
        found.ok_or_else(|| CredentialError::Unknown(identifier.to_owned()))
    }

    /// Deletes a credential and returns it.
    pub async fn remove_credential(&self, identifier: &str) -> Result<Credential, CredentialError> {
        let removed = self.vault().remove(Identifier(identifier), &SecretAccess::default()).await?;
        removed.ok_or_else(|| CredentialError::Unknown(identifier.to_owned()))
    }

    /// Re-encrypts the data keys of all secrets with the current key; the secrets themselves are
    /// not decrypted.
    pub async fn rotate_keys(
        &self,
        batch_size: usize,
        batches_max: usize,
    ) -> Result<Rotation, VaultError> {
        self.vault().rotate(batch_size, batches_max.min(BATCHES_MAX)).await
    }

    /// Lists accesses to secrets, newest first.
    pub async fn secret_accesses(
        &self,
        filter: &AuditFilter,
        limit: Option<usize>,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let limit = limit.unwrap_or(AUDIT_PAGE).clamp(1, AUDIT_PAGE_MAX);
        self.records().accesses(filter, limit).await
    }
}
