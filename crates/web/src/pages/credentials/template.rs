//! Credentials as HTML.

use maud::{Markup, html};

use super::connection_test::ConnectionTest;
use super::view::{CredentialsView, ListedCredential};
use crate::components::action::{Action, action, confirmed_action};
use crate::components::empty::empty;
use crate::components::id::execution_link;
use crate::components::table::{actions, table, text, wide};
use crate::components::time::time;
use crate::layout::form_fields;
use crate::request::PageRequest;

/// The address of the page and of its forms.
const ADDRESS: &str = "/ui/credentials";

pub(super) fn credentials(page: &PageRequest, view: &CredentialsView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.credentials")) } }
        @if view.credentials.is_empty() {
            (empty(page.t("credentials.empty"), page.t("credentials.empty_more"),
                Some("noetl credential set pg --type postgres --data @pg.json")))
        } @else { (list(page, &view.credentials)) }
        @if page.visitor.may.admin { (new_credential(page)) }
    }
}

fn list(page: &PageRequest, credentials: &[ListedCredential]) -> Markup {
    let columns = [
        text(page.t("credentials.name")),
        text(page.t("credentials.type")),
        wide(page.t("credentials.description")),
        text(page.t("credentials.changed")),
        text(page.t("credentials.used")),
        actions(page.t("schedules.actions")),
    ];
    let rows: Vec<Vec<Markup>> = credentials.iter().map(|it| row(page, it)).collect();
    table(page.t("nav.credentials"), &columns, &rows)
}

fn row(page: &PageRequest, credential: &ListedCredential) -> Vec<Markup> {
    let remove = [("action", "remove"), ("name", credential.name.as_str())];
    let remove = Action { address: ADDRESS, label: page.t("credentials.remove"), fields: &remove };
    vec![
        html! { code { (credential.name) } },
        html! { (credential.kind) },
        html! {
            @if let Some(description) = &credential.description { (description) " " }
            @if let Some(restricted) = &credential.restricted { span.soft { (restricted) } }
        },
        time(credential.updated_at),
        html! {
            @if let Some(last) = &credential.last_use {
                (time(last.at)) " " @if let Some(execution) = last.execution { (execution_link(execution)) }
            } @else { span.soft { (page.t("credentials.unused")) } }
        },
        html! { @if page.visitor.may.admin {
            (test(page, credential))
            (confirmed_action(page, &remove, page.t("credentials.remove_question")))
        } },
    ]
}

/// Draws the action that tests the connection; it asks for a URL where the credential has none.
fn test(page: &PageRequest, credential: &ListedCredential) -> Markup {
    let fields = [("action", "test"), ("name", credential.name.as_str())];
    let label = page.t("credentials.test");
    match ConnectionTest::of(&credential.kind) {
        None => html! {},
        Some(ConnectionTest::Postgres | ConnectionTest::Nats) => {
            action(page, &Action { address: ADDRESS, label, fields: &fields })
        }
        Some(ConnectionTest::Http) => html! {
            details.confirm {
                summary { (label) }
                form.action method="post" action=(ADDRESS) {
                    (form_fields(page))
                    @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
                    label { span { (page.t("credentials.test_url")) }
                        input type="url" name="url" required placeholder="https://api.example.org/"; }
                    button type="submit" { (label) }
                }
            }
        },
    }
}

fn new_credential(page: &PageRequest) -> Markup {
    html! {
        section.panel.run {
            h2 { (page.t("credentials.add")) }
            p.soft { (page.t("credentials.add_more")) }
            form method="post" action=(ADDRESS) autocomplete="off" {
                (form_fields(page))
                input type="hidden" name="action" value="put";
                label { span { (page.t("credentials.name")) } input name="name" required maxlength="500"; }
                label { span { (page.t("credentials.type")) } input name="type" required maxlength="500" placeholder="postgres"; }
                label { span { (page.t("credentials.description")) } input name="description"; }
                label { span { (page.t("credentials.paths")) } input name="paths" placeholder="team/*"; }
                label { span { (page.t("credentials.hosts")) } input name="hosts" placeholder="api.example.org"; }
                label { span { (page.t("credentials.secret")) }
                    textarea name="data" rows="4" required spellcheck="false" placeholder="{\"host\": \"…\"}" {} }
                div { button.main type="submit" { (page.t("credentials.store")) } }
            }
        }
    }
}
