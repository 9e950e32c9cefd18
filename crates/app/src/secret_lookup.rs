//! Resolves an alias to a secret: a stored credential, else the keychain of the executing playbook.

use std::collections::BTreeSet;
use std::sync::Arc;

use noetl_control::{Control, LoadError, PayloadError};
use noetl_engine::Effort;
use noetl_expr::{Budget, Template, VariableSource};
use noetl_model::{CatalogId, Cutoff, ExecutionId, HOSTS_FIELD, Payload, holds_sealed};
use noetl_secrets::{
    Identifier, KeychainSecret, SecretAccess, SecretOperation, SecretOutcome, Vault, VaultError,
};
use noetl_store::{Credential, Store, StoreError};
use serde_json::{Map, Value, json};

use crate::app::Services;
use crate::credential_policies::DefaultPolicy;
use crate::keychain::KeychainScope;
use crate::sealed_inputs::opened_value;

/// The reason why an alias has no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("there is no credential `{0}`")]
    Unknown(String),
    #[error(
        "the credential `{0}` is given only to commands whose playbook names it, in `auth`, \
         `credential` or a template with `keychain`"
    )]
    NotNamed(String),
    #[error("the policy of the credential `{0}` does not let this execution use it")]
    NotPermitted(String),
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

impl From<StoreError> for SecretError {
    fn from(error: StoreError) -> Self {
        Self::Vault(error.into())
    }
}

/// The reason why a sender's secret is not known.
#[derive(Debug, thiserror::Error)]
pub enum SenderSecretError {
    #[error(transparent)]
    Lookup(#[from] SecretError),
    #[error("the credential `{0}` has none of the fields {fields}", fields = SENDER_FIELDS.join(", "))]
    NoField(String),
}

/// A secret, and where it was found.
pub enum FoundSecret {
    Stored { credential: Box<Credential>, data: Map<String, Value> },
    Keychain { alias: String, data: Map<String, Value> },
}

impl FoundSecret {
    /// Returns the fields that tools read, including `type`.
    pub fn fields(self) -> Map<String, Value> {
        match self.with_hosts() {
            FoundSecret::Stored { credential, mut data } => {
                data.entry("type").or_insert(Value::String(credential.kind));
                data
            }
            FoundSecret::Keychain { data, .. } => data,
        }
    }

    /// Returns the secret for a worker: the hosts that it may be sent to are among its fields.
    pub fn with_hosts(self) -> Self {
        match self {
            FoundSecret::Stored { credential, mut data } => {
                data.extend(hosts_field(&credential));
                FoundSecret::Stored { credential, data }
            }
            FoundSecret::Keychain { .. } => self,
        }
    }

    /// True if the secret may be sent to certain hosts only.
    pub fn has_hosts(&self) -> bool {
        match self {
            FoundSecret::Stored { credential, .. } => hosts_field(credential).is_some(),
            FoundSecret::Keychain { data, .. } => data.contains_key(HOSTS_FIELD),
        }
    }
}

/// Returns the hosts that a credential may be sent to, as a field; `None` if any.
fn hosts_field(credential: &Credential) -> Option<(String, Value)> {
    let hosts = &credential.policy.as_ref()?.hosts;
    (!hosts.is_empty()).then(|| (HOSTS_FIELD.to_owned(), json!(hosts)))
}

/// Resolves aliases to secrets.
#[derive(Clone)]
pub struct SecretLookup {
    control: Control,
    /// The store that `control` uses.
    store: Arc<dyn Store>,
    vault: Arc<Vault>,
    policy_default: DefaultPolicy,
}

/// Fields of a credential that may hold a sender's secret, in order of preference.
const SENDER_FIELDS: &[&str] = &["secret", "token", "value", "key", "api_key", "password"];

/// Maximum depth of keychain entries that refer to one another.
const ENTRY_DEPTH_MAX: usize = 8;

/// Variables of a keychain entry's templates.
struct Workload {
    values: Arc<Value>,
    /// Values of the other entries that the entry refers to.
    keychain: Arc<Value>,
}

impl VariableSource for Workload {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        match name {
            "keychain" => Some(self.keychain.clone()),
            "workload" => Some(self.values.clone()),
            name => self.values.get(name).cloned().map(Arc::new),
        }
    }
}

