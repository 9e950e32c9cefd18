//! Finds comparisons that have the same result in every execution.

use noetl_expr::{ComparisonSign, Operand, TemplateComparison};
use serde_json::Value;

use super::TemplateUses;
use super::known_names::KnownNames;
use super::possible_values::{Mismatch, PossibleValues};
use super::uses::{RenderMoment, TemplateUse};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::playbook::Playbook;

/// Adds the findings about comparisons.
pub(super) fn check(playbook: &Playbook, uses: &TemplateUses, findings: &mut Findings) {
    let known = KnownNames::of(playbook);
    for used in uses.list.iter().filter(|used| used.place.moment != RenderMoment::Notice) {
        let possible = |side: &Operand| match side {
            Operand::Path(path) => PossibleValues::of_path(path, used.place, &known),
            Operand::Length(path) => {
                Some(PossibleValues::of_length(path.as_deref(), used.place, &known))
            }
            Operand::Literal(_) | Operand::Other => None,
        };
        check_use(used, &possible, findings);
    }
}

/// Adds the findings about the comparisons of one template; `possible` returns the values that a side can
/// have.
pub(super) fn check_use(
    used: &TemplateUse,
    possible: &dyn Fn(&Operand) -> Option<PossibleValues>,
    findings: &mut Findings,
) {
    for comparison in &used.facts.comparisons {
        let Some((message, help)) = fault(comparison, possible) else { continue };
        let span = used.span(comparison.range.clone(), &findings.source);
        let finding = Finding::warning(DiagnosticCode::ConstantComparison, &span, message);
        let suggestion =
            help.as_deref().and_then(|help| corrected(help, &findings.source.text[span.clone()]));
        findings.add(finding.help_if(help).suggest(suggestion));
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

/// A message with its help.
type ComparisonFault = (String, Option<String>);

fn fault(
    comparison: &TemplateComparison,
    possible: &dyn Fn(&Operand) -> Option<PossibleValues>,
) -> Option<ComparisonFault> {
    let TemplateComparison { left, sign, right, .. } = comparison;
    match (left, right) {
        (Operand::Literal(left), Operand::Literal(right)) => {
            let result = compared(left, *sign, right)?;
            Some((format!("this comparison is always {result}: both sides are fixed"), None))
        }
        (side @ (Operand::Path(_) | Operand::Length(_)), Operand::Literal(value)) => {
            constant(&possible(side)?, *sign, value)
        }
        (Operand::Literal(value), side @ (Operand::Path(_) | Operand::Length(_))) => {
            match mirrored(*sign) {
                Some(sign) => constant(&possible(side)?, sign, value),
                None => {
                    let mismatch = possible(side)?.refuse_item(value)?;
                    Some(mismatch.fault(if *sign == ComparisonSign::In { NEVER } else { ALWAYS }))
                }
            }
        }
        (
            Operand::Path(_) | Operand::Length(_) | Operand::Other | Operand::Literal(_),
            Operand::Path(_) | Operand::Length(_) | Operand::Other | Operand::Literal(_),
        ) => None,
    }
}

const NEVER: &str = "never true";
const ALWAYS: &str = "always true";

impl Mismatch {
    fn fault(self, result: &str) -> ComparisonFault {
        (format!("this is {result}: {}", self.reason), self.help)
    }
}

/// Returns the message about a comparison that has the same result for all possible values.
fn constant(
    possible: &PossibleValues,
    sign: ComparisonSign,
    value: &Value,
) -> Option<ComparisonFault> {
    match sign {
        ComparisonSign::Equal => Some(possible.refuse(value)?.fault(NEVER)),
        ComparisonSign::NotEqual => Some(possible.refuse(value)?.fault(ALWAYS)),
        ComparisonSign::In => one_of(possible, value.as_array()?, NEVER),
        ComparisonSign::NotIn => one_of(possible, value.as_array()?, ALWAYS),
        ComparisonSign::Less
        | ComparisonSign::LessOrEqual
        | ComparisonSign::Greater
        | ComparisonSign::GreaterOrEqual => {
            let (result, mismatch) = possible.order(sign, value)?;
            Some(mismatch.fault(result))
        }
    }
}

/// Returns the message about a list of which no value, or not every value, can be met.
fn one_of(possible: &PossibleValues, items: &[Value], result: &str) -> Option<ComparisonFault> {
    let mut refused: Vec<Mismatch> = items.iter().filter_map(|it| possible.refuse(it)).collect();
    if items.is_empty() {
        return Some((format!("this is {result}: the list is empty"), None));
    }
    let is_all = refused.len() == items.len();
    let first = if refused.is_empty() { None } else { Some(refused.swap_remove(0)) }?;
    if is_all {
        return Some(first.fault(result));
    }
    Some((format!("a value of this list has no effect: {}", first.reason), first.help))
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
    let is_in = match right {
        Value::Array(items) if !left.is_array() => Some(items.contains(left)),
        Value::String(text) => left.as_str().map(|left| text.contains(left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    };
    match sign {
        ComparisonSign::Equal => Some(order.map_or(left == right, |it| it.is_eq())),
        ComparisonSign::NotEqual => Some(order.map_or(left != right, |it| it.is_ne())),
        ComparisonSign::Less => Some(order?.is_lt()),
        ComparisonSign::LessOrEqual => Some(order?.is_le()),
        ComparisonSign::Greater => Some(order?.is_gt()),
        ComparisonSign::GreaterOrEqual => Some(order?.is_ge()),
        ComparisonSign::In => is_in,
        ComparisonSign::NotIn => is_in.map(|is_in| !is_in),
    }
}

/// Returns the sign with its sides exchanged; `None` for a search, which has a direction.
fn mirrored(sign: ComparisonSign) -> Option<ComparisonSign> {
    match sign {
        ComparisonSign::Less => Some(ComparisonSign::Greater),
        ComparisonSign::LessOrEqual => Some(ComparisonSign::GreaterOrEqual),
        ComparisonSign::Greater => Some(ComparisonSign::Less),
        ComparisonSign::GreaterOrEqual => Some(ComparisonSign::LessOrEqual),
        ComparisonSign::Equal | ComparisonSign::NotEqual => Some(sign),
        ComparisonSign::In | ComparisonSign::NotIn => None,
    }
}
