//! The tree of an execution and its descendants.

use std::collections::{BTreeMap, VecDeque};

use noetl_control::LoadError;
use noetl_model::ExecutionId;
use noetl_store::{ExecutionFilter, PAGE_MAX, Page};

use super::KnownExecution;
use crate::app::App;

/// Maximum number of executions in a tree.
const TREE_MAX: usize = 1000;

/// An execution with its children, oldest first.
#[derive(Debug, Clone)]
pub struct ExecutionNode {
    pub known: KnownExecution,
    pub children: Vec<ExecutionNode>,
}

/// An execution with its descendants.
#[derive(Debug, Clone)]
pub struct ExecutionTree {
    pub root: ExecutionNode,
    /// True if there are more executions than the tree has.
    pub is_truncated: bool,
}

impl App {
    /// Loads an execution with all its descendants.
    pub async fn execution_tree(&self, execution: ExecutionId) -> Result<ExecutionTree, LoadError> {
        let root = self.known_execution(execution).await?;
        let mut below: BTreeMap<ExecutionId, Vec<KnownExecution>> = BTreeMap::new();
        let mut open = VecDeque::from([root.summary.execution]);
        let (mut count, mut is_truncated) = (1, false);
        while let Some(parent) = open.pop_front() {
            let (mut children, more) = self.children_of(parent, TREE_MAX - count).await?;
            is_truncated |= more;
            count += children.len();
            children.reverse();
            open.extend(children.iter().map(|child| child.summary.execution));
            below.insert(parent, children);
        }
        Ok(ExecutionTree { root: node(root, &mut below), is_truncated })
    }

    /// Loads up to `limit` children, newest first; the flag is true if there are more.
    async fn children_of(
        &self,
        parent: ExecutionId,
        limit: usize,
    ) -> Result<(Vec<KnownExecution>, bool), LoadError> {
        let filter = ExecutionFilter { parent: Some(parent), ..ExecutionFilter::default() };
        let mut children: Vec<KnownExecution> = Vec::new();
        loop {
            let before = children.last().map(|child| child.summary.execution);
            let page = Page { before, limit: PAGE_MAX };
            let found = self.known_page(&filter, page).await;
            let found = found.map_err(|error| LoadError::of_store(parent, error))?;
            let is_last = found.len() < page.limit;
            children.extend(found);
            if children.len() > limit {
                children.truncate(limit);
                return Ok((children, true));
            }
            if is_last {
                return Ok((children, false));
            }
        }
    }
}

fn node(
    known: KnownExecution,
    below: &mut BTreeMap<ExecutionId, Vec<KnownExecution>>,
) -> ExecutionNode {
    let children = below.remove(&known.summary.execution).unwrap_or_default();
    let children = children.into_iter().map(|child| node(child, below)).collect();
    ExecutionNode { known, children }
}