/// An alias, and the operation and access it is resolved for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    alias: &'a str,
    operation: SecretOperation,
    access: &'a SecretAccess,
}

impl Asked<'_> {
    fn wrong(self, problem: impl Into<String>) -> SecretError {
        SecretError::Entry { alias: self.alias.to_owned(), problem: problem.into() }
    }
}

impl SecretLookup {
    /// Creates a resolver on the given services.
    pub(crate) fn of(services: &Services, policy_default: DefaultPolicy) -> Self {
        let Services { control, store, vault, .. } = services.clone();
        Self::new(control, store, vault, policy_default)
    }

    pub(crate) fn new(
        control: Control,
        store: Arc<dyn Store>,
        vault: Arc<Vault>,
        policy_default: DefaultPolicy,
    ) -> Self {
        Self { control, store, vault, policy_default }
    }

    pub(crate) fn policy_default(&self) -> DefaultPolicy {
        self.policy_default
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Returns the secret of a message's sender: the first of the usual fields of a credential.
    pub async fn sender_secret(&self, name: &str) -> Result<String, SenderSecretError> {
        let found =
            self.find(name, SecretOperation::Read, &SecretAccess::default()).await?.fields();
        let secret = SENDER_FIELDS.iter().find_map(|field| found.get(*field)?.as_str());
        let missing = || SenderSecretError::NoField(name.to_owned());
        secret.map(str::to_owned).ok_or_else(missing)
    }

    /// Resolves an alias for the server itself or an administrator, for the execution in `access` if
    /// there is one. Workers get secrets by [`Self::find_named`].
    pub async fn find(
        &self,
        alias: &str,
        operation: SecretOperation,
        access: &SecretAccess,
    ) -> Result<FoundSecret, SecretError> {
        self.find_within(Asked { alias, operation, access }, 0).await
    }

    async fn find_within(
        &self,
        asked: Asked<'_>,
        depth: usize,
    ) -> Result<FoundSecret, SecretError> {
        let Asked { alias, operation, access } = asked;
        if let Some(credential) = self.vault.find(Identifier(alias)).await? {
            self.check_policy(&credential, operation, access).await?;
            let data = self.vault.open(&credential, operation, access).await?;
            let (credential, data) = (Box::new(credential), as_map(data));
            return Ok(FoundSecret::Stored { credential, data });
        }
        let unknown = || SecretError::Unknown(alias.to_owned());
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
                let values = match state.workload() {
                    Payload::Inline(value) => value.clone(),
                    Payload::Ref(reference) => self.control.payload(reference.digest).await?,
                };
                let values = self.with_secret_inputs(values, execution, asked).await?;
                let keychain = Arc::new(self.named_in(&entry, asked, depth).await?);
                self.made(&entry, &Workload { values, keychain }, asked).await?
            }
        };
        self.vault.note(alias, operation, SecretOutcome::Done, access).await?;
        Ok(FoundSecret::Keychain { alias: alias.to_owned(), data: as_map(data) })
    }

    /// Returns the workload with its secret inputs opened.
    async fn with_secret_inputs(
        &self,
        values: Arc<Value>,
        execution: ExecutionId,
        asked: Asked<'_>,
    ) -> Result<Arc<Value>, SecretError> {
        if !holds_sealed(&values) {
            return Ok(values);
        }
        let opened = opened_value(&self.control, &self.vault, execution, &values).await;
        opened.map(Arc::new).map_err(|reason| asked.wrong(format!("cannot be rendered: {reason}")))
    }

    /// Resolves the other entries and credentials that an entry's templates refer to.
    async fn named_in(
        &self,
        entry: &Value,
        asked: Asked<'_>,
        depth: usize,
    ) -> Result<Value, SecretError> {
        let template = Template::parse(entry.clone());
        let template = template.map_err(|error| asked.wrong(format!("is wrong: {error}")))?;
        let paths = template.variables().iter();
        let named: BTreeSet<&str> =
            paths.filter_map(|path| path.strip_prefix("keychain.")?.split('.').next()).collect();
        let mut keychain = Map::new();
        for name in named {
            if depth >= ENTRY_DEPTH_MAX {
                return Err(asked.wrong("names others that name it"));
            }
            let other = Asked { alias: name, ..asked };
            let fields = match self.vault.given(name) {
                Some(fields) => fields,
                None => Box::pin(self.find_within(other, depth + 1)).await?.fields(),
            };
            if fields.contains_key(HOSTS_FIELD) {
                return Err(asked.wrong(format!(
                    "reads fields of `{name}`, which may be sent to certain hosts only: name it with \
                     `credential`"
                )));
            }
            keychain.insert(name.to_owned(), Value::Object(fields));
        }
        Ok(Value::Object(keychain))
    }

    /// Returns the cached keychain secret of an alias, from the narrowest scope that has one.
    async fn cached(
        &self,
        alias: &str,
        catalog_id: CatalogId,
        execution: ExecutionId,
    ) -> Result<Option<Value>, SecretError> {
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

    /// Returns the playbook's keychain entry for an alias.
    async fn entry(
        &self,
        alias: &str,
        catalog_id: CatalogId,
    ) -> Result<Option<Value>, SecretError> {
        let Some(kept) = self.store.by_id(catalog_id).await? else { return Ok(None) };
        // A playbook registered by an older version may be invalid in this one.
        let Ok(checked) = noetl_playbook::parse(&kept.path, kept.content.as_bytes()) else {
            return Ok(None);
        };
        let mut keychain = checked.playbook.keychain.iter();
        Ok(keychain.find(|entry| entry["name"] == alias).cloned())
    }

    /// Computes the secret of a keychain entry.
    async fn made(
        &self,
        entry: &Value,
        workload: &Workload,
        asked: Asked<'_>,
    ) -> Result<Value, SecretError> {
        if let Some(provider) = entry["provider"].as_str() {
            let (alias, provider) = (asked.alias.to_owned(), provider.to_owned());
            return Err(SecretError::Unsupported { alias, provider });
        }
        let rendered = self.rendered(entry, workload, asked).await?;
        let named = rendered.get("credential").or_else(|| rendered.get("auth"));
        let named = named.and_then(Value::as_str).map(str::to_owned);
        let base = match &named {
            None => Value::Null,
            Some(name) => self.stored(name, asked).await?,
        };
        let Some(map) = entry["map"].as_object() else {
            let said = self::said(&rendered);
            return match (base, said.is_empty()) {
                (Value::Object(fields), _) => {
                    // An entry does not change where its credential may be sent.
                    let hosts = fields.get_key_value(HOSTS_FIELD).map(owned);
                    Ok(fields.into_iter().chain(said).chain(hosts).collect())
                }
                (base, true) if named.is_some() => Ok(base),
                (_, false) => Ok(Value::Object(said)),
                (_, true) => Err(asked.wrong(
                    "names no `credential`, no `token`, no `endpoint`, no `map` and no `provider`",
                )),
            };
        };
        // Values of a static entry are literals, not credential paths.
        let is_static = entry["kind"] == "static";
        let mut fields = Map::new();
        let mut hosts = base.get(HOSTS_FIELD).cloned();
        for (field, source) in map {
            let value = match source.as_str().filter(|path| !path.contains("{{")) {
                Some(path) => match base.get(path) {
                    Some(value) => value.clone(),
                    None if is_static => source.clone(),
                    None => {
                        let (value, others) = self.by_path(path, asked).await?;
                        if others.is_some() && hosts.is_some() && others != hosts {
                            return Err(asked.wrong(
                                "maps fields of credentials that may be sent to different hosts",
                            ));
                        }
                        hosts = hosts.or(others);
                        value
                    }
                },
                None => rendered["map"][field].clone(),
            };
            fields.insert(field.clone(), value);
        }
        fields.extend(hosts.map(|hosts| (HOSTS_FIELD.to_owned(), hosts)));
        Ok(Value::Object(fields))
    }

    /// Renders the templates of an entry; expensive ones run off the async threads.
    async fn rendered(
        &self,
        entry: &Value,
        workload: &Workload,
        asked: Asked<'_>,
    ) -> Result<Value, SecretError> {
        let wrong = |problem: String| asked.wrong(format!("cannot be rendered: {problem}"));
        let template = Template::parse(entry.clone()).map_err(|error| wrong(error.to_string()))?;
        let with = |effort: Effort| {
            let budget = Budget::new(effort.work_max());
            let rendered = template.render_within(workload, &budget);
            (rendered.map_err(|error| error.to_string()), budget.is_exceeded())
        };
        let (rendered, is_exceeded) = match with(Effort::Brief) {
            (_, true) => self.control.run_blocking(|| with(Effort::Whole)).await,
            done => done,
        };
        if is_exceeded {
            let max = Effort::Whole.work_max();
            return Err(wrong(format!("its templates took more than {max} units of work")));
        }
        rendered.map_err(wrong)
    }

    /// Returns a field of a credential, `<credential>.<field>`, and the hosts that it may be sent to.
    async fn by_path(
        &self,
        path: &str,
        asked: Asked<'_>,
    ) -> Result<(Value, Option<Value>), SecretError> {
        let (name, field) = path.split_once('.').ok_or_else(|| {
            asked.wrong(format!("maps `{path}`, which is not <credential>.<field>"))
        })?;
        let data = self.stored(name, asked).await?;
        let value = data.get(field).cloned();
        let missing = || asked.wrong(format!("maps `{path}`, and `{name}` has no `{field}`"));
        Ok((value.ok_or_else(missing)?, data.get(HOSTS_FIELD).cloned()))
    }

    /// Returns the fields of a credential that an entry refers to, including `type`.
    async fn stored(&self, name: &str, asked: Asked<'_>) -> Result<Value, SecretError> {
        let Some(found) = self.vault.find(Identifier(name)).await? else {
            let missing =
                || asked.wrong(format!("names the credential `{name}`, which is not stored"));
            return self.vault.given(name).map(Value::Object).ok_or_else(missing);
        };
        self.check_policy(&found, asked.operation, asked.access).await?;
        let data = self.vault.open(&found, asked.operation, asked.access).await?;
        let mut fields = as_map(data);
        fields.extend(hosts_field(&found));
        fields.entry("type").or_insert(Value::String(found.kind));
        Ok(Value::Object(fields))
    }
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Wraps a bare value in a map, because tools read fields.
fn as_map(data: Value) -> Map<String, Value> {
    match data {
        Value::Object(fields) => fields,
        bare => Map::from_iter([("value".to_owned(), bare)]),
    }
}

/// Returns the token fields of an entry: the token itself, or the endpoint and parameters with
/// which the worker requests one, and renews it before it expires.
fn said(entry: &Value) -> Map<String, Value> {
    let given = |key: &str| entry.get(key).filter(|value| !value.is_null());
    let mut fields = Map::new();
    if let Some(token) = given("token") {
        fields.insert("type".to_owned(), "bearer".into());
        fields.insert("token".to_owned(), token.clone());
    } else if let Some(endpoint) = given("endpoint") {
        if let Some(Value::Object(data)) = entry.get("data") {
            let data = data.iter().filter(|(name, _)| *name != "grant_type");
            fields.extend(data.map(|(name, value)| (name.clone(), value.clone())));
        }
        fields.insert("type".to_owned(), "oauth2".into());
        fields.insert("token_url".to_owned(), endpoint.clone());
    }
    fields
}
