//! New executions: requests, children, forks, and the catalog they are started from.

pub(crate) mod admission;
pub(crate) mod catalog;
pub(crate) mod catalog_lookup;
pub(crate) mod catalog_name;
pub(crate) mod children;
pub(crate) mod fork;
pub(crate) mod guard;
pub(crate) mod linked;
pub(crate) mod sealing;
pub(crate) mod start;
