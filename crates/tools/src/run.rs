//! The run of a command: rendered configuration, call, timeout, memory budget.

pub(crate) mod call;
pub(crate) mod keys;
pub(crate) mod live;
pub(crate) mod memory;
pub(crate) mod prepare;
pub(crate) mod registry;
pub(crate) mod results;
pub(crate) mod settings;
