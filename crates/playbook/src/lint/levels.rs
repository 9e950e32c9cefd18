//! The severity of rules as a project chooses it: `old-spelling=off`, `shell-template=error`.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;

use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::suggest::nearest;

/// The chosen severity of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LintLevel {
    /// Findings of the rule are not reported.
    Off,
    At(Severity),
}

/// The rules whose severity differs from their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LintLevels {
    levels: BTreeMap<DiagnosticCode, LintLevel>,
}

/// The reason why a list of levels cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LintLevelError {
    #[error("`{0}` is not of the form CODE=LEVEL, such as old-spelling=off")]
    NotAPair(String),
    #[error("there is no rule `{code}`{}", suggestion.map_or(String::new(), |code| format!("; did you mean `{code}`?")))]
    UnknownRule { code: String, suggestion: Option<DiagnosticCode> },
    #[error("`{0}` is not a level: write off, warning or error")]
    UnknownLevel(String),
}

impl FromStr for LintLevels {
    type Err = LintLevelError;

    /// Reads pairs such as `old-spelling=off`, separated by commas.
    fn from_str(text: &str) -> Result<Self, LintLevelError> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        Ok(Self { levels: pairs.map(read_pair).collect::<Result<_, _>>()? })
    }
}

fn read_pair(pair: &str) -> Result<(DiagnosticCode, LintLevel), LintLevelError> {
    let not_a_pair = || LintLevelError::NotAPair(pair.to_owned());
    let (name, level) = pair.split_once('=').ok_or_else(not_a_pair)?;
    let (name, level) = (name.trim(), level.trim());
    let find = |name: &str| DiagnosticCode::ALL.iter().copied().find(|it| it.as_str() == name);
    let code = find(name).ok_or_else(|| {
        let suggestion = nearest(name, DiagnosticCode::ALL.iter().map(|it| it.as_str()));
        LintLevelError::UnknownRule { code: name.to_owned(), suggestion: suggestion.and_then(find) }
    })?;
    let level = match level {
        "off" => LintLevel::Off,
        "warning" => LintLevel::At(Severity::Warning),
        "error" => LintLevel::At(Severity::Error),
        other => return Err(LintLevelError::UnknownLevel(other.to_owned())),
    };
    Ok((code, level))
}

impl LintLevels {
    /// Adds levels that take precedence over these.
    #[must_use]
    pub fn with(mut self, more: LintLevels) -> Self {
        self.levels.extend(more.levels);
        self
    }

    /// Sets the severity of a finding. Returns false if the finding is not reported.
    pub(super) fn apply(&self, finding: &mut Diagnostic) -> bool {
        match self.levels.get(&finding.code) {
            None => true,
            Some(LintLevel::Off) => false,
            Some(LintLevel::At(severity)) => {
                finding.severity = *severity;
                true
            }
        }
    }
}
