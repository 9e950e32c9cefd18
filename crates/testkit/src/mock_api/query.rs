//! Query parameters as the service documents them; an invalid one is a 422.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::{Value, json};

use super::MockResponse;

/// The parameters of a request, the last of each name.
#[derive(Debug)]
pub(super) struct QueryParameters(BTreeMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for QueryParameters {
    type Rejection = MockResponse;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, MockResponse> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(pairs) = pairs.map_err(|_| {
            MockResponse::detail(StatusCode::BAD_REQUEST, "the query is not readable")
        })?;
        Ok(Self(pairs.into_iter().collect()))
    }
}

impl QueryParameters {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, MockResponse> {
        self.text(name).ok_or_else(|| refused("missing", name, "Field required", Value::Null))
    }

    pub(super) fn int(&self, name: &str, otherwise: i64) -> Result<i64, MockResponse> {
        Ok(self
            .parsed(name, "int_parsing", "Input should be a valid integer")?
            .unwrap_or(otherwise))
    }

    pub(super) fn float(&self, name: &str, otherwise: f64) -> Result<f64, MockResponse> {
        let parsed = self.parsed(name, "float_parsing", "Input should be a valid number")?;
        Ok(parsed.unwrap_or(otherwise))
    }

    /// Returns a number that is at least `min`.
    pub(super) fn at_least(
        &self,
        name: &str,
        otherwise: i64,
        min: i64,
    ) -> Result<i64, MockResponse> {
        let number = self.int(name, otherwise)?;
        if number < min {
            let message = format!("Input should be greater than or equal to {min}");
            return Err(refused("greater_than_equal", name, &message, json!(number)));
        }
        Ok(number)
    }

    fn parsed<T: FromStr>(
        &self,
        name: &str,
        kind: &str,
        message: &str,
    ) -> Result<Option<T>, MockResponse> {
        self.text(name)
            .map(|text| text.parse().map_err(|_| refused(kind, name, message, json!(text))))
            .transpose()
    }
}

/// Returns the response for an invalid parameter.
pub(super) fn refused(kind: &str, name: &str, message: &str, input: Value) -> MockResponse {
    let detail = json!([{ "type": kind, "loc": ["query", name], "msg": message, "input": input }]);
    MockResponse::new(StatusCode::UNPROCESSABLE_ENTITY, json!({ "detail": detail }))
}
