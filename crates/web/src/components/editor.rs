//! The editor of a document: a text area that is complete without scripts, with the findings of a
//! check under it. A script adds line numbers, colours, marks and completions.

use maud::{Markup, html};
use noetl_api::wire::DocumentFinding;

use crate::request::PageRequest;

/// A text that is edited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditorField<'a> {
    /// The name of the field.
    pub(crate) name: &'a str,
    pub(crate) content: &'a str,
    pub(crate) findings: &'a [DocumentFinding],
    /// The line of the text that is shown first.
    pub(crate) line: Option<usize>,
}

/// Draws the editor. A page has at most one.
pub(crate) fn editor_field(page: &PageRequest, field: &EditorField<'_>) -> Markup {
    html! {
        div.editor data-editor="/ui/editor" data-line=[field.line] {
            div.editor-frame {
                div.editor-gutter aria-hidden="true" hidden { div.editor-numbers {} }
                div.editor-body {
                    pre.editor-layer aria-hidden="true" hidden {}
                    textarea #editor-text name=(field.name) rows="28" wrap="off" spellcheck="false"
                        autocapitalize="off" autocomplete="off" aria-label=(page.t("editor.text"))
                        aria-describedby="editor-findings" {
                        // A browser drops the first line break of a text area.
                        "\n" (field.content)
                    }
                    ul.completions #editor-completions role="listbox"
                        aria-label=(page.t("editor.completions")) hidden {}
                }
            }
            p.soft.editor-keys hidden { kbd { "Ctrl" } " " kbd { "Space" } " " (page.t("editor.keys")) }
            div.findings #editor-findings role="status" { (findings(page, field.findings)) }
        }
    }
}

/// Draws the errors and warnings of a text.
pub(crate) fn findings(page: &PageRequest, findings: &[DocumentFinding]) -> Markup {
    html! {
        @if findings.is_empty() { p.status.good { (page.t("editor.no_findings")) } } @else {
            ol { @for finding in findings { (finding_line(page, finding)) } }
        }
    }
}

fn finding_line(page: &PageRequest, finding: &DocumentFinding) -> Markup {
    let (line, column) = (finding.line.to_string(), finding.column.to_string());
    let word = match finding.severity.as_str() {
        "error" => "editor.error",
        _ => "editor.warning",
    };
    html! {
        li class=(finding.severity) {
            a href="#editor-text" data-at=(finding.start) data-to=(finding.end) {
                (page.words.fill("editor.place", &[("line", &line), ("column", &column)])) }
            " " span.severity { (page.words.t(word)) } " " span lang="en" { (finding.message) }
            " " code.soft { (finding.code) }
            @if let Some(help) = &finding.help { p.help lang="en" { (help) } }
        }
    }
}
