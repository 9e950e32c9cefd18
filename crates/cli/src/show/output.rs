//! Output formats: text for people, JSON or YAML for programs.

pub(crate) mod events;
pub(crate) mod execution;
pub(crate) mod foreign;
pub(crate) mod problems;
pub(crate) mod replay;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod timeline;

use serde::Serialize;

use crate::args::Format;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::{Terminal, is_control, json_shown};

use table::headed_table;

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

/// A list for people: a message if it is empty, else a table with one row per item.
pub(crate) struct ListText<'a, R> {
    pub(crate) empty: &'a str,
    pub(crate) header: &'a [&'a str],
    pub(crate) row: R,
}

impl Terminal {
    /// Prints a value: as a document for programs, as text for people.
    pub(crate) fn show<T: Serialize>(
        &mut self,
        format: Format,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<Exit, Failure> {
        match format.document() {
            Some(format) => self.data(&document(format, value))?,
            None => self.data(&text(value))?,
        }
        Ok(Exit::Completed)
    }

    /// Prints a list: as a document for programs, as a table for people.
    pub(crate) fn list<T: Serialize, R: Fn(&T) -> Vec<String>>(
        &mut self,
        format: Format,
        items: &[T],
        text: &ListText<'_, R>,
    ) -> Result<Exit, Failure> {
        if format.document().is_none() && items.is_empty() {
            self.say(text.empty);
            return Ok(Exit::Completed);
        }
        self.show(format, &items, |items| headed_table(text.header, items.iter().map(&text.row)))
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
