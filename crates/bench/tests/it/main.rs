//! Regression tests of cost: work is counted, not timed, so that a busy machine changes nothing.
//!
//! The expected cost of each step is in `counts.txt`. `UPDATE_EXPECT=1` writes the counts there;
//! the difference is then reviewed like code.

mod counted;
mod counts;
mod engine;
mod stores;
