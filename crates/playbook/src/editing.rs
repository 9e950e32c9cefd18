//! Help for editors: tokens for highlighting, and at a place of the text its completions, its
//! explanation and the step that it names.
//!
//! They work on documents that are being written, so they read the text line by line and by
//! indentation and never fail; [`parse_document`](crate::parse_document) finds the mistakes.
//!
//! Invariant: ranges are byte ranges of the text, on character boundaries, in its order.

mod complete;
mod definition;
mod foreign;
mod hover;
mod lexeme;
mod outline;
mod rename;
mod shape;
mod step_mentions;
mod template;
mod test_file;
mod token;
mod written_names;

pub use complete::{CompletionKind, Completions, SyntaxCompletion, completions};
pub use definition::variable_definition;
pub use foreign::is_foreign;
pub use hover::{HoverText, hover};
pub use rename::{RenameError, rename_step};
pub use shape::OutsideName;
pub use step_mentions::{StepMention, StepRole, step_mentions};
pub use template::{TemplatePath, template_completions, template_path};
pub use test_file::{test_completions, test_hover, test_step_mentions};
pub use token::{SyntaxKind, SyntaxToken, syntax_tokens};

#[cfg(test)]
mod tests;
