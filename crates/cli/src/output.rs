//! How things are shown: as text for people, as JSON or YAML for programs.

pub(crate) mod events;
pub(crate) mod execution;
pub(crate) mod problems;
pub(crate) mod replay;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod timeline;

use serde::Serialize;

use crate::args::Format;

/// A document in a format for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    Json,
    Yaml,
}

impl Format {
    /// The format for programs, if it is one.
    pub(crate) fn document(self) -> Option<DocumentFormat> {
        match self {
            Format::Text => None,
            Format::Json => Some(DocumentFormat::Json),
            Format::Yaml => Some(DocumentFormat::Yaml),
        }
    }
}

/// Renders a document.
pub(crate) fn document(format: DocumentFormat, value: &impl Serialize) -> String {
    match format {
        DocumentFormat::Json => pretty(value),
        DocumentFormat::Yaml => {
            serde_saphyr::to_string(value).expect("our documents are plain data")
        }
    }
}

/// JSON over several lines.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("our documents are plain data")
}
