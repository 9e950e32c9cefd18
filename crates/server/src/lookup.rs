//! From an alias to a secret: a stored credential, else what the executing playbook's keychain says.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_control::{Control, LoadError, PayloadError};
use noetl_expr::{Template, Variables};
use noetl_model::{CatalogId, Cutoff, ExecutionId, Payload};
use noetl_secrets::{Access, Identifier, KeychainSecret, Operation, Vault, VaultError};
use noetl_store::{Credential, Store, StoreError};
use serde_json::{Map, Value};

use crate::ingress::Secrets;
use crate::routes::KeychainScope;

/// Why there is no secret for an alias.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    #[error("there is no credential `{0}`")]
    Unknown(String),
    #[error(
        "the keychain entry `{alias}` is from `{provider}`, which this server cannot ask; store a \
         credential named `{alias}` instead"
    )]
    Unsupported { alias: String, provider: String },
    #[error("the keychain entry `{alias}` {problem}")]
    Entry { alias: String, problem: String },
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl From<StoreError> for NotFound {
    fn from(error: StoreError) -> Self {
        Self::Vault(error.into())
    }
}

/// A secret, and what it was found as.
pub enum Found {
    Stored { credential: Box<Credential>, data: Value },
    Keychain { alias: String, data: Value },
}

impl Found {
    /// The fields that tools read, `type` among them.
    pub fn fields(self) -> Map<String, Value> {
        let (kind, data) = match self {
            Found::Stored { credential, data } => (Some(credential.kind), data),
            Found::Keychain { data, .. } => (None, data),
        };
        let mut fields = match data {
            Value::Object(fields) => fields,
            bare => Map::from_iter([("value".to_owned(), bare)]),
        };
        if let Some(kind) = kind {
            fields.entry("type").or_insert(Value::String(kind));
        }
        fields
    }
}

/// Finds secrets by alias.
#[derive(Clone)]
pub struct Lookup {
    pub control: Control,
    /// What `control` keeps its data in.
    pub store: Arc<dyn Store>,
    pub vault: Arc<Vault>,
}

/// The fields of a credential that hold the one secret of a sender.
const SENDER_FIELDS: &[&str] = &["secret", "token", "value", "key", "api_key", "password"];

#[async_trait]
impl Secrets for Lookup {
    async fn secret(&self, name: &str) -> Result<String, String> {
        let found = self.find(name, Operation::Read, &Access::default()).await;
        let fields = found.map_err(|error| error.to_string())?.fields();
        let secret = SENDER_FIELDS.iter().find_map(|field| fields.get(*field)?.as_str());
        secret.map(str::to_owned).ok_or_else(|| {
            format!("the credential `{name}` has none of the fields {}", SENDER_FIELDS.join(", "))
        })
    }
}

/// What an entry's templates can name.
struct Workload(Arc<Value>);

impl Variables for Workload {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        match name {
            "workload" => Some(self.0.clone()),
            name => self.0.get(name).cloned().map(Arc::new),
        }
    }
}

impl Lookup {
    /// The secret of an alias, for the execution that the access names if it names one.
    pub async fn find(
        &self,
        alias: &str,
        operation: Operation,
        access: &Access,
    ) -> Result<Found, NotFound> {
        if let Some(credential) = self.vault.find(Identifier(alias)).await? {
            let data = self.vault.open(&credential, operation, access).await?;
            return Ok(Found::Stored { credential: Box::new(credential), data });
        }
        let unknown = || NotFound::Unknown(alias.to_owned());
        let execution = access.execution.ok_or_else(unknown)?;
        let state = match self.control.state(execution, Cutoff::Latest).await {
            Err(LoadError::NotFound(_)) => return Err(unknown()),
            state => state?,
        };
        let catalog_id = state.playbook().catalog_id;
        let cached = self.cached(alias, catalog_id, execution).await?;
        let data = match cached {
            Some(data) => data,
            None => {
                let entry = self.entry(alias, catalog_id).await?.ok_or_else(unknown)?;
                let workload = match state.workload() {
                    Payload::Inline(value) => value.clone(),
                    Payload::Ref(reference) => self.control.payload(reference.digest).await?,
                };
                self.made(alias, &entry, Workload(workload), operation, access).await?
            }
        };
        self.vault.note(alias, operation, "ok", access).await?;
        Ok(Found::Keychain { alias: alias.to_owned(), data })
    }

