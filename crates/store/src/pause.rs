//! Pauses of playbooks and pools.

use noetl_model::Timestamp;

/// The kind of a paused object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PausedKind {
    /// A playbook, by its path.
    Playbook,
    /// A pool, by its name.
    Pool,
}

impl PausedKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            PausedKind::Playbook => "playbook",
            PausedKind::Pool => "pool",
        }
    }
}

/// The progress of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PauseProgress {
    /// The pause has begun, and its executions are being paused.
    Pausing,
    /// The pause is applied to all executions.
    Paused,
    /// The pause has ended, and its executions are being resumed.
    Resuming,
}

impl PauseProgress {
    pub const fn as_str(self) -> &'static str {
        match self {
            PauseProgress::Pausing => "pausing",
            PauseProgress::Paused => "paused",
            PauseProgress::Resuming => "resuming",
        }
    }

    /// True if nothing new may start.
    pub const fn stops_work(self) -> bool {
        match self {
            PauseProgress::Pausing | PauseProgress::Paused => true,
            PauseProgress::Resuming => false,
        }
    }
}

/// A word that is no kind or progress of a pause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no word of a pause")]
pub struct UnknownPauseWord(String);

impl std::str::FromStr for PausedKind {
    type Err = UnknownPauseWord;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = [PausedKind::Playbook, PausedKind::Pool];
        let found = known.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| UnknownPauseWord(word.to_owned()))
    }
}

impl std::str::FromStr for PauseProgress {
    type Err = UnknownPauseWord;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = [PauseProgress::Pausing, PauseProgress::Paused, PauseProgress::Resuming];
        let found = known.into_iter().find(|progress| progress.as_str() == word);
        found.ok_or_else(|| UnknownPauseWord(word.to_owned()))
    }
}

/// The pause of a playbook or a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseRow {
    pub kind: PausedKind,
    pub name: String,
    pub progress: PauseProgress,
    /// The name of the caller that paused the object.
    pub actor: Option<String>,
    pub reason: Option<String>,
    pub since: Timestamp,
    /// The name of the caller that resumed the object, and its reason.
    pub resumed_by: Option<String>,
    pub resume_reason: Option<String>,
}
