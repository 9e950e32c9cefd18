//! Requests with tokens whose roles are restricted to paths.
//!
//! Invariant: a route or page without a rule for paths refuses such a token.

use axum::http::StatusCode;
use noetl_model::PermittedPaths;

use crate::response::error::ApiError;

/// Refuses a request that is restricted to paths.
pub(super) fn check(paths: &PermittedPaths, is_page: bool) -> Result<(), ApiError> {
    match (paths, is_page) {
        (PermittedPaths::All, _) => Ok(()),
        (PermittedPaths::None | PermittedPaths::Some(_), true) => Err(refusal(
            "the roles of this token are restricted to some paths, and pages show all of them; \
             use the API or the command line",
        )),
        (PermittedPaths::None | PermittedPaths::Some(_), false) => Err(refusal(
            "the roles of this token are restricted to some paths, and this route has no rule for \
             paths; use a token without that restriction",
        )),
    }
}

fn refusal(detail: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", detail)
}
