//! Builds a tree from the events of the YAML parser, within limits.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{SubtreeSize, Yaml, YamlEntry, YamlKey, YamlNode, scalar};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};

/// The most bytes in a document.
pub(crate) const PLAYBOOK_BYTES_MAX: usize = 3 << 20;
/// The deepest nesting of lists and maps.
const DEPTH_MAX: usize = 64;
/// The most values in a document, counting aliases expanded.
const NODES_MAX: usize = 300_000;
/// The most bytes of text in a document, counting aliases expanded.
const EXPANDED_BYTES_MAX: usize = 4 * PLAYBOOK_BYTES_MAX;
const ALIASES_MAX: usize = 200;

/// Parses the text into a tree; `None` if a finding leaves no document.
pub(crate) fn load(findings: &mut Findings) -> Option<Rc<YamlNode>> {
    let text = findings.source.text.clone();
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut builder = Builder {
        findings,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        aliases: 0,
        documents: 0,
        total: SubtreeSize::default(),
        root: None,
    };
    for event in Parser::new_from_str_with_options(&text, options) {
        let step = match event {
            Ok((event, span)) => builder.event(event, &span),
            Err(error) => Err(syntax(&error)),
        };
        if let Err(fatal) = step {
            builder.findings.add(fatal);
            return None;
        }
    }
    builder.root
}

struct Builder<'f> {
    findings: &'f mut Findings,
    open: Vec<OpenCollection>,
    anchors: BTreeMap<usize, Rc<YamlNode>>,
    aliases: usize,
    documents: usize,
    /// The cost of everything so far, with aliases expanded.
    total: SubtreeSize,
    root: Option<Rc<YamlNode>>,
}

/// A list or map that has not ended yet.
struct OpenCollection {
    start: usize,
    anchor: usize,
    contents: Contents,
}

enum Contents {
    List(Vec<Rc<YamlNode>>),
    Map { entries: Vec<YamlEntry>, lines: BTreeMap<String, usize>, key: Pending },
}

