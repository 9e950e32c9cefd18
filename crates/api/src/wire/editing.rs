//! Bodies for editors of playbooks: tokens and findings of a text, and completions at a place.
//!
//! Offsets count UTF-16 code units from the beginning of the text, as browsers and language servers
//! do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A text to analyze.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AnalyzeRequest {
    /// The YAML text, at most 512 KB.
    pub content: String,
}

/// The tokens and the findings of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentAnalysis {
    /// True if the text can be registered.
    pub is_valid: bool,
    /// Tokens in the order of the text, each as `[start, length, kind]`. A kind is `key`, `text`,
    /// `number`, `word`, `comment`, `template`, `mark` or `anchor`.
    #[schema(value_type = Vec<Vec<Object>>)]
    pub tokens: Vec<(u32, u32, String)>,
    /// Errors and warnings in the order of the text, as `noetl validate` tells them.
    pub findings: Vec<DocumentFinding>,
    /// The number of findings beyond those.
    pub omitted: u64,
}

/// An error or a warning about a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentFinding {
    /// `error` or `warning`.
    pub severity: String,
    /// The stable name of the kind of finding, such as `unknown-key`.
    pub code: String,
    pub message: String,
    pub help: Option<String>,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1 in characters.
    pub column: u32,
    pub start: u32,
    pub end: u32,
}

/// A text and a place in it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CompleteRequest {
    /// The YAML text, at most 512 KB.
    pub content: String,
    /// The offset of the cursor.
    pub offset: u32,
}

/// The completions at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentCompletions {
    /// The part of the text that a completion replaces.
    pub start: u32,
    pub end: u32,
    /// At most 100, best first.
    pub items: Vec<CompletionItem>,
}

/// A text that fits at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CompletionItem {
    pub label: String,
    /// The text to insert.
    pub insert: String,
    /// `key`, `value` or `step`.
    pub kind: String,
    pub about: Option<String>,
}
