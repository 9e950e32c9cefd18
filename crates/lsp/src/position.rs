//! Conversion between byte offsets and positions of the protocol: lines, and UTF-16 code units in a line.

use std::ops::Range;

/// Returns the byte offset of a position. A position past the end of a line is the end of the line.
pub(crate) fn offset_of(text: &str, position: lsp_types::Position) -> usize {
    let lines = usize::try_from(position.line).unwrap_or(usize::MAX);
    let Some(start) = line_start(text, lines) else { return text.len() };
    let line = text[start..].split('\n').next().unwrap_or_default();
    let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
    for (at, character) in line.char_indices() {
        if left < character.len_utf16() {
            return start + at;
        }
        left -= character.len_utf16();
    }
    start + line.strip_suffix('\r').unwrap_or(line).len()
}

fn line_start(text: &str, line: usize) -> Option<usize> {
    match line.checked_sub(1) {
        None => Some(0),
        Some(before) => text.match_indices('\n').nth(before).map(|(at, _)| at + 1),
    }
}

/// Returns the position of a byte offset.
pub(crate) fn position_of(text: &str, offset: usize) -> lsp_types::Position {
    let before = &text[..text.floor_char_boundary(offset)];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let units: usize = before[start..].chars().map(char::len_utf16).sum();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    lsp_types::Position::new(number(before.matches('\n').count()), number(units))
}

pub(crate) fn range_of(text: &str, span: &Range<usize>) -> lsp_types::Range {
    lsp_types::Range::new(position_of(text, span.start), position_of(text, span.end))
}
