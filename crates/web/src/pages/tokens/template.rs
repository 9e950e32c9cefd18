//! Tokens as HTML.

use maud::{Markup, html};
use noetl_api::wire::TokenView;
use noetl_model::Role;

use super::{ADDRESS, TokensPage};
use crate::address::with_query;
use crate::components::action::{Action, confirmed_action};
use crate::components::command::command;
use crate::components::empty::empty;
use crate::components::error::{error_line, hint};
use crate::components::prose::prose;
use crate::components::status::{Tone, badge};
use crate::components::table::{actions, table, text, wide};
use crate::components::time::{planned_time, time_text};
use crate::layout::form_fields;
use crate::request::PageRequest;

pub(super) fn tokens(page: &PageRequest, view: &TokensPage) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.tokens")) } }
        @if !page.has_login() { (hint(&prose(page.t("tokens.open")))) }
        @if view.tokens.is_empty() && view.is_first {
            (empty(page.t("tokens.empty"), page.t("tokens.empty_more"),
                Some("noetl token create ci --role operator --path 'team-a/*'")))
        } @else {
            (list(page, &view.tokens))
            (pages(page, view))
        }
        (new_token(page, view))
    }
}

fn list(page: &PageRequest, tokens: &[TokenView]) -> Markup {
    let columns = [
        wide(page.t("credentials.name")),
        text(page.t("tokens.roles")),
        text(page.t("tokens.created")),
        text(page.t("tokens.expires")),
        text(page.t("tokens.used")),
        actions(page.t("schedules.actions")),
    ];
    let rows: Vec<Vec<Markup>> = tokens.iter().map(|token| row(page, token)).collect();
    table(page.t("nav.tokens"), &columns, &rows)
}

fn row(page: &PageRequest, token: &TokenView) -> Vec<Markup> {
    let revoke = [("action", "revoke"), ("name", token.name.as_str())];
    let revoke = Action { address: ADDRESS, label: page.t("tokens.revoke"), fields: &revoke };
    vec![
        html! { code { (token.name) } @if let Some(owner) = &token.owner { div.soft { (owner) } } },
        html! { @for role in &token.roles { code { (role) } " " } },
        html! {
            (time_text(&token.created_at))
            @if let Some(by) = &token.created_by {
                div.soft { (page.words.fill("waiting.by", &[("name", by)])) }
            }
        },
        html! { @match &token.expires_at {
            Some(_) if token.is_expired => (badge(Tone::Warning, page.t("tokens.expired"))),
            Some(at) => (planned_time(at)),
            None => span.soft { (page.t("tokens.never")) },
        } },
        html! { @match &token.used_at {
            Some(at) => (time_text(at)),
            None => span.soft { (page.t("tokens.unused")) },
        } },
        confirmed_action(page, &revoke, page.t("tokens.revoke_question")),
    ]
}

fn pages(page: &PageRequest, view: &TokensPage) -> Markup {
    html! {
        @if !view.is_first || view.next.is_some() {
            nav.pages aria-label=(page.t("executions.pages")) {
                @if view.is_first { span {} } @else { a href=(ADDRESS) { (page.t("playbooks.first")) } }
                @if let Some(next) = &view.next {
                    a href=(with_query(ADDRESS, &[("after", next)])) rel="next" { (page.t("playbooks.more")) }
                }
            }
        }
    }
}

fn new_token(page: &PageRequest, view: &TokensPage) -> Markup {
    let field = |name: &str| {
        let refused = view.refused.as_ref().and_then(|it| it.fields.get(name));
        refused.map_or("", String::as_str)
    };
    let role = if field("role").is_empty() { Role::Viewer.as_str() } else { field("role") };
    html! {
        section.panel.run {
            h2 { (page.t("tokens.new")) }
            p.soft { (page.t("tokens.new_more")) }
            // The answer has the secret: it is no entry of the history that a script keeps.
            form method="post" action=(ADDRESS) autocomplete="off" data-form="plain" {
                (form_fields(page))
                input type="hidden" name="action" value="create";
                @if let Some(refused) = &view.refused { (error_line(&refused.reason)) }
                label { span { (page.t("credentials.name")) }
                    input name="name" required maxlength="100" value=(field("name")) placeholder="ci"; }
                label { span { (page.t("tokens.owner")) }
                    input name="owner" maxlength="200" value=(field("owner")); }
                label { span { (page.t("tokens.role")) }
                    select name="role" { @for it in Role::ALL {
                        option value=(it.as_str()) selected[it.as_str() == role] {
                            (it.as_str()) " – " (page.words.t(meaning(*it))) }
                    } } }
                label { span { (page.t("tokens.paths")) }
                    input name="paths" value=(field("paths")) placeholder="team-a/*, shared/report";
                    small { (page.t("tokens.paths_more")) } }
                label { span { (page.t("tokens.expires_utc")) }
                    input name="expires_at" type="datetime-local" value=(field("expires_at")); }
                div { button.main type="submit" { (page.t("tokens.create")) } }
            }
        }
    }
}

const fn meaning(role: Role) -> &'static str {
    match role {
        Role::Viewer => "tokens.viewer",
        Role::Operator => "tokens.operator",
        Role::Author => "tokens.author",
        Role::Worker => "tokens.worker",
        Role::Internal => "tokens.internal",
        Role::Admin => "tokens.admin",
    }
}

/// Draws a new token with its secret.
pub(super) fn created(page: &PageRequest, token: &TokenView, secret: &str) -> Markup {
    html! {
        header.page-head { h1 { (page.words.fill("tokens.created_title", &[("name", &token.name)])) } }
        section.panel.secret {
            p { strong { (page.t("tokens.once")) } }
            (command(secret))
            p.soft { (page.t("tokens.roles")) ": " @for role in &token.roles { code { (role) } " " } }
            p { (prose(page.t("tokens.use"))) }
        }
        p { a.button href=(ADDRESS) { (page.t("tokens.back")) } }
    }
}
