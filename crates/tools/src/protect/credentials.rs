//! The sources of the credentials that a playbook names by alias.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};

use crate::protect::redactor::Redactor;
use crate::run::call::Call;
use crate::run::keys::{ToolConfig, scalar_text};

/// Finds credentials by alias.
#[async_trait]
pub trait CredentialResolver: Send + Sync {
    /// Returns the fields of a credential, including `type`, for the tool that runs `call`. Fails
    /// with a config error if there is no credential of that name.
    async fn resolve(&self, call: &Call, alias: &str) -> Result<Map<String, Value>, ToolError>;
}

/// The keys under `auth` that refer to a credential instead of describing one.
pub(crate) const ALIAS_WORDS: &[&str] = &["credential", "source", "key"];

/// Returns the alias in a map under `auth`: `{credential: alias}` or `{source: credential, key:
/// alias}`. A `key` without a `source` is itself a secret.
pub(crate) fn alias_within(said: &Map<String, Value>) -> Option<&str> {
    let key = || said.get("key").filter(|_| said.get("source").is_some_and(Value::is_string));
    said.get("credential").or_else(key).and_then(Value::as_str)
}

/// Checks that a setting beside a stored credential does not change where its secret is sent. Fails if
/// the credential has a value for one of the spellings of the setting, and the playbook another one.
pub(crate) fn keep_destination(
    keys: ToolConfig<'_>,
    spellings: &[&str],
    (stored, said): (&Map<String, Value>, &Map<String, Value>),
) -> Result<(), ToolError> {
    let value = |of: &Map<String, Value>| {
        spellings.iter().find_map(|key| of.get(*key).and_then(scalar_text))
    };
    let Some(stored) = value(stored) else { return Ok(()) };
    let other = spellings.iter().find_map(|key| {
        let said = said.get(*key).filter(|it| !it.is_null())?;
        (scalar_text(said).as_ref() != Some(&stored)).then_some(*key)
    });
    other.map_or(Ok(()), |key| Err(fixed_destination(keys, key)))
}

/// Returns the error for a setting that would send the secret of a stored credential elsewhere.
pub(crate) fn fixed_destination(keys: ToolConfig<'_>, key: &str) -> ToolError {
    keys.error(format!(
        "`{key}` differs from the one of the stored credential, whose secret is sent only there: \
         leave `{key}` out, or store a credential for the other destination"
    ))
}

/// The credentials that a command has received, so that its output can be searched for them. Clones
/// share the list.
#[derive(Clone, Default)]
pub struct UsedCredentials {
    used: Arc<Mutex<RecordedCredentials>>,
}

#[derive(Default)]
struct RecordedCredentials {
    /// The fields of each credential, in the order of the requests.
    fields: Vec<Map<String, Value>>,
    /// The redactor for all of `fields`, created on first use.
    redactor: Option<Redactor>,
}

impl UsedCredentials {
    /// Adds a credential that the tool received, or a token obtained with one.
    pub(crate) fn record(&self, fields: &Map<String, Value>) {
        let mut used = self.lock();
        used.fields.push(fields.clone());
        used.redactor = None;
    }

    /// Adds a secret that is not part of a credential, such as a secret input.
    pub fn record_secret(&self, secret: &Value) {
        self.record(&Map::from_iter([("secret".to_owned(), secret.clone())]));
    }

    /// Returns a redactor for the secrets of all credentials added so far.
    pub fn redactor(&self) -> Redactor {
        let RecordedCredentials { fields, redactor } = &mut *self.lock();
        redactor.get_or_insert_with(|| Redactor::of_credentials(fields.iter())).clone()
    }

    fn lock(&self) -> MutexGuard<'_, RecordedCredentials> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fields of each credential, in the order of the requests.
    #[cfg(test)]
    pub(crate) fn fields(&self) -> Vec<Map<String, Value>> {
        self.lock().fields.clone()
    }
}

impl std::fmt::Debug for UsedCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UsedCredentials(..)")
    }
}

/// Records every resolved credential in the call's [`UsedCredentials`].
pub(crate) struct RecordingResolver(pub(crate) Arc<dyn CredentialResolver>);

