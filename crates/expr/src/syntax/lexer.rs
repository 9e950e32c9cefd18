//! Splits a template into text and tags, and a tag into tokens.
//!
//! The lexer finds the same tag ends as minijinja. It does not check the contents of a tag; a
//! template that cannot be split is reported by minijinja.

use std::ops::Range;

use super::is_template;

/// A segment of a template.
#[derive(Debug)]
pub(super) enum TemplatePiece<'s> {
    /// Text, including raw blocks with their tags.
    Text(&'s str),
    Comment(&'s str),
    /// `{{ … }}`
    Output(Tag<'s>),
    /// `{% … %}`
    Statement(Tag<'s>),
}

/// A tag with its delimiters, which may include a whitespace control sign.
#[derive(Debug)]
pub(super) struct Tag<'s> {
    pub(super) open: &'s str,
    pub(super) tokens: Vec<TagToken<'s>>,
    pub(super) close: &'s str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagTokenKind {
    Name,
    /// A quoted string, including its quotes.
    Text,
    Number,
    /// An operator or a bracket.
    Sign,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TagToken<'s> {
    pub(super) kind: TagTokenKind,
    pub(super) text: &'s str,
    /// The byte offset of the token in the template.
    pub(super) start: usize,
}

pub(super) struct TemplatePieces<'s> {
    pub(super) pieces: Vec<TemplatePiece<'s>>,
    /// True if the template was read to its end; otherwise the last piece is incomplete.
    pub(super) complete: bool,
}

/// Splits a template into pieces.
pub(super) fn cut(source: &str) -> TemplatePieces<'_> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let (start, marker) = match find_marker(source, at) {
            Some(found) => found,
            None => {
                pieces.push(TemplatePiece::Text(&source[at..]));
                break;
            }
        };
        if start > at {
            pieces.push(TemplatePiece::Text(&source[at..start]));
        }
        let (piece, end) = match marker {
            b'#' => match source[start..].find("#}") {
                Some(length) => {
                    let end = start + length + 2;
                    (TemplatePiece::Comment(&source[start..end]), Some(end))
                }
                None => (TemplatePiece::Comment(&source[start..]), None),
            },
            b'%' => match raw_block(source, start) {
                Some(end) => (TemplatePiece::Text(&source[start..end]), Some(end)),
                None => {
                    let (tag, end) = read_tag(source, start, "%}");
                    (TemplatePiece::Statement(tag), end)
                }
            },
            _ => {
                let (tag, end) = read_tag(source, start, "}}");
                (TemplatePiece::Output(tag), end)
            }
        };
        pieces.push(piece);
        match end {
            Some(end) => at = end,
            None => return TemplatePieces { pieces, complete: false },
        }
    }
    TemplatePieces { pieces, complete: true }
}

/// The parts of a text that rendering replaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateParts {
    /// The places of `{{ … }}`.
    pub outputs: Vec<Range<usize>>,
    /// The places of `{# … #}`.
    pub comments: Vec<Range<usize>>,
    /// True if the text has statements or raw blocks, so that parts of it may be left out or repeated.
    pub has_statements: bool,
}

impl TemplateParts {
    /// Returns the parts of a text; `None` if a tag is not closed.
    pub fn of(text: &str) -> Option<Self> {
        let mut parts = Self::default();
        if !is_template(text) {
            return Some(parts);
        }
        let TemplatePieces { pieces, complete: true } = cut(text) else { return None };
        let mut start = 0;
        for piece in pieces {
            let end = match &piece {
                TemplatePiece::Text(it) | TemplatePiece::Comment(it) => start + it.len(),
                TemplatePiece::Output(tag) | TemplatePiece::Statement(tag) => tag.end(text),
            };
            match piece {
                // A raw block with its tags is text.
                TemplatePiece::Text(it) => parts.has_statements |= it.starts_with("{%"),
                TemplatePiece::Comment(_) => parts.comments.push(start..end),
                TemplatePiece::Output(_) => parts.outputs.push(start..end),
                TemplatePiece::Statement(_) => parts.has_statements = true,
            }
            start = end;
        }
        Some(parts)
    }

    /// Returns the text with blanks in place of its comments, which render as nothing.
    pub fn without_comments(&self, text: &str) -> String {
        let mut plain = text.to_owned();
        for range in &self.comments {
            let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
            let blanks: String = text[range.clone()].bytes().map(blank).collect();
            plain.replace_range(range.clone(), &blanks);
        }
        plain
    }
}

impl Tag<'_> {
    /// Returns the end of the tag in its template.
    fn end(&self, source: &str) -> usize {
        self.close.as_ptr() as usize + self.close.len() - source.as_ptr() as usize
    }
}

fn find_marker(source: &str, from: usize) -> Option<(usize, u8)> {
    let bytes = source.as_bytes();
    (from..bytes.len().saturating_sub(1)).find_map(|at| match (bytes[at], bytes[at + 1]) {
        (b'{', marker @ (b'{' | b'%' | b'#')) => Some((at, marker)),
        _ => None,
    })
}

