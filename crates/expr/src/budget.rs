//! A work budget shared by several templates.
//!
//! The limits in `bounds.rs` apply to one template. A [`Budget`] is shared by all templates of one
//! decision, because many templates within their own limits can together be too much. Work is
//! counted and not timed, so the same templates with the same values always cost the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::Object;
use serde_json::Value;

use crate::value::size;

/// The units that one template instruction costs; one byte of text costs one unit.
pub(crate) const INSTRUCTION_WORK: u64 = 16;

/// The variable under which the template engine finds the budget; it is not a valid identifier, so
/// no template can read it.
pub(crate) const BUDGET: &str = "<budget>";

/// A number of work units that templates spend while they render. Clones share the units.
#[derive(Debug, Clone)]
pub struct Budget(Arc<SpentUnits>);

#[derive(Debug)]
struct SpentUnits {
    max: u64,
    units: AtomicU64,
}

impl Budget {
    /// Creates a budget of `max` units: one per byte of text read or written, 16 per element or
    /// instruction.
    pub fn new(max: u64) -> Self {
        Self(Arc::new(SpentUnits { max, units: AtomicU64::new(0) }))
    }

    /// Spends units. Returns false if the budget is exceeded.
    pub fn spend(&self, units: u64) -> bool {
        let spent = self.spent().saturating_add(units);
        self.0.units.store(spent, Ordering::Relaxed);
        spent <= self.0.max
    }

    /// Spends the cost of copying a value. Returns that cost.
    pub fn spend_copy(&self, value: &Value) -> u64 {
        let limit = usize::try_from(self.0.max).unwrap_or(usize::MAX);
        let units = u64::try_from(size(value, limit)).unwrap_or(u64::MAX);
        self.spend(units);
        units
    }

    /// The units spent so far.
    pub fn spent(&self) -> u64 {
        self.0.units.load(Ordering::Relaxed)
    }

    /// True if more than the budget has been spent.
    pub fn is_exceeded(&self) -> bool {
        self.spent() > self.0.max
    }
}

impl Object for Budget {}
