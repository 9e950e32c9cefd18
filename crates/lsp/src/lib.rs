//! The language server of playbooks, schedules, subscriptions and notifications.
//!
//! [`serve`] reads requests of an editor and answers them one after another. It keeps the texts of the
//! open documents and computes every answer from the text alone: nothing is executed, and no file is
//! read or written. A request that cannot be answered gets an error; the server goes on.

mod documents;
mod features;
mod position;
mod serve;

pub use serve::{ServeError, serve, serve_stdio};

#[cfg(test)]
mod tests;
