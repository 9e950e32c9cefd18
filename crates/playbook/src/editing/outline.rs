//! The outline of a document that is being written: maps and lists by their indentation, and the
//! place of the cursor among them.

use std::ops::Range;

use super::lexeme::{Lexeme, LexemeKind, lexemes};

/// The maps and lists of a document. The first one is the root, if there is any.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) containers: Vec<Container>,
}

/// A map or a list.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) is_list: bool,
    /// The column of its keys or dashes; `None` for one in brackets.
    indent: Option<usize>,
    pub(super) entries: Vec<OutlineEntry>,
}

/// An entry of a map or a list; an entry of a list has no key.
#[derive(Debug)]
pub(super) struct OutlineEntry {
    pub(super) key: Option<String>,
    /// The scalar of the entry, without quotes.
    pub(super) value: Option<String>,
    /// The place of the scalar, without quotes.
    pub(super) value_span: Option<Range<usize>>,
    pub(super) child: Option<usize>,
    /// The place of the key.
    pub(super) span: Range<usize>,
}

impl Container {
    /// Returns the scalar of a key.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|it| it.key.as_deref() == Some(key))?;
        entry.value.as_deref()
    }

    pub(super) fn child(&self, key: &str) -> Option<usize> {
        self.entries.iter().find(|it| it.key.as_deref() == Some(key))?.child
    }
}

/// A step of the way from the root to the cursor: a key of a map, or an item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPart {
    pub(super) container: usize,
    pub(super) key: Option<String>,
}

/// The part of the language that fits at the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A key of the map that the path leads to.
    Key,
    /// A scalar.
    Value,
    /// The beginning of a node: the first key of a map, or a scalar.
    Either,
    Nothing,
}

/// The place of the cursor in the outline.
#[derive(Debug)]
pub(super) struct CursorPlace {
    pub(super) path: Vec<PathPart>,
    pub(super) wanted: Wanted,
    /// The map that the wanted key belongs to, if it has keys already.
    pub(super) siblings: Option<usize>,
    /// The word under the cursor.
    pub(super) word: Range<usize>,
    /// True if a colon follows the word.
    pub(super) is_key: bool,
}

/// Reads the outline of a text and the place of an offset in it.
pub(super) fn outline(text: &str, offset: usize) -> (Outline, CursorPlace) {
    let offset = text.floor_char_boundary(offset);
    let found = lexemes(text);
    let target = found
        .iter()
        .position(|it| it.span.start <= offset && offset <= it.span.end)
        .filter(|at| is_word(&found[*at]));
    let is_hidden = found.iter().any(|it| hides(it, offset));
    let word = target.map_or(offset..offset, |at| found[at].span.clone());
    let line = 1 + text[..word.start].matches('\n').count();
    let line_start = text[..word.start].rfind('\n').map_or(0, |it| it + 1);
    let cursor = Cursor { line, column: word.start - line_start, start: word.start };
    let mut reader =
        Reader { text, containers: Vec::new(), stack: Vec::new(), place: None, line: 0 };
    for (index, lexeme) in found.iter().enumerate() {
        if reader.place.is_none() && lexeme.span.start >= cursor.start {
            let before = index.checked_sub(1).map(|before| &found[before]);
            reader.place = Some(reader.snapshot(before, &cursor));
        }
        reader.read(lexeme);
    }
    let place = match reader.place.take() {
        Some(place) => place,
        None => reader.snapshot(found.last(), &cursor),
    };
    let is_key = target.is_some_and(|at| found[at].kind == LexemeKind::Key);
    let place = reader.finished(place, word, is_key);
    let wanted = if is_hidden { Wanted::Nothing } else { place.wanted };
    (Outline { containers: reader.containers }, CursorPlace { wanted, ..place })
}

/// True for a lexeme that completion replaces.
fn is_word(lexeme: &Lexeme) -> bool {
    matches!(lexeme.kind, LexemeKind::Key | LexemeKind::Plain)
}

/// True if an offset is inside of free text, where the language has nothing to offer.
fn hides(lexeme: &Lexeme, offset: usize) -> bool {
    match lexeme.kind {
        LexemeKind::Block | LexemeKind::Comment | LexemeKind::Quoted => {
            lexeme.span.start < offset && offset <= lexeme.span.end
        }
        LexemeKind::Key
        | LexemeKind::Plain
        | LexemeKind::BlockHeader
        | LexemeKind::Dash
        | LexemeKind::Colon
        | LexemeKind::Comma
        | LexemeKind::OpenMap
        | LexemeKind::CloseMap
        | LexemeKind::OpenList
        | LexemeKind::CloseList
        | LexemeKind::Anchor
        | LexemeKind::DocumentMark => false,
    }
}

