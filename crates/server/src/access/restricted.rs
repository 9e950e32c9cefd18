//! Requests with tokens whose roles are restricted to paths.
//!
//! Invariants: a route or page without a rule for paths refuses such a token; an object outside the
//! permitted paths gets the answer of one that does not exist.

use axum::extract::{FromRequestParts as _, MatchedPath, RawPathParams, Request};
use axum::http::{Method, StatusCode};
use noetl_model::{ExecutionId, PermittedPaths};

use crate::response::error::ApiError;
use crate::state::AppState;

/// The place of a route's rule for paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathRule {
    /// The guard checks the execution that the path names as `execution_id`.
    PathExecution,
    /// The guard checks the execution that the query names as `execution_id`.
    QueryExecution,
    /// The operation checks the paths.
    Operation,
}

/// Routes that read one execution and nothing of others.
const EXECUTION_READS: &[&str] = &[
    "/api/executions/{execution_id}",
    "/api/executions/{execution_id}/cancellation-check",
    "/api/executions/{execution_id}/density",
    "/api/executions/{execution_id}/events",
    "/api/executions/{execution_id}/live",
    "/api/executions/{execution_id}/logs",
    "/api/executions/{execution_id}/position",
    "/api/executions/{execution_id}/position/change",
    "/api/executions/{execution_id}/position/guards",
    "/api/executions/{execution_id}/position/links",
    "/api/executions/{execution_id}/position/value",
    "/api/executions/{execution_id}/status",
    "/api/executions/{execution_id}/stream",
    "/api/executions/{execution_id}/timeline",
    "/api/executions/{execution_id}/verify",
    "/api/native/executions/{execution_id}",
    "/api/native/executions/{execution_id}/events",
    "/api/approvals/{execution_id}/{command}",
];

/// Routes that act on one execution, and the one that evaluates a template in it.
const EXECUTION_POSTS: &[&str] = &[
    "/api/executions/{execution_id}/position/evaluate",
    "/api/executions/{execution_id}/cancel",
    "/api/executions/{execution_id}/pause",
    "/api/executions/{execution_id}/rerun",
    "/api/executions/{execution_id}/resume",
    "/api/executions/{execution_id}/signals/{name}",
    "/api/executions/{execution_id}/stop",
    "/api/executions/{execution_id}/fork",
    "/api/approvals/{execution_id}/{command}/decision",
    "/api/approvals/{execution_id}/{command}/link",
];

/// Routes that read the execution that their query names.
const QUERY_READS: &[&str] = &["/api/replay/state", "/api/replay/timeline"];

fn rule_of(method: &Method, route: &str) -> Option<PathRule> {
    let is_read = [Method::GET, Method::HEAD].contains(method);
    let is_post = *method == Method::POST;
    if is_read && EXECUTION_READS.contains(&route) || is_post && EXECUTION_POSTS.contains(&route) {
        return Some(PathRule::PathExecution);
    }
    if is_read && QUERY_READS.contains(&route) {
        return Some(PathRule::QueryExecution);
    }
    let is_in_operation =
        is_read && route == "/api/executions" || is_post && route == "/api/execute";
    is_in_operation.then_some(PathRule::Operation)
}

fn rule(request: &Request) -> Option<PathRule> {
    let route = request.extensions().get::<MatchedPath>()?;
    rule_of(request.method(), route.as_str())
}

/// Refuses a request that is restricted to paths, unless its route has a rule for paths.
pub(super) fn check(
    request: &Request,
    paths: &PermittedPaths,
    is_page: bool,
) -> Result<(), ApiError> {
    match paths {
        PermittedPaths::All => return Ok(()),
        PermittedPaths::None | PermittedPaths::Some(_) => {}
    }
    let reason = match rule(request) {
        Some(_) => return Ok(()),
        None if is_page => {
            "the roles of this token are restricted to some paths, and pages show all of them; use \
             the API or the command line"
        }
        None => {
            "the roles of this token are restricted to some paths, and this route has no rule for \
             paths; use a token without that restriction"
        }
    };
    Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", reason))
}

/// Fails as for an unknown execution if a request that is restricted to paths names one outside them.
pub(super) async fn check_object(
    state: &AppState,
    request: Request,
    paths: &PermittedPaths,
) -> Result<Request, ApiError> {
    let rule = match paths {
        PermittedPaths::All => None,
        PermittedPaths::None | PermittedPaths::Some(_) => rule(&request),
    };
    let (mut parts, body) = request.into_parts();
    let named = match rule {
        None | Some(PathRule::Operation) => return Ok(Request::from_parts(parts, body)),
        Some(PathRule::PathExecution) => {
            let params = RawPathParams::from_request_parts(&mut parts, state).await;
            let params = params.map_err(|_| unreadable())?;
            let found = params.iter().find(|(name, _)| *name == "execution_id");
            found.map(|(_, value)| value.to_owned())
        }
        Some(PathRule::QueryExecution) => {
            let query = parts.uri.query().unwrap_or_default();
            let mut pairs = url::form_urlencoded::parse(query.as_bytes());
            let found = pairs.find(|(name, _)| name == "execution_id");
            found.map(|(_, value)| value.into_owned())
        }
    };
    let execution = named.and_then(|it| it.parse().ok()).ok_or_else(unreadable)?;
    state.app().check_execution(ExecutionId(execution), paths).await?;
    Ok(Request::from_parts(parts, body))
}

fn unreadable() -> ApiError {
    let status = StatusCode::BAD_REQUEST;
    ApiError::new(status, "invalid-execution", "the request names no execution by its number")
}
