//! The HTTP routes, one file per resource.

mod approvals;
mod audit;
mod callback;
mod catalog;
mod commands;
mod credentials;
mod dashboard;
mod docs;
mod editor;
mod ehdb;
mod events;
mod everything;
mod execute;
mod executions;
mod feeds;
mod health;
mod holds;
mod ingress;
mod intake;
mod kept_signals;
mod keychain;
mod layout;
mod metrics;
mod notifications;
mod objects;
mod outbox;
mod pools;
mod postgres;
mod projector;
mod refused;
mod replay;
mod results;
mod schedules;
mod stored;
mod stream;
mod subscriptions;
mod system;
mod tokens;
mod ui_schema;
mod vars;
mod wallet;
mod worker;

use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::state::{AppState, MetricsRoute};

/// Returns all routes with their OpenAPI description.
pub(crate) fn all(figures: MetricsRoute) -> OpenApiRouter<AppState> {
    let metrics = match figures {
        MetricsRoute::Shown => metrics::routes(),
        MetricsRoute::Hidden => OpenApiRouter::new(),
    };
    OpenApiRouter::new()
        .merge(health::routes())
        .merge(holds::routes())
        .merge(kept_signals::routes())
        .merge(metrics)
        .merge(catalog::routes())
        .merge(editor::routes())
        .merge(execute::routes())
        .merge(executions::routes())
        .merge(approvals::routes())
        .merge(ehdb::routes())
        .merge(stream::routes())
        .merge(everything::routes())
        .merge(vars::routes())
        .merge(events::routes())
        .merge(commands::routes())
        .merge(pools::routes())
        .merge(replay::routes())
        .merge(worker::routes())
        .merge(notifications::routes())
        .merge(outbox::routes())
        .merge(callback::routes())
        .merge(dashboard::routes())
        .merge(layout::routes())
        .merge(system::routes())
        .merge(refused::routes())
        .merge(postgres::routes())
        .merge(docs::routes())
        .merge(stored::routes())
        .merge(feeds::routes())
        .merge(subscriptions::routes())
        .merge(schedules::routes())
        .merge(ingress::routes())
        .merge(intake::routes())
        .merge(projector::routes())
        .merge(results::routes())
        .merge(objects::routes())
        .merge(credentials::routes())
        .merge(keychain::routes())
        .merge(wallet::routes())
        .merge(tokens::routes())
        .merge(audit::routes())
}

/// Returns the maximum size of a route's request body, if the route has its own.
pub(crate) fn body_max(route: &str) -> Option<usize> {
    match route {
        worker::REPORT => Some(worker::REPORT_BYTES_MAX),
        results::PUT => Some(results::RESULT_BYTES_MAX),
        objects::OBJECT | objects::PLUGIN => Some(objects::OBJECT_BYTES_MAX),
        ingress::MESSAGE => Some(ingress::MESSAGE_MAX),
        _ => None,
    }
}

/// Operations with a wildcard path, which are added to the OpenAPI document separately.
#[derive(OpenApi)]
#[openapi(paths(
    ingress::take_message,
    ui_schema::ui_schema,
    editor::show_suite,
    editor::save_suite,
    editor::remove_suite,
))]
pub(crate) struct UnroutedOperations;
