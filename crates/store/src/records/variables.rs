//! Variables that other programs store with an execution.

use noetl_model::Timestamp;
use serde_json::Value;

/// The maximum number of variables that one listing returns and one call sets.
pub const VARIABLES_MAX: usize = 1000;

/// The origin of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableType {
    UserDefined,
    StepResult,
    Computed,
    IteratorState,
}

impl VariableType {
    pub const ALL: [VariableType; 4] = [
        VariableType::UserDefined,
        VariableType::StepResult,
        VariableType::Computed,
        VariableType::IteratorState,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            VariableType::UserDefined => "user_defined",
            VariableType::StepResult => "step_result",
            VariableType::Computed => "computed",
            VariableType::IteratorState => "iterator_state",
        }
    }
}

/// The error for a text that is not a variable type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a type of variable")]
pub struct UnknownVariableType(String);

impl std::str::FromStr for VariableType {
    type Err = UnknownVariableType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|it| it.as_str() == text);
        known.ok_or_else(|| UnknownVariableType(text.to_owned()))
    }
}

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    pub name: String,
    pub kind: VariableType,
    pub value: Value,
    pub source_step: Option<String>,
    pub created_at: Timestamp,
    pub accessed_at: Option<Timestamp>,
    pub access_count: u64,
}