struct Cursor {
    line: usize,
    column: usize,
    start: usize,
}

/// The place of the cursor as it is known when the reader reaches it.
struct PlaceSoFar {
    path: Vec<PathPart>,
    wanted: Wanted,
    siblings: Option<usize>,
    /// The entry whose child the cursor is in.
    parent: Option<(usize, usize)>,
}

struct Reader<'a> {
    text: &'a str,
    containers: Vec<Container>,
    stack: Vec<usize>,
    place: Option<PlaceSoFar>,
    /// The line of the lexeme before.
    line: usize,
}

impl Reader<'_> {
    fn top(&self) -> Option<&Container> {
        self.stack.last().map(|id| &self.containers[*id])
    }

    /// Closes brackets that were left open before a key or a dash.
    fn close_brackets(&mut self, lexeme: &Lexeme) {
        let is_outside =
            |id: &usize| self.containers[*id].indent.is_some_and(|it| lexeme.column <= it);
        let begins_line = self.line != lexeme.line;
        let is_node = matches!(lexeme.kind, LexemeKind::Key | LexemeKind::Dash);
        if let Some(block) = self.stack.iter().rposition(|id| self.containers[*id].indent.is_some())
            && begins_line
            && is_node
            && is_outside(&self.stack[block])
        {
            self.stack.truncate(block + 1);
        }
        self.line = lexeme.line;
    }

    fn read(&mut self, lexeme: &Lexeme) {
        self.close_brackets(lexeme);
        let is_flow = self.top().is_some_and(|it| it.indent.is_none());
        match lexeme.kind {
            LexemeKind::Key if is_flow => self.add_key(lexeme),
            LexemeKind::Key => {
                let depth = self.depth_at(&self.stack, lexeme.column);
                self.stack.truncate(depth);
                let fits = self.top().is_some_and(|it| it.indent == Some(lexeme.column));
                if !fits {
                    self.open(false, Some(lexeme.column));
                }
                self.add_key(lexeme);
            }
            LexemeKind::Dash => {
                let depth = self.list_depth_at(lexeme.column);
                self.stack.truncate(depth);
                let fits =
                    self.top().is_some_and(|it| it.is_list && it.indent == Some(lexeme.column));
                if !fits {
                    self.open(true, Some(lexeme.column));
                }
                self.add_item(lexeme.span.clone());
            }
            LexemeKind::OpenMap => self.open(false, None),
            LexemeKind::OpenList => {
                self.open(true, None);
                self.add_item(lexeme.span.clone());
            }
            LexemeKind::Comma if self.top().is_some_and(|it| it.is_list) => {
                self.add_item(lexeme.span.clone());
            }
            LexemeKind::CloseMap | LexemeKind::CloseList if is_flow => {
                self.stack.pop();
            }
            LexemeKind::Plain | LexemeKind::Quoted => self.add_value(lexeme),
            LexemeKind::Comma
            | LexemeKind::CloseMap
            | LexemeKind::CloseList
            | LexemeKind::Block
            | LexemeKind::BlockHeader
            | LexemeKind::Colon
            | LexemeKind::Anchor
            | LexemeKind::Comment
            | LexemeKind::DocumentMark => {}
        }
    }

    /// Returns how many of the open maps and lists a key at a column leaves open.
    fn depth_at(&self, stack: &[usize], column: usize) -> usize {
        let stays = |id: &usize| {
            let container = &self.containers[*id];
            match container.indent {
                Some(indent) if container.is_list => indent < column,
                Some(indent) => indent <= column,
                None => true,
            }
        };
        stack.iter().rposition(stays).map_or(0, |at| at + 1)
    }

    /// Does the same for a dash, which may stand at the column of the key above it.
    fn list_depth_at(&self, column: usize) -> usize {
        let stays = |id: &usize| self.containers[*id].indent.is_none_or(|it| it <= column);
        self.stack.iter().rposition(stays).map_or(0, |at| at + 1)
    }

    fn open(&mut self, is_list: bool, indent: Option<usize>) {
        let id = self.containers.len();
        let parent = self.stack.last().and_then(|top| self.containers[*top].entries.last_mut());
        if let Some(entry) = parent {
            entry.child = Some(id);
        }
        self.containers.push(Container { is_list, indent, entries: Vec::new() });
        self.stack.push(id);
    }

    fn add_key(&mut self, lexeme: &Lexeme) {
        let key = Some(unquoted(&self.text[lexeme.span.clone()]).to_owned());
        let entry = OutlineEntry {
            key,
            value: None,
            value_span: None,
            child: None,
            span: lexeme.span.clone(),
        };
        if let Some(top) = self.stack.last() {
            self.containers[*top].entries.push(entry);
        }
    }

    fn add_item(&mut self, span: Range<usize>) {
        if let Some(top) = self.stack.last() {
            let entry =
                OutlineEntry { key: None, value: None, value_span: None, child: None, span };
            self.containers[*top].entries.push(entry);
        }
    }

    fn add_value(&mut self, lexeme: &Lexeme) {
        let written = &self.text[lexeme.span.clone()];
        let text = unquoted(written);
        let start = lexeme.span.start + usize::from(written.starts_with(['"', '\'']));
        let entry = self.stack.last().and_then(|top| self.containers[*top].entries.last_mut());
        if let Some(entry) = entry
            && entry.value.is_none()
        {
            entry.value = Some(text.to_owned());
            entry.value_span = Some(start..start + text.len());
        }
    }

    /// Returns the way to the current entries of open maps and lists.
    fn path(&self, stack: &[usize]) -> Vec<PathPart> {
        let part = |id: &usize| PathPart {
            container: *id,
            key: self.containers[*id].entries.last().and_then(|it| it.key.clone()),
        };
        stack.iter().map(part).collect()
    }

    /// Returns the place of the cursor, before the lexeme under it is read.
    fn snapshot(&self, before: Option<&Lexeme>, cursor: &Cursor) -> PlaceSoFar {
        let mut stack = self.stack.clone();
        let is_flow = self.top().is_some_and(|it| it.indent.is_none());
        let before = before.filter(|it| is_flow || it.line == cursor.line).map(|it| it.kind);
        let inside = |stack: &[usize], wanted| {
            let last = stack.last().copied();
            let parent =
                last.and_then(|id| Some((id, self.containers[id].entries.len().checked_sub(1)?)));
            PlaceSoFar { path: self.path(stack), wanted, siblings: None, parent }
        };
        match before {
            Some(LexemeKind::Colon) => inside(&stack, Wanted::Value),
            Some(LexemeKind::Dash | LexemeKind::OpenList) => inside(&stack, Wanted::Either),
            Some(LexemeKind::Comma) if self.top().is_some_and(|it| it.is_list) => {
                inside(&stack, Wanted::Either)
            }
            Some(LexemeKind::OpenMap | LexemeKind::Comma) => {
                let siblings = stack.pop();
                PlaceSoFar { siblings, ..inside(&stack, Wanted::Key) }
            }
            Some(_) => inside(&stack, Wanted::Nothing),
            None => {
                stack.truncate(self.depth_at(&stack, cursor.column));
                let top = stack.last().map(|id| &self.containers[*id]);
                match top {
                    Some(map) if !map.is_list && map.indent == Some(cursor.column) => {
                        let siblings = stack.pop();
                        PlaceSoFar { siblings, ..inside(&stack, Wanted::Key) }
                    }
                    Some(top) if top.entries.last().is_some_and(|it| it.value.is_some()) => {
                        inside(&stack, Wanted::Nothing)
                    }
                    Some(_) => inside(&stack, Wanted::Either),
                    None => inside(&stack, Wanted::Key),
                }
            }
        }
    }

    /// Completes the place of the cursor with the entries that follow it.
    fn finished(&self, place: PlaceSoFar, word: Range<usize>, is_key: bool) -> CursorPlace {
        let PlaceSoFar { path, wanted, siblings, parent } = place;
        let child = match parent {
            Some((container, entry)) if wanted == Wanted::Either => {
                self.containers[container].entries[entry].child
            }
            Some(_) => None,
            None => (wanted == Wanted::Key && !self.containers.is_empty()).then_some(0),
        };
        let child = child.filter(|id| !self.containers[*id].is_list);
        let is_first = |id: &usize| {
            let first = self.containers[*id].entries.first();
            first.is_some_and(|it| it.span.start >= word.start)
        };
        let wanted = match child.filter(is_first) {
            Some(_) if wanted == Wanted::Either => Wanted::Key,
            Some(_) | None => wanted,
        };
        CursorPlace { path, wanted, siblings: siblings.or(child), word, is_key }
    }
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.strip_suffix(quote).unwrap_or(inner);
        }
    }
    text
}
