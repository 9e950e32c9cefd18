//! The gate against growing dearer: work is counted, not timed, so that a busy machine changes
//! nothing.
//!
//! What each step may cost is in `counts.txt`. `UPDATE_EXPECT=1` writes what was counted there; the
//! difference is then looked at like code.

mod counted;
mod counts;
mod engine;
mod stores;
