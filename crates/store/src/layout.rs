//! Operator's view of a store: its tables, connections, shards and whether it can be written.

/// The number of bytes that a writability check writes.
pub const WRITE_CHECK_LEN: usize = 64 * 1024;

/// The state of a store's connection pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionFigures {
    /// The minimum number of open connections.
    pub min: u32,
    /// The maximum number of connections.
    pub max: u32,
    /// The number of open connections.
    pub open: u32,
    /// The number of open connections that are not in use.
    pub idle: u32,
}

/// The tables of a store, ordered by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    pub found: Vec<String>,
    /// The required tables that do not exist.
    pub missing: Vec<String>,
}

impl Tables {
    /// Compares the tables of a database with those that executions need.
    pub fn of(found: Vec<String>, needed: &[&str]) -> Self {
        let missing = needed.iter().filter(|needed| !found.iter().any(|it| it == *needed));
        Self { missing: missing.map(|&needed| needed.to_owned()).collect(), found }
    }
}
