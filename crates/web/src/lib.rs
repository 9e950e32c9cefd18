//! The web interface: pages of HTML, drawn from the operations of the application layer.
//!
//! [`router`] answers everything below `/ui/`. The caller checks who may send a request
//! ([`needed`]) and adds a [`Visitor`] to it. A handler takes a [`request::PageRequest`], loads a
//! view struct and gives it to a template; a form is read by [`form::SignedForm`], which checks its
//! token.
//!
//! Invariants: a page is complete without scripts; no page loads anything from another host; text
//! reaches HTML only through the escaping of the templates; words are in the catalogues in `words/`.

mod address;
mod assets;
mod components;
mod cookies;
mod error;
mod form;
mod layout;
mod pages;
mod preferences;
mod request;
mod response;
mod restricted;
mod session;
mod state;
mod visitor;
mod words;

use axum::middleware;
use axum::routing::{any, get};
use axum::{Extension, Router};
use tower_http::compression::CompressionLayer;

pub use address::login_address;
pub use session::{EndedSessions, SESSION_COOKIE, SessionKey};
pub use state::{LoginError, LoginGate, SignIn, WebState, Wire};
pub use visitor::{PageScope, Permissions, Visitor, needed};

/// Builds the router of all pages and their files.
pub fn router<S: Clone + Send + Sync + 'static>(state: WebState) -> Router<S> {
    pages::routes()
        .route("/ui/{*path}", any(error::unknown_page))
        .layer(middleware::from_fn_with_state(state.clone(), error::draw_errors))
        .route("/ui/assets/{digest}/{name}", get(assets::show))
        .layer(Extension(pages::DrawnPlaybooks::default()))
        .layer(CompressionLayer::new().gzip(true))
        .with_state(state)
}

/// Draws the page for a request that was refused before it reached the pages.
pub use error::refused_page;
pub use restricted::{RestrictedToken, restricted_page};

#[cfg(test)]
mod tests;
