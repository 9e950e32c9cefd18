//! Pools and workers. A pool with commands and no worker comes first and says so.

mod template;

use noetl_app::{WorkerError, WorkerFilter, pool_of};

use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use template::WorkersView;
pub(super) use template::unserved;

pub(super) async fn show(page: PageRequest) -> PageResult {
    let view = WorkersView {
        pools: page.app().pool_queues().await?,
        workers: page.app().list_workers(&WorkerFilter::default()).await?,
        pauses: page.app().pause_list().await?.pauses,
        limits: page.app().limit_list(None).await?.limits,
        running: page.app().commands_in_progress().await?,
    };
    let head = PageHead { title: page.t("nav.workers"), place: NavPlace::Workers };
    Ok(page.respond(&head, &template::workers(&page, &view)))
}

/// Pauses or resumes a pool.
pub(super) async fn act(page: PageRequest, form: SignedForm) -> PageResult {
    let pool = pool_of(form.get("pool")).map_err(|error| PageError::Refused(error.to_string()))?;
    match form.get("action") {
        "pause" => {
            page.app().pause_pool(&pool, page.pause_caller()).await?;
        }
        "resume" => {
            page.app().resume_pool(&pool, page.pause_caller()).await?;
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
