//! The values that a path can have at its place: built-in words, declared types, choices and limits, the
//! type of a plain default.

use std::cmp::Ordering;

use noetl_expr::ComparisonSign;
use noetl_model::ErrorKind;
use serde_json::Value;

use super::known_names::KnownNames;
use super::outputs::lacks_own;
use super::shapes::{PathEnd, default_of, end_of, step_at, tool_type};
use super::uses::{RenderMoment, RenderPlace};
use crate::inputs::{InputType, ValueRule};
use crate::playbook::StepIndex;
use crate::suggest::nearest;

/// The values of `event.name` after any step, with their older names.
const EVENTS: &[&str] = &["step.done", "step.failed", "call.done", "call.error"];
/// The values of `output.status` in a rule, with their older names.
const STATUSES: &[&str] = &["success", "ok", "completed", "COMPLETED", "error"];
/// The values of the status of a step that has ended before.
const STEP_STATUSES: &[&str] = &["success", "error", "skipped", "cancelled", "running"];

/// Returns the words that a built-in value can be.
fn built_in_words(
    path: &[&str],
    place: RenderPlace,
    known: &KnownNames<'_>,
) -> Option<Vec<&'static str>> {
    let kinds =
        || -> Vec<&'static str> { ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect() };
    match (place.moment, path) {
        (RenderMoment::StepEnd, ["event", "name"]) => Some(events_after(place.step?, known)),
        (RenderMoment::Rule, ["output" | "outcome", "status"]) => Some(STATUSES.to_vec()),
        (RenderMoment::Rule, ["output" | "outcome", "error", "kind"])
        | (RenderMoment::Rule | RenderMoment::StepEnd, ["error", "kind"]) => Some(kinds()),
        (_, path) => {
            let (step, at) = step_at(known, path, place)?;
            match path.get(at..)? {
                ["status"] if lacks_own(step, "status") => {
                    let is_here = known.step_at(place).is_some_and(|here| here.name == step.name);
                    let of_end = if is_here { STATUSES } else { &[] };
                    Some([STEP_STATUSES, of_end].concat())
                }
                ["error", "kind"] if lacks_own(step, "error") => Some(kinds()),
                [..] => None,
            }
        }
    }
}

/// Returns the values of `event.name` at the end of a step.
fn events_after(step: StepIndex, known: &KnownNames<'_>) -> Vec<&'static str> {
    let index = step;
    let step = known.playbook.step(index);
    let mut events = EVENTS.to_vec();
    if step.repeat.is_some() {
        events.push("loop.done");
    }
    // A step that waits for others may be skipped because of them.
    if step.when.is_some() || !step.admit.is_empty() || known.playbook.graph.is_join(index) {
        events.push("step.skipped");
    }
    events
}

/// The values that one side of a comparison can have, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct PossibleValues {
    /// The value in a message: a path in backticks, or the length of one.
    shown: String,
    /// The only values; empty if others are possible.
    choices: Vec<Value>,
    type_source: Option<TypeSource>,
    min: Option<f64>,
    max: Option<f64>,
    /// True if the value may be missing or null, which no limit applies to.
    is_optional: bool,
    /// The values of the items of a list.
    items: Option<Box<PossibleValues>>,
}

/// The reason why the type of a value is known.
#[derive(Debug)]
enum TypeSource {
    Declared(InputType),
    /// The tool always gives this type.
    OfTool(InputType),
    /// The workload has this value unless a start gives another one.
    Default(Value),
}

/// The reason why a value is never met.
pub(super) struct Mismatch {
    pub(super) reason: String,
    pub(super) help: Option<String>,
}

impl PossibleValues {
    /// Returns the values that a path can have at a place, if they are known.
    pub(super) fn of_path(
        path: &[String],
        place: RenderPlace,
        known: &KnownNames<'_>,
    ) -> Option<Self> {
        let shown = format!("`{}`", path.join("."));
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Some(words) = built_in_words(&path, place, known) {
            return Some(Self::of_words(&path.join("."), &words));
        }
        let at_least =
            |min: f64| Some(Self { shown: shown.clone(), min: Some(min), ..Self::default() });
        match (place.moment, path.as_slice()) {
            (
                RenderMoment::TaskStart | RenderMoment::TaskEnd | RenderMoment::Rule,
                ["_index" | "_total"],
            ) => {
                let is_loop = known.step_at(place).is_some_and(|step| step.repeat.is_some());
                is_loop.then(|| at_least(0.0)).flatten()
            }
            (RenderMoment::TaskStart | RenderMoment::Rule, ["_attempt"]) => at_least(1.0),
            (
                RenderMoment::Start
                | RenderMoment::StepEntry
                | RenderMoment::TaskStart
                | RenderMoment::Claim
                | RenderMoment::TaskEnd
                | RenderMoment::Rule
                | RenderMoment::StepEnd
                | RenderMoment::Keychain
                | RenderMoment::Notice,
                path,
            ) => match end_of(known, path, place) {
                Some(PathEnd::Rule(rule, _)) => {
                    let is_optional = !is_always_given(known, path);
                    Some(Self { is_optional, ..Self::of_rule(rule, shown) })
                }
                Some(PathEnd::Missing { .. } | PathEnd::NoFields { .. }) => None,
                None => match tool_type(known, path, place) {
                    Some(kind) => {
                        let type_source = Some(TypeSource::OfTool(kind));
                        Some(Self { shown, type_source, ..Self::default() })
                    }
                    None => Self::of_default(default_of(known, path, place)?, shown),
                },
            },
        }
    }

