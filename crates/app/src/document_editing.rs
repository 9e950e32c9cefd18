//! Help for editors of documents: tokens and findings of a text, and completions at a place.

use noetl_api::wire::{CompletionItem, DocumentAnalysis, DocumentCompletions, DocumentFinding};
use noetl_playbook::editing::{CompletionKind, SyntaxCompletion, completions, syntax_tokens};
use noetl_playbook::{Diagnostic, Problems, Severity};

use crate::catalog::{check_document, findings_of};

/// Maximum length of a text that is analyzed, in bytes.
pub const ANALYZED_BYTES_MAX: usize = 512 * 1024;

/// The text is longer than editors are helped with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text has {len} bytes; texts of up to {ANALYZED_BYTES_MAX} bytes are analyzed")]
pub struct DocumentTooLong {
    pub len: usize,
}

/// Returns the tokens of a document, and its errors and warnings.
pub fn analyze_document(content: &str) -> Result<DocumentAnalysis, DocumentTooLong> {
    check_length(content)?;
    let problems = findings_of(content);
    let has_errors = problems.count(Severity::Error) > 0;
    let is_valid = !has_errors || check_document(content).is_ok();
    let mut units = UnitCounter::new(content);
    let token = |token: noetl_playbook::editing::SyntaxToken| {
        let start = units.count_to(token.span.start);
        let len = units.count_to(token.span.end) - start;
        (start, len, token.kind.as_str().to_owned())
    };
    let tokens = syntax_tokens(content).into_iter().map(token).collect();
    Ok(DocumentAnalysis {
        is_valid,
        tokens,
        findings: document_findings(content, &problems),
        omitted: u64::try_from(problems.omitted()).unwrap_or(u64::MAX),
    })
}

/// Returns the errors and warnings of a document with their places in its text.
pub fn document_findings(content: &str, problems: &Problems) -> Vec<DocumentFinding> {
    problems.diagnostics().iter().map(|it| finding(content, it)).collect()
}

fn finding(content: &str, diagnostic: &Diagnostic) -> DocumentFinding {
    let units = |offset: usize| UnitCounter::new(content).count_to(offset);
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    DocumentFinding {
        severity: match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
        .to_owned(),
        code: diagnostic.code.as_str().to_owned(),
        message: diagnostic.message.clone(),
        help: diagnostic.help.clone(),
        line: number(diagnostic.line),
        column: number(diagnostic.column),
        start: units(diagnostic.span.start),
        end: units(diagnostic.span.end),
    }
}

/// Returns the completions at an offset of a document, counted in UTF-16 code units.
pub fn complete_document(
    content: &str,
    offset: u32,
) -> Result<DocumentCompletions, DocumentTooLong> {
    check_length(content)?;
    let found = completions(content, byte_offset(content, offset));
    let mut units = UnitCounter::new(content);
    Ok(DocumentCompletions {
        start: units.count_to(found.replaced.start),
        end: units.count_to(found.replaced.end),
        items: found.items.into_iter().map(item).collect(),
    })
}

fn item(completion: SyntaxCompletion) -> CompletionItem {
    CompletionItem {
        label: completion.label,
        insert: completion.insert,
        kind: match completion.kind {
            CompletionKind::Key => "key",
            CompletionKind::Value => "value",
            CompletionKind::Step => "step",
            CompletionKind::Variable => "variable",
            CompletionKind::Filter => "filter",
            CompletionKind::Outside => "name",
        }
        .to_owned(),
        about: completion.about.map(str::to_owned),
    }
}

fn check_length(content: &str) -> Result<(), DocumentTooLong> {
    match content.len() > ANALYZED_BYTES_MAX {
        true => Err(DocumentTooLong { len: content.len() }),
        false => Ok(()),
    }
}

/// Counts UTF-16 code units up to byte offsets that never go back.
struct UnitCounter<'a> {
    text: &'a str,
    byte: usize,
    units: u32,
}

impl<'a> UnitCounter<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, byte: 0, units: 0 }
    }

    fn count_to(&mut self, offset: usize) -> u32 {
        let end = self.text.floor_char_boundary(offset).max(self.byte);
        let passed = self.text[self.byte..end].chars().map(char::len_utf16).sum::<usize>();
        self.units = self.units.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        self.byte = end;
        self.units
    }
}

/// Returns the byte offset of a number of UTF-16 code units; the end of the text if it is shorter.
fn byte_offset(text: &str, units: u32) -> usize {
    let mut left = usize::try_from(units).unwrap_or(usize::MAX);
    for (offset, character) in text.char_indices() {
        if left < character.len_utf16() {
            return offset;
        }
        left -= character.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: noetl.io/v2\nkind: Playbook # 😀\nmetadata: {name: 'ä😀'}\n\
        workflow:\n  - step: a\n    tol: a\n";

    #[test]
    fn places_count_utf_16_code_units() {
        let analysis = analyze_document(TEXT).expect("a short text");
        let units: Vec<u16> = TEXT.encode_utf16().collect();
        let part = |start: u32, len: u32| {
            let (start, len) = (start as usize, len as usize);
            String::from_utf16(&units[start..start + len]).expect("text")
        };
        let texts: Vec<(String, &str)> = analysis
            .tokens
            .iter()
            .map(|(start, len, kind)| (part(*start, *len), kind.as_str()))
            .filter(|(_, kind)| ["comment", "text"].contains(kind))
            .collect();
        assert_eq!(texts, [("# 😀".to_owned(), "comment"), ("'ä😀'".to_owned(), "text")]);
        let unknown = analysis.findings.iter().find(|it| it.code == "unknown-key");
        let unknown = unknown.expect("a finding about the key");
        assert_eq!(part(unknown.start, unknown.end - unknown.start), "tol");
        assert_eq!((unknown.line, unknown.column), (6, 5));
    }

    #[test]
    fn completions_replace_the_word_at_the_offset() {
        let before = TEXT.strip_suffix(": a\n").expect("the end of the text");
        let at = u32::try_from(before.encode_utf16().count()).expect("a short text");
        let found = complete_document(TEXT, at).expect("a short text");
        assert_eq!(found.end - found.start, 3);
        assert_eq!(found.items[0].label, "tool");
    }

    #[test]
    fn a_text_that_is_too_long_is_not_analyzed() {
        let text = "#".repeat(ANALYZED_BYTES_MAX + 1);
        assert_eq!(analyze_document(&text), Err(DocumentTooLong { len: text.len() }));
        assert!(complete_document(&text, 0).is_err());
    }
}
