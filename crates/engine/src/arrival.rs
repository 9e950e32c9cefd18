//! The execution requested by an incoming message: its playbook, its payload and its start key.

use std::sync::Arc;
use std::time::Duration;

use noetl_expr::{Budget, Template};
use noetl_model::{Arrival, BadSignalKey, Digest, Label, Labels, SignalKey, SignalName};
use noetl_playbook::{
    Controls, DispatchTarget, MessageOrder, OrderKey, PayloadFrom, SignalDispatch, Subscription,
    TraceRule,
};
use serde_json::{Map, Value, json};

/// The longest idempotency key, in bytes.
pub const IDEMPOTENCY_KEY_MAX: usize = 500;
/// The work that the template of a signal's correlation key may take.
const KEY_WORK_MAX: u64 = 10_000;
/// The work that the templates of the labels of one message may take.
const LABELS_WORK_MAX: u64 = 100_000;
/// The longest ordering key, in bytes.
const ORDER_KEY_MAX: usize = 500;
/// The lifetime of a fetched message's start key: longer than any outage of its broker.
const REDELIVERY_KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The lifetime of a posted message's start key if the subscription has no dedup window.
const POSTED_KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// The part of a posted message that its sender's signature covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPart {
    /// The digest of the signed bytes: the time, if one is signed, and the body.
    pub digest: Digest,
    /// The largest allowed difference between the signed time and now; `None` if no time is signed.
    pub tolerance: Option<Duration>,
}

/// The execution that a message requests.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRequest {
    pub target: MessageTarget,
    pub pool: Option<String>,
    pub labels: Labels,
    pub payload: Map<String, Value>,
    /// The W3C trace context that the execution continues.
    pub trace: Option<Value>,
    pub idempotency_key: Option<String>,
}

/// The target of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageTarget {
    /// The path of the playbook that the message starts.
    Playbook(String),
    Signal(MessageSignal),
}

/// The signal that a message becomes.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageSignal {
    pub name: SignalName,
    pub key: SignalKey,
    pub body: Value,
}

/// The reason why a message cannot be dispatched, in words for its sender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    #[error("the body is not JSON")]
    NotJson,
    #[error("the header `{header}` may not choose `{value}`")]
    NotAllowed { header: String, value: String },
    #[error("the idempotency key is empty or longer than {IDEMPOTENCY_KEY_MAX} bytes")]
    Key,
    #[error("the correlation key of the signal cannot be read from the message: {0}")]
    SignalKey(String),
    #[error("the labels cannot be read from the message: {0}")]
    Labels(String),
}

/// Reads the requested execution from a message of the subscription at `path`.
pub fn message_request(
    path: &str,
    rules: &Subscription,
    arrival: &Arrival,
) -> Result<MessageRequest, BadMessage> {
    let mut request = MessageRequest {
        target: MessageTarget::Playbook(String::new()),
        pool: rules.dispatch.pool.clone(),
        labels: Labels::default(),
        payload: Map::new(),
        trace: trace(&rules.headers.trace, arrival),
        idempotency_key: None,
    };
    let (mut content_type, mut priority, mut chosen_pool) = (None, None, None);
    let mut chosen_playbook = None;
    for directive in &rules.headers.directives {
        let Some(value) = arrival.header(&directive.header) else { continue };
        let choose = |allowed: &[String]| match allowed.iter().any(|it| it == value) {
            true => Ok(value.to_owned()),
            false => Err(BadMessage::NotAllowed {
                header: directive.header.clone(),
                value: value.to_owned(),
            }),
        };
        match &directive.controls {
            Controls::Playbook { allowed } => chosen_playbook = Some(choose(allowed)?),
            Controls::Pool { allowed } => chosen_pool = Some(choose(allowed)?),
            Controls::Priority { pools } => priority = pools.get(value).cloned(),
            Controls::IdempotencyKey => {
                if value.is_empty() || value.len() > IDEMPOTENCY_KEY_MAX {
                    return Err(BadMessage::Key);
                }
                request.idempotency_key = Some(value.to_owned());
            }
            Controls::ContentType => content_type = Some(value.to_owned()),
            Controls::SchemaHint => {}
        }
    }
    request.pool = chosen_pool.or(priority).or(request.pool);
    request.payload = payload(path, rules, arrival)?;
    request.labels = message_labels(&rules.dispatch.labels, &request.payload)?;
    request.target = match &rules.dispatch.target {
        DispatchTarget::Playbook(playbook) => {
            MessageTarget::Playbook(chosen_playbook.unwrap_or_else(|| playbook.clone()))
        }
        DispatchTarget::Signal(signal) => {
            MessageTarget::Signal(message_signal(signal, &request.payload)?)
        }
    };
    if let Some(key) = &request.idempotency_key {
        request.payload.insert("idempotency_key".to_owned(), json!(key));
    }
    if let Some(content_type) = content_type {
        request.payload.insert("content_type".to_owned(), json!(content_type));
    }
    Ok(request)
}

