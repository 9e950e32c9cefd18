//! A message of a known sender, and the execution that it wishes for.

use axum::http::HeaderMap;
use noetl_playbook::{Controls, PayloadFrom, Subscription, TraceRule, Verify};
use serde_json::{Map, Value, json};

/// Headers that hold secrets and are not for executions.
const SECRET_HEADERS: &[&str] = &["authorization", "cookie", "proxy-authorization"];
/// How long an idempotency key may be.
const KEY_MAX: usize = 500;

/// What a message wishes for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wish {
    pub(crate) playbook: String,
    pub(crate) pool: Option<String>,
    pub(crate) payload: Map<String, Value>,
    pub(crate) trace: Option<Value>,
    pub(crate) idempotency_key: Option<String>,
}

/// Why a message cannot be dispatched, in words for its sender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadMessage {
    #[error("the body is not JSON")]
    NotJson,
    #[error("the header `{header}` may not choose `{value}`")]
    NotAllowed { header: String, value: String },
    #[error("the idempotency key is empty or longer than {KEY_MAX} bytes")]
    Key,
}

/// Reads a message.
pub(crate) fn wish(
    path: &str,
    subscription: &Subscription,
    verify: &Verify,
    id: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Wish, BadMessage> {
    let plain = plain_headers(headers, verify);
    let mut wish = Wish {
        playbook: subscription.dispatch.playbook.clone(),
        pool: subscription.dispatch.pool.clone(),
        payload: Map::new(),
        trace: trace(&subscription.headers.trace, headers),
        idempotency_key: None,
    };
    let mut content_type = None;
    let mut priority = None;
    let mut chosen_pool = None;
    for directive in &subscription.headers.directives {
        let Some(value) = plain.get(&directive.header).and_then(Value::as_str) else { continue };
        let choose = |allowed: &[String]| match allowed.iter().any(|it| it == value) {
            true => Ok(value.to_owned()),
            false => Err(BadMessage::NotAllowed {
                header: directive.header.clone(),
                value: value.to_owned(),
            }),
        };
        match &directive.controls {
            Controls::Playbook { allowed } => wish.playbook = choose(allowed)?,
            Controls::Pool { allowed } => chosen_pool = Some(choose(allowed)?),
            Controls::Priority { pools } => priority = pools.get(value).cloned(),
            Controls::IdempotencyKey => {
                if value.is_empty() || value.len() > KEY_MAX {
                    return Err(BadMessage::Key);
                }
                wish.idempotency_key = Some(value.to_owned());
            }
            Controls::ContentType => content_type = Some(value.to_owned()),
            Controls::SchemaHint => {}
        }
    }
    wish.pool = chosen_pool.or(priority).or(wish.pool);
    wish.payload = payload(path, subscription, id, plain, body)?;
    if let Some(key) = &wish.idempotency_key {
        wish.payload.insert("idempotency_key".to_owned(), json!(key));
    }
    if let Some(content_type) = content_type {
        wish.payload.insert("content_type".to_owned(), json!(content_type));
    }
    Ok(wish)
}

fn payload(
    path: &str,
    subscription: &Subscription,
    id: &str,
    headers: Map<String, Value>,
    body: &[u8],
) -> Result<Map<String, Value>, BadMessage> {
    let raw = String::from_utf8_lossy(body).into_owned();
    let data: Value = match subscription.dispatch.payload_from {
        PayloadFrom::Json => serde_json::from_slice(body).map_err(|_| BadMessage::NotJson)?,
        PayloadFrom::Body => Value::String(raw),
        PayloadFrom::Attributes => Value::Object(headers.clone()),
    };
    let mut payload = Map::new();
    let message = json!({
        "id": id,
        "data": data,
        "headers": headers,
        "attributes": {},
        "metadata": { "subscription": path },
    });
    payload.insert("message".to_owned(), message);
    payload.insert("subscription".to_owned(), json!(path));
    payload.insert("source".to_owned(), json!(subscription.source.as_str()));
    match data {
        Value::Object(fields) => {
            for (name, value) in fields {
                payload.entry(name).or_insert(value);
            }
        }
        scalar => {
            payload.insert("body".to_owned(), scalar);
        }
    }
    Ok(payload)
}

/// The headers an execution may see, the last of several values each.
fn plain_headers(headers: &HeaderMap, verify: &Verify) -> Map<String, Value> {
    let signature = match verify {
        Verify::Hmac { header, .. } | Verify::Bearer { header, .. } => header.as_str(),
        Verify::PubsubOidc { .. } => "authorization",
    };
    let mut plain = Map::new();
    for (name, value) in headers {
        let name = name.as_str();
        if SECRET_HEADERS.contains(&name) || name == signature {
            continue;
        }
        if let Ok(value) = value.to_str() {
            plain.insert(name.to_owned(), json!(value));
        }
    }
    plain
}

fn trace(rule: &TraceRule, headers: &HeaderMap) -> Option<Value> {
    let TraceRule::W3c { baggage } = rule else { return None };
    let word = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let parent = word("traceparent")?;
    let mut trace = Map::from_iter([("traceparent".to_owned(), json!(parent))]);
    if let Some(state) = word("tracestate") {
        trace.insert("tracestate".to_owned(), json!(state));
    }
    let allowed = |entry: &&str| {
        let name = entry.split(['=', ';']).next().unwrap_or_default().trim();
        baggage.iter().any(|allowed| allowed == name)
    };
    let kept: Vec<&str> =
        word("baggage").unwrap_or_default().split(',').filter(allowed).map(str::trim).collect();
    if !kept.is_empty() {
        trace.insert("baggage".to_owned(), json!(kept.join(",")));
    }
    Some(Value::Object(trace))
}