    /// Returns the values of a path that are some words.
    pub(super) fn of_words(path: &str, words: &[&str]) -> Self {
        let choices = words.iter().map(|word| Value::from(*word)).collect();
        Self { shown: format!("`{path}`"), choices, ..Self::default() }
    }

    /// Returns the lengths that the value of a path can have.
    pub(super) fn of_length(
        path: Option<&[String]>,
        place: RenderPlace,
        known: &KnownNames<'_>,
    ) -> Self {
        let names: Vec<&str> = path.into_iter().flatten().map(String::as_str).collect();
        let rule = match end_of(known, &names, place) {
            Some(PathEnd::Rule(rule, _)) => Some(rule),
            Some(PathEnd::Missing { .. } | PathEnd::NoFields { .. }) | None => None,
        };
        // A value that is not given has the length 0, whatever its least length is.
        let max: Option<f64> =
            rule.and_then(|rule| rule.max_length).and_then(|max| max.to_string().parse().ok());
        let shown = match max {
            None => "a length".to_owned(),
            Some(_) => format!("the length of `{}`", names.join(".")),
        };
        Self { shown, min: Some(0.0), max, ..Self::default() }
    }

    fn of_rule(rule: &ValueRule, shown: String) -> Self {
        let items = rule.items.as_deref();
        let items =
            items.map(|items| Box::new(Self::of_rule(items, format!("an item of {shown}"))));
        Self {
            shown,
            choices: rule.choices.clone(),
            type_source: Some(TypeSource::Declared(rule.kind)),
            min: rule.min.as_ref().and_then(serde_json::Number::as_f64),
            max: rule.max.as_ref().and_then(serde_json::Number::as_f64),
            is_optional: false,
            items,
        }
    }