/// Returns the labels of the execution that a message starts, rendered over the parts of the message.
/// A value that is null gives no label.
fn message_labels(
    labels: &[(String, Value)],
    payload: &Map<String, Value>,
) -> Result<Labels, BadMessage> {
    let failed = |error: String| BadMessage::Labels(error);
    let (variables, budget) = (MessageVariables(payload), Budget::new(LABELS_WORK_MAX));
    let mut rendered = Vec::new();
    for (key, value) in labels {
        let template = Template::parse(value.clone());
        let template = template.map_err(|error| failed(error.to_string()))?;
        let value = template.render_within(&variables, &budget);
        let value = value.map_err(|error| failed(error.to_string()))?;
        let label = Label::from_json(key, &value).map_err(|error| failed(error.to_string()))?;
        rendered.extend(label);
    }
    Labels::default().with(rendered).map_err(|error| failed(error.to_string()))
}

/// Returns the signal that a message becomes: its key is rendered over the parts of the message, its
/// body is the data of the message.
fn message_signal(
    dispatch: &SignalDispatch,
    payload: &Map<String, Value>,
) -> Result<MessageSignal, BadMessage> {
    let failed = |error: String| BadMessage::SignalKey(error);
    let template = Template::parse(Value::String(dispatch.key.clone()));
    let template = template.map_err(|error| failed(error.to_string()))?;
    let variables = MessageVariables(payload);
    let key = template.render_within(&variables, &Budget::new(KEY_WORK_MAX));
    let key = key.map_err(|error| failed(error.to_string()))?;
    let key = match &key {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => key.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(failed(format!("it is {key}, and a text or a number is needed")));
        }
    };
    let key: SignalKey = key.parse().map_err(|error: BadSignalKey| failed(error.to_string()))?;
    let body = payload.get("message").and_then(|message| message.get("data")).cloned();
    Ok(MessageSignal { name: dispatch.name.clone(), key, body: body.unwrap_or_default() })
}

/// The parts of a message as the variables of a template.
struct MessageVariables<'a>(&'a Map<String, Value>);

impl noetl_expr::VariableSource for MessageVariables<'_> {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(name).cloned().map(Arc::new)
    }
}

/// Returns the start key of a fetched message and how long it is kept: the idempotency key with the
/// dedup window if the subscription has one, else the message's own key.
pub fn start_key(
    rules: &Subscription,
    request: &MessageRequest,
    arrival: &Arrival,
) -> (String, Duration) {
    match (rules.dedup, &request.idempotency_key) {
        (Some(window), Some(key)) => (format!("key {key}"), window),
        (Some(_) | None, _) => (format!("message {}", arrival.once), REDELIVERY_KEEP),
    }
}

