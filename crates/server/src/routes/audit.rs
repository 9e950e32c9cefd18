//! The audit log: read and verify.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{AuditLogPage, AuditVerification};
use noetl_app::AuditLogQuery;
use noetl_model::ParseTimestampError;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(audit_page)).routes(routes!(verify_audit))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AuditPageQuery {
    /// Begin after the entry with this number.
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
    /// List entries from this time on, in RFC 3339.
    since: Option<String>,
    actor: Option<String>,
    /// A part of the action.
    action: Option<String>,
}

/// Lists entries of the audit log, oldest first.
#[utoipa::path(
    get, path = "/api/audit", tag = "audit", params(AuditPageQuery),
    responses((status = 200, body = AuditLogPage))
)]
async fn audit_page(
    State(state): State<AppState>,
    InQuery(query): InQuery<AuditPageQuery>,
) -> Result<Json<AuditLogPage>, ApiError> {
    let AuditPageQuery { after, limit, since, actor, action } = query;
    let invalid =
        |error: ParseTimestampError| ApiError::invalid("bad-time", format!("`since`: {error}"));
    let since = since.map(|since| since.parse()).transpose().map_err(invalid)?;
    let query = AuditLogQuery { after, limit, since, actor, action };
    Ok(Json(state.app().audit_page(&query).await?))
}

/// Verifies the chain of digests of the audit log.
#[utoipa::path(
    get, path = "/api/audit/verification", tag = "audit",
    responses((status = 200, body = AuditVerification))
)]
async fn verify_audit(State(state): State<AppState>) -> Result<Json<AuditVerification>, ApiError> {
    Ok(Json(state.app().verify_audit().await?))
}
