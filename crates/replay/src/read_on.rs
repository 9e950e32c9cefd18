//! The answer of a fold to the reader of a log.

/// Read on, or stop: no later event changes the fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOn {
    Yes,
    No,
}
