//! OAuth2 client credentials: tokens are cached until shortly before they expire, and shared by all
//! calls of the worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use noetl_model::{ErrorKind, ToolError};
use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use crate::protect::outgoing::{ConnectionSettings, HttpRequest, Outgoing, Redirects, named};
use crate::run::memory::CallMemory;

/// The time before its expiry at which a token is replaced.
const EARLY: Duration = Duration::from_secs(30);
/// The lifetime of a token whose response has none.
const LIFE: Duration = Duration::from_secs(300);
/// The maximum number of tokens cached by a worker.
const TOKENS_MAX: usize = 64;

/// The parameters of a token request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientCredentials {
    pub(super) token_url: Url,
    pub(super) client_id: String,
    pub(super) client_secret: String,
    pub(super) scope: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) place: SecretPlace,
}

/// The place of the id and the secret in a request: a header or the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretPlace {
    Header,
    Body,
}

struct CachedToken {
    token: String,
    until: Instant,
}

/// A cached token. The lock lets one call request the token while the others wait.
type TokenSlot = Arc<tokio::sync::Mutex<Option<CachedToken>>>;

/// The token cache of a worker.
#[derive(Default)]
pub(crate) struct TokenCache {
    slots: Mutex<BTreeMap<ClientCredentials, TokenSlot>>,
}

impl TokenCache {
    pub(super) async fn get(
        &self,
        grant: &ClientCredentials,
        outgoing: &Outgoing,
        memory: &CallMemory,
    ) -> Result<String, ToolError> {
        let slot = self.slot(grant);
        let mut kept = slot.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| Instant::now() < kept.until) {
            return Ok(kept.token.clone());
        }
        let fresh = grant.ask(outgoing, memory).await?;
        Ok(kept.insert(fresh).token.clone())
    }

    /// Removes a token that the server rejected.
    pub(super) fn forget(&self, grant: &ClientCredentials) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(grant);
    }

    fn slot(&self, grant: &ClientCredentials) -> TokenSlot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if TOKENS_MAX <= slots.len() && !slots.contains_key(grant) {
            slots.pop_first();
        }
        slots.entry(grant.clone()).or_default().clone()
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    expires_in: Option<f64>,
}

#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
}

impl ClientCredentials {
    async fn ask(
        &self,
        outgoing: &Outgoing,
        memory: &CallMemory,
    ) -> Result<CachedToken, ToolError> {
        let asked = Instant::now();
        let request = self.request();
        let name = named(&request);
        let response = outgoing.send(request, memory).await?;
        if !response.status.is_success() {
            // Only the error code defined by the standard is reported; other fields may quote the
            // secret.
            let why = serde_json::from_slice::<TokenRefusal>(&response.body);
            let why = why.map(|refused| format!(": {}", refused.error)).unwrap_or_default();
            let status = response.status;
            let kind = match status.as_u16() {
                429 => ErrorKind::RateLimit,
                500.. => ErrorKind::ServerError,
                _ => ErrorKind::Auth,
            };
            let message = format!("no token: HTTP {} from {name}{why}", status.as_u16());
            let mut error = ToolError::new(kind, message);
            error.status = Some(status.as_u16());
            return Err(error);
        }
        let granted: TokenResponse = serde_json::from_slice(&response.body).map_err(|_| {
            let message = format!("no token: {name} answers without `access_token`");
            ToolError::new(ErrorKind::Auth, message)
        })?;
        let life = granted.expires_in.and_then(|life| Duration::try_from_secs_f64(life).ok());
        let life = life.unwrap_or(LIFE).saturating_sub(EARLY);
        Ok(CachedToken { token: granted.access_token, until: asked + life })
    }

    fn request(&self) -> HttpRequest {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        for (name, value) in [("scope", &self.scope), ("audience", &self.audience)] {
            form.extend_pairs(value.iter().map(|value| (name, value)));
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form_type);
        match self.place {
            SecretPlace::Body => {
                form.append_pair("client_id", &self.client_id);
                form.append_pair("client_secret", &self.client_secret);
            }
            SecretPlace::Header => {
                let encoded = |text: &str| -> String {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect()
                };
                let pair = format!("{}:{}", encoded(&self.client_id), encoded(&self.client_secret));
                let value = format!("Basic {}", STANDARD.encode(pair));
                let mut value = HeaderValue::from_str(&value).expect("base64 fits into a header");
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
        }
        HttpRequest {
            method: Method::POST,
            url: self.token_url.clone(),
            headers,
            body: Some(form.finish().into()),
            redirects: Redirects::Keep,
            connection: ConnectionSettings::default(),
        }
    }
}
