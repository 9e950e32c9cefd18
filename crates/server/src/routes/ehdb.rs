//! The reads of clients of another event database, answered from the log: lists, details and events
//! of executions. There are no storage tiers.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::uri::{PathAndQuery, Uri};
use axum::response::Response;
use tower::ServiceExt as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::executions;
use crate::access::Admitted;
use crate::response::error::ApiError;
use crate::state::AppState;

/// The prefix that these paths have before those of the same reads elsewhere.
const PREFIX: &str = "/api/ehdb/";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(ehdb_executions))
        .routes(routes!(ehdb_execution))
        .routes(routes!(ehdb_events))
        .routes(routes!(ehdb_tier))
}

/// Lists executions, as `/api/executions`.
#[utoipa::path(
    get, path = "/api/ehdb/executions", tag = "executions",
    responses((status = 200, body = Vec<Object>))
)]
async fn ehdb_executions(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    answered_by_executions(state, request).await
}

/// Shows an execution, as `/api/executions/{execution_id}`.
#[utoipa::path(
    get, path = "/api/ehdb/executions/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = Object))
)]
async fn ehdb_execution(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    answered_by_executions(state, request).await
}

/// Shows a page of an execution's events, as `/api/executions/{execution_id}/events`.
#[utoipa::path(
    get, path = "/api/ehdb/executions/{execution_id}/events", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = Object))
)]
async fn ehdb_events(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    answered_by_executions(state, request).await
}

/// Always refused: the log has no storage tiers.
#[utoipa::path(
    get, path = "/api/ehdb/tiers/{tier}", tag = "executions", params(("tier" = String, Path)),
    responses((status = 501, description = "not served"))
)]
async fn ehdb_tier() -> ApiError {
    let detail = "the log is in one database and has no storage tiers; read \
                  /api/executions/{execution_id}/events";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "no-tiers", detail)
}

/// Passes a request on to the routes of executions, under their path, with what its sender may do. The
/// parameters of this path are in the extensions of the request, so the others are left out.
async fn answered_by_executions(state: AppState, request: Request) -> Result<Response, ApiError> {
    let uri = uri_of_executions(request.uri()).map_err(|error| ApiError::internal(&error))?;
    let mut passed = Request::new(Body::empty());
    *passed.uri_mut() = uri;
    *passed.headers_mut() = request.headers().clone();
    if let Some(sender) = request.extensions().get::<Admitted>() {
        passed.extensions_mut().insert(sender.clone());
    }
    let (router, _) = executions::routes().split_for_parts();
    match router.with_state(state).oneshot(passed).await {
        Ok(response) => Ok(response),
        Err(never) => match never {},
    }
}

fn uri_of_executions(uri: &Uri) -> Result<Uri, axum::http::Error> {
    let path = uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path: PathAndQuery = format!("/api/{path}{query}").parse()?;
    Uri::builder().path_and_query(path).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_left_out_and_the_query_kept() {
        for (asked, expected) in [
            ("/api/ehdb/executions", "/api/executions"),
            ("/api/ehdb/executions/7/events?limit=2", "/api/executions/7/events?limit=2"),
            ("http://localhost/api/ehdb/executions?a=%20", "/api/executions?a=%20"),
        ] {
            let asked: Uri = asked.parse().expect("a URI");
            assert_eq!(uri_of_executions(&asked).expect("a URI").to_string(), expected);
        }
    }
}
