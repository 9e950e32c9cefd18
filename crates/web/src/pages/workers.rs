//! Pools and workers. A pool with commands and no worker comes first and says so.

mod template;

use noetl_app::{WorkerError, WorkerFilter};

use crate::error::PageError;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;
use template::WorkersView;
pub(super) use template::unserved;

pub(super) async fn show(page: PageRequest) -> PageResult {
    let view = WorkersView {
        pools: page.app().pool_queues().await?,
        workers: page.app().list_workers(&WorkerFilter::default()).await?,
    };
    let head = PageHead { title: page.t("nav.workers"), place: NavPlace::Workers };
    Ok(page.respond(&head, &template::workers(&page, &view)))
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
