//! The first page as HTML.

use maud::{Markup, html};
use noetl_model::Summary;

use super::view::OverviewView;
use crate::components::empty::empty;
use crate::components::id::{execution_link, playbook_link};
use crate::components::status::execution_status;
use crate::components::table::{table, text, wide};
use crate::components::time::time;
use crate::request::PageRequest;

pub(super) fn overview(page: &PageRequest, view: &OverviewView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.overview")) } }
        @if view.recent.is_empty() {
            (empty(page.t("overview.empty"), page.t("overview.empty_more"), Some("noetl run hello.yaml")))
        } @else {
            div #live data-refresh="2000" {
                @if !view.running.is_empty() {
                    section { h2 { (page.t("overview.running")) } (list(page, &view.running)) }
                }
                section { h2 { (page.t("overview.recent")) } (list(page, &view.recent)) }
            }
        }
    }
}

fn list(page: &PageRequest, executions: &[Summary]) -> Markup {
    let columns = [
        text(page.t("executions.status")),
        wide(page.t("executions.playbook")),
        text(page.t("executions.id")),
        text(page.t("executions.started")),
    ];
    let rows: Vec<Vec<Markup>> = executions
        .iter()
        .map(|it| {
            vec![
                execution_status(page.words, it.status),
                playbook_link(&it.playbook.path),
                execution_link(it.execution),
                time(it.started_at),
            ]
        })
        .collect();
    table(page.t("nav.executions"), &columns, &rows)
}
