//! The way in where the server asks for a token: a form that trades it for a session.

use std::time::Duration;

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use crate::components::duration::short;
use crate::components::error::translated_error_line;
use crate::cookies::stored;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead, form_fields};
use crate::request::PageRequest;
use crate::response::{PageResult, see, see_with_cookie};
use crate::session::{SESSION_COOKIE, SESSION_LASTS};
use crate::state::{LoginError, SignIn};

#[derive(Debug, Deserialize)]
pub(super) struct LoginQuery {
    /// The page that asked for the login.
    #[serde(default)]
    next: String,
}

pub(super) async fn show(page: PageRequest, Query(query): Query<LoginQuery>) -> PageResult {
    Ok(match page.state.sign_in {
        SignIn::Open => see(&query.next),
        SignIn::Token(_) => drawn(&page, StatusCode::OK, &query.next, None),
    })
}

pub(super) async fn log_in(page: PageRequest, form: SignedForm) -> PageResult {
    let next = form.get("next");
    let SignIn::Token(gate) = &page.state.sign_in else { return Ok(see(next)) };
    match gate.log_in(form.get("token").trim(), page.visitor.address).await {
        Ok(token) => {
            let session = page.state.key.session(&token, page.now);
            let cookie = stored(SESSION_COOKIE, &session, SESSION_LASTS, page.state.wire);
            Ok(see_with_cookie(next, cookie))
        }
        Err(LoginError::UnknownToken) => {
            let message = page.t("login.unknown").to_owned();
            Ok(drawn(&page, StatusCode::UNAUTHORIZED, next, Some(&message)))
        }
        Err(LoginError::Unavailable) => Err(PageError::Unavailable),
        Err(LoginError::TooMany(wait)) => {
            let message = page.words.fill("login.too_many", &[("wait", &short(page.words, wait))]);
            Ok(drawn(&page, StatusCode::TOO_MANY_REQUESTS, next, Some(&message)))
        }
    }
}

pub(super) async fn log_out(page: PageRequest, _form: SignedForm) -> PageResult {
    if let Some(session) = &page.session
        && page.state.key.token_of(session, page.now).is_some()
    {
        page.state.ended.end(session, page.now);
    }
    let cookie = stored(SESSION_COOKIE, "", Duration::ZERO, page.state.wire);
    Ok(see_with_cookie("/ui/login", cookie))
}

fn drawn(page: &PageRequest, status: StatusCode, next: &str, error: Option<&str>) -> Response {
    let head = PageHead { title: page.t("login.title"), place: NavPlace::Outside };
    page.respond_with(status, &head, &template(page, next, error))
}

fn template(page: &PageRequest, next: &str, error: Option<&str>) -> Markup {
    html! {
        section.login.panel {
            h1 { (page.t("login.title")) }
            p.soft { (page.t("login.more")) }
            form method="post" action="/ui/login" data-form="plain" {
                (form_fields(page))
                input type="hidden" name="next" value=(next);
                label for="token" { (page.t("login.token")) }
                input #token name="token" type="password" required autofocus
                    autocomplete="current-password" aria-describedby=[error.map(|_| "login-error")];
                @if let Some(error) = error { div #login-error { (translated_error_line(error)) } }
                button.main type="submit" { (page.t("login.enter")) }
            }
        }
    }
}