/// The part of a map's entry that is expected next.
enum Pending {
    Key,
    Value(YamlKey),
    /// The value of an invalid key, to be dropped.
    Discard,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Finding> {
        let range = bytes(span);
        match event {
            Event::DocumentStart(..) => self.document(&range),
            Event::Scalar(text, style, anchor, tag) => {
                self.check_tag(tag.as_deref(), span);
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let yaml = self.scalar(text, style, tag.as_deref(), &range);
                let node = self.node(range, yaml)?;
                self.place(node, anchor, plain)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), span);
                self.open(range.start, anchor, Contents::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), span);
                let (entries, lines) = (Vec::new(), BTreeMap::new());
                self.open(range.start, anchor, Contents::Map { entries, lines, key: Pending::Key })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range.end),
            Event::Alias(id) => self.alias(id, &range),
            _ => Ok(()),
        }
    }

    fn document(&mut self, range: &Range<usize>) -> Result<(), Finding> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        let finding = Finding::error(
            DiagnosticCode::SeveralDocuments,
            range,
            "a second document begins here",
        );
        Err(finding.help("keep one playbook per file"))
    }

    fn open(&mut self, start: usize, anchor: usize, contents: Contents) -> Result<(), Finding> {
        if self.open.len() == DEPTH_MAX {
            return Err(too_deep(&(start..start + 1)));
        }
        self.open.push(OpenCollection { start, anchor, contents });
        Ok(())
    }

    fn close(&mut self, end: usize) -> Result<(), Finding> {
        let Some(OpenCollection { start, anchor, contents }) = self.open.pop() else {
            return Ok(());
        };
        let yaml = match contents {
            Contents::List(items) => Yaml::List(items),
            Contents::Map { entries, .. } => Yaml::Map(self.merge(entries)),
        };
        let node = self.node(start..end.max(start), yaml)?;
        self.place(node, anchor, false)
    }

    fn alias(&mut self, id: usize, range: &Range<usize>) -> Result<(), Finding> {
        self.aliases += 1;
        if self.aliases > ALIASES_MAX {
            let message = format!("more than {ALIASES_MAX} aliases");
            return Err(Finding::error(DiagnosticCode::TooLarge, range, message));
        }
        let Some(node) = self.anchors.get(&id).cloned() else {
            let message = "an alias cannot stand inside what it repeats";
            return Err(Finding::error(DiagnosticCode::Syntax, range, message));
        };
        if self.open.len() + node.cost.height > DEPTH_MAX {
            return Err(too_deep(range));
        }
        self.spend(node.cost, range)?;
        self.place(node, 0, false)
    }

    /// Returns a node whose cost includes the cost of its children.
    fn node(&mut self, span: Range<usize>, yaml: Yaml) -> Result<Rc<YamlNode>, Finding> {
        let own = match &yaml {
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => {
                SubtreeSize { nodes: 1, bytes: 0, height: 0 }
            }
            Yaml::Text { text, .. } => SubtreeSize { nodes: 1, bytes: text.len(), height: 0 },
            Yaml::List(_) => SubtreeSize { nodes: 1, bytes: 0, height: 1 },
            Yaml::Map(entries) => {
                let keys = entries.iter().map(|entry| entry.key.text.len()).sum();
                SubtreeSize { nodes: 1, bytes: keys, height: 1 }
            }
        };
        self.spend(own, &span)?;
        let children: Vec<SubtreeSize> = match &yaml {
            Yaml::List(items) => items.iter().map(|item| item.cost).collect(),
            Yaml::Map(entries) => entries.iter().map(|entry| entry.value.cost).collect(),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text { .. } => Vec::new(),
        };
        let cost = children.iter().fold(own, |sum, child| SubtreeSize {
            nodes: sum.nodes + child.nodes,
            bytes: sum.bytes + child.bytes,
            height: sum.height.max(own.height + child.height),
        });
        Ok(Rc::new(YamlNode { span, yaml, cost }))
    }

    fn spend(&mut self, cost: SubtreeSize, at: &Range<usize>) -> Result<(), Finding> {
        self.total.nodes += cost.nodes;
        self.total.bytes += cost.bytes;
        let message = if self.total.nodes > NODES_MAX {
            format!("more than {NODES_MAX} values, with aliases written out")
        } else if self.total.bytes > EXPANDED_BYTES_MAX {
            format!("more than {EXPANDED_BYTES_MAX} bytes of text, with aliases written out")
        } else {
            return Ok(());
        };
        Err(Finding::error(DiagnosticCode::TooLarge, at, message))
    }

    fn place(&mut self, node: Rc<YamlNode>, anchor: usize, plain: bool) -> Result<(), Finding> {
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        let (entries, lines, pending) = match &mut open.contents {
            Contents::List(items) => {
                items.push(node);
                return Ok(());
            }
            Contents::Map { entries, lines, key } => (entries, lines, key),
        };
        *pending = match std::mem::replace(pending, Pending::Key) {
            Pending::Key => match key_of(&node, plain, lines, self.findings) {
                Some(key) => Pending::Value(key),
                None => Pending::Discard,
            },
            Pending::Value(key) => {
                entries.push(YamlEntry { key, value: node });
                Pending::Key
            }
            Pending::Discard => Pending::Key,
        };
        Ok(())
    }

    /// Returns a map's own entries, then the entries of merged maps whose keys it does not have.
    fn merge(&mut self, entries: Vec<YamlEntry>) -> Vec<YamlEntry> {
        let is_merge = |entry: &YamlEntry| entry.key.plain && entry.key.text == "<<";
        let (merges, mut own): (Vec<YamlEntry>, Vec<YamlEntry>) =
            entries.into_iter().partition(is_merge);
        let mut known: BTreeSet<String> = own.iter().map(|entry| entry.key.text.clone()).collect();
        for merge in merges {
            let sources = match &merge.value.yaml {
                Yaml::List(items) => items.clone(),
                Yaml::Map(_) => vec![Rc::clone(&merge.value)],
                Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text { .. } => Vec::new(),
            };
            if sources.is_empty() || sources.iter().any(|source| source.entries().is_none()) {
                let message = format!("`<<` merges maps, this is {}", merge.value.kind());
                self.findings.add(Finding::error(
                    DiagnosticCode::WrongType,
                    &merge.value.span,
                    message,
                ));
                continue;
            }
            for entry in sources.iter().filter_map(|source| source.entries()).flatten() {
                if known.insert(entry.key.text.clone()) {
                    own.push(entry.clone());
                }
            }
        }
        own
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        range: &Range<usize>,
    ) -> Yaml {
        let typed = match tag.and_then(Tag::core_suffix) {
            Some("str") => false,
            Some(_) => true,
            None => tag.is_none() && style == ScalarStyle::Plain,
        };
        if !typed {
            return Yaml::Text { text: text.into_owned(), style };
        }
        scalar::plain(&text).unwrap_or_else(|scalar::NotJson| {
            let message = format!("`{text}` is not a number that can be stored");
            let finding = Finding::error(DiagnosticCode::BadValue, range, message);
            self.findings.add(finding.help("put it in quotes to mean the text"));
            Yaml::Null
        })
    }

    fn check_tag(&mut self, tag: Option<&Tag>, span: &Span) {
        let Some(tag) = tag else { return };
        let non_specific =
            tag.handle().is_empty() || (tag.handle() == "!" && tag.suffix().is_empty());
        if tag.core_suffix().is_some() || non_specific {
            return;
        }
        let range = span.tag_span().map_or_else(|| bytes(span), |tag| bytes(&tag));
        let written = &self.findings.source.text[range.clone()];
        let message = format!("the tag `{written}` means nothing in a playbook");
        let finding = Finding::error(DiagnosticCode::CustomTag, &range, message);
        self.findings.add(finding.help("leave the tag out"));
    }
}

