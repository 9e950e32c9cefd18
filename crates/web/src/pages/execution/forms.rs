//! Forms that continue an execution: a fork from a position, and a run with another workload.

mod workload;

use std::collections::BTreeMap;

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use noetl_api::wire::{PositionState, PositionValue};
use noetl_app::{EntryChoice, ForkPlaybook, check_document, document_findings};
use noetl_control::{ForkAt, ForkRequest};
use noetl_model::{ExecutionId, Seq};
use serde::Deserialize;
use serde_json::Value;

use super::view::telling_step;
use crate::components::editor::{EditorField, editor_field};
use crate::components::error::message_line;
use crate::components::id::{execution_address, execution_link};
use crate::components::json_tree::json_tree;
use crate::components::source_lines::StepLines;
use crate::error::{ErrorMessage, PageError};
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead, form_fields};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use workload::{masked_text, object, sent_workload, stored_workload};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct ForkQuery {
    at: String,
    /// `playbook` opens the editor of the playbook.
    edit: String,
}

pub(in crate::pages) async fn show_fork(
    page: PageRequest,
    Path(id): Path<String>,
    Query(query): Query<ForkQuery>,
) -> PageResult {
    let execution = super::execution_of(&id)?;
    let state = page.app().position_state(execution, query.at.parse().ok()).await?;
    let entry = page.app().catalog_entry(&EntryChoice::Id(state.catalog_id.into())).await?;
    let fields = ForkFields {
        context: "{}".to_owned(),
        workload: masked_text(&stored_workload(&page, execution, &state).await?),
        playbook: entry.content,
        is_editing: query.edit == "playbook",
        error: None,
    };
    Ok(fork_page(&page, StatusCode::OK, &state, &fields))
}

/// The fields of the form, as they are or as they were sent.
struct ForkFields {
    context: String,
    workload: String,
    playbook: String,
    /// True if the editor of the playbook is open.
    is_editing: bool,
    /// The reason why the execution was not forked.
    error: Option<ErrorMessage>,
}

fn fork_page(
    page: &PageRequest,
    status: StatusCode,
    state: &PositionState,
    fields: &ForkFields,
) -> Response {
    let head = PageHead { title: page.t("exec.fork_title"), place: NavPlace::Executions };
    page.respond_with(status, &head, &fork_form(page, state, fields))
}

fn fork_form(page: &PageRequest, state: &PositionState, fields: &ForkFields) -> Markup {
    let execution = ExecutionId::from(state.execution_id);
    let seq = state.position.to_string();
    html! {
        header.page-head { h1 { (page.t("exec.fork_title")) } }
        p { (page.words.fill("exec.fork_more", &[("seq", &seq)])) " " (execution_link(execution)) }
        @if let Some(error) = &fields.error { (message_line(error)) }
        form.stacked.fork method="post" action={ (execution_address(execution)) "/fork" } {
            (form_fields(page))
            input type="hidden" name="at" value=(seq);
            label { span { "ctx" } textarea name="ctx" rows="6" spellcheck="false" { (fields.context) }
                span.soft { (page.t("exec.ctx_more")) } }
            (current_context(page, state))
            label { span { (page.t("exec.workload")) }
                textarea name="workload" rows="8" spellcheck="false" { (fields.workload) } }
            @if page.visitor.may.write { (playbook_editor(page, state, fields)) }
            button.main type="submit" { (page.t("exec.fork")) }
        }
    }
}

/// Draws the variables that the fork begins with.
fn current_context(page: &PageRequest, state: &PositionState) -> Markup {
    html! {
        section.current-context aria-label=(page.t("exec.ctx_now")) {
            p.soft { (page.t("exec.ctx_now")) }
            @if state.ctx.is_empty() { p.soft { (page.t("exec.no_ctx")) } }
            @for variable in &state.ctx {
                div.variable { span.name { code { (variable.name) } }
                    @match &variable.value {
                        PositionValue::Inline { value } => (json_tree(value)),
                        PositionValue::LeftOut { bytes } => span.soft { (page.words.number(*bytes)) " B" },
                    }
                }
            }
        }
    }
}

/// Draws the editor of the playbook, on the lines of the step that the visitor asks about.
fn playbook_editor(page: &PageRequest, state: &PositionState, fields: &ForkFields) -> Markup {
    let problems = check_document(&fields.playbook).unwrap_or_else(|problems| problems);
    let findings = document_findings(&fields.playbook, &problems);
    let step = telling_step(state);
    let editor = EditorField {
        name: "playbook",
        content: &fields.playbook,
        findings: &findings,
        line: step.and_then(|step| StepLines::of(&fields.playbook).first_line(&step)),
    };
    html! {
        details open[fields.is_editing] {
            summary { (page.t("exec.edit_playbook")) }
            (editor_field(page, &editor))
        }
    }
}

