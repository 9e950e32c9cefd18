//! Schedules: when each fires next, what it started last, pause, resume and backfill.

mod template;

use axum::extract::Path;
use noetl_api::wire::ScheduleEventView;
use noetl_app::BackfillMode;
use noetl_control::ScheduleAction;
use noetl_model::{ExecutionId, Timestamp};

use crate::address::encoded;
use crate::components::execution_table::listed;
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::form::{SignedForm, instant_of};
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use template::ScheduleDetail;

/// Number of events of a schedule on its page.
const EVENTS: usize = 50;
/// Number of executions of a schedule on its page.
const EXECUTIONS: usize = 10;

pub(super) async fn show(page: PageRequest) -> PageResult {
    let list = page.app().list_schedules().await?;
    let head = PageHead { title: page.t("nav.schedules"), place: NavPlace::Schedules };
    Ok(page.respond(&head, &template::schedules(&page, &list.schedules)))
}

pub(super) async fn show_one(page: PageRequest, Path(path): Path<String>) -> PageResult {
    let events = page.app().schedule_events(&path, None, Some(EVENTS)).await?.events;
    let detail = ScheduleDetail {
        schedule: page.app().schedule(&path).await?,
        instants: page.app().next_instants(&path, None, None).await?.instants,
        executions: started_by(&page, &events).await?,
        events,
    };
    let head = PageHead { title: &path, place: NavPlace::Schedules };
    Ok(page.respond(&head, &template::schedule(&page, &detail)))
}

/// Returns the execution that an event of a schedule has started.
fn execution_of(event: &ScheduleEventView) -> Option<ExecutionId> {
    event.context.get("execution_id")?.as_str()?.parse().ok()
}

/// Loads the last executions of a schedule that its events name and that still exist.
async fn started_by(
    page: &PageRequest,
    events: &[ScheduleEventView],
) -> Result<Vec<ExecutionLine>, PageError> {
    let mut executions = Vec::new();
    for execution in events.iter().filter_map(execution_of).take(EXECUTIONS) {
        executions.extend(page.app().find_known(execution).await?);
    }
    listed(page, executions).await
}

/// Pauses, resumes or backfills a schedule.
pub(super) async fn act(
    page: PageRequest,
    Path(path): Path<String>,
    form: SignedForm,
) -> PageResult {
    match form.get("action") {
        "pause" => page.app().move_schedule(&path, ScheduleAction::Pause).await.map(drop)?,
        "resume" => page.app().move_schedule(&path, ScheduleAction::Resume).await.map(drop)?,
        "backfill" => {
            let from = instant(&form, "from")?;
            let until = form.given("until").map(|_| instant(&form, "until")).transpose()?;
            page.app().backfill(&path, from, until, BackfillMode::Start).await?;
            return Ok(see(&address(&path)));
        }
        other => return Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    }
    Ok(see(form.get("return_to")))
}

fn instant(form: &SignedForm, name: &str) -> Result<Timestamp, PageError> {
    let text = form.get(name).trim();
    instant_of(text).ok_or_else(|| PageError::Unreadable(format!("`{text}` is not a time")))
}

fn address(path: &str) -> String {
    format!("/ui/schedules/{}", encoded(path))
}
