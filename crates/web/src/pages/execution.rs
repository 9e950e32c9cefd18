//! One execution at a position of its log: graph, inspector, timeline, scrubber and tabs.

mod address;
mod attempts;
mod compare;
mod descent;
mod drawn;
mod events;
mod expression;
mod failure;
mod forms;
mod graph;
mod head;
mod inspector;
mod live;
mod logs;
mod parts;
mod scrubber;
mod seek;
mod sentence;
mod source;
mod template;
mod ticks;
mod timeline;
mod variables;
mod view;

use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, Query};
use noetl_app::PositionError;
use noetl_model::ExecutionId;

use crate::error::PageError;
use crate::layout::{NavPlace, PageHead};
use crate::pages::retention;
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use address::{Here, PositionQuery};
pub(super) use compare::{compare, comparison_address};
pub(crate) use drawn::DrawnPlaybooks;
pub(super) use forms::{again, fork, show_again, show_fork};
pub(super) use live::live;
pub(super) use parts::{download, show_value, verify};
use seek::SoughtPlace;
use view::ExecutionView;

pub(super) async fn show(
    page: PageRequest,
    Extension(drawn): Extension<DrawnPlaybooks>,
    Path(id): Path<String>,
    Query(query): Query<PositionQuery>,
) -> PageResult {
    let execution = execution_of(&id)?;
    if let Some(here) = by_time(&page, execution, &query).await? {
        return Ok(see(&here.address()));
    }
    if let Some(sought) = SoughtPlace::of(&query.seek) {
        let found = seek::found(page.app(), &Here::of(execution, &query), sought).await?;
        return Ok(see(&found.address()));
    }
    let view = match ExecutionView::load(&page, &drawn, execution, query, None).await {
        Err(PageError::Deleted { execution, .. }) => {
            return retention::show_deleted(&page, execution).await;
        }
        loaded => loaded?,
    };
    let head = PageHead { title: &view.state.path, place: NavPlace::Executions };
    Ok(page.respond(&head, &template::execution(&page, &view)))
}

/// Returns the place by events if the address has a position by time.
async fn by_time(
    page: &PageRequest,
    execution: ExecutionId,
    query: &PositionQuery,
) -> Result<Option<Here>, PageError> {
    let millis = [&query.when, &query.to_when].map(|text| text.parse::<u64>().ok());
    if millis == [None, None] {
        return Ok(None);
    }
    let summary = page.app().execution(execution).await?;
    let mut here = Here::of(execution, query);
    for (index, millis) in millis.into_iter().enumerate() {
        let Some(millis) = millis else { continue };
        let at = summary.started_at.after(Duration::from_millis(millis));
        let seq = page.app().position_at(execution, at).await?;
        match index {
            0 => here.at = Some(seq).filter(|seq| *seq < summary.seq.0),
            _ => here.to = Some(seq),
        }
    }
    Ok(Some(here))
}

fn execution_of(text: &str) -> Result<ExecutionId, PageError> {
    text.parse().map_err(|_| PageError::UnknownPage)
}

impl From<PositionError> for PageError {
    fn from(error: PositionError) -> Self {
        match error {
            PositionError::NoSuchPosition { position, last, .. } => Self::not_found(
                "error.no_position",
                vec![("seq", position.to_string()), ("last", last.to_string())],
            ),
            PositionError::NoSuchValue { name, position } => Self::not_found(
                "error.no_value",
                vec![("name", name), ("seq", position.to_string())],
            ),
            PositionError::NoOpenRun { step, position } => Self::refused(
                "error.no_open_run",
                vec![("step", step), ("seq", position.to_string())],
            ),
            PositionError::TemplateTooLong { max } => {
                Self::refused("error.template_too_long", vec![("max", max.to_string())])
            }
            PositionError::TooManyExpanded { max } => {
                Self::refused("error.too_many_expanded", vec![("max", max.to_string())])
            }
            // The page asks for neither too many buckets nor a reversed part.
            PositionError::InvalidTemplate(_)
            | PositionError::Buckets { .. }
            | PositionError::PartReversed { .. } => Self::Refused(error.to_string()),
            PositionError::Load(error) => error.into(),
        }
    }
}
