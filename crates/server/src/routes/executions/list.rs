//! Lists of executions, newest first.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use noetl_api::AnyId;
use noetl_api::wire::ExecutionItem;
use noetl_model::{CatalogId, ExecutionId, ExecutionStatus, Summary, Timestamp, first_id_at};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page, PathFilter};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::item_of;
use crate::error::ApiError;
use crate::extract::InQuery;
use crate::state::AppState;

/// Default number of executions per page.
const LIMIT: usize = 50;
/// Maximum number of executions per page.
const LIMIT_MAX: usize = 100;
/// Maximum number of executions read for one page; a search beyond it needs a narrower filter.
const LOOKED_AT_MAX: usize = 20_000;
/// Maximum difference between the time in an execution's id and its start.
const ID_SLACK: Duration = Duration::from_secs(3600);

/// Header with the `cursor` of the next page; absent on the last page.
static NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_executions))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    catalog_id: Option<AnyId>,
    /// A part of the path, ignoring case.
    path: Option<String>,
    /// The whole path.
    path_exact: Option<String>,
    status: Option<String>,
    parent_execution_id: Option<AnyId>,
    /// List executions started at this time or later, in RFC 3339.
    started_after: Option<String>,
    /// List executions started before this time, in RFC 3339.
    started_before: Option<String>,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
    /// Start of the page: the header `X-Next-Cursor` of the previous one.
    cursor: Option<AnyId>,
}

/// The range of start times to list.
struct Wanted {
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl Wanted {
    fn admits(&self, summary: &Summary) -> bool {
        let Self { after, before } = self;
        after.is_none_or(|after| summary.started_at >= after)
            && before.is_none_or(|before| summary.started_at < before)
    }

    /// True if the range is unbounded, so that all executions the store finds are listed.
    fn admits_all(&self) -> bool {
        let Self { after, before } = self;
        after.is_none() && before.is_none()
    }

    /// Returns the exclusive upper bound of ids; ids contain their time of creation.
    fn newest(&self) -> Option<ExecutionId> {
        self.before.map(|before| ExecutionId(first_id_at(before.after(ID_SLACK))))
    }

    /// Returns the lower bound of ids.
    fn oldest(&self) -> ExecutionId {
        let slack = i64::try_from(ID_SLACK.as_micros()).expect("an hour fits");
        let earliest =
            |after: Timestamp| Timestamp::from_micros(after.as_micros().saturating_sub(slack));
        ExecutionId(self.after.map_or(0, |after| first_id_at(earliest(after))))
    }
}

/// Lists executions, newest first.
#[utoipa::path(
    get, path = "/api/executions", tag = "executions", params(ListQuery),
    responses((status = 200, body = Vec<ExecutionItem>))
)]
async fn list_executions(
    State(state): State<AppState>,
    InQuery(query): InQuery<ListQuery>,
) -> Result<(HeaderMap, Json<Vec<ExecutionItem>>), ApiError> {
    if query.offset > LOOKED_AT_MAX {
        let detail = format!("`offset` is at most {LOOKED_AT_MAX}; narrow the filter instead");
        return Err(ApiError::invalid("offset-too-large", detail));
    }
    let filter = ExecutionFilter {
        status: query.status.as_deref().map(status_of).transpose()?,
        path: path_of(query.path_exact, query.path),
        catalog_id: query.catalog_id.map(CatalogId::from),
        parent: query.parent_execution_id.map(ExecutionId::from),
    };
    let wanted = Wanted {
        after: instant_of("started_after", query.started_after.as_deref())?,
        before: instant_of("started_before", query.started_before.as_deref())?,
    };
    let cursor = query.cursor.map(ExecutionId::from);
    let first = cursor.into_iter().chain(wanted.newest()).min();
    let limit = query.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
    let (found, next) = collect(&state, &filter, &wanted, first, (query.offset, limit)).await?;
    let mut headers = HeaderMap::new();
    if let Some(next) = next {
        headers.insert(NEXT_CURSOR.clone(), next.0.into());
    }
    Ok((headers, Json(found)))
}

/// Loads the executions of a page, and the cursor of the next one.
async fn collect(
    state: &AppState,
    filter: &ExecutionFilter,
    wanted: &Wanted,
    first: Option<ExecutionId>,
    (offset, limit): (usize, usize),
) -> Result<(Vec<ExecutionItem>, Option<ExecutionId>), ApiError> {
    let mut found = Vec::new();
    let (mut left_out, mut before) = (offset, first);
    for _page in 0..LOOKED_AT_MAX / PAGE_MAX {
        // The filter by time is applied here, so the number of rows to read is not known in
        // advance.
        let needed = if wanted.admits_all() { limit + left_out } else { PAGE_MAX };
        let page = Page { before, limit: PAGE_MAX.min(needed) };
        let summaries = state.control().list(filter, page).await?;
        let is_last = summaries.len() < page.limit;
        for summary in summaries {
            if summary.execution < wanted.oldest() {
                return Ok((found, None));
            }
            before = Some(summary.execution);
            if !wanted.admits(&summary) {
                continue;
            }
            if left_out > 0 {
                left_out -= 1;
                continue;
            }
            found.push(item_of(summary));
            if found.len() == limit {
                return Ok((found, before));
            }
        }
        if is_last {
            return Ok((found, None));
        }
    }
    Ok((found, before))
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

fn instant_of(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let invalid = |error| {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid-time", format!("`{name}`: {error}"))
    };
    text.map(|text| text.parse::<Timestamp>().map_err(invalid)).transpose()
}
