//! Reads the authentication of a request, from the configuration or from a stored credential.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use noetl_model::ToolError;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::oauth::{ClientCredentials, SecretPlace};
use crate::protect::credentials::{
    ALIAS_WORDS, CredentialResolver, alias_within, keep_destination,
};
use crate::run::call::Call;
use crate::run::keys::{ToolConfig, scalar_text};

/// The spellings of the address that a client secret is sent to.
const TOKEN_URLS: &[&str] = &["token_url", "token_uri", "token_endpoint"];
const API_KEY_HEADER: &str = "X-API-Key";

/// The credential types with which a token is requested (OAuth2 client credentials).
const GRANTS: &[&str] = &["oauth2", "oauth2_client_credentials", "client_credentials"];

/// True if a credential describes how to obtain a token and does not contain the token.
pub(super) fn is_grant(fields: &Map<String, Value>) -> bool {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    GRANTS.contains(&kind.to_ascii_lowercase().as_str())
}

/// The authentication of a request, or the way to obtain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    Header(AuthHeader),
    /// A token that must be obtained first.
    Grant(Box<ClientCredentials>),
}

/// The content of the authentication header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthHeader {
    None,
    Bearer { token: String },
    Basic { username: String, password: String },
    ApiKey { header: String, value: String },
}

impl Auth {
    /// Reads `auth` (a map or an alias) or `credential` (an alias).
    pub(crate) async fn read(
        call: &Call,
        keys: ToolConfig<'_>,
        credentials: &dyn CredentialResolver,
    ) -> Result<Self, ToolError> {
        match keys.find(&["auth", "credential"]) {
            None => Ok(Auth::Header(AuthHeader::None)),
            Some((_, Value::String(alias))) => {
                Self::of(keys, &credentials.resolve(call, alias).await?)
            }
            Some((_, Value::Object(said))) => match alias_within(said) {
                None => Self::of(keys, said),
                Some(alias) => {
                    let mut fields = credentials.resolve(call, alias).await?;
                    keep_destination(keys, TOKEN_URLS, (&fields, said))?;
                    let said = said.iter().filter(|(key, value)| {
                        !ALIAS_WORDS.contains(&key.as_str()) && !value.is_null()
                    });
                    fields.extend(said.map(|(key, value)| (key.clone(), value.clone())));
                    Self::of(keys, &fields)
                }
            },
            Some((key, other)) => Err(keys.wrong(key, "a map or the alias of a credential", other)),
        }
    }

    pub(crate) fn of(keys: ToolConfig<'_>, fields: &Map<String, Value>) -> Result<Self, ToolError> {
        if is_grant(fields) {
            return Ok(Auth::Grant(Box::new(grant(keys, fields)?)));
        }
        let field = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| fields.get(*name).and_then(scalar_text))
                .ok_or_else(|| keys.error(format!("`auth.{}` is missing", names[0])))
        };
        let kind = field(&["type"])?;
        let header = match kind.to_ascii_lowercase().as_str() {
            "none" => AuthHeader::None,
            "bearer" | "bearer_token" | "httpbearerauth" => AuthHeader::Bearer {
                token: field(&["token", "access_token", "bearer_token", "value"])?,
            },
            "basic" | "httpbasicauth" => AuthHeader::Basic {
                username: field(&["username", "user"])?,
                password: field(&["password", "db_password"])?,
            },
            "api_key" | "apikey" => AuthHeader::ApiKey {
                header: field(&["header"]).unwrap_or_else(|_| API_KEY_HEADER.into()),
                value: field(&["value", "api_key", "key", "token"])?,
            },
            other => {
                return Err(keys.error(format!(
                    "`auth.type` is `{other}`; known are bearer, basic, api_key, oauth2 and none"
                )));
            }
        };
        Ok(Auth::Header(header))
    }
}

impl AuthHeader {
    /// Returns the header to send; its value is marked as sensitive.
    pub(crate) fn header(
        &self,
        keys: ToolConfig<'_>,
    ) -> Result<Option<(HeaderName, HeaderValue)>, ToolError> {
        let (name, value) = match self {
            AuthHeader::None => return Ok(None),
            AuthHeader::Bearer { token } => (AUTHORIZATION, format!("Bearer {token}")),
            AuthHeader::Basic { username, password } => {
                let pair = STANDARD.encode(format!("{username}:{password}"));
                (AUTHORIZATION, format!("Basic {pair}"))
            }
            AuthHeader::ApiKey { header, value } => {
                let name = HeaderName::from_bytes(header.as_bytes())
                    .map_err(|_| keys.error("`auth.header` is not the name of a header"))?;
                (name, value.clone())
            }
        };
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| keys.error("`auth` holds characters that no header can carry"))?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// Reads an OAuth2 client credentials grant.
fn grant(
    keys: ToolConfig<'_>,
    fields: &Map<String, Value>,
) -> Result<ClientCredentials, ToolError> {
    let auth = keys.below("auth", fields);
    let url = auth.required_text(TOKEN_URLS)?;
    let token_url =
        url.parse().map_err(|error| auth.error(format!("`token_url` is not a URL: {error}")))?;
    let scope = match auth.find(&["scope", "scopes"]) {
        Some((_, Value::Array(scopes))) => {
            let scopes: Vec<String> = scopes.iter().filter_map(scalar_text).collect();
            Some(scopes.join(" "))
        }
        Some(_) | None => auth.text(&["scope", "scopes"])?,
    };
    let place = match auth.text(&["client_auth"])?.as_deref() {
        None | Some("basic" | "header") => SecretPlace::Header,
        Some("body" | "post") => SecretPlace::Body,
        Some(other) => {
            let message = format!("`client_auth` is `{other}`; known are basic and body");
            return Err(auth.error(message));
        }
    };
    Ok(ClientCredentials {
        token_url,
        client_id: auth.required_text(&["client_id"])?,
        client_secret: auth.required_text(&["client_secret"])?,
        scope,
        audience: auth.text(&["audience", "resource"])?,
        place,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protect::credentials::FixedCredentials;
    use crate::testing::call;

    async fn read(auth: Value) -> Result<Auth, String> {
        let stored = r#"{"type": "oauth2", "token_uri": "https://idp.example/token",
                         "client_id": "c", "client_secret": "hunter2"}"#;
        let variable = ("NOETL_CREDENTIAL_GRANT".to_owned(), stored.to_owned());
        let credentials = FixedCredentials::from_environment([variable]);
        let call = call(json!({ "auth": auth }));
        let keys = ToolConfig::new("http", &call.config);
        Auth::read(&call, keys, &credentials).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_playbook_does_not_choose_where_a_stored_client_secret_is_sent() {
        for key in TOKEN_URLS {
            for alias in [json!({"credential": "grant"}), json!({"source": "x", "key": "grant"})] {
                let mut auth = alias;
                auth[*key] = json!("https://evil.example/token");
                let error = read(auth).await.expect_err("refused");
                assert!(error.starts_with(&format!("http: `{key}` differs")), "{error}");
            }
        }
        let same = json!({"credential": "grant", "token_url": "https://idp.example/token"});
        assert!(matches!(read(same).await, Ok(Auth::Grant(_))));
        let scope = json!({"credential": "grant", "scope": "read"});
        assert!(matches!(read(scope).await, Ok(Auth::Grant(_))));
    }
}
