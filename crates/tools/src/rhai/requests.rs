//! Requests of scripts: `http_get`, `http_post`, `http_delete`, each also with a bearer token.
//!
//! They go the way of the `http` tool, so the network policy and the bounds are the same.

use std::sync::Arc;

use ::rhai::serde::to_dynamic;
use ::rhai::{Dynamic, Engine, EvalAltResult};
use noetl_model::ToolError;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::outgoing::{Outgoing, Request, Response};

type Answer = Result<Dynamic, Box<EvalAltResult>>;

/// What scripts send requests with. They run on a thread of their own, which waits.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) outgoing: Arc<Outgoing>,
    pub(super) runtime: Handle,
    pub(super) stop: CancellationToken,
}

impl Requests {
    pub(super) fn add_to(self, engine: &mut Engine) {
        for (name, method) in [("http_get", Method::GET), ("http_delete", Method::DELETE)] {
            let (requests, of) = (self.clone(), method.clone());
            engine.register_fn(name, move |url: &str| -> Answer {
                requests.send(of.clone(), url, None, None)
            });
            let requests = self.clone();
            engine.register_fn(format!("{name}_auth"), move |url: &str, token: &str| -> Answer {
                requests.send(method.clone(), url, None, Some(token))
            });
        }
        let requests = self.clone();
        engine.register_fn("http_post", move |url: &str, body: Dynamic| -> Answer {
            requests.send(Method::POST, url, Some(&body), None)
        });
        engine.register_fn(
            "http_post_auth",
            move |url: &str, body: Dynamic, token: &str| -> Answer {
                self.send(Method::POST, url, Some(&body), Some(token))
            },
        );
    }

    fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<&Dynamic>,
        token: Option<&str>,
    ) -> Answer {
        let url = Url::parse(url).map_err(|error| format!("`{url}` is no URL: {error}"))?;
        let mut request = Request { method, ..Request::get(url) };
        if let Some(body) = body {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            // A text is sent as it is: most scripts make their JSON by `to_json`.
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
        let sending = self.stop.run_until_cancelled(self.outgoing.send(request));
        match self.runtime.block_on(sending) {
            Some(Ok(response)) => to_dynamic(told(&response)),
            Some(Err(error)) => Err(failed(&error)),
            None => Err("stopped".into()),
        }
    }
}

fn failed(error: &ToolError) -> Box<EvalAltResult> {
    error.to_string().into()
}

/// `{status, headers, body, data}`: the body as text, and what it says if that is JSON.
fn told(response: &Response) -> Value {
    let headers = response.headers.iter().map(|(name, value)| {
        (name.to_string(), Value::from(String::from_utf8_lossy(value.as_bytes()).into_owned()))
    });
    let headers: Map<String, Value> = headers.collect();
    let body = String::from_utf8_lossy(&response.body);
    let data: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
    json!({ "status": response.status.as_u16(), "headers": headers, "body": body, "data": data })
}
