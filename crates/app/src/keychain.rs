//! The keychain: secrets that workers store until they expire.

use std::time::Duration;

use noetl_control::LoadError;
use noetl_model::{CatalogId, ExecutionId, Held, Timestamp};
use noetl_secrets::{
    KeychainSecret, NewKeychainSecret, SecretAccess, SecretOperation, SecretOutcome, VaultError,
};
use noetl_store::KeychainEntry;
use serde_json::Value;

use crate::app::App;
use crate::secret_lookup::SecretError;

/// Default time to live of a secret.
const HOLDS: Duration = Duration::from_secs(60 * 60);
/// Maximum time to live of a secret.
const HOLDS_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Maximum length of a name, in bytes.
const NAME_MAX: usize = 500;

/// The scope of a keychain secret; part of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeychainScope {
    Local,
    Shared,
    #[default]
    Global,
}

impl KeychainScope {
    pub fn as_str(self) -> &'static str {
        match self {
            KeychainScope::Local => "local",
            KeychainScope::Shared => "shared",
            KeychainScope::Global => "global",
        }
    }

    /// Returns the key that identifies a secret within its scope.
    pub(crate) fn cache_key(
        self,
        name: &str,
        catalog_id: i64,
        execution: Option<ExecutionId>,
    ) -> String {
        match (self, execution) {
            (KeychainScope::Local, Some(execution)) => format!("{name}:{catalog_id}:{execution}"),
            (KeychainScope::Local, None) => format!("{name}:{catalog_id}:local"),
            (KeychainScope::Shared, Some(execution)) => {
                format!("{name}:{catalog_id}:shared:{execution}")
            }
            (KeychainScope::Shared, None) => format!("{name}:{catalog_id}:shared"),
            (KeychainScope::Global, _) => format!("{name}:{catalog_id}:global"),
        }
    }
}

/// The identity of a keychain secret.
#[derive(Debug, Clone)]
pub struct KeychainName {
    pub catalog_id: CatalogId,
    pub name: String,
    pub scope: KeychainScope,
    pub execution: Option<ExecutionId>,
}

impl KeychainName {
    /// Returns the key under which the secret is stored.
    pub fn cache_key(&self) -> String {
        self.scope.cache_key(&self.name, self.catalog_id.0, self.execution)
    }
}

/// The expiry of a new secret.
#[derive(Debug, Clone, Copy)]
pub enum KeychainExpiry {
    At(Timestamp),
    In(Duration),
    /// After an hour.
    Default,
}

/// A secret to store.
pub struct KeychainPut {
    pub name: KeychainName,
    pub data: Value,
    pub expiry: KeychainExpiry,
    pub auto_renew: bool,
    pub renew_config: Option<Value>,
}

/// The reason why a secret is not stored.
#[derive(Debug, thiserror::Error)]
pub enum KeychainError {
    #[error("a name has at most {NAME_MAX} bytes")]
    NameTooLong,
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl App {
    /// Loads a secret, without its data if it has expired.
    pub async fn keychain_secret(
        &self,
        name: &KeychainName,
    ) -> Result<Option<KeychainSecret>, VaultError> {
        self.vault().keychain(&name.cache_key()).await
    }

    /// Checks that a worker may read or change a secret: the playbook version names it, and is the one of
    /// the execution that the worker works for, as far as that is known.
    pub async fn check_keychain_use(
        &self,
        name: &KeychainName,
        held: Option<Held>,
    ) -> Result<(), SecretError> {
        let execution = held.map(|held| held.execution);
        let is_of_other =
            execution.is_some() && name.execution.is_some_and(|it| Some(it) != execution);
        let works_for = match execution.or(name.execution) {
            Some(execution) => match self.control().known_state(execution).await {
                Ok(state) => state.playbook().catalog_id == name.catalog_id,
                Err(LoadError::NotFound(_)) => false,
                Err(error) => return Err(error.into()),
            },
            None => true,
        };
        let secrets = self.secrets();
        if works_for && !is_of_other && secrets.is_named_in(&name.name, name.catalog_id).await? {
            return Ok(());
        }
        let access = SecretAccess { worker: None, execution, parent_execution: None };
        let (operation, outcome) = (SecretOperation::Read, SecretOutcome::NotNamed);
        self.vault().note(&name.name, operation, outcome, &access).await?;
        Err(SecretError::NotNamed(name.name.clone()))
    }

    /// Stores a secret until it expires; returns its expiry.
    pub async fn put_keychain_secret(&self, put: KeychainPut) -> Result<Timestamp, KeychainError> {
        let KeychainPut { name, data, expiry, auto_renew, renew_config } = put;
        if name.name.len() > NAME_MAX {
            return Err(KeychainError::NameTooLong);
        }
        let now = self.now();
        let expires_at = match expiry {
            KeychainExpiry::At(at) => at,
            KeychainExpiry::In(time) => now.after(time),
            KeychainExpiry::Default => now.after(HOLDS),
        };
        let expires_at = expires_at.min(now.after(HOLDS_MAX));
        let secret = NewKeychainSecret {
            cache_key: name.cache_key(),
            name: name.name,
            catalog_id: name.catalog_id,
            scope: name.scope.as_str().to_owned(),
            execution: name.execution,
            data,
            expires_at,
            auto_renew,
            renew_config,
        };
        self.vault().put_keychain(secret).await?;
        Ok(expires_at)
    }

    /// Deletes a secret; false if there was none.
    pub async fn remove_keychain_secret(&self, name: &KeychainName) -> Result<bool, VaultError> {
        self.vault().remove_keychain(&name.cache_key()).await
    }

    /// Lists the keychain of a playbook version, without the secrets.
    pub async fn list_keychain(
        &self,
        catalog_id: CatalogId,
    ) -> Result<Vec<KeychainEntry>, VaultError> {
        self.vault().keychain_of(catalog_id).await
    }
}
