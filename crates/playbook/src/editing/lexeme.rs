//! The parts of each line of a YAML text: keys, scalars, marks and comments.
//!
//! Invariant: every step of the scanner advances, so it ends for every text.

use std::ops::Range;

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lexeme {
    /// The line, counted from 1.
    pub(super) line: usize,
    /// The number of bytes before it on its line.
    pub(super) column: usize,
    pub(super) span: Range<usize>,
    pub(super) kind: LexemeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexemeKind {
    Key,
    /// A scalar in quotes, or the part of it on one line.
    Quoted,
    Plain,
    /// A line of a block scalar.
    Block,
    BlockHeader,
    Dash,
    Colon,
    Comma,
    OpenMap,
    CloseMap,
    OpenList,
    CloseList,
    /// An anchor, an alias or a tag.
    Anchor,
    Comment,
    DocumentMark,
}

/// The state of the scanner between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanMode {
    Nodes,
    /// Inside quotes of this kind.
    Quoted(u8),
    /// Inside a block scalar, whose lines are indented more than this.
    Block(usize),
}

struct Scanner<'a> {
    text: &'a str,
    found: Vec<Lexeme>,
    mode: ScanMode,
    /// The number of open brackets.
    flow: usize,
    /// The column of the key or dash before the first open bracket.
    flow_column: usize,
    /// The column of the last key or dash.
    node_column: usize,
    line: usize,
    line_start: usize,
    line_end: usize,
}

/// Splits a text into lexemes.
pub(super) fn lexemes(text: &str) -> Vec<Lexeme> {
    let mut scanner = Scanner {
        text,
        found: Vec::new(),
        mode: ScanMode::Nodes,
        flow: 0,
        flow_column: 0,
        node_column: 0,
        line: 0,
        line_start: 0,
        line_end: 0,
    };
    for line in text.split_inclusive('\n') {
        scanner.line += 1;
        scanner.line_end = scanner.line_start + line.trim_end_matches(['\n', '\r']).len();
        scanner.scan_line();
        scanner.line_start += line.len();
    }
    scanner.found
}

fn is_gap(byte: Option<u8>) -> bool {
    byte.is_none_or(|it| it == b' ' || it == b'\t')
}

