//! Lists of executions, newest first.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use noetl_api::AnyId;
use noetl_api::wire::ExecutionItem;
use noetl_app::{ExecutionFilter, ExecutionList, ExecutionQuery, ListError, PathFilter};
use noetl_model::{
    Actor, BadActor, BadSearchText, CatalogId, ExecutionId, ExecutionStatus, LABELS_MAX, Label,
    LabelError, SearchText, Timestamp,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::item_of;
use crate::access::CallerPaths;
use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

/// Header with the `cursor` of the next page; absent on the last page.
static NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_executions))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ExecutionListQuery {
    catalog_id: Option<AnyId>,
    /// A part of the path, ignoring case.
    path: Option<String>,
    /// The whole path.
    path_exact: Option<String>,
    status: Option<String>,
    parent_execution_id: Option<AnyId>,
    /// The person or program that requested the start.
    actor: Option<String>,
    /// Words, all of which the execution has: in any part of the path, or as a word of a label's value, of
    /// the error message or of the reason of a cancellation; at most 8.
    text: Option<String>,
    /// List executions started at this time or later, in RFC 3339.
    started_after: Option<String>,
    /// List executions started before this time, in RFC 3339.
    started_before: Option<String>,
    /// At most 1,000, and 200 if left out; nothing is listed if it is 0 or negative.
    limit: Option<i64>,
    #[serde(default)]
    offset: i64,
    /// Start of the page: the header `X-Next-Cursor` of the previous one.
    cursor: Option<AnyId>,
    /// True to say of running executions why they do not advance (`hint`), of at most 100 on a page.
    #[serde(default)]
    hints: bool,
}

/// The labels that executions have; the parameter may be repeated.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameter, which is read by `labels_of`")]
pub(super) struct LabelQuery {
    /// A label that the execution has, such as `team:ops`. Repeat it for several labels: all of them
    /// have to match.
    label: Option<Vec<String>>,
}

/// Lists executions, newest first.
#[utoipa::path(
    get, path = "/api/executions", tag = "executions", params(ExecutionListQuery, LabelQuery),
    responses((status = 200, body = Vec<ExecutionItem>))
)]
async fn list_executions(
    State(state): State<AppState>,
    InQuery(query): InQuery<ExecutionListQuery>,
    RawQuery(raw): RawQuery,
    CallerPaths(paths): CallerPaths,
) -> Result<(HeaderMap, Json<Vec<ExecutionItem>>), ApiError> {
    let wants_hints = query.hints;
    let query = ExecutionQuery {
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
        limit: query.limit.map(not_negative),
        offset: not_negative(query.offset),
        cursor: query.cursor.map(ExecutionId::from),
    };
    let ExecutionList { executions, next } = state.app().list_executions(&query, &paths).await?;
    let mut headers = HeaderMap::new();
    if let Some(next) = next {
        headers.insert(NEXT_CURSOR.clone(), next.0.into());
    }
    let hints =
        if wants_hints { state.app().hints_of(&executions).await? } else { BTreeMap::new() };
    let now = state.now();
    let items = executions.into_iter().map(|known| {
        let hint = hints.get(&known.summary.execution);
        item_of(known, hint, now)
    });
    Ok((headers, Json(items.collect())))
}

/// Returns a number of rows, with 0 for a negative one.
fn not_negative(number: i64) -> usize {
    usize::try_from(number.max(0)).unwrap_or(usize::MAX)
}

/// Returns the filter on paths; the whole path takes precedence over a part.
pub(in crate::routes) fn path_of(
    whole: Option<String>,
    part: Option<String>,
) -> Option<PathFilter> {
    whole.map(PathFilter::Whole).or(part.map(PathFilter::Part))
}

/// Parses a status, ignoring case.
pub(in crate::routes) fn status_of(text: &str) -> Result<ExecutionStatus, ApiError> {
    text.to_uppercase().parse().map_err(|_| {
        let known: Vec<&str> = ExecutionStatus::ALL.iter().map(|status| status.as_str()).collect();
        ApiError::invalid("invalid-status", format!("`status` is one of {}", known.join(", ")))
    })
}

/// Returns every value of the query parameter `label`.
pub(super) fn labels_of(query: Option<&str>) -> Result<Vec<Label>, ApiError> {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let labels: Vec<Label> = pairs
        .filter(|(name, value)| name == "label" && !value.is_empty())
        .map(|(_, value)| value.parse())
        .collect::<Result<_, LabelError>>()?;
    match labels.len() {
        len if len > LABELS_MAX => Err(LabelError::TooMany(len).into()),
        _ => Ok(labels),
    }
}

pub(in crate::routes) fn actor_of(name: &str) -> Result<Actor, ApiError> {
    name.parse().map_err(|error: BadActor| ApiError::invalid("invalid-actor", error.to_string()))
}

/// Parses the words of a search; an empty text is refused.
pub(in crate::routes) fn text_of(text: &str) -> Result<SearchText, ApiError> {
    text.parse()
        .map_err(|error: BadSearchText| ApiError::invalid("invalid-text", error.to_string()))
}

impl From<LabelError> for ApiError {
    fn from(error: LabelError) -> Self {
        Self::invalid("invalid-label", error.to_string())
    }
}

pub(super) fn instant_of(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let invalid = |error| {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid-time", format!("`{name}`: {error}"))
    };
    text.map(|text| text.parse::<Timestamp>().map_err(invalid)).transpose()
}

impl From<ListError> for ApiError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::OffsetTooLarge => Self::invalid("offset-too-large", error.to_string()),
            ListError::Store(error) => error.into(),
        }
    }
}
