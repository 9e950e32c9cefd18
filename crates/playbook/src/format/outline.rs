//! The lines of a document on which keys and list items begin, and its comments.

use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Parser, ScalarStyle};

/// The deepest nesting of lists and maps.
const DEPTH_MAX: usize = 64;
/// The spaces of one level.
const LEVEL: usize = 2;

/// The place of the entry that begins on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinePlace {
    pub(super) old_indent: usize,
    pub(super) indent: usize,
    /// True if a list item begins here.
    pub(super) has_dash: bool,
    /// The bytes between the dash and the content, with the dash.
    dash_width: usize,
    /// The length of the key on this line, if one begins here.
    pub(super) key_length: Option<usize>,
}

impl LinePlace {
    pub(super) fn old_key_indent(self) -> usize {
        self.old_indent + self.dash_width
    }

    pub(super) fn key_indent(self) -> usize {
        self.indent + if self.has_dash { LEVEL } else { 0 }
    }

    /// Returns how far the content of the entry moves to the right.
    pub(super) fn shift(self) -> isize {
        let number = |it: usize| isize::try_from(it).unwrap_or(isize::MAX);
        number(self.key_indent()) - number(self.old_key_indent())
    }
}

/// The structure of a document by lines, counted from 0.
#[derive(Debug, Default)]
pub(super) struct LineOutline {
    pub(super) places: BTreeMap<usize, LinePlace>,
    /// The lines that hold nothing but a comment.
    pub(super) comment_lines: BTreeSet<usize>,
    /// The comments, in order.
    pub(super) comments: Vec<String>,
    /// True if the document has a form that is not indented: a tag or anchor before an entry, or
    /// several list items on one line.
    pub(super) is_unusual: bool,
}

/// A list or map that is being read.
struct OpenNode {
    is_flow: bool,
    is_list: bool,
    /// The indentation of its entries.
    indent: usize,
    /// True if a value of a map is expected next.
    has_key: bool,
}

struct OutlineBuilder<'t> {
    text: &'t str,
    line_starts: Vec<usize>,
    outline: LineOutline,
    open: Vec<OpenNode>,
}

impl LineOutline {
    /// Returns the outline of a document; `None` if it cannot be parsed.
    pub(super) fn of(text: &str) -> Option<Self> {
        let options = granit_parser::options! {
            emit_comments: true,
            flow_nesting_limit: DEPTH_MAX,
            block_nesting_limit: DEPTH_MAX,
        };
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        let outline = LineOutline::default();
        let mut builder = OutlineBuilder { text, line_starts, outline, open: Vec::new() };
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.ok()?;
            let start = span.start.byte_offset()?;
            let end = span.end.byte_offset()?;
            if builder.event(&event, start, end).is_none() {
                builder.outline.is_unusual = true;
            }
        }
        Some(builder.outline)
    }
}

impl OutlineBuilder<'_> {
    fn event(&mut self, event: &Event<'_>, start: usize, end: usize) -> Option<()> {
        match event {
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
                // The place of such a text may be its first line; an entry begins with its sign.
                let is_sign = self.text[start..].starts_with(['|', '>']);
                let sign = self.text[..start].rfind(['|', '>']);
                self.node(if is_sign { start } else { sign? }, Some(end))
            }
            Event::Scalar(..) | Event::Alias(_) => self.node(start, Some(end)),
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                let is_list = matches!(event, Event::SequenceStart(..));
                let is_flow = self.text[start..].starts_with(['[', '{']);
                let indent = self.indent_of_children(is_flow);
                let is_inner_flow = self.open.last().is_some_and(|open| open.is_flow);
                if is_flow || is_inner_flow {
                    self.node(start, None)?;
                } else {
                    self.begin_value(start, is_list)?;
                }
                let is_flow = is_flow || is_inner_flow;
                self.open.push(OpenNode { is_flow, is_list, indent, has_key: false });
                Some(())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                Some(())
            }
            Event::Comment(text, _) => {
                let (line, _) = self.position(start);
                let before = &self.text[self.line_starts[line]..start];
                if before.trim().is_empty() {
                    self.outline.comment_lines.insert(line);
                }
                self.outline.comments.push(text.trim_end().to_string());
                Some(())
            }
            _ => Some(()),
        }
    }

    /// Returns the indentation of the entries of the collection that begins now.
    fn indent_of_children(&self, is_flow: bool) -> usize {
        match self.open.last() {
            None => 0,
            Some(parent) if is_flow || parent.is_flow => parent.indent,
            Some(parent) => parent.indent + LEVEL,
        }
    }

    /// Reads a scalar, an alias or a flow collection: a key, a value or a list item.
    fn node(&mut self, start: usize, end: Option<usize>) -> Option<()> {
        let Some(parent) = self.open.last_mut() else { return Some(()) };
        if parent.is_flow {
            return Some(());
        }
        let indent = parent.indent;
        if parent.is_list {
            return self.item(start, indent);
        }
        if std::mem::replace(&mut parent.has_key, false) {
            return Some(());
        }
        parent.has_key = true;
        self.key(start, end?, indent)
    }

    /// Reads the beginning of a block collection: the value of a key, or a list item.
    fn begin_value(&mut self, start: usize, is_list: bool) -> Option<()> {
        let Some(parent) = self.open.last_mut() else { return Some(()) };
        let indent = parent.indent;
        if !parent.is_list {
            // A block collection cannot be a key that is formatted.
            return std::mem::replace(&mut parent.has_key, false).then_some(());
        }
        // A list directly in a list would have two dashes on one line.
        (!is_list).then_some(())?;
        self.item(start, indent)
    }

    /// Notes a list item whose content begins at an offset.
    fn item(&mut self, start: usize, indent: usize) -> Option<()> {
        let (line, column) = self.position(start);
        let text = &self.text[self.line_starts[line]..];
        let old_indent = text.len() - text.trim_start_matches(' ').len();
        let between = text.get(old_indent..column)?;
        let is_dash = between.strip_prefix('-').is_some_and(|rest| rest.trim().is_empty());
        if !is_dash {
            return None;
        }
        let place = LinePlace {
            old_indent,
            indent,
            has_dash: true,
            dash_width: column - old_indent,
            key_length: None,
        };
        self.outline.places.insert(line, place);
        Some(())
    }

    /// Notes a key that begins at an offset.
    fn key(&mut self, start: usize, end: usize, indent: usize) -> Option<()> {
        let (line, column) = self.position(start);
        let key_length = Some(end - start);
        if let Some(item) = self.outline.places.get_mut(&line) {
            // The first key of a list item.
            let is_first = item.has_dash && item.key_length.is_none();
            item.key_length = key_length;
            return (is_first && item.old_key_indent() == column).then_some(());
        }
        let before = &self.text[self.line_starts[line]..start];
        if !before.bytes().all(|byte| byte == b' ') {
            return None;
        }
        let place =
            LinePlace { old_indent: column, indent, has_dash: false, dash_width: 0, key_length };
        self.outline.places.insert(line, place);
        Some(())
    }

    /// Returns the line and the column of an offset, in bytes from 0.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset) - 1;
        (line, offset - self.line_starts[line])
    }
}