    /// Returns the values of the type of a default, if it is plain: not empty and not a template.
    fn of_default(default: &Value, shown: String) -> Option<Self> {
        let is_plain = match default {
            Value::Number(_) | Value::Bool(_) => true,
            Value::String(text) => !text.is_empty() && !text.contains("{{") && !text.contains("{%"),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        let type_source = Some(TypeSource::Default(default.clone()));
        is_plain.then(|| Self { shown, type_source, ..Self::default() })
    }

    /// Returns the reason why the value never equals the given one; `None` if it may.
    pub(super) fn refuse(&self, value: &Value) -> Option<Mismatch> {
        self.refuse_word(value).or_else(|| self.refuse_type(value)).or_else(|| {
            let given = value.as_f64()?;
            let (min, max) = (self.min.filter(|min| given < *min), self.max);
            match (min, max.filter(|max| *max < given)) {
                (Some(min), _) => Some(self.at_least(min)),
                (None, Some(max)) => Some(self.at_most(max)),
                (None, None) => None,
            }
        })
    }

    fn refuse_word(&self, value: &Value) -> Option<Mismatch> {
        let words: Option<Vec<&str>> = self.choices.iter().map(Value::as_str).collect();
        let words = words.filter(|words| !words.is_empty())?;
        let given = match value {
            Value::String(text) => text.as_str(),
            Value::Number(_) | Value::Bool(_) => {
                let help = Some(format!("{} can be {}", self.shown, words.join(", ")));
                return Some(Mismatch { reason: format!("{} is never {value}", self.shown), help });
            }
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        if words.contains(&given) {
            return None;
        }
        let help = match nearest(given, words.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("{} can be {}", self.shown, words.join(", ")),
        };
        Some(Mismatch { reason: format!("{} is never '{given}'", self.shown), help: Some(help) })
    }

    /// Returns the reason why the value is never of the type of the given one. Numbers and booleans equal
    /// each other, and any value may be null.
    fn refuse_type(&self, value: &Value) -> Option<Mismatch> {
        match self.type_source.as_ref()? {
            TypeSource::OfTool(kind) => {
                let reason = format!("{} is {}, not {value}", self.shown, kind.noun());
                let number = value.as_str().filter(|text| text.parse::<i64>().is_ok());
                let help = number.map(|number| format!("write {number} without quotes"));
                (!fits(*kind, value) && !value.is_null()).then_some(Mismatch { reason, help })
            }
            TypeSource::Declared(kind) => {
                let fits = fits(*kind, value);
                let reason =
                    format!("{} is declared as {}, not {value}", self.shown, kind.as_str());
                (!fits && !value.is_null()).then_some(Mismatch { reason, help: None })
            }
            TypeSource::Default(default) => {
                let fits = match default {
                    Value::String(_) => !(value.is_number() || value.is_boolean()),
                    Value::Number(_) | Value::Bool(_) => !value.is_string(),
                    Value::Null | Value::Array(_) | Value::Object(_) => true,
                };
                let reason = format!("{} is {default} by default, not {value}", self.shown);
                let help = Some("only a start could give another type".to_owned());
                (!fits).then_some(Mismatch { reason, help })
            }
        }
    }

    /// Returns the result of an order that does not depend on the value, with the reason.
    pub(super) fn order(
        &self,
        sign: ComparisonSign,
        value: &Value,
    ) -> Option<(&'static str, Mismatch)> {
        if let Some(mismatch) = self.refuse_type(value) {
            return Some(("an order without a meaning", mismatch));
        }
        let given = value.as_f64()?;
        let compared = |limit: Option<f64>| limit.and_then(|limit| limit.partial_cmp(&given));
        let (low, high) = (compared(self.min), compared(self.max));
        let is = |order: Option<Ordering>, wanted: &[Ordering]| {
            order.is_some_and(|order| wanted.contains(&order))
        };
        const ABOVE: &[Ordering] = &[Ordering::Greater];
        const FROM: &[Ordering] = &[Ordering::Greater, Ordering::Equal];
        const BELOW: &[Ordering] = &[Ordering::Less];
        const UP_TO: &[Ordering] = &[Ordering::Less, Ordering::Equal];
        let (result, is_low) = match sign {
            ComparisonSign::Less if is(low, FROM) => ("never true", true),
            ComparisonSign::Less if is(high, BELOW) => ("always true", false),
            ComparisonSign::LessOrEqual if is(low, ABOVE) => ("never true", true),
            ComparisonSign::LessOrEqual if is(high, UP_TO) => ("always true", false),
            ComparisonSign::Greater if is(low, ABOVE) => ("always true", true),
            ComparisonSign::Greater if is(high, UP_TO) => ("never true", false),
            ComparisonSign::GreaterOrEqual if is(low, FROM) => ("always true", true),
            ComparisonSign::GreaterOrEqual if is(high, BELOW) => ("never true", false),
            ComparisonSign::Less
            | ComparisonSign::LessOrEqual
            | ComparisonSign::Greater
            | ComparisonSign::GreaterOrEqual
            | ComparisonSign::Equal
            | ComparisonSign::NotEqual
            | ComparisonSign::In
            | ComparisonSign::NotIn => return None,
        };
        // A missing value is below every number.
        if self.is_optional && (is_low || result == "always true") {
            return None;
        }
        let limit = if is_low { self.min.map(|min| self.at_least(min)) } else { None };
        Some((result, limit.or_else(|| self.max.map(|max| self.at_most(max)))?))
    }

    /// Returns the reason why the value never contains the given one.
    pub(super) fn refuse_item(&self, value: &Value) -> Option<Mismatch> {
        if let Some(items) = &self.items {
            return items.refuse(value);
        }
        let type_of = match self.type_source.as_ref()? {
            TypeSource::Declared(
                kind @ (InputType::Integer | InputType::Number | InputType::Boolean),
            ) => format!("is declared as {}", kind.as_str()),
            TypeSource::OfTool(
                kind @ (InputType::Integer | InputType::Number | InputType::Boolean),
            ) => format!("is {}", kind.noun()),
            TypeSource::Default(default @ (Value::Number(_) | Value::Bool(_))) => {
                format!("is {default} by default")
            }
            TypeSource::Declared(
                InputType::Text | InputType::List | InputType::Object | InputType::Any,
            )
            | TypeSource::OfTool(
                InputType::Text | InputType::List | InputType::Object | InputType::Any,
            )
            | TypeSource::Default(
                Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_),
            ) => return None,
        };
        let reason = format!("{} {type_of} and contains nothing", self.shown);
        Some(Mismatch { reason, help: None })
    }

    fn at_least(&self, min: f64) -> Mismatch {
        Mismatch { reason: format!("{} is at least {min}", self.shown), help: None }
    }

    fn at_most(&self, max: f64) -> Mismatch {
        Mismatch { reason: format!("{} is at most {max}", self.shown), help: None }
    }
}

/// True if a value of the type may equal the given one.
fn fits(kind: InputType, value: &Value) -> bool {
    match kind {
        InputType::Text => value.is_string(),
        InputType::Integer | InputType::Number | InputType::Boolean => {
            value.is_number() || value.is_boolean()
        }
        InputType::List | InputType::Object => !is_scalar(value),
        InputType::Any => true,
    }
}

/// True if every execution has the declared input.
fn is_always_given(known: &KnownNames<'_>, path: &[&str]) -> bool {
    let name = match path {
        ["workload" | "ctx" | "vars", name] | [name] => name,
        [..] => return false,
    };
    let input = known.playbook.inputs.as_ref().and_then(|inputs| inputs.find(name));
    input.is_some_and(|input| input.is_required || input.default.is_some())
}

fn is_scalar(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}