pub(in crate::pages) async fn fork(
    page: PageRequest,
    Path(id): Path<String>,
    form: SignedForm,
) -> PageResult {
    let origin = super::execution_of(&id)?;
    let at: u64 = form.get("at").parse().map_err(|_| unreadable("at"))?;
    let state = page.app().position_state(origin, Some(at)).await?;
    match forked(&page, origin, &state, &form).await {
        Ok(address) => Ok(see(&address)),
        Err(error @ PageError::Denied { .. }) => Err(error),
        // The values of the form stay on the page.
        Err(error) => {
            let fields = ForkFields {
                context: form.get("ctx").to_owned(),
                workload: form.get("workload").to_owned(),
                playbook: form.get("playbook").replace("\r\n", "\n"),
                is_editing: true,
                error: Some(error.sentence(page.words)),
            };
            Ok(fork_page(&page, error.status(), &state, &fields))
        }
    }
}

/// Forks an execution as a form asks for; returns the address of the fork.
async fn forked(
    page: &PageRequest,
    origin: ExecutionId,
    state: &PositionState,
    form: &SignedForm,
) -> Result<String, PageError> {
    let stored = stored_workload(page, origin, state).await?;
    let sent = form.given("workload").map(|text| sent_workload(text, &stored)).transpose()?;
    let workload = sent.filter(|sent| stored.as_object() != Some(sent)).unwrap_or_default();
    let context: BTreeMap<String, Value> =
        object("ctx", form.given("ctx").unwrap_or("{}"))?.into_iter().collect();
    let entry = page.app().catalog_entry(&EntryChoice::Id(state.catalog_id.into())).await?;
    // A browser sends the lines of a text with two characters at their ends.
    let edited = form.get("playbook").replace("\r\n", "\n");
    let is_edited = !edited.trim().is_empty() && edited.trim_end() != entry.content.trim_end();
    let playbook = match is_edited {
        true => {
            page.must_write()?;
            ForkPlaybook::Document { file: &entry.path, content: &edited }
        }
        false => ForkPlaybook::Registered,
    };
    let (has_ended, at) = (state.status.is_terminal(), Seq(state.position));
    let at = if has_ended && state.error.is_some() { ForkAt::Failure } else { ForkAt::Event(at) };
    let request =
        ForkRequest { origin, at, playbook: None, workload, context, actor: page.actor() };
    let fork = page.app().fork(request, playbook).await?;
    Ok(execution_address(fork.execution))
}

pub(in crate::pages) async fn show_again(page: PageRequest, Path(id): Path<String>) -> PageResult {
    let execution = super::execution_of(&id)?;
    let state = page.app().position_state(execution, Some(1)).await?;
    let workload = masked_text(&stored_workload(&page, execution, &state).await?);
    Ok(again_page(&page, StatusCode::OK, &state, &workload, None))
}

fn again_page(
    page: &PageRequest,
    status: StatusCode,
    state: &PositionState,
    workload: &str,
    error: Option<&ErrorMessage>,
) -> Response {
    let head = PageHead { title: page.t("exec.rerun"), place: NavPlace::Executions };
    let execution = ExecutionId::from(state.execution_id);
    let content = html! {
        header.page-head { h1 { (page.t("exec.rerun")) } }
        p { code { (state.path) } " v" (state.version) }
        @if let Some(error) = error { (message_line(error)) }
        form.stacked method="post" action={ (execution_address(execution)) "/again" } {
            (form_fields(page))
            label { span { (page.t("exec.workload")) }
                textarea name="workload" rows="12" spellcheck="false" { (workload) } }
            button.main type="submit" { (page.t("exec.start")) }
        }
    };
    page.respond_with(status, &head, &content)
}

pub(in crate::pages) async fn again(
    page: PageRequest,
    Path(id): Path<String>,
    form: SignedForm,
) -> PageResult {
    let original = super::execution_of(&id)?;
    let state = page.app().position_state(original, Some(1)).await?;
    match started_again(&page, original, &state, &form).await {
        Ok(address) => Ok(see(&address)),
        Err(error) => {
            let (status, message) = (error.status(), error.sentence(page.words));
            Ok(again_page(&page, status, &state, form.get("workload"), Some(&message)))
        }
    }
}

/// Runs the playbook of an execution again as a form asks for; returns the address of the run.
async fn started_again(
    page: &PageRequest,
    original: ExecutionId,
    state: &PositionState,
    form: &SignedForm,
) -> Result<String, PageError> {
    let stored = stored_workload(page, original, state).await?;
    let workload = sent_workload(form.given("workload").unwrap_or("{}"), &stored)?;
    let started = page.app().rerun(original, Some(workload), page.actor()).await?;
    Ok(execution_address(started.execution))
}

fn unreadable(name: &str) -> PageError {
    PageError::refused("error.no_object", vec![("name", name.to_owned())])
}
