//! Responses: pages with their headers, and redirects after forms.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::Markup;

use crate::address::own;
use crate::cookies::stored;
use crate::error::PageError;
use crate::layout::{self, PageHead};
use crate::request::{Browser, PageRequest};
use crate::session::BROWSER_COOKIE;

/// The result of a handler.
pub(crate) type PageResult = Result<Response, PageError>;

/// Content security policy: only files of this server, no code and no styles inside of HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every page. Without a referrer, browsers send forms with the origin `null`.
const HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "same-origin"),
];

/// The time for which a browser keeps its name.
const BROWSER_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

impl PageRequest {
    /// Draws a page around its content.
    pub(crate) fn respond(&self, head: &PageHead<'_>, content: &Markup) -> Response {
        self.respond_with(StatusCode::OK, head, content)
    }

    pub(crate) fn respond_with(
        &self,
        status: StatusCode,
        head: &PageHead<'_>,
        content: &Markup,
    ) -> Response {
        let page = layout::page(self, head, content).into_string();
        let mut response = (status, HEADERS, page).into_response();
        match &self.browser {
            Browser::Known(_) => {}
            Browser::New(name) => {
                let cookie = stored(BROWSER_COOKIE, name, BROWSER_KEPT, self.state.wire);
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
        }
        response
    }
}

/// Leads the browser to a page of this server, after a form.
pub(crate) fn see(address: &str) -> Response {
    Redirect::to(own(address)).into_response()
}

/// Leads the browser to a page and stores a cookie.
pub(crate) fn see_with_cookie(address: &str, cookie: HeaderValue) -> Response {
    let mut response = see(address);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}
