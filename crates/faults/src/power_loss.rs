//! The files that a power loss leaves: everything that was flushed, and any part of the rest.
//!
//! The model is stricter than most file systems. A write survives if its file was flushed after it;
//! otherwise each of its sectors may survive or not, in any order. A created, renamed or removed
//! name survives if its directory was flushed after it; otherwise the changes of a directory survive
//! in their order, up to any of them. The flush of a file does not flush its name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::chance::Chance;
use crate::disk_trace::{DiskChange, DiskTrace};

/// The smallest unit that a disk writes as a whole.
const SECTOR: usize = 512;

/// The fate of changes that were not flushed before the power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unflushed {
    /// None of them survives.
    Lost,
    /// All of them survive.
    Kept,
    /// Each sector and each change of a directory survives by chance.
    Mixed,
}

impl Unflushed {
    pub const ALL: [Self; 3] = [Self::Lost, Self::Kept, Self::Mixed];
}

/// The files after a power loss, by path; directories have no content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskState(pub BTreeMap<String, Option<Vec<u8>>>);

impl DiskState {
    /// Writes the files into a directory that exists.
    pub fn write(&self, directory: &Path) -> std::io::Result<()> {
        for (path, content) in &self.0 {
            let path = directory.join(path);
            match content {
                Some(bytes) => fs::write(path, bytes)?,
                None => fs::create_dir_all(path)?,
            }
        }
        Ok(())
    }
}

/// A file or directory, whatever its name is at the moment.
type DiskNode = usize;

/// The directory whose changes were recorded.
const ROOT: DiskNode = 0;

/// A change of the content of a file.
enum ContentChange<'a> {
    Write { offset: Option<usize>, bytes: &'a [u8] },
    SetLen(usize),
}

/// A change of a name in a directory.
enum NameChange {
    Add { name: String, node: DiskNode },
    Remove { name: String },
    Rename { from: String, to: String },
}

/// A change, with the moments of [`DiskOp`](crate::DiskOp).
struct RecordedChange<T> {
    node: DiskNode,
    begun: usize,
    ended: usize,
    what: T,
}

/// The power losses that a trace allows.
pub struct PowerLoss<'a> {
    contents: Vec<RecordedChange<ContentChange<'a>>>,
    names: Vec<RecordedChange<NameChange>>,
    flushes: Vec<RecordedChange<()>>,
    directories: Vec<DiskNode>,
    end: usize,
}

/// The names while the program ran.
struct LiveNames {
    nodes: BTreeMap<String, DiskNode>,
    count: DiskNode,
}

impl LiveNames {
    fn make(&mut self, path: &str) -> DiskNode {
        self.count += 1;
        self.nodes.insert(path.to_owned(), self.count);
        self.count
    }

    fn rename(&mut self, from: &str, to: &str) {
        let below = format!("{from}/");
        let moved: Vec<String> = self
            .nodes
            .keys()
            .filter(|path| *path == from || path.starts_with(&below))
            .cloned()
            .collect();
        for path in moved {
            let node = self.nodes.remove(&path).expect("it was just there");
            self.nodes.insert(format!("{to}{}", &path[from.len()..]), node);
        }
    }
}

