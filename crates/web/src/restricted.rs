//! The answer to a token whose roles are restricted to paths: pages show all paths, so it opens none.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use noetl_model::{Actor, RoleGrant};

use crate::components::command::command;
use crate::components::prose::prose;
use crate::layout::{NavPlace, PageHead, form_fields};
use crate::request::PageRequest;
use crate::state::WebState;
use crate::visitor::Visitor;

/// A token with roles for some paths only.
#[derive(Debug, Clone)]
pub struct RestrictedToken {
    pub name: Actor,
    pub grants: Vec<RoleGrant>,
}

/// Draws the page for a request with a token that is restricted to paths: its roles and paths, and
/// what it can be used for.
pub fn restricted_page(state: &WebState, request: Request, token: &RestrictedToken) -> Response {
    let (mut parts, _) = request.into_parts();
    parts.extensions.insert(Visitor::UNKNOWN);
    let page = PageRequest::of(state, &parts);
    let head = PageHead { title: page.t("restricted.title"), place: NavPlace::Outside };
    page.respond_with(StatusCode::FORBIDDEN, &head, &template(&page, token))
}

fn template(page: &PageRequest, token: &RestrictedToken) -> Markup {
    html! {
        section.login.panel {
            h1 { (page.t("restricted.title")) }
            p { (prose(&page.words.fill("restricted.why", &[("name", token.name.as_str())]))) }
            ul.plain-list { @for grant in &token.grants { li { code { (grant) } } } }
            p { (page.t("restricted.works")) }
            (command("noetl executions list --server URL"))
            (command("noetl run PATH --server URL"))
            p.soft { (page.t("restricted.api")) " " a href="/api/docs" data-plain { "/api/docs" } }
            form method="post" action="/ui/logout" data-form="plain" {
                (form_fields(page))
                button.main type="submit" { (page.t("restricted.other")) }
            }
        }
    }
}
