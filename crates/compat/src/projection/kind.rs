//! The projections of a replay that a caller can request.

use std::fmt;
use std::str::FromStr;

/// A part of the replay state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Projection {
    Execution,
    Stage,
    Frame,
    Command,
    BusinessObject,
    Loop,
    #[default]
    All,
}

/// The name is not a projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProjection;

impl fmt::Display for UnknownProjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Projection::ALL.iter().map(|it| it.as_str()).collect();
        write!(f, "a projection is one of {}", names.join(", "))
    }
}

impl std::error::Error for UnknownProjection {}

impl Projection {
    pub const ALL: &'static [Projection] = &[
        Projection::Execution,
        Projection::Stage,
        Projection::Frame,
        Projection::Command,
        Projection::BusinessObject,
        Projection::Loop,
        Projection::All,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Projection::Execution => "execution",
            Projection::Stage => "stage",
            Projection::Frame => "frame",
            Projection::Command => "command",
            Projection::BusinessObject => "business_object",
            Projection::Loop => "loop",
            Projection::All => "all",
        }
    }

    /// True if `part` is included in this projection, because entries of one refer to the other.
    pub(crate) fn shows(self, part: Projection) -> bool {
        match self {
            Projection::All => true,
            Projection::Frame | Projection::Command => matches!(
                part,
                Projection::Stage | Projection::Frame | Projection::Command | Projection::Loop
            ),
            Projection::Stage => matches!(part, Projection::Stage | Projection::Loop),
            Projection::Execution | Projection::BusinessObject | Projection::Loop => part == self,
        }
    }
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Projection {
    type Err = UnknownProjection;

    fn from_str(text: &str) -> Result<Self, UnknownProjection> {
        Self::ALL.iter().find(|it| it.as_str() == text).copied().ok_or(UnknownProjection)
    }
}
