//! Extractors for the parts of a request; failures are problem documents.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use noetl_model::{Footprint, Unmeasured, ValueLimits};
use serde::de::DeserializeOwned;

use crate::response::error::ApiError;

/// A required JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let request = measured(request, state).await?;
        let Json(body) = Json::from_request(request, state).await?;
        Ok(Self(body))
    }
}

/// An optional JSON body; the default value if it is empty.
pub(crate) struct MaybeBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for MaybeBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await.map_err(JsonRejection::from)?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        json(&bytes).map(Self)
    }
}

/// The bytes of a body.
pub(crate) struct Raw(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await.map_err(JsonRejection::from)?;
        Ok(Self(bytes))
    }
}

/// Minimum size in bytes from which a body is measured before it is parsed.
const MEASURED_FROM: usize = 64 * 1024;

/// Reads a body that may be long, and rejects it if its values would take too much memory.
async fn measured<S: Send + Sync>(request: Request, state: &S) -> Result<Request, ApiError> {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length <= MEASURED_FROM) {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let whole = Request::from_parts(parts.clone(), body);
    let bytes = Bytes::from_request(whole, state).await.map_err(JsonRejection::from)?;
    check_size(&bytes)?;
    Ok(Request::from_parts(parts, bytes.into()))
}

fn check_size(body: &[u8]) -> Result<(), ApiError> {
    if body.len() <= MEASURED_FROM {
        return Ok(());
    }
    match Footprint::of_json(body, ValueLimits::default()) {
        Err(Unmeasured::TooLarge(limit)) => Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "value-too-large",
            format!("the body cannot be held: {limit}"),
        )),
        // Invalid JSON is reported when the body is parsed.
        Ok(_) | Err(Unmeasured::NotJson(_)) => Ok(()),
    }
}

/// Parses a JSON body.
pub(crate) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    check_size(body)?;
    serde_json::from_slice(body).map_err(|error| {
        if error.is_data() {
            ApiError::invalid("invalid-body", error.to_string())
        } else {
            ApiError::new(StatusCode::BAD_REQUEST, "not-json", error.to_string())
        }
    })
}

/// Parameters in the path.
pub(crate) struct InPath<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(value) = Path::from_request_parts(parts, state).await?;
        Ok(Self(value))
    }
}

/// Parameters in the query.
pub(crate) struct InQuery<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for InQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(value) = Query::from_request_parts(parts, state).await?;
        Ok(Self(value))
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use serde::de::IgnoredAny;

    use super::*;

    #[test]
    fn a_body_that_would_be_a_huge_value_is_refused_before_it_is_read() {
        let zeros =
            |count: usize| format!("{{\"reports\": [{}0]}}", "0,".repeat(count)).into_bytes();
        assert!(json::<IgnoredAny>(&zeros(100_000)).is_ok());
        let refused = json::<IgnoredAny>(&zeros(6_000_000)).expect_err("it has too many elements");
        assert_eq!(refused.into_response().status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
