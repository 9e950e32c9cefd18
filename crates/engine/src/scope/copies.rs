//! The work of the templates of one decision, and a cache of large copies made for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_expr::Budget;
use serde_json::Value;

/// The cost in units of work from which a copy is cached for the rest of the decision.
const KEPT_FROM: u64 = 16 * 1024;

/// The work spent by the templates of one decision, and a cache of large copies.
///
/// Templates read the same parts of values many times: every guard of a step, every command of a
/// loop. A large part is copied once.
#[derive(Debug)]
pub(crate) struct TemplateWork {
    pub(crate) budget: Budget,
    copies: RefCell<BTreeMap<CopyKey, Copied>>,
}

/// The kind of value that parts are copied from; each kind has different aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CutFrom {
    Variable,
    Output,
    Context,
}

/// The addresses of the source values and the paths of the copied parts.
type CopyKey = (CutFrom, Vec<usize>, Vec<String>);

#[derive(Debug)]
struct Copied {
    /// Holds the source values, so that their addresses are not reused.
    _cut_from: Vec<Arc<Value>>,
    copy: Arc<Value>,
}

impl TemplateWork {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, copies: RefCell::default() }
    }

    /// Returns the parts copied by `cut`, from the cache if they were copied before.
    pub(super) fn copied(
        &self,
        cut_from: impl Fn() -> Option<(CutFrom, Vec<Arc<Value>>)>,
        paths: &[Vec<&str>],
        cut: impl FnOnce() -> Option<Arc<Value>>,
    ) -> Option<Arc<Value>> {
        let keyed = || cut_from().map(|(kind, values)| (key(kind, &values, paths), values));
        if !self.copies.borrow().is_empty()
            && let Some((key, _)) = keyed()
            && let Some(known) = self.copies.borrow().get(&key)
        {
            return Some(Arc::clone(&known.copy));
        }
        let copy = cut()?;
        if self.budget.spend_copy(&copy) >= KEPT_FROM
            && let Some((key, _cut_from)) = keyed()
        {
            let kept = Copied { _cut_from, copy: Arc::clone(&copy) };
            self.copies.borrow_mut().insert(key, kept);
        }
        Some(copy)
    }
}

fn key(kind: CutFrom, values: &[Arc<Value>], paths: &[Vec<&str>]) -> CopyKey {
    let addresses = values.iter().map(|value| Arc::as_ptr(value).addr());
    (kind, addresses.collect(), paths.iter().map(|path| path.join(".")).collect())
}
