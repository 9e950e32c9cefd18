//! Reads `output`: the view of a step's output in templates.

use std::rc::Rc;

use super::DocumentReader;
use crate::playbook::{OutputView, ScopeWord, Selected, StoreWord};
use crate::words::output::{OUTPUT, SELECTED, STORE};
use crate::yaml::YamlNode;

/// The largest size in bytes that a setting may have.
const BYTES_MAX: u32 = 64 * 1024 * 1024;

/// The `_store` value for each kind of store; kinds that are not supported act like `auto`.
const STORE_WORDS: &[(&str, Option<StoreWord>)] = &[
    ("auto", None),
    ("memory", Some(StoreWord::Memory)),
    ("kv", Some(StoreWord::Kv)),
    ("disk", Some(StoreWord::Disk)),
    ("object", None),
    ("s3", None),
    ("gcs", None),
    ("db", Some(StoreWord::Db)),
    ("duckdb", None),
    ("eventlog", Some(StoreWord::Eventlog)),
];

const SCOPE_WORDS: &[(&str, ScopeWord)] = &[
    ("step", ScopeWord::Step),
    ("execution", ScopeWord::Execution),
    ("workflow", ScopeWord::Workflow),
    ("permanent", ScopeWord::Permanent),
];

/// Returns the places of a step's output settings: in the step, or in its tool under either of two
/// keys.
fn places(step: &YamlNode) -> impl Iterator<Item = &Rc<YamlNode>> {
    let tool = step.get("tool");
    let result = tool.and_then(|tool| tool.get("spec")).and_then(|spec| spec.get("result"));
    let below = tool.and_then(|tool| tool.get("output"));
    let found = [result, below, step.get("output")].into_iter().flatten();
    found.filter(|output| output.entries().is_some())
}

/// Splits a path such as `user.tags.0` or `$.user.tags[0]` into keys and indexes.
fn segments(path: &str) -> Vec<String> {
    let path = path.strip_prefix("$.").unwrap_or(path);
    let segments = path.split(['.', '[']).map(|segment| segment.trim_end_matches(']'));
    segments.filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

impl DocumentReader<'_> {
    pub(super) fn step_output(&mut self, node: &YamlNode) -> OutputView {
        let mut view = OutputView::default();
        if let Some(list) = node.get("output_select") {
            self.selected(list, &mut view.selected);
        }
        for output in places(node) {
            self.output_view(output, &mut view);
        }
        view
    }

    fn output_view(&mut self, output: &YamlNode, view: &mut OutputView) {
        self.map(output, OUTPUT);
        for key in ["output_select", "select"] {
            if let Some(list) = output.get(key) {
                self.selected(list, &mut view.selected);
            }
        }
        if let Some(bytes) = self.bytes(output, "inline_max_bytes") {
            view.reference_above = bytes.into();
        }
        if let Some(bytes) = self.bytes(output, "preview_max_bytes") {
            view.preview_max = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        if let Some(name) = output.get("as").filter(|name| !name.is_null()) {
            view.name = self.name(name, "`as`");
        }
        if let Some(scope) = output.get("scope").filter(|scope| !scope.is_null()) {
            view.scope = self.word(scope, "`scope`", SCOPE_WORDS).unwrap_or_default();
        }
        let Some(store) = output.get("store").filter(|store| !store.is_null()) else { return };
        let kind = match store.text() {
            Some(_) => Some(store),
            None => self.map(store, STORE).and_then(|_| store.get("kind")),
        };
        if let Some(kind) = kind.filter(|kind| !kind.is_null()) {
            view.store = self.word(kind, "`store.kind`", STORE_WORDS).flatten();
        }
    }

    fn bytes(&mut self, output: &YamlNode, key: &str) -> Option<u32> {
        let node = output.get(key).filter(|node| !node.is_null())?;
        self.whole(node, &format!("`{key}`"), 0..=BYTES_MAX)
    }

    /// Reads a list of paths, or of maps with a `path` and a name `as`.
    fn selected(&mut self, list: &Rc<YamlNode>, into: &mut Vec<Selected>) {
        if list.is_null() {
            return;
        }
        let Some(items) = list.list() else {
            self.wrong_type(list, "a selection", "a list of paths");
            return;
        };
        for item in items {
            let path = match item.entries() {
                None => Some(item),
                Some(_) => {
                    self.map(item, SELECTED);
                    let path = item.get("path");
                    if path.is_none() {
                        self.missing(item, "a selection", "path");
                    }
                    path
                }
            };
            let Some(path) = path.and_then(|path| self.name(path, "a path")) else { continue };
            let path = segments(&path);
            let renamed = item.get("as").and_then(|name| self.name(name, "`as`"));
            let name = renamed.or_else(|| path.last().cloned()).unwrap_or_default();
            into.push(Selected { name, path });
        }
    }
}
