//! Pools and workers. A pool with commands and no worker comes first and says so.

mod template;

use axum::extract::Query;
use noetl_app::{WorkerError, WorkerFilter, pool_of};
use noetl_model::LimitName;
use serde::Deserialize;

use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use template::WorkersView;
pub(super) use template::unserved;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkersQuery {
    /// The last limit of the page before.
    limits_after: String,
}

pub(super) async fn show(page: PageRequest, Query(query): Query<WorkersQuery>) -> PageResult {
    let after: Option<LimitName> = query.limits_after.parse().ok();
    let view = WorkersView {
        pools: page.app().pool_queues().await?,
        workers: page.app().list_workers(&WorkerFilter::default()).await?,
        pauses: page.app().pause_list().await?.pauses,
        limits: page.app().limit_list(after.as_ref()).await?,
        is_first: after.is_none(),
        running: page.app().commands_in_progress().await?,
    };
    let head = PageHead { title: page.t("nav.workers"), place: NavPlace::Workers };
    Ok(page.respond(&head, &template::workers(&page, &view)))
}

/// Pauses a pool, or resumes a pool or a playbook.
pub(super) async fn act(page: PageRequest, form: SignedForm) -> PageResult {
    let pool = || pool_of(form.get("pool")).map_err(|error| PageError::Refused(error.to_string()));
    let caller = page.pause_caller(&form);
    match form.get("action") {
        "pause" => page.app().pause_pool(&pool()?, caller).await.map(drop)?,
        "resume" => page.app().resume_pool(&pool()?, caller).await.map(drop)?,
        "resume_playbook" => {
            page.app().resume_playbook(form.get("playbook"), caller).await.map(drop)?;
        }
        other => return Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    }
    Ok(see("/ui/workers"))
}

impl From<WorkerError> for PageError {
    fn from(error: WorkerError) -> Self {
        match error {
            WorkerError::UnknownKind | WorkerError::InvalidName => Self::Refused(error.to_string()),
            WorkerError::Unknown { .. } => Self::NotFound(error.to_string()),
            WorkerError::Store(error) => error.into(),
        }
    }
}
