//! Request bodies that reject unknown fields, so that a misspelt field is not ignored silently.
//!
//! Routes used by existing clients list the extra fields that those clients send.

use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use noetl_api::wire::{
    Backfill, BulkBody, BulkFilterBody, CancelRequest, CreateToken, DeadChoice, ExecuteBatch,
    ExecuteRequest, FeedAck, FeedSeek, ForkBody, KeepRequest, NewFeed, ScheduleChoice,
};
use noetl_playbook::nearest;
use serde::de::value::Error as AnyError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::request::extract::json;
use crate::response::error::ApiError;

/// A body that rejects unknown fields.
pub(crate) trait Strict: DeserializeOwned {
    /// Fields that existing clients send and that are ignored.
    const TOLERATED: &'static [&'static str] = &[];

    /// Returns the known fields, including old spellings.
    fn fields() -> &'static [&'static str] {
        fields_of::<Self>()
    }

    /// Fails if a body has an unknown field.
    fn check(body: &Map<String, Value>) -> Result<(), ApiError> {
        let known = Self::fields();
        let is_known = |name: &str| known.contains(&name) || Self::TOLERATED.contains(&name);
        match body.keys().find(|name| !is_known(name.as_str())) {
            Some(unknown) => Err(unknown_field(unknown, known)),
            None => Ok(()),
        }
    }
}

impl Strict for ExecuteRequest {
    const TOLERATED: &'static [&'static str] = &["resource_kind", "resource_type"];
}

impl Strict for ExecuteBatch {
    fn check(body: &Map<String, Value>) -> Result<(), ApiError> {
        let known = Self::fields();
        if let Some(unknown) = body.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(unknown_field(unknown, known));
        }
        let requests = body.get("executions").and_then(Value::as_array).into_iter().flatten();
        requests.filter_map(Value::as_object).try_for_each(ExecuteRequest::check)
    }
}

impl Strict for BulkFilterBody {}

impl Strict for KeepRequest {}

impl Strict for BulkBody {
    fn check(body: &Map<String, Value>) -> Result<(), ApiError> {
        let known = Self::fields();
        if let Some(unknown) = body.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(unknown_field(unknown, known));
        }
        let filter = body.get("filter").and_then(Value::as_object);
        filter.map_or(Ok(()), BulkFilterBody::check)
    }
}

impl Strict for NewFeed {
    // The filter is flattened, so its fields are listed here as well.
    fn fields() -> &'static [&'static str] {
        &["name", "types", "path", "statuses", "from", "subject"]
    }
}

impl Strict for Backfill {}
impl Strict for CancelRequest {}
impl Strict for CreateToken {}
impl Strict for DeadChoice {}
impl Strict for FeedAck {}
impl Strict for FeedSeek {}
impl Strict for ForkBody {}
impl Strict for ScheduleChoice {}

fn unknown_field(unknown: &str, known: &[&str]) -> ApiError {
    let help = match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the known ones are {}", known.join(", ")),
    };
    let detail = format!("the body has an unknown field `{unknown}`; {help}");
    ApiError::invalid("unknown-field", detail).with("field", Value::String(unknown.to_owned()))
}

/// A required body without unknown fields.
pub(crate) struct StrictBody<T>(pub(crate) T);

impl<S: Send + Sync, T: Strict> FromRequest<S> for StrictBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        read(&bytes_of(request, state).await?).map(Self)
    }
}

/// An optional body without unknown fields; the default value if it is empty.
pub(crate) struct MaybeStrictBody<T>(pub(crate) T);

impl<S: Send + Sync, T: Strict + Default> FromRequest<S> for MaybeStrictBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = bytes_of(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        read(&bytes).map(Self)
    }
}

async fn bytes_of<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    Ok(Bytes::from_request(request, state).await.map_err(JsonRejection::from)?)
}

fn read<T: Strict>(bytes: &[u8]) -> Result<T, ApiError> {
    let body: Value = json(bytes)?;
    if let Value::Object(fields) = &body {
        T::check(fields)?;
    }
    serde_json::from_value(body)
        .map_err(|error| ApiError::invalid("invalid-body", error.to_string()))
}

/// Returns the fields of a type, as its `Deserialize` names them.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    // Always fails, as soon as the fields are known.
    let _ended = T::deserialize(FieldNames(&mut fields));
    fields
}

/// A deserializer that records the requested fields and provides none.
struct FieldNames<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = AnyError;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, AnyError> {
        Err(AnyError::custom("only the fields are wanted"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, AnyError> {
        *self.0 = fields;
        Err(AnyError::custom("only the fields are wanted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check<T: Strict>(body: Value, expected: &str) {
        let read = read::<T>(body.to_string().as_bytes());
        let said = read.map_or_else(|error| error.detail().to_owned(), |_| "ok".to_owned());
        assert_eq!(said, expected, "{body}");
    }

    #[test]
    fn a_misspelt_field_is_refused_with_what_was_probably_meant() {
        let paylod = "the body has an unknown field `paylod`; did you mean `payload`?";
        check::<ExecuteRequest>(json!({ "path": "a", "paylod": {} }), paylod);
        let batch = json!({ "executions": [{ "path": "a" }, { "path": "a", "paylod": {} }] });
        check::<ExecuteBatch>(batch, paylod);
        check::<FeedSeek>(
            json!({ "to": "end", "qqqq": 1 }),
            "the body has an unknown field `qqqq`; the known ones are to",
        );
        let types = "the body has an unknown field `typs`; did you mean `types`?";
        check::<NewFeed>(json!({ "name": "f", "typs": ["a"] }), types);
    }

    #[test]
    fn requests_of_existing_clients_are_accepted() {
        let of_cli = json!({
            "path": "a", "version": 1, "workload": {}, "resource_kind": "Playbook",
        });
        check::<ExecuteRequest>(of_cli, "ok");
        let of_worker = json!({
            "path": "a", "payload": {}, "execution_pool": "p", "trace": null,
            "parent_execution_id": 7, "dedup": { "key": "k", "window_secs": 60 },
        });
        check::<ExecuteRequest>(of_worker, "ok");
        check::<ExecuteRequest>(json!({ "catalog_id": "7" }), "ok");
        check::<CancelRequest>(json!({ "reason": "r", "cascade": true }), "ok");
    }

    /// A type that flattens another reports no fields, and would accept any.
    #[test]
    fn every_strict_body_has_fields() {
        for fields in [
            Backfill::fields(),
            CancelRequest::fields(),
            DeadChoice::fields(),
            ExecuteBatch::fields(),
            ExecuteRequest::fields(),
            FeedAck::fields(),
            FeedSeek::fields(),
            ForkBody::fields(),
            NewFeed::fields(),
            ScheduleChoice::fields(),
        ] {
            assert!(!fields.is_empty());
        }
    }
}
