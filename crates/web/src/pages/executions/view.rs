//! The values of the list.

use noetl_api::wire::ExecutionHistogram;
use noetl_model::ExecutionId;

use super::filter::ListFilter;
use crate::components::execution_table::{count_executions, listed, query_executions};
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::request::PageRequest;

#[derive(Debug)]
pub(super) struct ExecutionsView {
    pub(super) filter: ListFilter,
    /// `None` if the filter leaves no time.
    pub(super) histogram: Option<ExecutionHistogram>,
    pub(super) executions: Vec<ExecutionLine>,
    /// The last execution of this page, if there are more.
    pub(super) next: Option<ExecutionId>,
}

impl ExecutionsView {
    pub(super) async fn load(page: &PageRequest, filter: ListFilter) -> Result<Self, PageError> {
        let list = query_executions(page, &filter.query()).await?;
        let executions = listed(page, list.executions).await?;
        let histogram = count_executions(page, &filter.histogram()).await?;
        Ok(Self { filter, histogram, executions, next: list.next })
    }
}
