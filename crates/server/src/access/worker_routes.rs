//! Routes for the short-lived tokens of workers: the native protocol and what its commands need.
//!
//! Invariant: every operation behind these routes checks the worker that the token names.

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};

use crate::response::error::ApiError;

/// Routes that a worker reads.
const READS: &[&str] = &[
    "/api/credentials/{identifier}",
    "/api/credentials/{identifier}/sealed",
    "/api/payloads/{digest}",
    "/api/result/resolve",
    "/api/worker/cancellations",
];

/// Routes that a worker posts to.
const POSTS: &[&str] = &[
    "/api/worker/heartbeat",
    "/api/worker/lease",
    "/api/worker/logs",
    "/api/worker/pool/deregister",
    "/api/worker/pool/heartbeat",
    "/api/worker/pool/register",
    "/api/worker/release",
    "/api/worker/report",
    "/api/worker/token",
];

/// Refuses a request with the token of a worker, unless its route is for such tokens.
pub(super) fn check(request: &Request) -> Result<(), ApiError> {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let method = request.method();
    let is_for_workers = [Method::GET, Method::HEAD].contains(method) && READS.contains(&route)
        || *method == Method::POST && POSTS.contains(&route);
    if is_for_workers {
        return Ok(());
    }
    let detail = "a token of a worker is for leases, reports and what the leased commands need";
    Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", detail))
}
