//! Answers to the editor's script: colours, findings, graph and inputs of a text, and completions.

use axum::Json;
use axum::response::IntoResponse as _;
use noetl_api::wire::{DocumentAnalysis, DocumentCompletions};
use noetl_app::{analyze_document, complete_document};
use noetl_playbook::parse;
use serde::Serialize;

use crate::components::editor::findings;
use crate::components::error::error_line;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::pages::playbook::inputs::playbook_fields;
use crate::pages::playbook::{StepLinks, drawn_graph, input};
use crate::request::PageRequest;
use crate::response::PageResult;

/// The analysis of a text, with the parts of the page that follow from it as HTML.
#[derive(Serialize)]
struct EditorAnalysis {
    /// `None` if the text is too long to be analyzed while it is written.
    analysis: Option<DocumentAnalysis>,
    findings: String,
    /// The graph; `None` while the text is no valid playbook, so that the last graph stays.
    graph: Option<String>,
    inputs: Option<String>,
}

pub(in crate::pages) async fn analysis(page: PageRequest, form: SignedForm) -> PageResult {
    let content = form.get("content").replace("\r\n", "\n");
    let answer = match analyze_document(&content) {
        Err(error) => EditorAnalysis {
            analysis: None,
            findings: error_line(&error.to_string()).into_string(),
            graph: None,
            inputs: None,
        },
        Ok(analysis) => {
            let parsed = parse("playbook", content.as_bytes()).ok().filter(|_| analysis.is_valid);
            let playbook = parsed.as_ref().map(|checked| &checked.playbook);
            EditorAnalysis {
                findings: findings(&page, &analysis.findings).into_string(),
                graph: playbook.map(|playbook| {
                    drawn_graph(&page, playbook, &content, StepLinks::Editor).into_string()
                }),
                inputs: playbook.map(|playbook| {
                    let fields = playbook_fields(playbook);
                    fields.iter().map(|field| input(field).into_string()).collect()
                }),
                analysis: Some(analysis),
            }
        }
    };
    Ok(Json(answer).into_response())
}

pub(in crate::pages) async fn complete(_page: PageRequest, form: SignedForm) -> PageResult {
    let content = form.get("content").replace("\r\n", "\n");
    let offset = form
        .get("offset")
        .parse()
        .map_err(|_| PageError::Unreadable("`offset` is a number".to_owned()))?;
    let found: DocumentCompletions = complete_document(&content, offset)
        .map_err(|error| PageError::Refused(error.to_string()))?;
    Ok(Json(found).into_response())
}
