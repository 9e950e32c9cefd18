//! Output formats: text for people, JSON or YAML for programs.

pub(crate) mod events;
pub(crate) mod execution;
pub(crate) mod problems;
pub(crate) mod replay;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod timeline;

use serde::Serialize;

use crate::args::Format;
use crate::show::terminal::{is_control, json_shown};

/// An output format for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    Json,
    Yaml,
}

impl Format {
    /// Returns the format for programs; `None` for text.
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
            let yaml = serde_saphyr::to_string(value).expect("our documents are plain data");
            // JSON is also valid YAML, and can escape every character.
            if yaml.contains(|c| is_control(c) && c != '\n') { pretty(value) } else { yaml }
        }
    }
}

/// Returns JSON over several lines.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    json_shown(serde_json::to_string_pretty(value).expect("our documents are plain data"))
}

/// Returns JSON on one line.
pub(crate) fn compact(value: &impl Serialize) -> String {
    json_shown(serde_json::to_string(value).expect("our documents are plain data"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn documents_have_no_control_characters_and_keep_their_meaning() {
        let value = json!({ "output": "\u{1b}[2J \u{9b} \u{202e} \u{7f}", "n": [1] });
        for format in [DocumentFormat::Json, DocumentFormat::Yaml] {
            let text = document(format, &value);
            assert!(!text.contains(|c| is_control(c) && c != '\n'), "{text:?}");
            assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value, "{text}");
        }
        assert!(!compact(&value).contains(is_control));
    }
}
