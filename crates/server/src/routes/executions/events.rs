//! The events of an execution, in pages, from either end.
//!
//! Seqs have no gaps, so a page is found by its seq, however long the log is.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::EventPage;
use noetl_api::{AnyId, PublicEvent};
use noetl_model::{ExecutionId, Seq};
use noetl_store::{PageRoom, READ_EVENTS_MAX};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::known;
use crate::error::ApiError;
use crate::extract::{InPath, InQuery};
use crate::state::AppState;
use crate::tell::{Keep, Told, events_after};

/// Maximum number of events read for one page; the next page continues there.
const LOOKED_AT_MAX: usize = 5000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_events))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// List events after this seq.
    #[serde(default)]
    after: u64,
    /// List events before this seq.
    before: Option<u64>,
    limit: Option<usize>,
    /// `asc` (the default), or `desc` for the latest first.
    #[serde(default)]
    #[param(inline)]
    order: Order,
    /// List events of this type.
    event_type: Option<String>,
    /// List events of this step.
    node_name: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Asc,
    Desc,
}

impl EventsQuery {
    fn admits(&self, event: &PublicEvent) -> bool {
        let Self { event_type, node_name, .. } = self;
        event_type.as_ref().is_none_or(|name| event.event_type == *name)
            && node_name.as_ref().is_none_or(|name| event.node_name.as_ref() == Some(name))
    }

    fn admits_all(&self) -> bool {
        self.event_type.is_none() && self.node_name.is_none()
    }
}

/// Lists the events of an execution in pages, from either end. A page has fewer than `limit` events
/// if they are large; `next_after` or `next_before` is the position of the next page.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/events", tag = "executions",
    params(("execution_id" = String, Path), EventsQuery),
    responses((status = 200, body = EventPage))
)]
async fn list_events(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<EventsQuery>,
) -> Result<Json<EventPage>, ApiError> {
    let execution = ExecutionId::from(id);
    let total = known(&state, execution).await?.seq.0;
    let limit = query.limit.unwrap_or(READ_EVENTS_MAX).clamp(1, READ_EVENTS_MAX);
    // The events still to read lie between the two.
    let (mut low, mut high) = (query.after, query.before.unwrap_or(u64::MAX).min(total + 1));
    let mut found: Vec<PublicEvent> = Vec::new();
    let mut looked_at = 0;
    let (mut room, mut has_room) = (PageRoom::default(), true);
    while found.len() < limit && has_room && low + 1 < high && looked_at < LOOKED_AT_MAX {
        let needed = if query.admits_all() { limit - found.len() } else { READ_EVENTS_MAX };
        let left = usize::try_from(high - low - 1).unwrap_or(usize::MAX);
        let count = needed.min(left);
        let (from, keep) = match query.order {
            Order::Asc => (low, Keep::Oldest),
            Order::Desc => {
                (high - 1 - u64::try_from(count).expect("a page's length fits"), Keep::Newest)
            }
        };
        let mut events = events_after(&state, execution, Seq(from), count, keep).await?;
        if events.is_empty() {
            break;
        }
        looked_at += events.len();
        if query.order == Order::Desc {
            events.reverse();
        }
        for Told { event, len } in events {
            match query.order {
                Order::Asc => low = event.seq,
                Order::Desc => high = event.seq,
            }
            if query.admits(&event) {
                found.push(event);
                has_room = room.take(len);
            }
            if found.len() == limit || !has_room {
                break;
            }
        }
    }
    let more = low + 1 < high;
    Ok(Json(EventPage {
        execution_id: execution.0,
        total,
        next_after: (more && query.order == Order::Asc).then_some(low),
        next_before: (more && query.order == Order::Desc).then_some(high),
        events: found,
    }))
}
