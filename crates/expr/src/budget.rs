//! The work that several templates may do together.
//!
//! The limits of `bounds.rs` hold for one template. A [`Budget`] is shared by all templates of one
//! decision: each of them may be within its own limits and the sum of them may still be too much.
//! Work is counted and never timed, so that the same templates with the same values always come to
//! the same sum.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::Object;
use serde_json::Value;

use crate::value::size;

/// Units that one instruction of a template costs, next to one unit for a byte of text.
pub(crate) const INSTRUCTION_WORK: u64 = 16;

/// The name under which the template engine finds the budget; no identifier is spelled like this.
pub(crate) const BUDGET: &str = "<budget>";

/// A number of work units that templates spend while they render. Clones share the units.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Spent>);

#[derive(Debug)]
struct Spent {
    max: u64,
    units: AtomicU64,
}

impl Budget {
    /// A budget of `max` units: bytes of text read or written, 16 for an element or an instruction.
    pub fn new(max: u64) -> Self {
        Self(Arc::new(Spent { max, units: AtomicU64::new(0) }))
    }

    /// Spends units; false if more than the budget has been spent.
    pub fn spend(&self, units: u64) -> bool {
        let spent = self.spent().saturating_add(units);
        self.0.units.store(spent, Ordering::Relaxed);
        spent <= self.0.max
    }

    /// Spends what it costs to copy a value, and returns how much that is.
    pub fn spend_copy(&self, value: &Value) -> u64 {
        let limit = usize::try_from(self.0.max).unwrap_or(usize::MAX);
        let units = u64::try_from(size(value, limit)).unwrap_or(u64::MAX);
        self.spend(units);
        units
    }

    /// Units spent so far.
    pub fn spent(&self) -> u64 {
        self.0.units.load(Ordering::Relaxed)
    }

    /// Returns whether more than the budget has been spent.
    pub fn is_exceeded(&self) -> bool {
        self.spent() > self.0.max
    }
}

impl Object for Budget {}
