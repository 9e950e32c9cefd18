//! An approval: the question with its form, or the decision.

use std::collections::BTreeMap;

use maud::{Markup, html};
use noetl_api::wire::{ApprovalDecisionView, ApprovalView};
use noetl_model::{ApprovalTimeout, RejectionEffect, Verdict};
use noetl_playbook::{DecisionForm, FormField, FormFieldKind, FormProblem, TextFormat};
use serde_json::Value;

use super::error::error_line;
use super::json_tree::json_tree;
use super::status::{Tone, badge};
use super::time::{planned_time, time};
use crate::layout::form_fields;
use crate::request::PageRequest;

/// The prefix of the fields with the values of a form.
pub(crate) const VALUE_PREFIX: &str = "value.";

/// The name under which a form decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decider {
    /// The name is known: of the session, or of the link.
    Known(String),
    /// The form asks for the name.
    Asked,
}

/// A decision that was refused, with the texts of its form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RefusedDecision {
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) comment: String,
    pub(crate) actor: String,
    pub(crate) problems: Vec<FormProblem>,
}

/// Returns the form of an approval; an empty one if it has none.
pub(crate) fn form_of(view: &ApprovalView) -> DecisionForm {
    let form = view.form.as_ref().and_then(|schema| DecisionForm::parse(schema).ok());
    form.unwrap_or_default()
}

/// Draws the description, the form and the buttons of an approval that waits.
pub(crate) fn approval_form(
    page: &PageRequest,
    address: &str,
    view: &ApprovalView,
    decider: &Decider,
    refused: Option<&RefusedDecision>,
) -> Markup {
    let id = format!("approval-{}-{}", view.execution_id, view.command);
    let nothing = RefusedDecision::default();
    let given = refused.unwrap_or(&nothing);
    let general = given.problems.iter().filter(|problem| problem.field.is_empty());
    html! {
        @if let Some(description) = &view.description { p.description { (description) } }
        (terms(page, view))
        form.decision #(id) method="post" action=(address) {
            (form_fields(page))
            @for problem in general { (error_line(&problem.message)) }
            @for field in &form_of(view).fields { (input(&id, field, given, refused.is_some())) }
            @match decider {
                Decider::Known(name) => p.soft { (page.words.fill("waiting.as", &[("name", name)])) },
                Decider::Asked => label {
                    span { (page.t("waiting.name")) }
                    input name="actor" value=(given.actor) maxlength="128" autocomplete="name"
                        required[!view.approvers.is_empty()];
                },
            }
            label {
                span { (page.t("waiting.comment")) }
                textarea name="comment" rows="2" maxlength="4000" { (given.comment) }
            }
            div.buttons {
                button.main type="submit" name="decision" value="approve" { (page.t("waiting.approve")) }
                // A rejection need not fill in the form.
                button.danger type="submit" name="decision" value="reject" formnovalidate {
                    (page.t("waiting.reject"))
                }
            }
        }
    }
}

/// Draws who may decide, and the effect of a deadline and of a rejection.
fn terms(page: &PageRequest, view: &ApprovalView) -> Markup {
    let on_timeout = match view.on_timeout {
        ApprovalTimeout::Fail => "waiting.then_fails",
        ApprovalTimeout::Approve => "waiting.then_approved",
        ApprovalTimeout::Reject => "waiting.then_rejected",
    };
    let on_reject = match view.on_reject {
        RejectionEffect::Fail => "waiting.reject_fails",
        RejectionEffect::Continue => "waiting.reject_continues",
    };
    html! {
        ul.terms.soft {
            @if !view.approvers.is_empty() {
                li { (page.words.fill("waiting.approvers", &[("names", &view.approvers.join(", "))])) }
            }
            @if let Some(deadline) = view.deadline {
                li { (page.t("waiting.until")) " " (planned_time(&deadline.to_string())) "; " (page.words.t(on_timeout)) }
            }
            li { (page.words.t(on_reject)) }
        }
    }
}

