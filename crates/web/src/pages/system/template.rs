//! The system as HTML.

use maud::{Markup, html};
use noetl_app::{LastRetention, SettingInForce, SettingSource};
use noetl_bus::Reach;
use noetl_control::Skew;

use super::view::SystemView;
use crate::components::duration::duration;
use crate::components::error::error_line;
use crate::components::prose::prose;
use crate::components::status::{Tone, badge};
use crate::components::table::{table, text, wide};
use crate::components::time::time;
use crate::request::PageRequest;

pub(super) fn system(page: &PageRequest, view: &SystemView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.system")) } span.soft { "noetl " (env!("CARGO_PKG_VERSION")) } }
        div #live data-refresh="5000" {
            div.columns {
                section { div.section-head { h2 { (page.t("system.database")) } } (database(page, view)) }
                section { div.section-head { h2 { (page.t("system.parts")) } } (parts(page, view)) }
            }
            section data-same="retention" {
                div.section-head { h2 { (page.t("system.retention")) } }
                (retention(page, view))
            }
            @if !view.settings.is_empty() { (settings(page, &view.settings)) }
        }
    }
}

fn fact(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn database(page: &PageRequest, view: &SystemView) -> Markup {
    let count = |number: u64| html! { (page.words.number(number)) };
    html! {
        dl.facts.panel {
            (fact(page.t("system.answers"), &checked(page, &view.answers)))
            (fact(page.t("system.writable"), &checked(page, &view.writable)))
            (fact(page.t("system.shards"), &html! { (view.shards) }))
            @if let Some(figures) = view.connections {
                (fact(page.t("system.connections"),
                    &html! { (figures.open) " " (page.t("system.of")) " " (figures.max) " · " (figures.idle) " " (page.t("system.idle")) }))
            }
            @if !view.tables.missing.is_empty() {
                (fact(page.t("system.missing"), &error_line(&view.tables.missing.join(", "))))
            }
            (fact(page.t("status.running"), &count(view.counts.running)))
            (fact(page.t("status.completed"), &count(view.counts.completed)))
            (fact(page.t("status.failed"), &count(view.counts.failed)))
            (fact(page.t("status.cancelled"), &count(view.counts.cancelled)))
        }
    }
}

fn checked(page: &PageRequest, result: &Result<(), String>) -> Markup {
    match result {
        Ok(()) => badge(Tone::Good, page.t("system.yes")),
        Err(cause) => error_line(cause),
    }
}

fn parts(page: &PageRequest, view: &SystemView) -> Markup {
    let (tone, word) = match view.bus {
        Reach::Process => (Tone::Quiet, "system.bus_process"),
        Reach::Connected => (Tone::Good, "system.bus_connected"),
        Reach::Disconnected => (Tone::Bad, "system.bus_disconnected"),
    };
    html! {
        dl.facts.panel {
            (fact(page.t("system.bus"), &badge(tone, page.words.t(word))))
            (fact(page.t("system.outbox"), &html! { (page.words.count("count.messages", view.unsent)) }))
            (fact(page.t("nav.workers"), &html! { (view.counts.workers) }))
            (fact(page.t("nav.playbooks"), &html! { (view.counts.playbooks) }))
            (fact(page.t("system.clock"), &time(page.now)))
            @if let Some(skew) = view.skew { (fact(page.t("system.skew"), &clock(page, skew))) }
            (fact(page.t("system.key"), &html! { code { (view.key_version) } }))
            (fact(page.t("system.api"), &html! { a href="/api/docs" data-plain { "/api/docs" } }))
        }
    }
}

/// Draws the rules of the retention, and the last round of this process.
fn retention(page: &PageRequest, view: &SystemView) -> Markup {
    html! {
        div.panel {
            @if view.rules.is_empty() { p { (prose(page.t("system.no_rules"))) } } @else {
                p.soft { (page.t("system.rules")) }
                ol.plain-list { @for rule in &view.rules { li { code { (rule) } } } }
            }
            p.soft { (last_round(page, view.retention.as_ref())) }
        }
    }
}

fn last_round(page: &PageRequest, last: Option<&LastRetention>) -> Markup {
    let Some(last) = last else { return html! { (page.t("system.no_round")) } };
    html! {
        (page.t("system.last_round")) " " (time(last.at)) " · "
        @match &last.result {
            Ok(round) => {
                (page.words.count("system.deleted", round.deleted)) " · "
                (page.words.count("system.rows", round.rows))
                @if round.is_unfinished { " · " (page.t("system.goes_on")) }
            },
            Err(error) => @if page.visitor.may.admin { (error_line(error)) } @else { (page.t("error.internal")) },
        }
    }
}

/// Draws the settings: those that somebody has set, then the others.
fn settings(page: &PageRequest, settings: &[SettingInForce]) -> Markup {
    let is_set = |setting: &&SettingInForce| setting.source != SettingSource::Default;
    let (set, left): (Vec<_>, Vec<_>) = settings.iter().partition(is_set);
    html! {
        section {
            div.section-head { h2 { (page.t("system.settings")) } }
            @if set.is_empty() { p.soft { (page.t("system.no_settings")) } }
            @else { (settings_table(page, &set)) }
            details {
                summary { (page.words.count("system.defaults", u64::try_from(left.len()).unwrap_or(0))) }
                (settings_table(page, &left))
            }
        }
    }
}

fn settings_table(page: &PageRequest, settings: &[&SettingInForce]) -> Markup {
    let columns = [
        text(page.t("system.setting")),
        wide(page.t("system.value")),
        text(page.t("system.source")),
        text(page.t("system.variable")),
    ];
    let row = |setting: &&SettingInForce| {
        let source = match setting.source {
            SettingSource::Flag => "system.from_flag",
            SettingSource::Context => "system.from_context",
            SettingSource::Environment => "system.from_environment",
            SettingSource::File => "system.from_file",
            SettingSource::Default => "system.from_default",
        };
        vec![
            html! { code { (setting.key) } },
            html! { @match &setting.value { Some(value) => code { (value) }, None => span.soft { "–" } } },
            html! { (page.words.t(source)) },
            html! { code.soft { (setting.variable) } },
        ]
    };
    let rows: Vec<Vec<Markup>> = settings.iter().map(row).collect();
    table(page.t("system.settings"), &columns, &rows)
}

fn clock(page: &PageRequest, skew: Skew) -> Markup {
    let word = match skew {
        Skew::Ahead(_) => page.t("system.ahead"),
        Skew::Behind(_) => page.t("system.behind"),
    };
    html! { (duration(page.words, skew.duration())) " " (word) }
}
