//! Reads `loop`: its items, the name of an item, and the mode.

use std::rc::Rc;

use noetl_expr::Template;
use noetl_model::{LoopMode, ToolKind};

use super::DocumentReader;
use crate::analysis::RenderMoment;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{FrameProcess, FrameSettings, Loop, LoopSource, Task};
use crate::words::{CURSOR, FRAME, LOOP, LOOP_SPEC};
use crate::yaml::{Yaml, YamlEntry, YamlNode};

/// The label of the task that claims rows.
const CLAIM_LABEL: &str = "claim";

const MODES: &[(&str, LoopMode)] = &[
    ("sequential", LoopMode::Sequential),
    ("parallel", LoopMode::Parallel),
    ("cursor", LoopMode::Cursor),
];

const PROCESS: &[(&str, FrameProcess)] =
    &[("row", FrameProcess::Row), ("frame", FrameProcess::Frame)];

impl DocumentReader<'_> {
    pub(super) fn repeat(&mut self, node: &Rc<YamlNode>) -> Option<Loop> {
        self.map(node, LOOP)?;
        let spec = node.get("spec");
        if let Some(spec) = spec {
            self.map(spec, LOOP_SPEC);
        }
        let setting = |name| spec.and_then(|spec| spec.get(name)).or_else(|| node.get(name));
        let iterator = self.iterator(node);
        let mode = setting("mode").map(|mode| self.mode(mode));
        let source = self.loop_source(node, mode.flatten());
        let in_flight_max =
            setting("max_in_flight").and_then(|max| self.number(max, "`max_in_flight`"));
        let frame = self.frame(spec.and_then(|spec| spec.get("frame")));
        let source = source?;
        let mode = match (&source, mode) {
            (LoopSource::Cursor(_), _) => LoopMode::Cursor,
            (LoopSource::In(_), Some(mode)) => mode?,
            (LoopSource::In(_), None) => LoopMode::Sequential,
        };
        Some(Loop { source, iterator: iterator?, mode, in_flight_max, frame })
    }

    fn mode(&mut self, node: &YamlNode) -> Option<LoopMode> {
        if node.text() == Some("async") {
            let finding = "`async` is an old spelling of a loop's mode";
            let finding = Finding::warning(DiagnosticCode::OldSpelling, &node.span, finding);
            self.add(finding.help("write `parallel`").fix("parallel"));
            return Some(LoopMode::Parallel);
        }
        self.word(node, "a loop's mode", MODES)
    }

    fn iterator(&mut self, node: &YamlNode) -> Option<String> {
        let Some(iterator) = node.get("iterator").or_else(|| node.get("element")) else {
            let finding =
                Finding::error(DiagnosticCode::MissingKey, &node.span, "a loop needs `iterator`");
            self.add(finding.help("it is the name an item has in templates, for example `item`"));
            return None;
        };
        self.name(iterator, "an iterator's name")
    }

    fn loop_source(&mut self, node: &YamlNode, mode: Option<LoopMode>) -> Option<LoopSource> {
        let items = ["in", "collection", "items"].into_iter().find_map(|key| node.get(key));
        match (items, node.get("cursor")) {
            (Some(_), Some(cursor)) => {
                let message = "a loop has either `in` or `cursor`";
                self.add(Finding::error(DiagnosticCode::BadValue, &cursor.span, message));
                None
            }
            (None, Some(cursor)) => {
                self.cursor(cursor).map(|task| LoopSource::Cursor(Box::new(task)))
            }
            (Some(items), None) if mode == Some(LoopMode::Cursor) => {
                let message = "a cursor loop takes its rows from `cursor`, not from a list";
                self.add(Finding::error(DiagnosticCode::BadValue, &items.span, message));
                None
            }
            (Some(items), None) => self.items(items).map(LoopSource::In),
            (None, None) => {
                let key = if mode == Some(LoopMode::Cursor) { "cursor" } else { "in" };
                self.missing(node, "a loop", key);
                None
            }
        }
    }

    fn items(&mut self, node: &YamlNode) -> Option<Template> {
        self.uses.note_loop(node);
        match &node.yaml {
            Yaml::Number(_) | Yaml::Text { .. } | Yaml::List(_) | Yaml::Map(_) => {
                self.template(node)
            }
            Yaml::Null | Yaml::Bool(_) => {
                self.wrong_type(node, "`in`", "a list, a map, a number or a template for one");
                None
            }
        }
    }

    /// Reads the tool that claims rows. Its `claim` becomes the `command` of the tool.
    fn cursor(&mut self, node: &YamlNode) -> Option<Task> {
        let entries = self.map(node, CURSOR)?;
        let Some(claim) = node.get("claim") else {
            self.missing(node, "a cursor", "claim");
            return None;
        };
        self.text(claim, "`claim`")?;
        let tool = match node.get("kind") {
            Some(kind) => {
                let name = self.name(kind, "a tool's kind")?;
                self.kind_named(&name, kind)?
            }
            None => ToolKind::Postgres,
        };
        let config = entries.iter().filter(|entry| entry.key.text != "kind").map(|entry| {
            let text = if entry.key.text == "claim" { "command" } else { &entry.key.text };
            YamlEntry { key: entry.key.renamed(text), value: Rc::clone(&entry.value) }
        });
        let config = YamlNode::map(node.span.clone(), config.collect());
        self.tool_settings(tool, &config);
        let config = self.at(RenderMoment::Claim, |reader| reader.template(&config))?;
        let label = CLAIM_LABEL.to_owned();
        let (set, rules) = (Vec::new(), Vec::new());
        Some(Task { label, tool, config, set, rules, timeout: None, output_schema: None })
    }

    fn frame(&mut self, node: Option<&Rc<YamlNode>>) -> FrameSettings {
        let mut frame =
            FrameSettings { max_rows: None, row_concurrency: None, process: FrameProcess::Row };
        let Some(node) = node else { return frame };
        self.map(node, FRAME);
        let mut number =
            |key| node.get(key).and_then(|node| self.number(node, &format!("`{key}`")));
        frame.max_rows = number("max_rows");
        frame.row_concurrency = number("row_concurrency");
        let process = node.get("process").and_then(|node| self.word(node, "`process`", PROCESS));
        frame.process = process.unwrap_or(FrameProcess::Row);
        frame
    }

    /// Reads a positive whole number, or a template that gives one.
    fn number(&mut self, node: &YamlNode, title: &str) -> Option<Template> {
        if node.is_null() {
            return None;
        }
        if !node.is_template() {
            self.count(node, title, u32::MAX)?;
        }
        self.template(node)
    }
}
