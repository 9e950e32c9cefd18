//! The HTTP functions of scripts: `http_get`, `http_post`, `http_delete`, each also with a bearer
//! token.
//!
//! Requests use the client of the `http` tool, so the same network policy and limits apply.

use std::sync::Arc;

use ::rhai::serde::to_dynamic;
use ::rhai::{Dynamic, Engine, EvalAltResult};
use noetl_model::{ToolError, Unmeasured};
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::engine::current_requests;
use crate::protect::outgoing::{HttpRequest, HttpResponse, Outgoing};
use crate::run::memory::{CallMemory, too_large};

type ScriptResult = Result<Dynamic, Box<EvalAltResult>>;

/// The HTTP access of a call's script, which runs on a blocking thread.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) outgoing: Arc<Outgoing>,
    pub(super) runtime: Handle,
    pub(super) stop: CancellationToken,
    pub(super) memory: CallMemory,
}

/// Registers the functions; each sends requests for the current call of its thread.
pub(super) fn add_to(engine: &mut Engine) {
    for (name, method) in [("http_get", Method::GET), ("http_delete", Method::DELETE)] {
        let of = method.clone();
        engine.register_fn(name, move |url: &str| -> ScriptResult {
            current_requests().send(of.clone(), url, None, None)
        });
        engine.register_fn(format!("{name}_auth"), move |url: &str, token: &str| -> ScriptResult {
            current_requests().send(method.clone(), url, None, Some(token))
        });
    }
    engine.register_fn("http_post", |url: &str, body: Dynamic| -> ScriptResult {
        current_requests().send(Method::POST, url, Some(&body), None)
    });
    engine.register_fn("http_post_auth", |url: &str, body: Dynamic, token: &str| -> ScriptResult {
        current_requests().send(Method::POST, url, Some(&body), Some(token))
    });
}

impl Requests {
    fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<&Dynamic>,
        token: Option<&str>,
    ) -> ScriptResult {
        let url = Url::parse(url).map_err(|error| format!("`{url}` is no URL: {error}"))?;
        let mut request = HttpRequest { method, ..HttpRequest::get(url) };
        if let Some(body) = body {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            // A string is sent unchanged, because most scripts create their JSON with `to_json`.
            request.body = Some(match body.read_lock::<::rhai::ImmutableString>() {
                Some(text) => text.as_bytes().to_vec(),
                None => ::rhai::serde::from_dynamic::<Value>(body)?.to_string().into_bytes(),
            });
        }
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let mut value = value.map_err(|_| "the token cannot be sent in a header".to_owned())?;
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        let exchange = async {
            let response = self.outgoing.send(request, &self.memory).await?;
            self.told(&response).await
        };
        match self.runtime.block_on(self.stop.run_until_cancelled(exchange)) {
            Some(Ok(answer)) => to_dynamic(answer),
            Some(Err(error)) => Err(error.to_string().into()),
            None => Err("stopped".into()),
        }
    }

    /// Returns `{status, headers, body, data}`: the body as text, and its parsed value if it is
    /// JSON.
    async fn told(&self, response: &HttpResponse) -> Result<Value, ToolError> {
        let headers = response.headers.iter().map(|(name, value)| {
            (name.to_string(), Value::from(String::from_utf8_lossy(value.as_bytes()).into_owned()))
        });
        let headers: Map<String, Value> = headers.collect();
        let status = response.status.as_u16();
        let data = match self.memory.json(&response.body, 1).await {
            Ok(data) => data,
            Err(Unmeasured::NotJson(_)) => Value::Null,
            Err(Unmeasured::TooLarge(limit)) => return Err(too_large("the body", &limit)),
        };
        let body = String::from_utf8_lossy(&response.body).into_owned();
        let mut told = json!({ "status": status, "headers": headers, "body": null, "data": null });
        (told["body"], told["data"]) = (Value::String(body), data);
        Ok(told)
    }
}
