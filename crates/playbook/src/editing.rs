//! Help for editors: tokens for highlighting, and completions at a place of the text.
//!
//! Both work on documents that are being written, so they read the text line by line and by
//! indentation and never fail; [`parse_document`](crate::parse_document) finds the mistakes.
//!
//! Invariant: ranges are byte ranges of the text, on character boundaries, in its order.

mod complete;
mod lexeme;
mod outline;
mod shape;
mod token;

pub use complete::{CompletionKind, Completions, SyntaxCompletion, completions};
pub use token::{SyntaxKind, SyntaxToken, syntax_tokens};

#[cfg(test)]
mod tests;
