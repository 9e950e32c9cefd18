//! The values of the first page.

use noetl_app::{ExecutionFilter, Page};
use noetl_model::{ExecutionStatus, Summary};

use crate::error::PageError;
use crate::request::PageRequest;

/// Number of executions in each list.
const LISTED: usize = 10;

#[derive(Debug)]
pub(super) struct OverviewView {
    pub(super) running: Vec<Summary>,
    pub(super) recent: Vec<Summary>,
}

impl OverviewView {
    pub(super) async fn load(page: &PageRequest) -> Result<Self, PageError> {
        let newest = Page { before: None, limit: LISTED };
        let status = Some(ExecutionStatus::Running);
        let running = ExecutionFilter { status, ..ExecutionFilter::default() };
        Ok(Self {
            running: page.app().summaries(&running, newest).await?,
            recent: page.app().summaries(&ExecutionFilter::default(), newest).await?,
        })
    }
}
