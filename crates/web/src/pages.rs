//! The pages, one module per place of the navigation.
//!
//! A module has a view (the values that the page shows, loaded from the application), a template
//! (view to HTML) and a test that compares the HTML for a seeded store.

mod audit;
mod bulk;
#[cfg(debug_assertions)]
mod components;
mod credentials;
mod decide;
mod editor;
mod execution;
mod executions;
mod feeds;
mod find;
mod limits;
mod login;
mod overview;
mod playbook;
mod playbooks;
mod preferences;
mod retention;
mod schedules;
mod subscriptions;
mod system;
mod tokens;
mod waiting;
mod workers;

use axum::Router;
use axum::routing::{get, post};

use crate::state::WebState;
pub(crate) use execution::DrawnPlaybooks;

/// Returns the routes of all pages.
pub(crate) fn routes() -> Router<WebState> {
    let pages = Router::new()
        .route("/ui/", get(overview::show))
        .route("/ui", get(async || crate::response::see("/ui/")))
        .route("/ui/example", post(overview::run_example))
        .route("/ui/executions", get(executions::show))
        .route("/ui/executions/bulk", get(bulk::show).post(bulk::create))
        .route("/ui/executions/bulk/{id}", get(bulk::show_job))
        .route("/ui/executions/bulk/{id}/stop", post(bulk::stop))
        .route("/ui/executions/{id}", get(execution::show))
        .route("/ui/executions/{id}/live", get(execution::live))
        .route("/ui/executions/{id}/fork", get(execution::show_fork).post(execution::fork))
        .route("/ui/executions/{id}/again", get(execution::show_again).post(execution::again))
        .route("/ui/executions/{id}/compare", get(execution::compare))
        .route("/ui/executions/{id}/value", get(execution::show_value))
        .route("/ui/executions/{id}/verify", get(execution::verify))
        .route("/ui/executions/{id}/log.jsonl", get(execution::download))
        .route("/ui/executions/{id}/retention", get(retention::show).post(retention::act))
        .route("/ui/executions/{id}/cancel", post(executions::cancel))
        .route("/ui/executions/{id}/pause", post(executions::pause))
        .route("/ui/executions/{id}/resume", post(executions::resume))
        .route("/ui/executions/{id}/retry", post(executions::retry))
        .route("/ui/executions/{id}/rerun", post(executions::rerun))
        .route("/ui/playbooks", get(playbooks::show))
        .route("/ui/playbooks/new", get(editor::show_new).post(editor::create))
        .route("/ui/editor/analysis", post(editor::analysis))
        .route("/ui/editor/completions", post(editor::complete))
        .route("/ui/playbooks/{*path}", get(playbook::show).post(playbook::act))
        .route("/ui/waiting", get(waiting::show))
        .route("/ui/waiting/{execution}/{command}", post(waiting::decide))
        .route("/ui/waiting/{execution}/signals/{name}", post(waiting::signal))
        .route("/ui/waiting/kept-signals/{id}/drop", post(waiting::drop_signal))
        .route("/ui/decide/{link}", get(decide::show).post(decide::decide))
        .route("/ui/schedules", get(schedules::show))
        .route("/ui/schedules/{*path}", get(schedules::show_one).post(schedules::act))
        .route("/ui/subscriptions", get(subscriptions::show))
        .route("/ui/subscriptions/{id}", get(subscriptions::show_one).post(subscriptions::act))
        .route("/ui/feeds", get(feeds::show).post(feeds::act))
        .route("/ui/workers", get(workers::show).post(workers::act))
        .route("/ui/limits/{*name}", get(limits::show))
        .route("/ui/credentials", get(credentials::show).post(credentials::act))
        .route("/ui/system", get(system::show))
        .route("/ui/audit", get(audit::show))
        .route("/ui/tokens", get(tokens::show).post(tokens::act))
        .route("/ui/find", get(find::show))
        .route("/ui/login", get(login::show).post(login::log_in))
        .route("/ui/logout", post(login::log_out))
        .route("/ui/preferences", post(preferences::choose));
    with_components(pages)
}

/// Adds the page that shows every component, in debug builds.
#[cfg(debug_assertions)]
fn with_components(pages: Router<WebState>) -> Router<WebState> {
    pages.route("/ui/components", get(components::show))
}

#[cfg(not(debug_assertions))]
fn with_components(pages: Router<WebState>) -> Router<WebState> {
    pages
}
