//! Credentials, here or on a server.

use std::time::Duration;

use async_trait::async_trait;
use noetl_api::{ClientError, Method};
use noetl_app::{Credential, CredentialError, CredentialFilter, FoundSecret, SecretError};
use noetl_model::CredentialPolicy;
use noetl_secrets::{
    NewCredential, PolicyChange, RotationProgress, SecretAccess, SecretOperation, VaultError,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::local::Session;
use super::remote::{Remote, refused};
use super::url::segment;
use crate::show::failure::Failure;

/// One credential, for programs. Secret fields are included only on request.
#[derive(Serialize, Deserialize)]
pub(crate) struct CredentialItem {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<CredentialPolicy>,
    #[serde(default)]
    pub(crate) created_at: String,
    #[serde(default)]
    pub(crate) updated_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

impl From<Credential> for CredentialItem {
    fn from(credential: Credential) -> Self {
        Self {
            id: credential.id.to_string(),
            name: credential.name,
            r#type: credential.kind,
            description: credential.description,
            tags: credential.tags,
            policy: credential.policy,
            created_at: credential.created_at.to_string(),
            updated_at: credential.updated_at.to_string(),
            data: None,
        }
    }
}

#[derive(Deserialize)]
struct CredentialItems {
    items: Vec<CredentialItem>,
}

/// The result of a key rotation.
#[derive(Deserialize)]
pub(crate) struct KeysRotated {
    pub(crate) credential: RotatedTable,
    pub(crate) keychain: RotatedTable,
    pub(crate) key_version: String,
}

/// The numbers of re-encrypted secrets of a table, and of those that could not be opened.
#[derive(Deserialize)]
pub(crate) struct RotatedTable {
    pub(crate) rewrapped: u64,
    pub(crate) failed: u64,
}

impl From<RotationProgress> for RotatedTable {
    fn from(RotationProgress { rewrapped, failed, .. }: RotationProgress) -> Self {
        Self { rewrapped, failed }
    }
}

/// The operations on credentials.
#[async_trait]
pub(crate) trait Credentials {
    /// Stores a credential (replaces one with the same name).
    async fn put_credential(&self, new: NewCredential) -> Result<CredentialItem, Failure>;

    async fn credentials(&self, filter: CredentialFilter) -> Result<Vec<CredentialItem>, Failure>;

    /// Loads a credential, with its secret if `with_data`; `None` if it does not exist.
    async fn credential(
        &self,
        name: &str,
        with_data: bool,
    ) -> Result<Option<CredentialItem>, Failure>;

    /// Deletes a credential; false if it does not exist.
    async fn remove_credential(&self, name: &str) -> Result<bool, Failure>;

    /// Re-encrypts the data keys of all secrets with the current key.
    async fn rotate_keys(
        &self,
        batch_size: usize,
        batches_max: usize,
    ) -> Result<KeysRotated, Failure>;
}

fn failed(error: CredentialError) -> Failure {
    match error {
        CredentialError::InvalidWord(_)
        | CredentialError::InvalidTags
        | CredentialError::InvalidPolicy(_)
        | CredentialError::Unknown(_) => Failure::bad_input(error),
        CredentialError::Vault(error) => vault_failed(error),
    }
}

fn vault_failed(error: VaultError) -> Failure {
    match error {
        VaultError::TooLarge => Failure::bad_input(error),
        VaultError::Store(_) | VaultError::Contended(_) | VaultError::Unreadable { .. } => {
            Failure::broken(error)
        }
    }
}

#[async_trait]
impl Credentials for Session {
    async fn put_credential(&self, new: NewCredential) -> Result<CredentialItem, Failure> {
        self.app().put_credential(new).await.map(Into::into).map_err(failed)
    }

    async fn credentials(&self, filter: CredentialFilter) -> Result<Vec<CredentialItem>, Failure> {
        let found = self.app().list_credentials(&filter).await.map_err(vault_failed)?;
        Ok(found.into_iter().map(Into::into).collect())
    }

    async fn credential(
        &self,
        name: &str,
        with_data: bool,
    ) -> Result<Option<CredentialItem>, Failure> {
        let item = match self.app().credential(name).await {
            Ok(credential) => CredentialItem::from(credential),
            Err(CredentialError::Unknown(_)) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if !with_data {
            return Ok(Some(item));
        }
        let found =
            self.app().secrets().find(name, SecretOperation::Read, &SecretAccess::default()).await;
        match found {
            Ok(secret) => {
                let data = match secret {
                    FoundSecret::Stored { data, .. } | FoundSecret::Keychain { data, .. } => data,
                };
                Ok(Some(CredentialItem { data: Some(Value::Object(data)), ..item }))
            }
            Err(SecretError::Unknown(_)) => Ok(None),
            Err(SecretError::Vault(error)) => Err(vault_failed(error)),
            Err(
                error @ (SecretError::NotNamed(_)
                | SecretError::NotPermitted(_)
                | SecretError::Unsupported { .. }
                | SecretError::Entry { .. }
                | SecretError::Load(_)
                | SecretError::Payload(_)),
            ) => Err(Failure::broken(error)),
        }
    }

    async fn remove_credential(&self, name: &str) -> Result<bool, Failure> {
        match self.app().remove_credential(name).await {
            Ok(_) => Ok(true),
            Err(CredentialError::Unknown(_)) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    async fn rotate_keys(
        &self,
        batch_size: usize,
        batches_max: usize,
    ) -> Result<KeysRotated, Failure> {
        let rotation = self.app().rotate_keys(batch_size, batches_max).await;
        let rotation = rotation.map_err(vault_failed)?;
        Ok(KeysRotated {
            credential: rotation.credential.into(),
            keychain: rotation.keychain.into(),
            key_version: self.app().vault().key_version(),
        })
    }
}

/// Returns `None` for a credential that does not exist.
fn known<T>(answer: Result<T, ClientError>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(ClientError::Refused { code, .. }) if code == "unknown-credential" => Ok(None),
        Err(error) => Err(refused(error)),
    }
}

#[async_trait]
impl Credentials for Remote {
    async fn put_credential(&self, new: NewCredential) -> Result<CredentialItem, Failure> {
        let NewCredential { name, kind, data, meta, tags, description, policy } = new;
        let mut body = json!({
            "name": name,
            "type": kind,
            "data": data,
            "meta": meta,
            "tags": tags,
            "description": description,
        });
        match policy {
            PolicyChange::Keep => {}
            PolicyChange::Remove => body["policy"] = Value::Null,
            PolicyChange::Set(policy) => body["policy"] = json!(policy),
        }
        self.post("api/credentials", &body).await
    }

    async fn credentials(&self, filter: CredentialFilter) -> Result<Vec<CredentialItem>, Failure> {
        let said = [("type", &filter.kind), ("q", &filter.text)];
        let said = said.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
        let query: Vec<String> =
            said.map(|(key, value)| format!("{key}={}", segment(value))).collect();
        let path = format!("api/credentials?{}", query.join("&"));
        let CredentialItems { items } = self.get(&path).await?;
        Ok(items)
    }

    async fn credential(
        &self,
        name: &str,
        with_data: bool,
    ) -> Result<Option<CredentialItem>, Failure> {
        let query = if with_data { "?include_data=true" } else { "" };
        let path = format!("api/credentials/{}{query}", segment(name));
        known(self.client().ask(Method::GET, &path, None, Duration::ZERO).await)
    }

    async fn remove_credential(&self, name: &str) -> Result<bool, Failure> {
        let path = format!("api/credentials/{}", segment(name));
        let removed = self.client().ask::<Value>(Method::DELETE, &path, None, Duration::ZERO).await;
        Ok(known(removed)?.is_some())
    }

    async fn rotate_keys(
        &self,
        batch_size: usize,
        batches_max: usize,
    ) -> Result<KeysRotated, Failure> {
        let body = json!({ "batch_size": batch_size, "max_batches": batches_max });
        self.post("api/internal/wallet/rotate-kek", &body).await
    }
}
