//! Answers to the editor's script: colours, findings, graph and inputs of a text, and completions.

use axum::Json;
use axum::response::IntoResponse as _;
use noetl_api::wire::{DocumentAnalysis, DocumentCompletions};
use noetl_app::{analyze_document, complete_document};
use serde::Serialize;

use crate::components::editor::findings;
use crate::components::error::error_line;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::pages::playbook::inputs::fields;
use crate::pages::playbook::{graph, input};
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
            let is_valid = analysis.is_valid;
            EditorAnalysis {
                findings: findings(&page, &analysis.findings).into_string(),
                graph: is_valid.then(|| graph(&page, &content).into_string()),
                inputs: is_valid.then(|| {
                    let fields = fields(&content);
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
