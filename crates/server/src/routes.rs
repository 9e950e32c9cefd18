//! The routes, a noun to a file.

mod callback;
mod catalog;
mod commands;
mod credentials;
mod dashboard;
mod docs;
mod events;
mod execute;
mod executions;
mod feeds;
mod health;
mod ingress;
mod keychain;
mod layout;
mod metrics;
mod objects;
mod outbox;
mod pools;
mod refused;
mod replay;
mod results;
mod stored;
mod stream;
mod subscriptions;
mod system;
mod ui_schema;
mod vars;
mod wallet;
mod worker;

use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub(crate) use keychain::KeychainScope;

use crate::state::{AppState, Figures};

/// Every route, with its description.
pub(crate) fn all(figures: Figures) -> OpenApiRouter<AppState> {
    let metrics = match figures {
        Figures::Shown => metrics::routes(),
        Figures::Hidden => OpenApiRouter::new(),
    };
    OpenApiRouter::new()
        .merge(health::routes())
        .merge(metrics)
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
        .merge(callback::routes())
        .merge(dashboard::routes())
        .merge(layout::routes())
        .merge(system::routes())
        .merge(refused::routes())
        .merge(docs::routes())
        .merge(stored::routes())
        .merge(feeds::routes())
        .merge(subscriptions::routes())
        .merge(ingress::routes())
        .merge(results::routes())
        .merge(objects::routes())
        .merge(credentials::routes())
        .merge(keychain::routes())
        .merge(wallet::routes())
}

/// What is described apart, because its path has no end of its own.
#[derive(OpenApi)]
#[openapi(paths(ui_schema::ui_schema))]
pub(crate) struct Beside;
