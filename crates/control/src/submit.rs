//! The path of an input: mailbox, decision, group commit.

pub(crate) mod blocking;
pub(crate) mod cached;
pub(crate) mod commit;
pub(crate) mod copied_log;
pub(crate) mod draft;
pub(crate) mod input_batch;
pub(crate) mod mailbox;
pub(crate) mod needs;
pub(crate) mod unanswered;
