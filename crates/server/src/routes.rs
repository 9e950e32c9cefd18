//! The routes, a noun to a file.

mod catalog;
mod commands;
mod events;
mod execute;
mod executions;
mod health;
mod metrics;
mod outbox;
mod pools;
mod replay;
mod stream;
mod ui_schema;
mod vars;
mod worker;

use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

/// Every route, with its description.
pub(crate) fn all() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(health::routes())
        .merge(metrics::routes())
        .merge(catalog::routes())
        .merge(execute::routes())
        .merge(executions::routes())
        .merge(stream::routes())
        .merge(vars::routes())
        .merge(events::routes())
        .merge(commands::routes())
        .merge(pools::routes())
        .merge(replay::routes())
        .merge(worker::routes())
        .merge(outbox::routes())
}
