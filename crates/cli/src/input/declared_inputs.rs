//! The inputs of a playbook on the command line: arguments as the declared types, and questions for
//! the values that are missing.

use std::io::{self, BufRead, IsTerminal as _};

use anyhow::anyhow;
use noetl_engine::{StartInput, start_workload};
use noetl_playbook::{DeclaredInput, DeclaredInputs, InputProblems, InputType, Playbook};
use serde_json::{Map, Value};

use crate::args::WorkloadArgs;
use crate::input::silence::Silence;
use crate::input::workload::check_declared;
use crate::show::failure::Failure;
use crate::show::terminal::{FAINT, STRONG, Terminal, paint};

/// Attempts at one question before the command gives up.
const ANSWERS_MAX: usize = 5;

/// The source of missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingInputs {
    Asked,
    /// The start fails and names them.
    Reported,
}

impl MissingInputs {
    /// Asks only if a person reads the questions and can answer them.
    pub(crate) fn of(no_input: bool) -> Self {
        match !no_input && io::stdin().is_terminal() && io::stderr().is_terminal() {
            true => Self::Asked,
            false => Self::Reported,
        }
    }
}

/// Returns the values of a start as the types that the playbook declares; asks for missing ones.
/// Fails with all problems at once.
pub(crate) fn fitted(
    playbook: &Playbook,
    args: &WorkloadArgs,
    payload: Map<String, Value>,
    missing: MissingInputs,
    terminal: &mut Terminal,
) -> Result<Map<String, Value>, Failure> {
    let owner = &playbook.metadata.path;
    let Some(inputs) = &playbook.inputs else {
        check_declared(args, &playbook.workload, owner)?;
        return Ok(payload);
    };
    let mut payload = typed(inputs, args, payload);
    if missing == MissingInputs::Asked {
        let mut answers = io::stdin().lock();
        for input in &inputs.inputs {
            if is_missing(input, playbook, &payload) {
                let value = asked(input, &mut answers, terminal)?;
                payload.insert(input.name.clone(), value);
            }
        }
    }
    match start_workload(playbook, &StartInput::new(payload.clone())) {
        Ok(_) => Ok(payload),
        Err(problems) => Err(refused(&problems, owner)),
    }
}

/// Replaces the values of `--set` for declared inputs by their texts, which the check converts.
fn typed(
    inputs: &DeclaredInputs,
    args: &WorkloadArgs,
    mut payload: Map<String, Value>,
) -> Map<String, Value> {
    for (name, text) in args.set.iter().filter_map(|assignment| assignment.whole()) {
        let Some(input) = inputs.find(name) else { continue };
        let is_plain_text = match input.rule.kind {
            // Text in quotation marks is read as JSON, like everywhere on the command line.
            InputType::Text => !matches!(serde_json::from_str(text), Ok(Value::String(_))),
            InputType::Integer
            | InputType::Number
            | InputType::Boolean
            | InputType::List
            | InputType::Object
            | InputType::Any => false,
        };
        if is_plain_text {
            payload.insert(name.to_owned(), Value::String(text.to_owned()));
        }
    }
    payload
}

fn is_missing(input: &DeclaredInput, playbook: &Playbook, payload: &Map<String, Value>) -> bool {
    let has = |values: &Map<String, Value>| values.get(&input.name).is_some_and(|it| !it.is_null());
    input.is_required && !has(payload) && !has(&playbook.workload)
}

/// Asks for one value until the answer fits.
fn asked(
    input: &DeclaredInput,
    answers: &mut impl BufRead,
    terminal: &mut Terminal,
) -> Result<Value, Failure> {
    for line in question(input) {
        terminal.say(line);
    }
    for _ in 0..ANSWERS_MAX {
        // An answer that begins right after the question is not shown either.
        let silence = if input.is_secret { Some(Silence::begin()?) } else { None };
        terminal.ask(&format!("{}: ", paint(STRONG, &input.name)));
        let mut answer = String::new();
        let count = answers.read_line(&mut answer)?;
        if silence.is_some() {
            // The line break of the answer was not shown either.
            terminal.say("");
        }
        drop(silence);
        if count == 0 {
            break;
        }
        match value_of(input, answer.trim_end_matches(['\n', '\r'])) {
            Ok(value) => return Ok(value),
            Err(problem) => terminal.say(problem),
        }
    }
    Err(Failure::bad_input(anyhow!("`{}` has no value", input.name))
        .help(format!("give it with --set {}=VALUE", input.name)))
}

/// Returns the lines that explain an input: its description and its choices.
fn question(input: &DeclaredInput) -> Vec<String> {
    let about = input.description.as_deref().unwrap_or_default();
    let kind = input.rule.kind.as_str();
    let mut lines = vec![paint(FAINT, format!("{kind}  {about}").trim_end())];
    let choices = input.rule.choices.iter().enumerate();
    lines.extend(choices.map(|(index, choice)| format!("  {}) {}", index + 1, written(choice))));
    lines
}

/// Returns the value of an answer; a number chooses from the choices.
fn value_of(input: &DeclaredInput, answer: &str) -> Result<Value, String> {
    // White space may be part of a secret.
    let answer = if input.is_secret { answer } else { answer.trim() };
    if answer.is_empty() {
        return Err("a value is needed".to_owned());
    }
    let read = input.value_of_text(answer);
    let chosen = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match (read, chosen.and_then(|index| input.rule.choices.get(index))) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(choice)) => Ok(choice.clone()),
        (Err(problem), None) => Err(problem.to_string()),
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

fn refused(problems: &InputProblems, owner: &str) -> Failure {
    let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    let failure = Failure::bad_input(anyhow!("the inputs do not fit {owner}:{}", lines.concat()));
    match problems.iter().next() {
        Some(problem) => failure.help(format!(
            "give values with --set {}=VALUE or --payload @FILE",
            problem.suggestion.as_deref().unwrap_or(&problem.path)
        )),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
inputs:
  zip: {type: string, required: true}
  count: {type: integer, default: 1}
  env: {enum: [dev, prod], required: true}
workflow:
- step: start
  tool: {kind: noop}
";

    fn playbook() -> Playbook {
        noetl_playbook::parse("t.yaml", PLAYBOOK.as_bytes()).unwrap().playbook
    }

    #[test]
    fn texts_become_the_declared_types() {
        let set = ["zip=01234", "count=5", "env=dev"].map(|text| text.parse().unwrap());
        let args = WorkloadArgs { set: set.into(), payload: None, allow_extra: false };
        let payload = crate::input::workload::payload_of(&args).unwrap();
        let inputs = playbook().inputs.unwrap();
        let payload = typed(&inputs, &args, payload);
        assert_eq!(Value::Object(payload), json!({"zip": "01234", "count": 5, "env": "dev"}));
    }

    #[test]
    fn an_answer_is_a_value_or_the_number_of_a_choice() {
        let inputs = playbook().inputs.unwrap();
        let of = |name: &str, answer: &str| value_of(inputs.find(name).unwrap(), answer);
        assert_eq!(of("env", "2"), Ok(json!("prod")));
        assert_eq!(of("env", "dev"), Ok(json!("dev")));
        assert_eq!(of("zip", "2"), Ok(json!("2")));
        assert_eq!(
            of("env", "3"),
            Err("`env` cannot be text: `3`; it is one of dev, prod".to_owned())
        );
        assert_eq!(of("zip", " "), Err("a value is needed".to_owned()));
    }
}
