//! The inputs that a playbook declares: their types, limits and defaults, and the check of the values
//! that a start gives them.
//!
//! Invariant: every problem of a start is reported at once, and no value of a secret input appears in
//! a message.

mod rule;
mod text;

use std::fmt;

use noetl_model::{SealedMark, holds_sealed};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::suggest::nearest;

pub(crate) use rule::{FieldRule, ObjectRule};
pub use rule::{InputType, ValueRule};

/// The most inputs of a playbook.
pub const INPUTS_MAX: usize = 200;
/// The limits of a secret input, in bytes: a shorter one could not be masked in outputs.
pub const SECRET_BYTES_MIN: usize = 6;
pub const SECRET_BYTES_MAX: usize = 16 * 1024;
/// The most problems that a check reports.
pub const INPUT_PROBLEMS_MAX: usize = 100;

/// One declared input.
#[derive(Debug, Clone)]
pub struct DeclaredInput {
    pub name: String,
    pub description: Option<String>,
    /// True if a start has to give a value. An input with a default is never required.
    pub is_required: bool,
    /// The value of a start that gives none.
    pub default: Option<Value>,
    pub rule: ValueRule,
    /// True if the value is sealed: stored encrypted, and read by tools only.
    pub is_secret: bool,
}

/// The inputs of a playbook, in the order of the document.
#[derive(Debug, Clone)]
pub struct DeclaredInputs {
    pub inputs: Vec<DeclaredInput>,
    /// True if a start may give values that are not declared.
    pub allows_others: bool,
}

/// One reason why the values of a start do not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputProblem {
    /// The place of the value: `orders[0].id`.
    pub path: String,
    pub message: String,
    /// The name or value that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// All reasons why the values of a start do not fit the inputs of its playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct InputProblems(Vec<InputProblem>);

impl From<InputProblem> for InputProblems {
    fn from(problem: InputProblem) -> Self {
        Self(vec![problem])
    }
}

impl InputProblems {
    pub fn iter(&self) -> impl Iterator<Item = &InputProblem> {
        self.0.iter()
    }
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, " (did you mean `{suggestion}`?)"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for InputProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the inputs do not fit the playbook: ")?;
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for InputProblems {}

impl DeclaredInputs {
    /// Returns the inputs whose values are sealed.
    pub fn secrets(&self) -> impl Iterator<Item = &DeclaredInput> {
        self.inputs.iter().filter(|input| input.is_secret)
    }

    pub fn find(&self, name: &str) -> Option<&DeclaredInput> {
        self.inputs.iter().find(|input| input.name == name)
    }

    /// Checks the values of a start and converts texts to the declared types.
    ///
    /// `given` are the values that the caller names, `known` further names that it may use, and
    /// `workload` is `given` merged into the defaults.
    pub fn check(
        &self,
        given: &Map<String, Value>,
        known: &Map<String, Value>,
        workload: &mut Map<String, Value>,
    ) -> Result<(), InputProblems> {
        let mut problems = Vec::new();
        for input in &self.inputs {
            match workload.get_mut(&input.name) {
                Some(value) if !value.is_null() => input.check(value, &mut problems),
                Some(_) | None if input.is_required => {
                    let message = format!("`{}` is required: {}", input.name, input.rule.wanted());
                    problems.push(InputProblem {
                        path: input.name.clone(),
                        message,
                        suggestion: None,
                    });
                }
                Some(_) | None => {}
            }
        }
        if !self.allows_others {
            let unknown = given.keys().filter(|name| {
                self.find(name.as_str()).is_none() && !known.contains_key(name.as_str())
            });
            problems.extend(unknown.map(|name| self.unknown(name, given)));
        }
        if problems.is_empty() {
            return Ok(());
        }
        problems.truncate(INPUT_PROBLEMS_MAX);
        Err(InputProblems(problems))
    }

    fn unknown(&self, name: &str, given: &Map<String, Value>) -> InputProblem {
        let names = self.inputs.iter().map(|input| input.name.as_str());
        // A name that the caller also gives was not misspelt.
        let near = nearest(name, names.clone().filter(|name| !given.contains_key(*name)));
        let message = match near {
            Some(_) => format!("there is no input `{name}`"),
            None => format!(
                "there is no input `{name}`; the playbook has {}",
                names.collect::<Vec<_>>().join(", ")
            ),
        };
        let suggestion = near.map(str::to_owned);
        InputProblem { path: name.to_owned(), message, suggestion }
    }
}

impl DeclaredInput {
    /// Checks a value and converts it to the declared type. A sealed value was checked before it was
    /// sealed.
    fn check(&self, value: &mut Value, problems: &mut Vec<InputProblem>) {
        let mut problem = |message: String| {
            problems.push(InputProblem { path: self.name.clone(), message, suggestion: None });
        };
        if holds_sealed(value) {
            if !self.is_secret {
                let name = &self.name;
                problem(format!("`{name}` gets a secret; declare it with `secret: true`"));
            } else if SealedMark::of(value).is_none() {
                problem(format!("`{}` must be text, this is a map or a list", self.name));
            }
            return;
        }
        let bytes = value.as_str().map_or(SECRET_BYTES_MIN, str::len);
        if self.is_secret && !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes) {
            return problem(format!(
                "`{}` must have {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes, this has {bytes}; a \
                 shorter secret could not be masked",
                self.name
            ));
        }
        self.rule.check(&self.name, value, problems);
    }

    /// Converts a text, such as an argument of a command or the field of a form, to the declared
    /// type. The problem of a text that does not fit is returned.
    pub fn value_of_text(&self, text: &str) -> Result<Value, InputProblem> {
        let mut value = self.rule.read_text(text);
        let mut problems = Vec::new();
        self.check(&mut value, &mut problems);
        match problems.into_iter().next() {
            None => Ok(value),
            Some(problem) => Err(problem),
        }
    }
}

#[cfg(test)]
mod tests;
