//! Shell completion candidates: ids and paths from the embedded database.

use std::future::Future;
use std::sync::Arc;

use clap_complete::CompletionCandidate;
use noetl_app::{CatalogQuery, ExecutionFilter, KnownExecution, Page, StoreReader};
use noetl_model::{ExecutionStatus, Role};
use noetl_store_sqlite::SqliteStore;

use crate::config::{Config, Environment, Flags};

/// The most executions offered.
const EXECUTIONS_MAX: usize = 20;
/// The most playbooks offered.
const PLAYBOOKS_MAX: usize = 200;

/// Returns the latest executions, and `last`.
pub(crate) fn executions() -> Vec<CompletionCandidate> {
    let found = looked_up(async |store: StoreReader| {
        let page = Page { before: None, limit: EXECUTIONS_MAX };
        let listed = store.known_page(&ExecutionFilter::default(), page).await.unwrap_or_default();
        let offered = listed.into_iter().map(|KnownExecution { summary, .. }| {
            let about = format!("{} {}", summary.status, summary.playbook.path);
            CompletionCandidate::new(summary.execution.to_string()).help(Some(about.into()))
        });
        offered.collect()
    });
    let last = CompletionCandidate::new("last").help(Some("the one started last".into()));
    std::iter::once(last).chain(found).collect()
}

/// Returns the paths of the catalog.
pub(crate) fn playbooks() -> Vec<CompletionCandidate> {
    looked_up(async |store: StoreReader| {
        let query = CatalogQuery::active(None, PLAYBOOKS_MAX);
        let listed = store.paths(&query).await.unwrap_or_default();
        listed.into_iter().map(|entry| CompletionCandidate::new(entry.path)).collect()
    })
}

/// Returns the names of feeds.
pub(crate) fn feeds() -> Vec<CompletionCandidate> {
    looked_up(async |store: StoreReader| {
        let listed = store.feed_names().await.unwrap_or_default();
        listed.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// Returns the names of stored tokens.
pub(crate) fn tokens() -> Vec<CompletionCandidate> {
    looked_up(async |store: StoreReader| {
        let listed = store.token_names().await.unwrap_or_default();
        listed.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// Returns the roles of tokens.
pub(crate) fn roles() -> Vec<CompletionCandidate> {
    Role::ALL.iter().map(|role| CompletionCandidate::new(role.as_str())).collect()
}

/// Returns the paths of subscriptions.
pub(crate) fn subscriptions() -> Vec<CompletionCandidate> {
    looked_up(async |store: StoreReader| {
        let listed = store.subscriptions().await.unwrap_or_default();
        let offered = listed.into_iter().map(|row| {
            let about = row.state().to_string().to_lowercase();
            CompletionCandidate::new(row.path).help(Some(about.into()))
        });
        offered.collect()
    })
}

/// Returns the paths of schedules.
pub(crate) fn schedules() -> Vec<CompletionCandidate> {
    looked_up(async |store: StoreReader| {
        let listed = store.schedules().await.unwrap_or_default();
        let offered = listed.into_iter().map(|row| {
            let state = row.standing.state.to_string().to_lowercase();
            let about = format!("{state}, {}", row.timing);
            CompletionCandidate::new(row.path).help(Some(about.into()))
        });
        offered.collect()
    })
}

/// Returns the beginnings of conditions that select executions.
pub(crate) fn conditions() -> Vec<CompletionCandidate> {
    let of = |text: &str, about: &str| {
        CompletionCandidate::new(text.to_owned()).help(Some(about.to_owned().into()))
    };
    let statuses = ExecutionStatus::ALL
        .iter()
        .map(|status| of(&format!("status={status}"), "executions with this status"));
    let others = [
        of("path=", "of this playbook; a trailing * matches any rest"),
        of("part=", "whose path contains this text"),
        of("since=", "started at this time or later"),
        of("until=", "started before this time"),
        of("parent=", "children of this execution"),
        of("label=", "with this label, such as label=team:ops"),
        of("actor=", "that this person or program started"),
        of(
            "text=",
            "with this word in the path, a label, the error or the reason of a cancellation",
        ),
        of("catalog=", "of this playbook version"),
    ];
    statuses.chain(others).collect()
}

/// Queries the database; returns nothing if it cannot be read.
fn looked_up<F>(ask: impl FnOnce(StoreReader) -> F) -> Vec<CompletionCandidate>
where
    F: Future<Output = Vec<CompletionCandidate>>,
{
    let Ok(config) = Config::load(Environment::read(), &Flags::default()) else {
        return Vec::new();
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    runtime.block_on(async {
        match SqliteStore::open_read_only(&config.database()).await {
            Ok(store) => ask(StoreReader::new(Arc::new(store))).await,
            Err(_) => Vec::new(),
        }
    })
}