/// Splits a path into its directory, which is empty for the root, and its name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl<'a> PowerLoss<'a> {
    /// Reads a trace that begins with an empty directory.
    pub fn new(trace: &'a DiskTrace) -> Self {
        let mut it = Self {
            contents: Vec::new(),
            names: Vec::new(),
            flushes: Vec::new(),
            directories: vec![ROOT],
            end: trace.ops.last().map_or(0, |op| op.begun + 1),
        };
        let mut live = LiveNames { nodes: BTreeMap::from([(String::new(), ROOT)]), count: ROOT };
        for op in &trace.ops {
            it.add(&op.change, (op.begun, op.ended), &mut live);
        }
        it
    }

    /// Returns the moments at which the power can fail: from zero to this one.
    pub fn end(&self) -> usize {
        self.end
    }

    fn add(
        &mut self,
        change: &'a DiskChange,
        (begun, ended): (usize, usize),
        live: &mut LiveNames,
    ) {
        let content = |node, what| RecordedChange { node, begun, ended, what };
        match change {
            DiskChange::Create { path, is_emptied } => {
                if !live.nodes.contains_key(path) {
                    self.add_name(path, (begun, ended), live);
                } else if *is_emptied {
                    self.contents.push(content(live.nodes[path], ContentChange::SetLen(0)));
                }
            }
            DiskChange::Write { path, offset, bytes } => {
                let what = ContentChange::Write { offset: *offset, bytes };
                if let Some(node) = live.nodes.get(path) {
                    self.contents.push(content(*node, what));
                }
            }
            DiskChange::SetLen { path, len } => {
                if let Some(node) = live.nodes.get(path) {
                    self.contents.push(content(*node, ContentChange::SetLen(*len)));
                }
            }
            DiskChange::Flush { path } => {
                if let Some(node) = live.nodes.get(path) {
                    self.flushes.push(RecordedChange { node: *node, begun, ended, what: () });
                }
            }
            DiskChange::Rename { from, to } => {
                let ((directory, from_name), (other, to_name)) = (split(from), split(to));
                assert_eq!(directory, other, "a rename to another directory is not modelled");
                let what =
                    NameChange::Rename { from: from_name.to_owned(), to: to_name.to_owned() };
                let node = live.nodes[directory];
                self.names.push(RecordedChange { node, begun, ended, what });
                live.rename(from, to);
            }
            DiskChange::Remove { path } => {
                let (directory, name) = split(path);
                let what = NameChange::Remove { name: name.to_owned() };
                self.names.push(RecordedChange { node: live.nodes[directory], begun, ended, what });
                live.nodes.remove(path);
            }
            DiskChange::MakeDirectory { path } => {
                let node = self.add_name(path, (begun, ended), live);
                self.directories.push(node);
            }
        }
    }

    fn add_name(
        &mut self,
        path: &str,
        (begun, ended): (usize, usize),
        live: &mut LiveNames,
    ) -> DiskNode {
        let (directory, name) = split(path);
        let parent = live.nodes[directory];
        let node = live.make(path);
        let what = NameChange::Add { name: name.to_owned(), node };
        self.names.push(RecordedChange { node: parent, begun, ended, what });
        node
    }

    /// Returns the files after a power loss just before the moment `at`.
    pub fn at(&self, at: usize, unflushed: Unflushed, chance: &mut Chance) -> DiskState {
        let mut flushed: BTreeMap<DiskNode, usize> = BTreeMap::new();
        for flush in self.flushes.iter().filter(|flush| flush.ended < at) {
            let last = flushed.entry(flush.node).or_default();
            *last = (*last).max(flush.begun);
        }
        let is_durable =
            |node: DiskNode, ended: usize| flushed.get(&node).is_some_and(|flush| ended < *flush);
        let mut contents: BTreeMap<DiskNode, Vec<u8>> = BTreeMap::new();
        for change in self.contents.iter().filter(|change| change.begun < at) {
            let content = contents.entry(change.node).or_default();
            let durable = is_durable(change.node, change.ended);
            apply(&change.what, content, || {
                durable
                    || match unflushed {
                        Unflushed::Kept => true,
                        Unflushed::Lost => false,
                        Unflushed::Mixed => chance.percent(50),
                    }
            });
        }
        let mut entries: BTreeMap<DiskNode, BTreeMap<&str, DiskNode>> = BTreeMap::new();
        let mut cut: Vec<DiskNode> = Vec::new();
        for change in self.names.iter().filter(|change| change.begun < at) {
            let is_kept = is_durable(change.node, change.ended)
                || match unflushed {
                    Unflushed::Kept => true,
                    Unflushed::Lost => false,
                    Unflushed::Mixed => !cut.contains(&change.node) && chance.percent(70),
                };
            if is_kept {
                rename(&change.what, entries.entry(change.node).or_default());
            } else {
                cut.push(change.node);
            }
        }
        let mut state = BTreeMap::new();
        self.collect(ROOT, "", &entries, &mut contents, &mut state);
        DiskState(state)
    }

    fn collect(
        &self,
        directory: DiskNode,
        path: &str,
        entries: &BTreeMap<DiskNode, BTreeMap<&str, DiskNode>>,
        contents: &mut BTreeMap<DiskNode, Vec<u8>>,
        state: &mut BTreeMap<String, Option<Vec<u8>>>,
    ) {
        for (name, node) in entries.get(&directory).into_iter().flatten() {
            let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}/{name}") };
            if self.directories.contains(node) {
                state.insert(path.clone(), None);
                self.collect(*node, &path, entries, contents, state);
            } else {
                state.insert(path, Some(contents.remove(node).unwrap_or_default()));
            }
        }
    }
}

