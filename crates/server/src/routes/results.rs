//! Named results: values that workers store before they report.

use std::time::Duration;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_app::{LeaseRefusal, LeaseVerification, NewResult, ResultError};
use noetl_model::{Digest, ExecutionId, PAYLOAD_MAX};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::command_holder::{CommandHolderOrReader, SentProof, without_proof};
use crate::request::extract::{Body, InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum size of a request, in bytes: the largest value, and its envelope.
pub(super) const RESULT_BYTES_MAX: usize = PAYLOAD_MAX + 1024 * 1024;
/// The route that stores a result.
pub(super) const PUT: &str = "/api/result/{execution_id}";
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(put_result))
        .layer(DefaultBodyLimit::max(RESULT_BYTES_MAX))
        .merge(OpenApiRouter::new().routes(routes!(resolve_result)))
}

#[derive(Debug, Deserialize, ToSchema)]
struct ResultPut {
    name: String,
    #[schema(value_type = Object)]
    data: Value,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    source_step: Option<String>,
    /// Time to live: seconds, or text such as `30m`, `2h`, `7d`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    ttl: Option<Value>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ResultStored {
    #[serde(rename = "ref")]
    reference: String,
    store: &'static str,
    scope: String,
    /// Size of the value as compact JSON with sorted keys.
    bytes: usize,
    sha256: String,
    expires_at: Option<String>,
}

/// Stores a value under a name. The same value under the same name has the same reference.
#[utoipa::path(
    put, path = "/api/result/{execution_id}", tag = "workers",
    params(("execution_id" = String, Path)), request_body = ResultPut,
    responses((status = 200, body = ResultStored))
)]
async fn put_result(
    State(state): State<AppState>,
    SentProof(proof): SentProof,
    InPath(execution): InPath<AnyId>,
    Body(put): Body<ResultPut>,
) -> Result<Json<ResultStored>, ApiError> {
    let execution: ExecutionId = execution.into();
    match (proof, state.app().lease_verification()) {
        (Some(proof), _) if proof.held.execution == execution => {
            state.app().check_holder(&proof).await?;
        }
        (Some(proof), _) => return Err(LeaseRefusal::Wrong(proof.held).into()),
        (None, LeaseVerification::Optional) => {}
        (None, LeaseVerification::Required) => return Err(without_proof()),
    }
    let kept = state.app().put_result(NewResult {
        execution,
        name: put.name,
        data: &put.data,
        scope: put.scope,
        source_step: put.source_step,
        ttl: put.ttl.as_ref().and_then(ttl),
    });
    let kept = kept.await?;
    let sorted = sorted(put.data).to_string();
    Ok(Json(ResultStored {
        reference: kept.reference.to_string(),
        store: "db",
        scope: kept.scope,
        bytes: sorted.len(),
        sha256: Digest::of(sorted.as_bytes()).to_string(),
        expires_at: kept.expires_at.map(|at| at.to_string()),
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ResolveQuery {
    /// The reference returned when the value was stored.
    #[serde(rename = "ref")]
    #[param(rename = "ref")]
    reference: String,
}

/// Loads a value by its reference.
#[utoipa::path(
    get, path = "/api/result/resolve", tag = "workers", params(ResolveQuery),
    responses((status = 200, body = Object))
)]
async fn resolve_result(
    State(state): State<AppState>,
    sender: CommandHolderOrReader,
    InQuery(query): InQuery<ResolveQuery>,
) -> Result<Json<Value>, ApiError> {
    sender.check_named(&state, &query.reference).await?;
    let value = state.app().result(&query.reference).await?;
    Ok(Json((*value).clone()))
}

impl From<ResultError> for ApiError {
    fn from(error: ResultError) -> Self {
        let detail = error.to_string();
        match error {
            ResultError::InvalidName => Self::invalid("result-name", detail),
            ResultError::TooNested => Self::invalid("payload-too-large", detail),
            ResultError::TooLarge(_) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload-too-large", detail)
            }
            ResultError::Reference(_) => {
                Self::new(StatusCode::BAD_REQUEST, "invalid-reference", detail)
            }
            ResultError::Unknown => Self::not_found("unknown-result", detail),
            ResultError::Payload(error) => error.into(),
            ResultError::Load(error) => error.into(),
            ResultError::Store(error) => error.into(),
        }
    }
}

/// Sorts the keys of a value, recursively.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<(String, Value)> = map.into_iter().collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Parses a time to live: seconds, or text with a unit; `None` for anything else.
pub(super) fn ttl(said: &Value) -> Option<Duration> {
    match said {
        Value::Number(number) => number.as_u64().map(Duration::from_secs),
        Value::String(text) => {
            let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let seconds = match &text[digits.len()..] {
                "" | "s" => 1,
                "m" => 60,
                "h" => 60 * 60,
                "d" => 24 * 60 * 60,
                _ => return None,
            };
            digits.parse::<u64>().ok()?.checked_mul(seconds).map(Duration::from_secs)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .filter(|ttl| !ttl.is_zero())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_to_live_is_seconds_or_has_a_unit() {
        let check = |said: Value, expected: Option<u64>| {
            assert_eq!(ttl(&said), expected.map(Duration::from_secs), "{said}");
        };
        check(json!(90), Some(90));
        check(json!("90"), Some(90));
        check(json!("2h"), Some(7200));
        check(json!("7d"), Some(604_800));
        for none in [json!(0), json!(-1), json!("soon"), json!("h"), json!(null), json!("3y")] {
            check(none, None);
        }
    }

    #[test]
    fn keys_are_sorted_on_every_level() {
        let value = json!({ "b": [{ "z": 1, "a": 2 }], "a": null });
        assert_eq!(sorted(value).to_string(), r#"{"a":null,"b":[{"a":2,"z":1}]}"#);
    }
}
