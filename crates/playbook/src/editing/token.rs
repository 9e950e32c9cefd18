//! Tokens for highlighting: keys, texts, numbers, words, comments, marks, and templates inside
//! texts.

use std::ops::Range;

use serde::Serialize;

use super::lexeme::{Lexeme, LexemeKind, lexemes};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SyntaxKind {
    Key,
    /// A text in quotes, or a line of a block of text.
    Text,
    Number,
    /// `true`, `false` or `null`.
    Word,
    Comment,
    /// A template or a part of it, with its braces.
    Template,
    /// A bracket, a comma, a colon, a dash.
    Mark,
    /// An anchor, an alias or a tag.
    Anchor,
}

impl SyntaxKind {
    pub const ALL: &'static [Self] = &[
        Self::Key,
        Self::Text,
        Self::Number,
        Self::Word,
        Self::Comment,
        Self::Template,
        Self::Mark,
        Self::Anchor,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Text => "text",
            Self::Number => "number",
            Self::Word => "word",
            Self::Comment => "comment",
            Self::Template => "template",
            Self::Mark => "mark",
            Self::Anchor => "anchor",
        }
    }
}

/// A part of a line that is shown in the colour of its kind. Plain text has no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxToken {
    /// The line, counted from 1.
    pub line: usize,
    pub span: Range<usize>,
    pub kind: SyntaxKind,
}

/// The opening and closing marks of templates.
const TEMPLATES: &[(&str, &str)] = &[("{{", "}}"), ("{%", "%}"), ("{#", "#}")];

/// Returns the tokens of a document, in the order of the text; also of one with mistakes.
pub fn syntax_tokens(text: &str) -> Vec<SyntaxToken> {
    let mut tokens = TokenList { text, found: Vec::new(), open: None };
    for lexeme in lexemes(text) {
        tokens.add(&lexeme);
    }
    tokens.found
}

struct TokenList<'a> {
    text: &'a str,
    found: Vec<SyntaxToken>,
    /// The closing mark of a template that began on an earlier line of the same text.
    open: Option<&'static str>,
}

impl TokenList<'_> {
    fn add(&mut self, lexeme: &Lexeme) {
        let Lexeme { line, span, kind, .. } = lexeme;
        let (line, span) = (*line, span.clone());
        let plain = match kind {
            LexemeKind::Block | LexemeKind::Quoted => {
                self.add_text(line, span, Some(SyntaxKind::Text));
                return;
            }
            LexemeKind::Plain => {
                self.open = None;
                let base = scalar_kind(&self.text[span.clone()]);
                self.add_text(line, span, base);
                self.open = None;
                return;
            }
            LexemeKind::Key => SyntaxKind::Key,
            LexemeKind::Comment => SyntaxKind::Comment,
            LexemeKind::Anchor => SyntaxKind::Anchor,
            LexemeKind::BlockHeader
            | LexemeKind::Dash
            | LexemeKind::Colon
            | LexemeKind::Comma
            | LexemeKind::OpenMap
            | LexemeKind::CloseMap
            | LexemeKind::OpenList
            | LexemeKind::CloseList
            | LexemeKind::DocumentMark => SyntaxKind::Mark,
        };
        self.open = None;
        self.push(line, span, plain);
    }

    fn push(&mut self, line: usize, span: Range<usize>, kind: SyntaxKind) {
        if !span.is_empty() {
            self.found.push(SyntaxToken { line, span, kind });
        }
    }

    /// Adds a text with its templates as tokens of their own.
    fn add_text(&mut self, line: usize, span: Range<usize>, base: Option<SyntaxKind>) {
        let mut at = span.start;
        while at < span.end {
            let rest = &self.text[at..span.end];
            if let Some(close) = self.open {
                let end = rest.find(close).map(|found| at + found + close.len());
                self.push(line, at..end.unwrap_or(span.end), SyntaxKind::Template);
                if end.is_some() {
                    self.open = None;
                }
                at = end.unwrap_or(span.end);
                continue;
            }
            let begins =
                TEMPLATES.iter().filter_map(|(open, close)| Some((rest.find(open)?, close)));
            let first = begins.min_by_key(|(found, _)| *found);
            let end = first.map_or(span.end, |(found, _)| at + found);
            if let Some(base) = base {
                self.push(line, at..end, base);
            }
            self.open = first.map(|(_, close)| *close);
            at = end;
        }
    }
}

/// Returns the kind of a scalar without quotes; `None` for text.
fn scalar_kind(text: &str) -> Option<SyntaxKind> {
    if matches!(text, "true" | "True" | "false" | "False" | "null" | "Null" | "~") {
        return Some(SyntaxKind::Word);
    }
    let is_numeric = text.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it));
    (is_numeric && text.parse::<f64>().is_ok()).then_some(SyntaxKind::Number)
}
