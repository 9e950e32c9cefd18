//! The pages, one module per place of the navigation.
//!
//! A module has a view (the values that the page shows, loaded from the application), a template
//! (view to HTML) and a test that compares the HTML for a seeded store.

#[cfg(debug_assertions)]
mod components;
mod find;
mod login;
mod overview;
mod preferences;

use axum::Router;
use axum::routing::{get, post};

use crate::state::WebState;

/// Returns the routes of all pages.
pub(crate) fn routes() -> Router<WebState> {
    let pages = Router::new()
        .route("/ui/", get(overview::show))
        .route("/ui", get(async || crate::response::see("/ui/")))
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
