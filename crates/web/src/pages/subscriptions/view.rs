//! The values of the pages of subscriptions.

use std::sync::Arc;

use noetl_api::wire::{FailedMessageView, SubscriptionEventView, SubscriptionView};
use noetl_app::{ExecutionFilter, ExecutionQuery};
use noetl_model::ExecutionId;
use noetl_playbook::Subscription;

use crate::components::execution_table::{listed, query_executions};
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::request::PageRequest;

/// Number up to which the failed messages of a subscription are counted.
pub(in crate::pages) const FAILED_SHOWN_MAX: usize = 100;
/// Number of executions on the page of a subscription.
const EXECUTIONS: usize = 10;
/// Number of subscriptions of which the list shows source, messages and last execution.
const FULL_ROWS_MAX: usize = 50;

/// A subscription with its document, its failed messages and its last executions.
#[derive(Debug)]
pub(super) struct SubscriptionLine {
    pub(super) subscription: SubscriptionView,
    /// `None` if it is not loaded, or if this server cannot read it.
    pub(super) document: Option<Arc<Subscription>>,
    /// The number of failed messages, up to [`FAILED_SHOWN_MAX`]; `None` if it is not loaded.
    pub(super) failed: Option<usize>,
    /// The last executions, newest first.
    pub(super) executions: Vec<ExecutionLine>,
}

#[derive(Debug)]
pub(super) struct SubscriptionDetail {
    pub(super) line: SubscriptionLine,
    pub(super) events: Vec<SubscriptionEventView>,
    pub(super) failed: Vec<FailedMessageView>,
}

/// Loads the lines of the list. Rows beyond a number have no details.
pub(super) async fn lines(page: &PageRequest) -> Result<Vec<SubscriptionLine>, PageError> {
    let subscriptions = page.app().list_subscriptions().await?.subscriptions;
    let mut lines = Vec::with_capacity(subscriptions.len());
    for (index, subscription) in subscriptions.into_iter().enumerate() {
        let bare =
            SubscriptionLine { subscription, document: None, failed: None, executions: Vec::new() };
        lines.push(match bare.id().filter(|_| index < FULL_ROWS_MAX) {
            Some(id) => full(page, id, bare, 1).await?,
            None => bare,
        });
    }
    Ok(lines)
}

async fn full(
    page: &PageRequest,
    id: ExecutionId,
    bare: SubscriptionLine,
    executions: usize,
) -> Result<SubscriptionLine, PageError> {
    let document = page.app().control().subscription_document(&bare.subscription.path).await;
    let failed = page.app().intake().failed_messages(id, "", Some(FAILED_SHOWN_MAX)).await?;
    let filter = ExecutionFilter { parent: Some(id), ..ExecutionFilter::default() };
    let query = ExecutionQuery { filter, limit: Some(executions), ..ExecutionQuery::default() };
    let started = query_executions(page, &query).await?.executions;
    Ok(SubscriptionLine {
        document: document.ok(),
        failed: Some(failed.messages.len()),
        executions: listed(page, started).await?,
        ..bare
    })
}

impl SubscriptionLine {
    /// Returns the number of the subscription.
    fn id(&self) -> Option<ExecutionId> {
        self.subscription.subscription_id.parse().ok()
    }
}

impl SubscriptionDetail {
    pub(super) async fn load(page: &PageRequest, id: ExecutionId) -> Result<Self, PageError> {
        let subscription = page.app().subscription(id).await?;
        let bare =
            SubscriptionLine { subscription, document: None, failed: None, executions: Vec::new() };
        Ok(Self {
            line: full(page, id, bare, EXECUTIONS).await?,
            events: page.app().subscription_events(id).await?.events,
            failed: page.app().intake().failed_messages(id, "", None).await?.messages,
        })
    }
}