impl Scanner<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        (at < self.line_end).then(|| self.text.as_bytes()[at])
    }

    fn rest(&self, at: usize) -> &str {
        &self.text[at..self.line_end]
    }

    fn push(&mut self, span: Range<usize>, kind: LexemeKind) -> usize {
        let (line, column, end) = (self.line, span.start - self.line_start, span.end);
        self.found.push(Lexeme { line, column, span, kind });
        end
    }

    fn scan_line(&mut self) {
        let mut at = self.line_start;
        if let ScanMode::Block(parent) = self.mode {
            let line = self.rest(at);
            let indent = line.len() - line.trim_start_matches(' ').len();
            if line.trim().is_empty() {
                return;
            }
            if indent > parent {
                self.push(at + indent..self.line_end, LexemeKind::Block);
                return;
            }
            self.mode = ScanMode::Nodes;
        }
        if let ScanMode::Quoted(quote) = self.mode {
            let (end, is_closed) = self.quote_end(at, quote);
            if end > at {
                self.push(at..end, LexemeKind::Quoted);
            }
            if !is_closed {
                return;
            }
            self.mode = ScanMode::Nodes;
            at = end;
        }
        if self.flow > 0 && self.ends_brackets() {
            self.flow = 0;
        }
        while at < self.line_end && self.mode == ScanMode::Nodes {
            at = self.scan_node(at);
        }
    }

    /// True if the line begins with a key or a dash that cannot be inside of the open brackets: they were
    /// left open.
    fn ends_brackets(&self) -> bool {
        let line = self.rest(self.line_start);
        let node = line.trim_start_matches(' ');
        let is_name = |it: char| it.is_alphanumeric() || it == '_' || it == '-';
        let rest = node.trim_start_matches(is_name);
        let is_key = rest.len() < node.len()
            && rest.starts_with(':')
            && is_gap(rest.as_bytes().get(1).copied());
        line.len() - node.len() <= self.flow_column && (is_key || node.starts_with("- "))
    }

    fn open_bracket(&mut self) {
        if self.flow == 0 {
            self.flow_column = self.node_column;
        }
        self.flow += 1;
    }

    /// Reads what begins at a place, and returns where the next part begins.
    fn scan_node(&mut self, at: usize) -> usize {
        let byte = self.text.as_bytes()[at];
        let next = self.byte(at + 1);
        let starts_line = at == self.line_start;
        let follows_gap = starts_line || is_gap(self.byte(at - 1));
        match byte {
            b' ' | b'\t' => at + 1,
            b'#' if follows_gap => self.push(at..self.line_end, LexemeKind::Comment),
            b'-' | b'.' if starts_line && self.is_document_mark(at) => {
                self.push(at..at + 3, LexemeKind::DocumentMark)
            }
            b'-' if self.flow == 0 && is_gap(next) => {
                self.node_column = at - self.line_start;
                self.push(at..at + 1, LexemeKind::Dash)
            }
            b':' if self.ends_key(at) => self.push(at..at + 1, LexemeKind::Colon),
            b',' if self.flow > 0 => self.push(at..at + 1, LexemeKind::Comma),
            b'{' if next != Some(b'{') && next != Some(b'%') => {
                self.open_bracket();
                self.push(at..at + 1, LexemeKind::OpenMap)
            }
            b'[' => {
                self.open_bracket();
                self.push(at..at + 1, LexemeKind::OpenList)
            }
            b'}' | b']' if self.flow > 0 => {
                self.flow -= 1;
                let kind = if byte == b'}' { LexemeKind::CloseMap } else { LexemeKind::CloseList };
                self.push(at..at + 1, kind)
            }
            b'&' | b'*' | b'!' => {
                let len = self.rest(at).find([' ', ',', ']', '}']).unwrap_or(self.line_end - at);
                self.push(at..at + len.max(1), LexemeKind::Anchor)
            }
            b'|' | b'>' if self.flow == 0 && self.is_block_header(at) => {
                self.mode = ScanMode::Block(self.node_column);
                self.scan_block_header(at)
            }
            b'"' | b'\'' => self.scan_quoted(at, byte),
            _ => self.scan_plain(at),
        }
    }

    fn is_document_mark(&self, at: usize) -> bool {
        let rest = self.rest(at);
        (rest.starts_with("---") || rest.starts_with("...")) && is_gap(self.byte(at + 3))
    }

    fn is_block_header(&self, at: usize) -> bool {
        let header = self.rest(at + 1).split(" #").next().unwrap_or_default().trim_end();
        header.bytes().all(|it| it == b'-' || it == b'+' || it.is_ascii_digit())
    }

    fn scan_block_header(&mut self, at: usize) -> usize {
        let rest = self.rest(at);
        let comment = rest.find(" #").map(|found| at + found + 1);
        let len = rest.split(' ').next().unwrap_or(rest).len().max(1);
        self.push(at..at + len, LexemeKind::BlockHeader);
        match comment {
            Some(start) => self.push(start..self.line_end, LexemeKind::Comment),
            None => self.line_end,
        }
    }

    /// True if a colon ends a key.
    fn ends_key(&self, at: usize) -> bool {
        let next = self.byte(at + 1);
        is_gap(next) || (self.flow > 0 && next.is_some_and(|it| b",]}[{\"'".contains(&it)))
    }

    /// Returns the end of quotes on this line, and whether they are closed there.
    fn quote_end(&self, from: usize, quote: u8) -> (usize, bool) {
        let mut at = from;
        while let Some(byte) = self.byte(at) {
            match byte {
                b'\\' if quote == b'"' => at += 2,
                byte if byte == quote && quote == b'\'' && self.byte(at + 1) == Some(b'\'') => {
                    at += 2;
                }
                byte if byte == quote => return (at + 1, true),
                _ => at += 1,
            }
        }
        // A backslash at the end of the line continues on the next one.
        (self.line_end, false)
    }

    fn scan_quoted(&mut self, at: usize, quote: u8) -> usize {
        let (end, is_closed) = self.quote_end(at + 1, quote);
        if !is_closed {
            self.mode = ScanMode::Quoted(quote);
            return self.push(at..end, LexemeKind::Quoted);
        }
        self.push_scalar(at..end, LexemeKind::Quoted)
    }

    fn scan_plain(&mut self, at: usize) -> usize {
        let mut end = at;
        while let Some(byte) = self.byte(end) {
            let close = match (byte, self.byte(end + 1)) {
                (b'{', Some(b'{')) => Some("}}"),
                (b'{', Some(b'%')) => Some("%}"),
                _ => None,
            };
            if let Some(close) = close {
                let rest = self.rest(end);
                end += rest.find(close).map_or(rest.len(), |found| found + 2);
                continue;
            }
            let is_end = match byte {
                b':' => self.ends_key(end),
                b'#' => end > at && is_gap(self.byte(end - 1)),
                b',' | b'[' | b']' | b'{' | b'}' => self.flow > 0,
                _ => false,
            };
            if is_end {
                break;
            }
            end += 1;
        }
        // The byte at the beginning may be one that ends scalars.
        let end = end.max(at + 1);
        let span = at..at + self.text[at..end].trim_end().len();
        self.push_scalar(span, LexemeKind::Plain);
        end
    }

    /// Adds a scalar; a key if a colon follows it.
    fn push_scalar(&mut self, span: Range<usize>, kind: LexemeKind) -> usize {
        let rest = self.rest(span.end);
        let colon = span.end + (rest.len() - rest.trim_start().len());
        let is_key = self.byte(colon) == Some(b':') && self.ends_key(colon);
        if !is_key {
            return self.push(span, kind);
        }
        if self.flow == 0 {
            self.node_column = span.start - self.line_start;
        }
        self.push(span, LexemeKind::Key)
    }
}