fn key_of(
    node: &YamlNode,
    plain: bool,
    lines: &mut BTreeMap<String, usize>,
    findings: &mut Findings,
) -> Option<YamlKey> {
    let text = match &node.yaml {
        Yaml::Text { text, .. } => text.clone(),
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => {
            findings.source.text[node.span.clone()].trim().to_owned()
        }
        Yaml::List(_) | Yaml::Map(_) => {
            let message = format!("a key is a word, this is {}", node.kind());
            findings.add(
                Finding::error(DiagnosticCode::BadKey, &node.span, message)
                    .help("a value that begins with `{{` must be in quotes"),
            );
            return None;
        }
    };
    let line = findings.source.line(node.span.start);
    if let Some(first) = lines.insert(text.clone(), line)
        && !(plain && text == "<<")
    {
        let message = format!("`{text}` is already there, on line {first}");
        lines.insert(text, first);
        findings.add(Finding::error(DiagnosticCode::DuplicateKey, &node.span, message));
        return None;
    }
    Some(YamlKey { text, span: node.span.clone(), plain })
}

fn bytes(span: &Span) -> Range<usize> {
    let start = span.start.byte_offset().unwrap_or(0);
    start..span.end.byte_offset().unwrap_or(start).max(start)
}

fn too_deep(at: &Range<usize>) -> Finding {
    Finding::error(DiagnosticCode::TooDeep, at, format!("nested more than {DEPTH_MAX} deep"))
}

fn syntax(error: &ScanError) -> Finding {
    use granit_parser::ErrorKind;
    let at = error.marker().byte_offset().unwrap_or(0);
    let range = at..at + 1;
    let finding = Finding::error(DiagnosticCode::Syntax, &range, error.info());
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(&range),
        ErrorKind::MappingValueNotAllowed => finding.help("put text that contains `: ` in quotes"),
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation => finding.help("indent with spaces"),
        _ => finding,
    }
}
