//! The numbers of executions by time and status.

use axum::Json;
use axum::extract::{RawQuery, State};
use noetl_api::AnyId;
use noetl_api::wire::ExecutionHistogram;
use noetl_app::{ExecutionFilter, HistogramError, HistogramQuery};
use noetl_model::{CatalogId, ExecutionId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::{LabelQuery, actor_of, instant_of, labels_of, text_of};
use super::{path_of, status_of};
use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(execution_histogram))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ExecutionHistogramQuery {
    catalog_id: Option<AnyId>,
    /// A part of the path, ignoring case.
    path: Option<String>,
    /// The whole path.
    path_exact: Option<String>,
    status: Option<String>,
    parent_execution_id: Option<AnyId>,
    /// The person or program that requested the start.
    actor: Option<String>,
    /// Words, all of which the execution has, as in the list of executions.
    text: Option<String>,
    /// Count executions started at this time or later, in RFC 3339; a day before the end if left out.
    started_after: Option<String>,
    /// Count executions started before this time, in RFC 3339; the present if left out.
    started_before: Option<String>,
    /// The largest number of buckets, 48 by default, at most 200.
    buckets: Option<u32>,
}

/// Counts executions by time and status. The numbers come from an index; each has a limit
/// (`count_max`), so that the answer does not depend on how many executions there are.
#[utoipa::path(
    get, path = "/api/executions/histogram", tag = "executions", params(ExecutionHistogramQuery, LabelQuery),
    responses(
        (status = 200, body = ExecutionHistogram),
        (status = 422, description = "too many buckets, or no time between both ends"),
    )
)]
async fn execution_histogram(
    State(state): State<AppState>,
    InQuery(query): InQuery<ExecutionHistogramQuery>,
    RawQuery(raw): RawQuery,
) -> Result<Json<ExecutionHistogram>, ApiError> {
    let query = HistogramQuery {
        filter: ExecutionFilter {
            status: query.status.as_deref().map(status_of).transpose()?,
            path: path_of(query.path_exact, query.path),
            catalog_id: query.catalog_id.map(CatalogId::from),
            parent: query.parent_execution_id.map(ExecutionId::from),
            labels: labels_of(raw.as_deref())?,
            actor: query.actor.as_deref().map(actor_of).transpose()?,
            text: query.text.as_deref().map(text_of).transpose()?,
        },
        started_after: instant_of("started_after", query.started_after.as_deref())?,
        started_before: instant_of("started_before", query.started_before.as_deref())?,
        buckets: query.buckets,
    };
    Ok(Json(state.app().execution_histogram(&query).await?))
}

impl From<HistogramError> for ApiError {
    fn from(error: HistogramError) -> Self {
        let detail = error.to_string();
        match error {
            HistogramError::Buckets => Self::invalid("invalid-buckets", detail),
            HistogramError::EmptyTime => Self::invalid("empty-time", detail),
            HistogramError::Store(error) => error.into(),
        }
    }
}