/// Returns the start key of a posted message and how long it is kept.
///
/// A signed message is identified by its signed bytes alone: headers are not signed, so with an
/// idempotency key from a header anyone who has seen the message could replay it under another key,
/// or use the key of another message. Without a signature, the sender has authenticated the whole
/// request and the idempotency key counts.
pub fn posted_start_key(
    rules: &Subscription,
    request: &MessageRequest,
    signed: Option<&SignedPart>,
) -> Option<(String, Duration)> {
    let window = rules.dedup.unwrap_or(POSTED_KEEP);
    match (signed, &request.idempotency_key) {
        (Some(SignedPart { digest, tolerance: Some(tolerance) }), _) => {
            // Later replays are rejected because the signed time is out of tolerance.
            Some((format!("signed {digest}"), *tolerance * 2))
        }
        (Some(SignedPart { digest, tolerance: None }), _) => {
            Some((format!("signed {digest}"), window))
        }
        (None, Some(key)) => Some((key.clone(), window)),
        (None, None) => None,
    }
}

/// Returns the key of messages that have to start in order; `None` if the order does not matter.
pub fn order_key(order: &MessageOrder, arrival: &Arrival) -> Option<String> {
    let mut key = match order {
        MessageOrder::None => return None,
        MessageOrder::Global => String::new(),
        MessageOrder::PerKey(OrderKey::Subject) => {
            arrival.metadata.get("subject").map(text_of).unwrap_or_default()
        }
        MessageOrder::PerKey(OrderKey::Header(name)) => {
            arrival.header(name).unwrap_or_default().to_owned()
        }
        MessageOrder::PerKey(OrderKey::Field(path)) => {
            let body: Value = serde_json::from_slice(&arrival.body.0).unwrap_or_default();
            let field = path.iter().try_fold(&body, |value, name| value.get(name));
            field.map(text_of).unwrap_or_default()
        }
    };
    key.truncate(key.floor_char_boundary(ORDER_KEY_MAX));
    Some(key)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn payload(
    path: &str,
    rules: &Subscription,
    arrival: &Arrival,
) -> Result<Map<String, Value>, BadMessage> {
    let body = &arrival.body.0;
    let data = match rules.dispatch.payload_from {
        PayloadFrom::Json => serde_json::from_slice(body).map_err(|_| BadMessage::NotJson)?,
        PayloadFrom::Body => Value::String(String::from_utf8_lossy(body).into_owned()),
        PayloadFrom::Attributes if arrival.attributes.is_empty() => json!(arrival.headers),
        PayloadFrom::Attributes => json!(arrival.attributes),
    };
    let mut metadata = arrival.metadata.clone();
    metadata.insert("subscription".to_owned(), json!(path));
    let message = json!({
        "id": arrival.id,
        "data": data,
        "headers": arrival.headers,
        "attributes": arrival.attributes,
        "metadata": metadata,
    });
    let mut payload = Map::new();
    payload.insert("message".to_owned(), message);
    payload.insert("subscription".to_owned(), json!(path));
    payload.insert("source".to_owned(), json!(rules.source.as_str()));
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

fn trace(rule: &TraceRule, arrival: &Arrival) -> Option<Value> {
    let TraceRule::W3c { baggage } = rule else { return None };
    let mut trace =
        Map::from_iter([("traceparent".to_owned(), json!(arrival.header("traceparent")?))]);
    if let Some(state) = arrival.header("tracestate") {
        trace.insert("tracestate".to_owned(), json!(state));
    }
    let is_allowed = |entry: &&str| {
        let name = entry.split(['=', ';']).next().unwrap_or_default().trim();
        baggage.iter().any(|allowed| allowed == name)
    };
    let entries = arrival.header("baggage").unwrap_or_default().split(',');
    let kept: Vec<&str> = entries.filter(is_allowed).map(str::trim).collect();
    if !kept.is_empty() {
        trace.insert("baggage".to_owned(), json!(kept.join(",")));
    }
    Some(Value::Object(trace))
}

#[cfg(test)]
mod tests;
