//! `output`: how templates see what a step produced.

use std::rc::Rc;

use super::Reader;
use crate::playbook::{OutputView, Selected};
use crate::words::{OUTPUT, SELECTED};
use crate::yaml::Node;

/// The largest number of bytes that may be said.
const BYTES_MAX: u32 = 64 * 1024 * 1024;

impl Reader<'_> {
    pub(super) fn step_output(&mut self, node: &Node) -> OutputView {
        let mut view = OutputView::default();
        if let Some(list) = node.get("output_select") {
            self.selected(list, &mut view.selected);
        }
        let Some(output) = node.get("output").filter(|output| output.entries().is_some()) else {
            return view;
        };
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
        view
    }

    fn bytes(&mut self, output: &Node, key: &str) -> Option<u32> {
        let node = output.get(key).filter(|node| !node.is_null())?;
        self.whole(node, &format!("`{key}`"), 0..=BYTES_MAX)
    }

    /// A list whose items are paths, or maps with a `path` and the name it gets by `as`.
    fn selected(&mut self, list: &Rc<Node>, into: &mut Vec<Selected>) {
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
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            let renamed = item.get("as").and_then(|name| self.name(name, "`as`"));
            let name = renamed.or_else(|| path.last().cloned()).unwrap_or_default();
            into.push(Selected { name, path });
        }
    }
}
