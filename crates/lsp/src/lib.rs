//! The language server of playbooks, schedules, subscriptions and notifications.
//!
//! [`serve`] reads requests of an editor and answers them one after another. It keeps the texts of the
//! open documents and computes every answer from the text; no file is written. Names and values outside of
//! the documents come from an [`EditorContext`], and findings that need an interpreter or other files from
//! [`BackgroundChecks`]; each works on a thread of its own. A request that cannot be answered gets an error; the server goes on.

mod checks;
mod context;
mod documents;
mod features;
mod position;
mod serve;

pub use checks::{BackgroundChecks, EditedTest};
pub use context::{EditorContext, OfflineContext};
pub use serve::{EditorServices, ServeError, serve, serve_stdio};

#[cfg(test)]
mod tests;
