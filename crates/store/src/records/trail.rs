//! The ends of the audit trail.

use noetl_model::TrailPlace;

/// The maximum number of entries that one statement writes.
pub(crate) const TRAIL_ROWS_MAX: usize = 500;

/// The ends of the audit trail: which entries it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrailSpan {
    /// The place of the last deleted entry; the start if nothing was deleted.
    pub before: TrailPlace,
    pub last: TrailPlace,
}