    /// What the keychain holds, the nearest first.
    async fn cached(
        &self,
        alias: &str,
        catalog_id: CatalogId,
        execution: ExecutionId,
    ) -> Result<Option<Value>, NotFound> {
        for (scope, execution) in [
            (KeychainScope::Local, Some(execution)),
            (KeychainScope::Shared, Some(execution)),
            (KeychainScope::Shared, None),
            (KeychainScope::Global, None),
        ] {
            let key = scope.cache_key(alias, catalog_id.0, execution);
            if let Some(KeychainSecret::Found { data, .. }) = self.vault.keychain(&key).await? {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// The playbook's own word about an alias.
    async fn entry(&self, alias: &str, catalog_id: CatalogId) -> Result<Option<Value>, NotFound> {
        let Some(kept) = self.store.by_id(catalog_id).await? else { return Ok(None) };
        // What was registered by an older version may not be valid any more.
        let Ok(checked) = noetl_playbook::parse(&kept.path, kept.content.as_bytes()) else {
            return Ok(None);
        };
        let mut keychain = checked.playbook.keychain.iter();
        Ok(keychain.find(|entry| entry["name"] == alias).cloned())
    }

    /// What an entry comes to.
    async fn made(
        &self,
        alias: &str,
        entry: &Value,
        workload: Workload,
        operation: Operation,
        access: &Access,
    ) -> Result<Value, NotFound> {
        let wrong = |problem: String| NotFound::Entry { alias: alias.to_owned(), problem };
        if let Some(provider) = entry["provider"].as_str() {
            let provider = provider.to_owned();
            return Err(NotFound::Unsupported { alias: alias.to_owned(), provider });
        }
        let rendered = |value: &Value| {
            let template = Template::parse(value.clone()).map_err(|error| error.to_string());
            let rendered =
                template.and_then(|it| it.render(&workload).map_err(|error| error.to_string()));
            rendered.map_err(|problem| wrong(format!("cannot be rendered: {problem}")))
        };
        let named = match entry.get("credential").or_else(|| entry.get("auth")) {
            None => None,
            Some(name) => rendered(name)?.as_str().map(str::to_owned),
        };
        let base = match &named {
            None => Value::Null,
            Some(name) => self.stored(alias, name, operation, access).await?,
        };
        let Some(map) = entry["map"].as_object() else {
            let said = self::said(entry, rendered)?;
            return match (base, said.is_empty()) {
                (Value::Object(fields), _) => Ok(fields.into_iter().chain(said).collect()),
                (base, true) if named.is_some() => Ok(base),
                (_, false) => Ok(Value::Object(said)),
                (_, true) => Err(wrong(
                    "names no `credential`, no `token`, no `endpoint`, no `map` and no `provider`"
                        .to_owned(),
                )),
            };
        };
        let mut fields = Map::new();
        for (field, source) in map {
            let value = match source.as_str() {
                Some(path) if !path.contains("{{") => match base.get(path) {
                    Some(value) => value.clone(),
                    None => self.by_path(alias, path, operation, access).await?,
                },
                Some(_) | None => rendered(source)?,
            };
            fields.insert(field.clone(), value);
        }
        Ok(Value::Object(fields))
    }

    /// A field of a stored credential: `<credential>.<field>`.
    async fn by_path(
        &self,
        alias: &str,
        path: &str,
        operation: Operation,
        access: &Access,
    ) -> Result<Value, NotFound> {
        let wrong = |problem| NotFound::Entry { alias: alias.to_owned(), problem };
        let (name, field) = path
            .split_once('.')
            .ok_or_else(|| wrong(format!("maps `{path}`, which is not <credential>.<field>")))?;
        let data = self.stored(alias, name, operation, access).await?;
        let value = data.get(field).cloned();
        value.ok_or_else(|| wrong(format!("maps `{path}`, and `{name}` has no `{field}`")))
    }

    async fn stored(
        &self,
        alias: &str,
        name: &str,
        operation: Operation,
        access: &Access,
    ) -> Result<Value, NotFound> {
        let found = self.vault.find(Identifier(name)).await?;
        let found = found.ok_or_else(|| NotFound::Entry {
            alias: alias.to_owned(),
            problem: format!("names the credential `{name}`, which is not stored"),
        })?;
        let mut data = self.vault.open(&found, operation, access).await?;
        if let Value::Object(fields) = &mut data {
            fields.entry("type").or_insert(Value::String(found.kind));
        }
        Ok(data)
    }
}

/// What an entry itself says about a token: the token, or where and with what to get one, which is
/// the worker's to do, and to do again before the token expires.
fn said<E>(
    entry: &Value,
    rendered: impl Fn(&Value) -> Result<Value, E>,
) -> Result<Map<String, Value>, E> {
    let mut fields = Map::new();
    if let Some(token) = entry.get("token").filter(|token| !token.is_null()) {
        fields.insert("type".to_owned(), "bearer".into());
        fields.insert("token".to_owned(), rendered(token)?);
    } else if let Some(endpoint) = entry.get("endpoint").filter(|endpoint| !endpoint.is_null()) {
        if let Some(Value::Object(data)) = entry.get("data").map(&rendered).transpose()? {
            fields.extend(data.into_iter().filter(|(name, _)| name != "grant_type"));
        }
        fields.insert("type".to_owned(), "oauth2".into());
        fields.insert("token_url".to_owned(), rendered(endpoint)?);
    }
    Ok(fields)
}