#[async_trait]
impl CredentialResolver for RecordingResolver {
    async fn resolve(&self, call: &Call, alias: &str) -> Result<Map<String, Value>, ToolError> {
        let fields = self.0.resolve(call, alias).await?;
        call.used.record(&fields);
        Ok(fields)
    }
}

/// Credentials from environment variables named `NOETL_CREDENTIAL_<ALIAS>`, each a JSON map.
#[derive(Default)]
pub struct FixedCredentials {
    by_variable: BTreeMap<String, String>,
}

impl FixedCredentials {
    const PREFIX: &'static str = "NOETL_CREDENTIAL_";

    /// Selects the variables that hold credentials.
    pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let by_variable =
            variables.into_iter().filter(|(name, _)| name.starts_with(Self::PREFIX)).collect();
        Self { by_variable }
    }

    /// True if there is a credential with this alias.
    pub fn has(&self, alias: &str) -> bool {
        self.by_variable.contains_key(&Self::variable(alias))
    }

    /// Returns the fields of a credential; `None` if it is missing or not a JSON map.
    pub fn get(&self, alias: &str) -> Option<Map<String, Value>> {
        fields_of(self.by_variable.get(&Self::variable(alias))?)
    }

    /// Returns the variable name of a credential: its alias in upper case, with `_` for all
    /// characters that are not alphanumeric.
    pub fn variable(alias: &str) -> String {
        let name = alias.chars().map(|c| match c.to_ascii_uppercase() {
            c if c.is_ascii_alphanumeric() => c,
            _ => '_',
        });
        Self::PREFIX.chars().chain(name).collect()
    }
}

#[async_trait]
impl CredentialResolver for FixedCredentials {
    async fn resolve(&self, _call: &Call, alias: &str) -> Result<Map<String, Value>, ToolError> {
        let variable = Self::variable(alias);
        let Some(text) = self.by_variable.get(&variable) else {
            return Err(ToolError::new(
                ErrorKind::Config,
                format!("there is no credential `{alias}`: set the variable {variable}"),
            ));
        };
        // The parse error is not included, because it would quote the secret.
        fields_of(text).ok_or_else(|| {
            ToolError::new(
                ErrorKind::Config,
                format!("credential `{alias}`: the variable {variable} must hold a JSON map"),
            )
        })
    }
}

/// Parses the fields of a credential; the members of `data` are merged into the top level.
fn fields_of(text: &str) -> Option<Map<String, Value>> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else { return None };
    if let Some(Value::Object(data)) = fields.remove("data") {
        fields.extend(data);
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::call;

    async fn resolve(variable: &str, text: &str, alias: &str) -> String {
        let credentials = FixedCredentials::from_environment([(variable.into(), text.into())]);
        match credentials.resolve(&call(json!({})), alias).await {
            Ok(found) => Value::Object(found).to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn an_alias_is_looked_up_in_its_variable() {
        let text = r#"{"type": "bearer", "data": {"token": "t"}}"#;
        let found = resolve("NOETL_CREDENTIAL_MY_API_2", text, "my-api.2").await;
        assert_eq!(found, r#"{"type":"bearer","token":"t"}"#);
        let missing = resolve("NOETL_CREDENTIAL_OTHER", text, "my-api").await;
        let told = "there is no credential `my-api`: set the variable NOETL_CREDENTIAL_MY_API";
        assert_eq!(missing, told);
    }

    #[tokio::test]
    async fn credentials_given_to_a_tool_are_recorded_with_its_call() {
        let variable = ("NOETL_CREDENTIAL_A".to_owned(), r#"{"token": "t"}"#.to_owned());
        let noted = RecordingResolver(Arc::new(FixedCredentials::from_environment([variable])));
        let (call, other) = (call(json!({})), call(json!({})));
        noted.resolve(&call, "a").await.unwrap();
        assert!(noted.resolve(&call, "b").await.is_err());
        assert_eq!(json!(call.used.fields()), json!([{ "token": "t" }]));
        assert!(other.used.fields().is_empty());
    }

    #[tokio::test]
    async fn a_credential_that_is_no_json_map_is_not_quoted() {
        let found = resolve("NOETL_CREDENTIAL_A", "hunter2", "a").await;
        assert_eq!(found, "credential `a`: the variable NOETL_CREDENTIAL_A must hold a JSON map");
    }
}