fn input(id: &str, field: &FormField, given: &RefusedDecision, is_refused: bool) -> Markup {
    let name = format!("{VALUE_PREFIX}{}", field.name);
    let text = match (given.values.get(&field.name), is_refused) {
        (Some(text), _) => text.clone(),
        (None, true) => String::new(),
        (None, false) => field.default.as_ref().map(plain).unwrap_or_default(),
    };
    let problems: Vec<&FormProblem> =
        given.problems.iter().filter(|problem| problem.field == field.name).collect();
    let problem_id = format!("{id}-{}-problem", field.name);
    let described = (!problems.is_empty()).then_some(problem_id.as_str());
    html! {
        label {
            span { (field.label()) @if field.is_required { " *" } }
            (control(field, &name, &text, described))
        }
        @if let Some(description) = &field.description { p.soft.field-note { (description) } }
        @if !problems.is_empty() {
            div #(problem_id) { @for problem in problems { (error_line(&problem.to_string())) } }
        }
    }
}

fn control(field: &FormField, name: &str, text: &str, described: Option<&str>) -> Markup {
    let required = field.is_required;
    if !field.choices.is_empty() {
        let choices: Vec<String> = field.choices.iter().map(plain).collect();
        return choice(name, text, required, described, &choices);
    }
    let (min, max, kind, step) = match &field.kind {
        FormFieldKind::Boolean => {
            let choices = ["true".to_owned(), "false".to_owned()];
            return choice(name, text, required, described, &choices);
        }
        FormFieldKind::Text { len_min, len_max, format } => {
            return text_control(name, text, (required, described), (*len_min, *len_max, *format));
        }
        FormFieldKind::Integer { min, max } => {
            (min.map(|it| it.to_string()), max.map(|it| it.to_string()), "number", "1")
        }
        FormFieldKind::Number { min, max } => {
            (min.map(|it| it.to_string()), max.map(|it| it.to_string()), "number", "any")
        }
    };
    html! {
        input name=(name) type=(kind) step=(step) min=[min] max=[max] value=(text)
            required[required] aria-describedby=[described];
    }
}

fn text_control(
    name: &str,
    text: &str,
    (required, described): (bool, Option<&str>),
    (len_min, len_max, format): (u64, Option<u64>, TextFormat),
) -> Markup {
    let len_min = (len_min > 0).then_some(len_min);
    let kind = match format {
        TextFormat::Multiline => {
            return html! {
                textarea name=(name) rows="4" minlength=[len_min] maxlength=[len_max]
                    required[required] aria-describedby=[described] { (text) }
            };
        }
        TextFormat::Line | TextFormat::DateTime => "text",
        TextFormat::Date => "date",
        TextFormat::Email => "email",
        TextFormat::Uri => "url",
    };
    html! {
        input name=(name) type=(kind) value=(text) minlength=[len_min] maxlength=[len_max]
            required[required] aria-describedby=[described];
    }
}

fn choice(
    name: &str,
    text: &str,
    required: bool,
    described: Option<&str>,
    choices: &[String],
) -> Markup {
    html! {
        select name=(name) required[required] aria-describedby=[described] {
            option value="" selected[text.is_empty()] { "–" }
            @for choice in choices {
                option value=(choice) selected[choice == text] { (choice) }
            }
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// Draws the decision about an approval.
pub(crate) fn decision(page: &PageRequest, decision: &ApprovalDecisionView) -> Markup {
    let (tone, word) = match decision.decision {
        Verdict::Approved => (Tone::Good, "waiting.approved"),
        Verdict::Rejected => (Tone::Bad, "waiting.rejected"),
    };
    html! {
        p {
            (badge(tone, page.words.t(word))) " "
            @if let Some(actor) = &decision.actor { (page.words.fill("waiting.by", &[("name", actor)])) " " }
            @if decision.timed_out { (page.t("waiting.by_deadline")) " " }
            (time(decision.decided_at))
        }
        @if let Some(comment) = &decision.comment { p.description { (comment) } }
        @if decision.values.as_object().is_some_and(|values| !values.is_empty()) {
            (json_tree(&decision.values))
        }
    }
}