/// Applies a change to a content; `is_kept` is asked for each sector.
fn apply(change: &ContentChange<'_>, content: &mut Vec<u8>, mut is_kept: impl FnMut() -> bool) {
    match change {
        ContentChange::SetLen(len) => {
            if is_kept() {
                content.resize(*len, 0);
            }
        }
        ContentChange::Write { offset, bytes } => {
            let mut at = offset.unwrap_or(content.len());
            let mut rest = *bytes;
            while !rest.is_empty() {
                let (now, after) = rest.split_at((SECTOR - at % SECTOR).min(rest.len()));
                if is_kept() {
                    let end = at + now.len();
                    content.resize(content.len().max(end), 0);
                    content[at..end].copy_from_slice(now);
                }
                (at, rest) = (at + now.len(), after);
            }
        }
    }
}

fn rename<'a>(change: &'a NameChange, names: &mut BTreeMap<&'a str, DiskNode>) {
    match change {
        NameChange::Add { name, node } => {
            names.insert(name, *node);
        }
        NameChange::Remove { name } => {
            names.remove(name.as_str());
        }
        NameChange::Rename { from, to } => {
            if let Some(node) = names.remove(from.as_str()) {
                names.insert(to, node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk_trace::DiskOp;

    fn trace(changes: &[DiskChange]) -> DiskTrace {
        let op = |(at, change): (usize, &DiskChange)| DiskOp {
            change: change.clone(),
            begun: at,
            ended: at,
        };
        DiskTrace { ops: changes.iter().enumerate().map(op).collect() }
    }

    fn create(path: &str) -> DiskChange {
        DiskChange::Create { path: path.to_owned(), is_emptied: false }
    }

    fn write(path: &str, offset: usize, bytes: &[u8]) -> DiskChange {
        DiskChange::Write { path: path.to_owned(), offset: Some(offset), bytes: bytes.to_vec() }
    }

    fn flush(path: &str) -> DiskChange {
        DiskChange::Flush { path: path.to_owned() }
    }

    fn at_end(changes: &[DiskChange], unflushed: Unflushed) -> DiskState {
        let trace = trace(changes);
        let loss = PowerLoss::new(&trace);
        loss.at(loss.end(), unflushed, &mut Chance::new(1))
    }

    #[test]
    fn a_flushed_file_without_a_flushed_name_is_lost() {
        let changes = [create("a"), write("a", 0, b"x"), flush("a")];
        assert_eq!(at_end(&changes, Unflushed::Lost).0, BTreeMap::new());
        assert_eq!(at_end(&changes, Unflushed::Kept).0["a"], Some(b"x".to_vec()));
    }

    #[test]
    fn a_write_after_the_flush_is_lost_and_the_one_before_stays() {
        let changes =
            [create("a"), flush(""), write("a", 0, b"old"), flush("a"), write("a", 0, b"new")];
        assert_eq!(at_end(&changes, Unflushed::Lost).0["a"], Some(b"old".to_vec()));
        assert_eq!(at_end(&changes, Unflushed::Kept).0["a"], Some(b"new".to_vec()));
    }

    #[test]
    fn a_write_is_torn_between_sectors_only() {
        let changes = [create("a"), flush(""), write("a", 0, &[1; 4 * SECTOR])];
        let trace = trace(&changes);
        let loss = PowerLoss::new(&trace);
        let mut torn = 0;
        for seed in 0..50 {
            let state = loss.at(loss.end(), Unflushed::Mixed, &mut Chance::new(seed));
            let content = state.0["a"].clone().expect("a file");
            assert!(content.chunks(SECTOR).all(|it| it.iter().all(|byte| *byte == it[0])));
            torn += usize::from(content.contains(&0));
        }
        assert!(torn > 0, "no write was torn");
    }

    #[test]
    fn a_file_in_a_lost_directory_is_lost_although_it_was_renamed_and_flushed() {
        let made = DiskChange::MakeDirectory { path: "d".to_owned() };
        let renamed = DiskChange::Rename { from: "d/t".to_owned(), to: "d/f".to_owned() };
        let changes = [made, create("d/t"), flush("d/t"), renamed, flush("d")];
        assert_eq!(at_end(&changes, Unflushed::Lost).0, BTreeMap::new());
        let mut all = changes.to_vec();
        all.push(flush(""));
        let names: Vec<String> = at_end(&all, Unflushed::Lost).0.into_keys().collect();
        assert_eq!(names, ["d", "d/f"]);
    }
}
