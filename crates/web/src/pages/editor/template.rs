//! The editor's page as HTML.

use maud::{Markup, html};
use noetl_model::{ExecutionStatus, Pool};

use super::view::{EditedDocument, EditorNotice, EditorView};
use super::{NEW, editor_address};
use crate::address::with_query;
use crate::components::duration::duration;
use crate::components::editor::{EditorField, editor_field};
use crate::components::error::{hint, message_line, translated_error_line};
use crate::components::id::{execution_address, playbook_address};
use crate::components::progress::{ExecutionLine, progress, took};
use crate::components::status::execution_status;
use crate::layout::form_fields;
use crate::pages::playbook::{StepLinks, graph, input};
use crate::request::PageRequest;

pub(super) fn editor(page: &PageRequest, view: &EditorView) -> Markup {
    let address = match &view.document {
        EditedDocument::New => NEW.to_owned(),
        EditedDocument::Existing { path, .. } => editor_address(path),
    };
    let is_saved = matches!(view.notice, Some(EditorNotice::Saved { .. }));
    let field = EditorField {
        name: "content",
        content: &view.content,
        findings: &view.findings,
        line: None,
    };
    html! {
        (head(page, view))
        @if let Some(notice) = &view.notice { (said(page, view, notice)) }
        p.editor-draft hidden { (page.t("editor.draft")) " "
            button.plain type="button" data-discard { (page.t("editor.discard")) } }
        form.editor-form method="post" action=(address) data-draft=(draft_name(&view.document))
            data-saved[is_saved] {
            (form_fields(page))
            @if let EditedDocument::Existing { base, .. } = &view.document {
                input type="hidden" name="base" value=(base_after(view, *base));
            }
            div.editor-columns {
                div {
                    (editor_field(page, &field))
                    div.editor-actions {
                        button type="submit" name="action" value="check" { (page.t("editor.check")) }
                        @if page.visitor.may.write {
                            button.main type="submit" name="action" value="save" { (page.t("editor.save")) }
                        }
                    }
                }
                div {
                    @if let Some(run) = &view.run { (following(page, run)) }
                    @if page.visitor.may.write { (run_part(page, view)) }
                    section {
                        div.section-head { h2 { (page.t("playbook.graph")) } }
                        div #editor-graph { (graph(page, &view.content, StepLinks::Editor)) }
                    }
                }
            }
        }
    }
}

/// Returns the name under which the browser keeps a text that is not saved.
fn draft_name(document: &EditedDocument) -> String {
    match document {
        EditedDocument::New => "new".to_owned(),
        EditedDocument::Existing { path, base } => format!("{path}@{base}"),
    }
}

/// Returns the version that the next save follows: after a conflict was shown, saving again is
/// meant to follow the newest one.
fn base_after(view: &EditorView, base: u32) -> u32 {
    match view.notice {
        Some(EditorNotice::Conflict { newest }) => newest,
        Some(
            EditorNotice::Checked
            | EditorNotice::Saved { .. }
            | EditorNotice::Invalid
            | EditorNotice::Exists { .. }
            | EditorNotice::Refused(_),
        )
        | None => base,
    }
}

fn head(page: &PageRequest, view: &EditorView) -> Markup {
    html! {
        header.page-head {
            @match &view.document {
                EditedDocument::New => h1 { (page.t("editor.new")) },
                EditedDocument::Existing { path, base } => {
                    h1 { (page.t("editor.title")) " " a href=(playbook_address(path)) { (path) } }
                    span.soft { "v" (base) }
                }
            }
        }
    }
}

fn said(page: &PageRequest, view: &EditorView, notice: &EditorNotice) -> Markup {
    match notice {
        EditorNotice::Checked => html! {},
        EditorNotice::Saved { version } => {
            let number = version.to_string();
            html! {
                p.editor-said.status.good { span { (page.words.fill("editor.saved", &[("version", &number)])) }
                    @if let EditedDocument::Existing { path, .. } = &view.document {
                        @if *version > 1 { a href=(versions_address(path, *version, version - 1)) {
                            (page.t("editor.show_changes")) } }
                    }
                }
            }
        }
        EditorNotice::Invalid => translated_error_line(page.t("editor.invalid")),
        EditorNotice::Conflict { newest } => hint(&html! {
            p { (page.words.fill("editor.conflict", &[("version", &newest.to_string())])) }
            @if let EditedDocument::Existing { path, base } = &view.document {
                @if *base > 0 {
                    p { a href=(versions_address(path, *newest, *base)) data-plain target="_blank" {
                        (page.t("editor.show_others")) } }
                }
            }
        }),
        EditorNotice::Exists { path, version } => hint(&html! {
            p { (page.words.fill("editor.exists", &[("path", path), ("version", &version.to_string())])) }
            p { a href=(editor_address(path)) data-plain target="_blank" { (page.t("editor.open_existing")) } }
        }),
        EditorNotice::Refused(why) => message_line(why),
    }
}

fn versions_address(path: &str, version: u32, compare: u32) -> String {
    let (version, compare) = (version.to_string(), compare.to_string());
    with_query(&playbook_address(path), &[("version", &version), ("compare", &compare)])
}

fn run_part(page: &PageRequest, view: &EditorView) -> Markup {
    html! {
        section.panel.run {
            h2 { (page.t("playbook.run")) }
            div.fields #editor-inputs { @for field in &view.inputs { (input(field)) } }
            div.fields {
                label { span { (page.t("playbook.pool")) }
                    input name="pool" placeholder=(Pool::SHARED) pattern="[A-Za-z0-9_\\-]*" value=(view.pool); }
                div { button type="submit" name="action" value="run" { (page.t("editor.run")) } }
                p.soft { (page.t("editor.run_more")) }
            }
        }
    }
}

/// Draws the state of the execution that was started here; the page keeps it fresh.
fn following(page: &PageRequest, line: &ExecutionLine) -> Markup {
    let summary = &line.summary;
    let is_running = summary.status == ExecutionStatus::Running;
    html! {
        section.panel.following #editor-run aria-live="polite"
            data-refresh=[is_running.then_some("1000")] {
            div.section-head { h2 { (page.t("editor.last_run")) } (execution_status(page.words, summary.status)) }
            p { (progress(page.words, line, page.now)) " " span.soft { (duration(page.words, took(summary, page.now))) } }
            p { a href=(execution_address(summary.execution)) { (page.t("editor.open_run")) } }
        }
    }
}
