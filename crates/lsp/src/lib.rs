//! The language server of playbooks, schedules, subscriptions and notifications.
//!
//! [`serve`] reads requests of an editor and answers them one after another. It keeps the texts of the
//! open documents and computes every answer from the text: nothing is executed, and no file is read or
//! written. Names and values outside of the documents come from an [`EditorContext`], which answers on a
//! thread of its own. A request that cannot be answered gets an error; the server goes on.

mod context;
mod documents;
mod features;
mod position;
mod serve;

pub use context::{EditorContext, OfflineContext};
pub use serve::{ServeError, serve, serve_stdio};

#[cfg(test)]
mod tests;
