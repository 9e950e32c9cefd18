//! `noetl executions`: shows and controls executions.

mod bulk;
mod cancel;
mod events;
mod fork;
mod get;
mod list;
mod rerun;
mod resume;
mod retention;
mod timeline;

pub(crate) use cancel::cancel;
pub(crate) use events::events;
pub(in crate::commands) use events::jsonl;
pub(crate) use fork::{fork, retry};
pub(crate) use get::get;
pub(crate) use list::list;
pub(crate) use rerun::rerun;
pub(crate) use resume::resume;
pub(crate) use retention::{delete, keep};
pub(crate) use timeline::timeline;
