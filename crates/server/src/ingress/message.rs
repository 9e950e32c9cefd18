//! A message of a verified sender, reduced to the parts that its execution may see.

use axum::http::{HeaderMap, header};
use noetl_engine::{BadMessage, MessageRequest};
use noetl_model::{Arrival, Bytes};
use noetl_playbook::{PayloadFrom, Subscription, Verify};
use serde_json::{Map, Value, json};

/// Headers with secrets, which are not passed to executions.
const SECRET_HEADERS: &[&str] = &["authorization", "cookie", "proxy-authorization"];

/// Returns the content type of a message if the subscription expects JSON and the type is another
/// one. JSON may come without a type.
pub(crate) fn other_type(subscription: &Subscription, headers: &HeaderMap) -> Option<String> {
    match subscription.dispatch.payload_from {
        PayloadFrom::Json => {}
        PayloadFrom::Body | PayloadFrom::Attributes => return None,
    }
    let said = String::from_utf8_lossy(headers.get(header::CONTENT_TYPE)?.as_bytes());
    let essence = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = ["application/json", "text/json"].contains(&essence.as_str());
    (!is_json && !essence.ends_with("+json")).then_some(essence)
}

/// Converts a message to the start of an execution.
pub(crate) fn posted_request(
    path: &str,
    subscription: &Subscription,
    verify: &Verify,
    id: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<MessageRequest, BadMessage> {
    let arrival = Arrival {
        id: id.to_owned(),
        once: id.to_owned(),
        headers: plain_headers(headers, verify),
        attributes: Map::new(),
        metadata: Map::new(),
        body: Bytes(body.to_vec()),
    };
    noetl_engine::message_request(path, subscription, &arrival)
}

/// Returns the headers an execution may see; of repeated headers, the last value.
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
