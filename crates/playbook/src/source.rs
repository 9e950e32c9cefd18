//! The text of a document, with conversion of byte offsets to lines and columns.

use std::ops::Range;

/// A document's name for messages, and its text.
#[derive(Debug, Clone)]
pub(crate) struct SourceText {
    pub(crate) file: String,
    pub(crate) text: String,
    line_starts: Vec<usize>,
}

/// A position as editors count it: lines from 1, columns from 1 in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl SourceText {
    pub(crate) fn new(file: &str, text: String) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { file: file.to_owned(), text, line_starts }
    }

    /// Returns the line of an offset, counted from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = self.floor(offset);
        let line = self.line(offset);
        let start = self.line_starts[line - 1];
        Position { line, column: self.text[start..offset].chars().count() + 1 }
    }

    /// Returns the byte range of a line, counted from 1, without its line break.
    pub(crate) fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.line_starts.get(line - 1).copied().unwrap_or(self.text.len());
        let end = self.line_starts.get(line).map_or(self.text.len(), |next| next - 1);
        let end = end.max(start);
        let text = self.text[start..end].trim_end_matches('\r');
        start..start + text.len()
    }

    pub(crate) fn lines(&self) -> usize {
        self.line_starts.len()
    }

    /// Returns the nearest character boundary at or before an offset.
    pub(crate) fn floor(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let source = SourceText::new("x", "a\näö: b\r\n".to_owned());
        let at = source.text.find('b').unwrap();
        assert_eq!(source.position(at), Position { line: 2, column: 5 });
        assert_eq!(&source.text[source.line_range(2)], "äö: b");
    }

    #[test]
    fn beyond_the_end_is_the_end() {
        let source = SourceText::new("x", "ab".to_owned());
        assert_eq!(source.position(99), Position { line: 1, column: 3 });
        assert_eq!(source.line_range(9), 2..2);
    }
}
