//! Forms that continue an execution: a fork from a position, and a run with another workload.

use std::collections::BTreeMap;

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use noetl_api::wire::{PositionState, PositionValue};
use noetl_app::{EntryChoice, ForkPlaybook, PositionValueName, check_document, document_findings};
use noetl_control::{ForkAt, ForkRequest};
use noetl_model::{ExecutionId, Seq};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::components::editor::{EditorField, editor_field};
use crate::components::error::error_line;
use crate::components::id::{execution_address, execution_link};
use crate::components::source_lines::StepLines;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead, form_fields};
use crate::request::PageRequest;
use crate::response::{PageResult, see};

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
    let workload = workload_text(&page, execution, &state).await?;
    let entry = page.app().catalog_entry(&EntryChoice::Id(state.catalog_id.into())).await?;
    let fields = ForkFields {
        context: "{}".to_owned(),
        workload,
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
    error: Option<String>,
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
    let problems = check_document(&fields.playbook).unwrap_or_else(|problems| problems);
    let findings = document_findings(&fields.playbook, &problems);
    let step = state.current_step.as_deref();
    let editor = EditorField {
        name: "playbook",
        content: &fields.playbook,
        findings: &findings,
        line: step.and_then(|step| StepLines::of(&fields.playbook).first_line(step)),
    };
    let execution = ExecutionId::from(state.execution_id);
    let seq = state.position.to_string();
    html! {
        header.page-head { h1 { (page.t("exec.fork_title")) } }
        p { (page.words.fill("exec.fork_more", &[("seq", &seq)])) " " (execution_link(execution)) }
        @if let Some(error) = &fields.error { (error_line(error)) }
        form.stacked.fork method="post" action={ (execution_address(execution)) "/fork" } {
            (form_fields(page))
            input type="hidden" name="at" value=(seq);
            label { span { "ctx" } textarea name="ctx" rows="6" spellcheck="false" { (fields.context) }
                span.soft { (page.t("exec.ctx_more")) } }
            label { span { (page.t("exec.workload")) }
                textarea name="workload" rows="8" spellcheck="false" { (fields.workload) } }
            details open[fields.is_editing] {
                summary { (page.t("exec.edit_playbook")) }
                (editor_field(page, &editor))
            }
            button.main type="submit" { (page.t("exec.fork")) }
        }
    }
}

async fn workload_text(
    page: &PageRequest,
    execution: ExecutionId,
    state: &PositionState,
) -> Result<String, PageError> {
    let value = match &state.workload {
        PositionValue::Inline { value } => value.clone(),
        PositionValue::LeftOut { .. } => {
            let name = PositionValueName::Workload;
            page.app().position_value(execution, Some(state.position), &name).await?.value
        }
    };
    Ok(serde_json::to_string_pretty(&value).unwrap_or_default())
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
    let old = workload_text(page, origin, state).await?;
    let workload = match form.given("workload") {
        Some(text) if text.trim() != old.trim() => object("workload", text)?,
        Some(_) | None => Map::new(),
    };
    let context: BTreeMap<String, Value> =
        object("ctx", form.given("ctx").unwrap_or("{}"))?.into_iter().collect();
    let entry = page.app().catalog_entry(&EntryChoice::Id(state.catalog_id.into())).await?;
    // A browser sends the lines of a text with two characters at their ends.
    let edited = form.get("playbook").replace("\r\n", "\n");
    let is_edited = !edited.trim().is_empty() && edited.trim_end() != entry.content.trim_end();
    let playbook = match is_edited {
        true => ForkPlaybook::Document { file: &entry.path, content: &edited },
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
    let workload = workload_text(&page, execution, &state).await?;
    let head = PageHead { title: page.t("exec.rerun"), place: NavPlace::Executions };
    let content = html! {
        header.page-head { h1 { (page.t("exec.rerun")) } }
        p { code { (state.path) } " v" (state.version) }
        form.stacked method="post" action={ (execution_address(execution)) "/again" } {
            (form_fields(&page))
            label { span { (page.t("exec.workload")) }
                textarea name="workload" rows="12" spellcheck="false" { (workload) } }
            button.main type="submit" { (page.t("exec.start")) }
        }
    };
    Ok(page.respond(&head, &content))
}

pub(in crate::pages) async fn again(
    page: PageRequest,
    Path(id): Path<String>,
    form: SignedForm,
) -> PageResult {
    let workload = object("workload", form.given("workload").unwrap_or("{}"))?;
    let original = super::execution_of(&id)?;
    let started = page.app().rerun(original, Some(workload), page.actor()).await?;
    Ok(see(&execution_address(started.execution)))
}

fn object(name: &str, text: &str) -> Result<Map<String, Value>, PageError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(unreadable(name)),
        Err(error) => Err(PageError::Refused(format!("{name}: {error}"))),
    }
}

fn unreadable(name: &str) -> PageError {
    PageError::refused("error.no_object", vec![("name", name.to_owned())])
}
