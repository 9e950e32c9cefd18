//! A status, by shape, word and colour.

use maud::{Markup, html};
use noetl_model::ExecutionStatus;

use crate::layout::{Icon, icon};
use crate::words::Words;

/// The appearance of a status, for everything that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Active,
    Warning,
    Quiet,
}

impl Tone {
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Active => "active",
            Self::Warning => "warning",
            Self::Quiet => "quiet",
        }
    }

    const fn icon(self) -> Icon {
        match self {
            Self::Good => Icon::Completed,
            Self::Bad => Icon::Failed,
            Self::Active => Icon::Running,
            Self::Warning => Icon::Warning,
            Self::Quiet => Icon::Cancelled,
        }
    }

    pub(crate) const fn of(status: ExecutionStatus) -> Self {
        match status {
            ExecutionStatus::Running => Self::Active,
            ExecutionStatus::Completed => Self::Good,
            ExecutionStatus::Failed => Self::Bad,
            ExecutionStatus::Cancelled => Self::Quiet,
        }
    }
}

/// Returns the key of the word for the status of an execution.
pub(crate) const fn status_word(status: ExecutionStatus) -> &'static str {
    match status {
        ExecutionStatus::Running => "status.running",
        ExecutionStatus::Completed => "status.completed",
        ExecutionStatus::Failed => "status.failed",
        ExecutionStatus::Cancelled => "status.cancelled",
    }
}

/// Draws the status of an execution.
pub(crate) fn execution_status(words: &Words, status: ExecutionStatus) -> Markup {
    badge(Tone::of(status), words.t(status_word(status)))
}

/// Draws a word with its shape and colour.
pub(crate) fn badge(tone: Tone, word: &str) -> Markup {
    html! { span class={ "status " (tone.class()) } { (icon(tone.icon())) span { (word) } } }
}
