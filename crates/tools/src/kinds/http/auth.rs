//! Reads the authentication of a request, from the configuration or from a stored credential.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use noetl_model::ToolError;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use url::Url;

use super::oauth::{ClientCredentials, SecretPlace};
use crate::protect::allowed_hosts::AllowedHosts;
use crate::protect::credentials::{
    ALIAS_WORDS, CredentialResolver, alias_within, fixed_destination, keep_destination,
};
use crate::run::call::Call;
use crate::run::keys::{ToolConfig, scalar_text};

/// The spellings of the address that a client secret is sent to.
const TOKEN_URLS: &[&str] = &["token_url", "token_uri", "token_endpoint"];
/// The keys of a credential that name the address it is for.
const URLS: &[&str] = &["url", "base_url", "endpoint"];
/// The keys of a credential that name the host it is for.
const HOSTS: &[&str] = &["host", "hostname"];
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
    /// Reads `auth` (a map or an alias) or `credential` (an alias), and the hosts that it may be sent
    /// to.
    pub(crate) async fn read(
        call: &Call,
        keys: ToolConfig<'_>,
        credentials: &dyn CredentialResolver,
    ) -> Result<(Self, AllowedHosts), ToolError> {
        match keys.find(&["auth", "credential"]) {
            None => Ok((Auth::Header(AuthHeader::None), AllowedHosts::default())),
            Some((_, Value::String(alias))) => {
                let mut fields = credentials.resolve(call, alias).await?;
                let hosts = AllowedHosts::take(&mut fields);
                check_destination(keys, &fields)?;
                Ok((Self::of_allowed(keys, &fields, &hosts)?, hosts))
            }
            Some((_, Value::Object(said))) => match alias_within(said) {
                None => Ok((Self::of(keys, said)?, AllowedHosts::default())),
                Some(alias) => {
                    let mut fields = credentials.resolve(call, alias).await?;
                    let hosts = AllowedHosts::take(&mut fields);
                    check_destination(keys, &fields)?;
                    keep_destination(keys, TOKEN_URLS, (&fields, said))?;
                    keep_type(keys, &fields, said)?;
                    let said = said.iter().filter(|(key, value)| {
                        !ALIAS_WORDS.contains(&key.as_str()) && !value.is_null()
                    });
                    fields.extend(said.map(|(key, value)| (key.clone(), value.clone())));
                    Ok((Self::of_allowed(keys, &fields, &hosts)?, hosts))
                }
            },
            Some((key, other)) => Err(keys.wrong(key, "a map or the alias of a credential", other)),
        }
    }

    /// Reads a credential whose client secret is sent to allowed hosts only.
    fn of_allowed(
        keys: ToolConfig<'_>,
        fields: &Map<String, Value>,
        hosts: &AllowedHosts,
    ) -> Result<Self, ToolError> {
        let auth = Self::of(keys, fields)?;
        if let Auth::Grant(grant) = &auth {
            hosts.check_url(&grant.token_url)?;
        }
        Ok(auth)
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

/// Checks that a request goes to the host that its stored credential names, if it names one.
pub(crate) fn check_destination(
    keys: ToolConfig<'_>,
    stored: &Map<String, Value>,
) -> Result<(), ToolError> {
    let Some(text) = keys.text(&["url", "endpoint"])? else { return Ok(()) };
    // A URL that cannot be read is reported by the request itself, which is not sent.
    let Ok(url) = Url::parse(text.trim()) else { return Ok(()) };
    match is_destination(stored, &url) {
        true => Ok(()),
        false => Err(fixed_destination(keys, "url")),
    }
}

/// True if a credential names no host, or the one of a URL.
pub(crate) fn is_destination(stored: &Map<String, Value>, url: &Url) -> bool {
    let field = |name: &str| stored.get(name).and_then(scalar_text);
    let is_origin =
        |text: String| Url::parse(text.trim()).is_ok_and(|named| named.origin() == url.origin());
    if !URLS.iter().filter_map(|name| field(name)).all(is_origin) {
        return false;
    }
    let host = HOSTS.iter().find_map(|name| field(name));
    // A host may be written with its port.
    let is_host = |text: String| {
        let named = Url::parse(&format!("{}://{}/", url.scheme(), text.trim()));
        named.is_ok_and(|named| {
            named.host() == url.host() && (named.port().is_none() || named.port() == url.port())
        })
    };
    let port = field("port").filter(|_| host.is_some()).map(|port| port.trim().parse::<u16>());
    host.is_none_or(is_host)
        && port.is_none_or(|port| port.is_ok_and(|port| url.port_or_known_default() == Some(port)))
}

/// Checks that a setting beside a stored credential does not turn it into one of another type, for which
/// other rules about its destination hold.
fn keep_type(
    keys: ToolConfig<'_>,
    stored: &Map<String, Value>,
    said: &Map<String, Value>,
) -> Result<(), ToolError> {
    let kind = |of: &Map<String, Value>| of.get("type").and_then(scalar_text).map(family);
    match (kind(stored), kind(said)) {
        (Some(stored), Some(said)) if stored != said => Err(keys.error(format!(
            "`auth.type` is `{said}`, and the stored credential has the type `{stored}`: leave `type` \
             out, or store a credential of this type"
        ))),
        (Some(_), Some(_)) | (None, _) | (_, None) => Ok(()),
    }
}

/// Returns the usual spelling of a credential type.
fn family(kind: String) -> String {
    let lower = kind.to_ascii_lowercase();
    let usual = match lower.as_str() {
        "bearer_token" | "httpbearerauth" => "bearer",
        "httpbasicauth" => "basic",
        "apikey" => "api_key",
        grant if GRANTS.contains(&grant) => GRANTS[0],
        _ => return lower,
    };
    usual.to_owned()
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
        let read = Auth::read(&call, keys, &credentials).await;
        read.map(|(auth, _)| auth).map_err(|error| error.to_string())
    }

    async fn sent(stored: &str, config: Value) -> Result<Auth, String> {
        let variable = ("NOETL_CREDENTIAL_API".to_owned(), stored.to_owned());
        let credentials = FixedCredentials::from_environment([variable]);
        let call = call(config);
        let keys = ToolConfig::new("http", &call.config);
        let read = Auth::read(&call, keys, &credentials).await;
        read.map(|(auth, _)| auth).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_credential_that_names_its_host_is_sent_to_no_other() {
        for (place, good, evil) in [
            (r#""host": "api.example""#, "https://API.example/x", "https://evil.example/x"),
            (r#""host": "api.example:8443""#, "https://api.example:8443/", "https://api.example/"),
            (
                r#""host": "api.example", "port": 443"#,
                "https://api.example/",
                "http://api.example/",
            ),
            (
                r#""url": "https://api.example/v1""#,
                "https://api.example/v2",
                "http://api.example/v1",
            ),
            (
                r#""base_url": "https://api.example""#,
                "https://api.example/",
                "https://api.example.evil/",
            ),
        ] {
            let stored = format!(r#"{{"type": "bearer", "token": "t", {place}}}"#);
            for auth in [json!("api"), json!({"credential": "api"})] {
                let config = |url: &str| json!({"auth": auth, "url": url});
                assert!(sent(&stored, config(good)).await.is_ok(), "{place} {good}");
                let refused = sent(&stored, config(evil)).await.expect_err(place);
                assert!(refused.starts_with("http: `url` differs"), "{refused}");
            }
        }
        let anywhere = r#"{"type": "bearer", "token": "t"}"#;
        let config = json!({"auth": "api", "url": "https://any.example/"});
        assert!(sent(anywhere, config).await.is_ok());
    }

    #[tokio::test]
    async fn a_playbook_does_not_choose_the_type_of_a_stored_credential() {
        let stored = r#"{"type": "oauth2", "token_url": "https://idp.example/", "client_id": "c",
                         "client_secret": "hunter2", "token": "hunter2"}"#;
        let config = |kind: &str| json!({"auth": {"credential": "api", "type": kind}, "url": "https://evil.example/"});
        for kind in ["bearer", "basic", "api_key", "none"] {
            let refused = sent(stored, config(kind)).await.expect_err(kind);
            assert!(refused.contains("the stored credential has the type `oauth2`"), "{refused}");
        }
        assert!(sent(stored, config("client_credentials")).await.is_ok());
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
