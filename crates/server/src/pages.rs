//! The web interface at this server: its routes, and the identification of its visitors.
//!
//! Invariants: a session is a token of this server, with the scopes of that token; it counts for
//! pages and for requests that only read, never for a change through the API.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Router, http::Uri};
use noetl_app::{StatedNames, TokensUnavailable};
use noetl_model::{Digest, Permission};
use noetl_web::{
    LoginError, LoginGate, PageScope, Permissions, SESSION_COOKIE, SessionKey, SignIn, Visitor,
    WebState, Wire, needed,
};

use crate::access::{Authentication, KnownToken, known_token};
use crate::response::error::{self, ApiError};
use crate::state::{AppState, Pages, ServerSettings};

/// Prefix of the paths of pages.
pub(crate) const PREFIX: &str = "/ui/";

/// True if a path is that of a page, and pages are on.
pub(crate) fn is_page(settings: &ServerSettings, path: &str) -> bool {
    match settings.pages {
        Pages::Hidden => false,
        Pages::Shown => path.starts_with(PREFIX),
    }
}

/// Returns the routes of the pages, if they are on.
pub(crate) fn routes(state: &AppState) -> Router<AppState> {
    match state.settings().pages {
        Pages::Hidden => Router::new(),
        Pages::Shown => noetl_web::router(web_state(state)).route("/", get(first_page)),
    }
}

fn web_state(state: &AppState) -> WebState {
    let settings = state.settings();
    WebState {
        app: state.app().clone(),
        sign_in: match settings.access {
            Authentication::Open => SignIn::Open,
            Authentication::Tokens(_) => SignIn::Token(Arc::new(Gate(state.clone()))),
        },
        wire: if settings.tls.is_some() { Wire::Encrypted } else { settings.public_wire },
        ended: state.ended_sessions().clone(),
        key: SessionKey::of(state.vault()),
        stopping: state.draining().clone(),
    }
}

/// Leads browsers to the first page; other clients find nothing at this path.
async fn first_page(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    match accepted.is_some_and(|it| it.contains("text/html")) {
        true => Redirect::to(PREFIX).into_response(),
        false => error::unknown_path().await.into_response(),
    }
}

/// Checks the token of a login, and counts the failures of an address.
struct Gate(AppState);

#[async_trait]
impl LoginGate for Gate {
    async fn log_in(&self, token: &str, address: IpAddr) -> Result<Digest, LoginError> {
        let given = Digest::of(token.as_bytes());
        match known_token(&self.0, &given).await {
            Ok(Some(_)) => return Ok(given),
            Ok(None) => {}
            Err(TokensUnavailable) => return Err(LoginError::Unavailable),
        }
        match self.0.client_limits().refused(address) {
            Ok(()) => Err(LoginError::UnknownToken),
            Err(wait) => Err(LoginError::TooMany(wait)),
        }
    }
}

/// Returns the permissions of which a request for a page needs one; `None` if the page is public.
pub(crate) fn needed_permissions(method: &Method, path: &str) -> Option<&'static [Permission]> {
    match needed(method, path) {
        PageScope::Public => None,
        PageScope::Read => Some(&[Permission::Read]),
        PageScope::Run => Some(&[Permission::Operate]),
        PageScope::Write => Some(&[Permission::Write]),
        PageScope::Admin => Some(&[Permission::Administer]),
    }
}

/// Returns the token that a session stands for; the server may no longer know it.
pub(crate) fn session_token(state: &AppState, cookie: &str) -> Option<Digest> {
    if state.ended_sessions().has(cookie) {
        return None;
    }
    SessionKey::of(state.vault()).token_of(cookie, state.now())
}

pub(crate) fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|it| it.to_str().ok());
    let mut pairs =
        lines.flat_map(|line| line.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find_map(|(name, value)| (name == SESSION_COOKIE).then_some(value))
}

/// True if a session may stand for a token: for pages, and for reading.
pub(crate) fn takes_session(method: &Method, path: &str, needed: &[Permission]) -> bool {
    path.starts_with(PREFIX)
        || ([Method::GET, Method::HEAD].contains(method) && needed.contains(&Permission::Read))
}

/// Adds the visitor to a request for a page.
pub(crate) fn add_visitor(
    state: &AppState,
    request: &mut Request,
    token: Option<&KnownToken>,
    address: IpAddr,
) {
    let may = match &state.settings().access {
        Authentication::Open => Permissions::ALL,
        Authentication::Tokens(_) => {
            let may = |permission| token.is_some_and(|it| it.permits_everywhere(permission));
            Permissions {
                read: may(Permission::Read),
                run: may(Permission::Operate),
                write: may(Permission::Write),
                admin: may(Permission::Administer),
            }
        }
    };
    let actor = token.and_then(KnownToken::name).cloned();
    let names = match &state.settings().access {
        Authentication::Open => StatedNames::Accepted,
        Authentication::Tokens(_) => StatedNames::Refused,
    };
    request.extensions_mut().insert(Visitor { address, may, actor, names });
}

/// Answers a request for a page that was refused: browsers without a session are led to the login, and
/// a token that is restricted to paths is told what it can be used for.
pub(crate) fn refused(
    state: &AppState,
    request: Request,
    error: &ApiError,
    token: Option<&KnownToken>,
) -> Response {
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    if let Some(restricted) = token.and_then(KnownToken::restricted)
        && error.status() == axum::http::StatusCode::FORBIDDEN
    {
        return noetl_web::restricted_page(&web_state(state), request, &restricted);
    }
    if error.status() == axum::http::StatusCode::UNAUTHORIZED && is_read {
        return Redirect::to(&login_address(request.uri())).into_response();
    }
    let (status, reason) = (error.status().as_u16(), error.detail().to_owned());
    noetl_web::refused_page(&web_state(state), request, status, reason)
}

fn login_address(asked: &Uri) -> String {
    noetl_web::login_address(asked.path_and_query().map_or(PREFIX, |it| it.as_str()))
}