/// Returns the end of the raw block that begins at `start`.
fn raw_block(source: &str, start: usize) -> Option<usize> {
    let mut at = basic_tag(source, start, "raw")?;
    while let Some(next) = source[at..].find("{%") {
        match basic_tag(source, at + next, "endraw") {
            Some(end) => return Some(end),
            None => at += next + 2,
        }
    }
    None
}

/// Returns the end of the tag at `start` if it consists of the single word `word`.
fn basic_tag(source: &str, start: usize, word: &str) -> Option<usize> {
    let signs = ['-', '+'];
    let rest = &source[start + 2..];
    let rest = rest.strip_prefix(signs).unwrap_or(rest).trim_ascii_start();
    let rest = rest.strip_prefix(word)?.trim_ascii_start();
    let rest = rest.strip_prefix(signs).unwrap_or(rest).strip_prefix("%}")?;
    Some(source.len() - rest.len())
}

/// Reads a tag. The end is `None` if the template ends, or a token is invalid, before the tag is
/// closed.
fn read_tag<'s>(source: &'s str, start: usize, close: &str) -> (Tag<'s>, Option<usize>) {
    let bytes = source.as_bytes();
    let signed = matches!(bytes.get(start + 2), Some(b'-' | b'+'));
    let mut at = start + 2 + usize::from(signed);
    let mut tag = Tag { open: &source[start..at], tokens: Vec::new(), close: "" };
    let mut open_brackets = 0_i64;
    loop {
        at += source[at..].len() - source[at..].trim_ascii_start().len();
        let rest = &source[at..];
        if open_brackets == 0 {
            let bare = rest.strip_prefix(['-', '+']).unwrap_or(rest);
            if let Some(after) = rest.strip_prefix(close).or_else(|| bare.strip_prefix(close)) {
                let end = source.len() - after.len();
                tag.close = &source[at..end];
                return (tag, Some(end));
            }
        }
        let Some((kind, length)) = token_at(source, at) else {
            return (tag, None);
        };
        let text = &source[at..at + length];
        match text {
            "(" | "[" | "{" => open_brackets += 1,
            ")" | "]" | "}" => open_brackets -= 1,
            _ => {}
        }
        tag.tokens.push(TagToken { kind, text, start: at });
        at += length;
    }
}

fn token_at(source: &str, at: usize) -> Option<(TagTokenKind, usize)> {
    let rest = &source.as_bytes()[at..];
    let two = rest.get(..2);
    if matches!(two, Some(b"//" | b"**" | b"==" | b"!=" | b">=" | b"<=")) {
        return Some((TagTokenKind::Sign, 2));
    }
    match rest.first()? {
        b'+' | b'-' | b'*' | b'/' | b'%' | b'.' | b',' | b':' | b'~' | b'|' | b'=' | b'>'
        | b'<' | b'(' | b')' | b'[' | b']' | b'{' | b'}' => Some((TagTokenKind::Sign, 1)),
        quote @ (b'\'' | b'"') => Some((TagTokenKind::Text, quoted(rest, *quote)?)),
        b'0'..=b'9' => {
            let after_dot = at > 0 && source.as_bytes()[at - 1] == b'.';
            Some((TagTokenKind::Number, number(rest, after_dot)))
        }
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
            let is_more = |it: &&u8| it.is_ascii_alphanumeric() || **it == b'_';
            Some((TagTokenKind::Name, rest.iter().take_while(is_more).count()))
        }
        _ => None,
    }
}

fn quoted(rest: &[u8], quote: u8) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            it if *it == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Returns the length of a number. After a dot the number is an index and has no fraction.
fn number(rest: &[u8], after_dot: bool) -> usize {
    if matches!(rest.get(..2), Some(b"0x" | b"0X" | b"0b" | b"0B" | b"0o" | b"0O")) {
        let is_more = |it: &&u8| it.is_ascii_hexdigit() || **it == b'_';
        return 2 + rest[2..].iter().take_while(is_more).count();
    }
    let digits = |from: usize| {
        let is_more = |it: &&u8| it.is_ascii_digit() || **it == b'_';
        from + rest[from..].iter().take_while(is_more).count()
    };
    let exponent = |from: usize| {
        let sign = usize::from(matches!(rest.get(from + 1), Some(b'+' | b'-')));
        let is_exponent = matches!(rest.get(from), Some(b'e' | b'E'))
            && rest.get(from + 1 + sign).is_some_and(u8::is_ascii_digit);
        if is_exponent { digits(from + 1 + sign) } else { from }
    };
    let whole = digits(0);
    let is_name = |it: &u8| it.is_ascii_alphabetic() || *it == b'_';
    let has_fraction = rest.get(whole) == Some(&b'.')
        && !after_dot
        && (!rest.get(whole + 1).is_some_and(is_name) || exponent(whole + 1) > whole + 1);
    exponent(if has_fraction { digits(whole + 1) } else { whole })
}
