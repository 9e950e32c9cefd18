//! Finds comparisons that have the same result in every execution.

use noetl_expr::{ComparisonSign, Operand, TemplateComparison};
use noetl_model::ErrorKind;
use serde_json::Value;

use super::TemplateUses;
use super::known_names::KnownNames;
use super::shapes::{PathEnd, end_of};
use super::uses::{RenderMoment, RenderPlace};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::inputs::InputType;
use crate::playbook::Playbook;
use crate::suggest::nearest;

/// The values of `event.name` after a step, with their older names.
const EVENTS: &[&str] =
    &["step.done", "loop.done", "step.failed", "step.skipped", "call.done", "call.error"];
/// The values of `output.status` in a rule, with their older names.
const STATUSES: &[&str] = &["success", "ok", "completed", "COMPLETED", "error"];

/// The values that a path can have.
enum Possible {
    /// One of these words.
    Words(Vec<String>),
    /// A value of this type.
    Type(InputType),
    /// A number of at least this value.
    AtLeast(f64),
}

/// Adds the findings about comparisons.
pub(super) fn check(playbook: &Playbook, uses: &TemplateUses, findings: &mut Findings) {
    let known = KnownNames::of(playbook);
    for used in &uses.list {
        if used.place.moment == RenderMoment::Notice {
            continue;
        }
        for comparison in &used.facts.comparisons {
            let Some((message, help)) = fault(comparison, used.place, &known) else { continue };
            let span = used.span(comparison.range.clone(), &findings.source);
            let finding = Finding::warning(DiagnosticCode::ConstantComparison, &span, message);
            let suggestion = help
                .as_deref()
                .and_then(|help| corrected(help, &findings.source.text[span.clone()]));
            findings.add(finding.help_if(help).suggest(suggestion));
        }
    }
}

/// Returns a comparison with the word that its help asks about, if it is written with one word only.
fn corrected(help: &str, written: &str) -> Option<String> {
    let meant = help.strip_prefix("did you mean '")?.strip_suffix("'?")?;
    let open = written.find(['\'', '"'])?;
    let quote = &written[open..=open];
    let close = open + 1 + written[open + 1..].find(quote)?;
    let rest = &written[close + 1..];
    (!rest.contains(['\'', '"']))
        .then(|| format!("{}{meant}{}", &written[..=open], &written[close..]))
}

fn fault(
    comparison: &TemplateComparison,
    place: RenderPlace,
    known: &KnownNames<'_>,
) -> Option<(String, Option<String>)> {
    let TemplateComparison { left, sign, right, .. } = comparison;
    match (left, right) {
        (Operand::Literal(left), Operand::Literal(right)) => {
            let result = compared(left, *sign, right)?;
            Some((format!("this comparison is always {result}: both sides are fixed"), None))
        }
        (Operand::Path(path), Operand::Literal(value)) => {
            never(&possible(path, place, known)?, *sign, value, &path.join("."))
        }
        (Operand::Literal(value), Operand::Path(path)) => {
            never(&possible(path, place, known)?, mirrored(*sign), value, &path.join("."))
        }
        (Operand::Length, Operand::Literal(value)) => {
            never(&Possible::AtLeast(0.0), *sign, value, "a length")
        }
        (Operand::Literal(value), Operand::Length) => {
            never(&Possible::AtLeast(0.0), mirrored(*sign), value, "a length")
        }
        (
            Operand::Path(_) | Operand::Length | Operand::Other | Operand::Literal(_),
            Operand::Path(_) | Operand::Length | Operand::Other | Operand::Literal(_),
        ) => None,
    }
}

/// Returns the result of comparing two literals, if it does not depend on their types.
fn compared(left: &Value, sign: ComparisonSign, right: &Value) -> Option<bool> {
    let numbers = left.as_f64().zip(right.as_f64());
    let texts = left.as_str().zip(right.as_str());
    let order = match (numbers, texts) {
        (Some((left, right)), _) => left.partial_cmp(&right),
        (None, Some((left, right))) => Some(left.cmp(right)),
        (None, None) => None,
    };
    match sign {
        ComparisonSign::Equal => Some(order.map_or(left == right, |it| it.is_eq())),
        ComparisonSign::NotEqual => Some(order.map_or(left != right, |it| it.is_ne())),
        ComparisonSign::Less => Some(order?.is_lt()),
        ComparisonSign::LessOrEqual => Some(order?.is_le()),
        ComparisonSign::Greater => Some(order?.is_gt()),
        ComparisonSign::GreaterOrEqual => Some(order?.is_ge()),
        ComparisonSign::In | ComparisonSign::NotIn => None,
    }
}

/// Returns the sign with its sides exchanged.
fn mirrored(sign: ComparisonSign) -> ComparisonSign {
    match sign {
        ComparisonSign::Less => ComparisonSign::Greater,
        ComparisonSign::LessOrEqual => ComparisonSign::GreaterOrEqual,
        ComparisonSign::Greater => ComparisonSign::Less,
        ComparisonSign::GreaterOrEqual => ComparisonSign::LessOrEqual,
        ComparisonSign::Equal
        | ComparisonSign::NotEqual
        | ComparisonSign::In
        | ComparisonSign::NotIn => sign,
    }
}

/// Returns the values that a path can have at a place, if they are known.
fn possible(path: &[String], place: RenderPlace, known: &KnownNames<'_>) -> Option<Possible> {
    let words =
        |words: &[&str]| Some(Possible::Words(words.iter().map(|it| (*it).to_owned()).collect()));
    let kinds = || {
        let kinds: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        words(&kinds)
    };
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (place.moment, path.as_slice()) {
        (RenderMoment::StepEnd, ["event", "name"]) => words(EVENTS),
        (RenderMoment::Rule, ["output" | "outcome", "status"]) => words(STATUSES),
        (RenderMoment::Rule, ["output" | "outcome", "error", "kind"])
        | (RenderMoment::Rule | RenderMoment::StepEnd, ["error", "kind"]) => kinds(),
        (
            RenderMoment::TaskStart | RenderMoment::TaskEnd | RenderMoment::Rule,
            ["_index" | "_total"],
        ) => {
            let is_loop = known.step_at(place).is_some_and(|step| step.repeat.is_some());
            is_loop.then_some(Possible::AtLeast(0.0))
        }
        (RenderMoment::TaskStart | RenderMoment::Rule, ["_attempt"]) => {
            Some(Possible::AtLeast(1.0))
        }
        (
            RenderMoment::Start
            | RenderMoment::StepEntry
            | RenderMoment::TaskStart
            | RenderMoment::Claim
            | RenderMoment::TaskEnd
            | RenderMoment::Rule
            | RenderMoment::StepEnd
            | RenderMoment::Notice,
            path,
        ) => declared(path, place, known),
    }
}

/// Returns the values that the declared shape of a path allows.
fn declared(path: &[&str], place: RenderPlace, known: &KnownNames<'_>) -> Option<Possible> {
    let PathEnd::Rule(rule, _) = end_of(known, path, place)? else { return None };
    let words = rule.choices.iter().map(|choice| choice.as_str().map(str::to_owned));
    match words.collect::<Option<Vec<String>>>().filter(|words| !words.is_empty()) {
        Some(words) => Some(Possible::Words(words)),
        None => Some(Possible::Type(rule.kind)),
    }
}

/// Returns the message about a comparison that can never be true, or never be false.
fn never(
    possible: &Possible,
    sign: ComparisonSign,
    value: &Value,
    name: &str,
) -> Option<(String, Option<String>)> {
    let result = match sign {
        ComparisonSign::Equal => "never true",
        ComparisonSign::NotEqual => "always true",
        ComparisonSign::Less
        | ComparisonSign::LessOrEqual
        | ComparisonSign::Greater
        | ComparisonSign::GreaterOrEqual
        | ComparisonSign::In
        | ComparisonSign::NotIn => return never_ordered(possible, sign, value, name),
    };
    match possible {
        Possible::Words(words) => {
            let given = value.as_str()?;
            if words.iter().any(|word| word == given) {
                return None;
            }
            let help = match nearest(given, words.iter().map(String::as_str)) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("`{name}` can be {}", words.join(", ")),
            };
            Some((format!("this is {result}: `{name}` is never '{given}'"), Some(help)))
        }
        Possible::Type(kind) => {
            let fits = match kind {
                InputType::Text => value.is_string(),
                InputType::Integer | InputType::Number => value.is_number() || value.is_boolean(),
                InputType::Boolean => value.is_boolean() || value.is_number(),
                InputType::List | InputType::Object | InputType::Any => true,
            };
            let fits = fits || value.is_null();
            let kind = kind.as_str();
            let message = format!("this is {result}: `{name}` is declared as {kind}, not {value}");
            (!fits).then_some((message, None))
        }
        Possible::AtLeast(least) => {
            let given = value.as_f64()?;
            let message = format!("this is {result}: `{name}` is at least {least}");
            (given < *least).then_some((message.replace("`a length`", "a length"), None))
        }
    }
}

/// Returns the message about an order that never holds: a number below its least value.
fn never_ordered(
    possible: &Possible,
    sign: ComparisonSign,
    value: &Value,
    name: &str,
) -> Option<(String, Option<String>)> {
    let Possible::AtLeast(least) = possible else { return None };
    let given = value.as_f64()?;
    let result = match sign {
        ComparisonSign::Less if given <= *least => "never true",
        ComparisonSign::LessOrEqual if given < *least => "never true",
        ComparisonSign::GreaterOrEqual if given <= *least => "always true",
        ComparisonSign::Greater if given < *least => "always true",
        ComparisonSign::Equal
        | ComparisonSign::NotEqual
        | ComparisonSign::Less
        | ComparisonSign::LessOrEqual
        | ComparisonSign::Greater
        | ComparisonSign::GreaterOrEqual
        | ComparisonSign::In
        | ComparisonSign::NotIn => return None,
    };
    let message = format!("this is {result}: `{name}` is at least {least}");
    Some((message.replace("`a length`", "a length"), None))
}
