//! One playbook: source, versions, last executions, and the form to run it.

mod diff;
mod graph;
pub(super) mod inputs;
mod template;
mod view;

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use noetl_api::wire::ExecuteRequest;
use noetl_app::{CatalogError, EntryChoice, ExecuteError, StartOptions};
use noetl_control::StartError;
use serde::Deserialize;
use serde_json::json;

use crate::components::id::{execution_address, playbook_address};
use crate::components::labels::labels_of;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::pages::editor;
use crate::request::PageRequest;
use crate::response::{PageResult, see};
pub(super) use graph::{StepLinks, drawn_graph, graph};
pub(super) use template::input;
use view::PlaybookView;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct VersionChoice {
    /// The version that is shown; the newest if empty.
    version: String,
    /// The version that it is compared with.
    compare: String,
}

pub(super) async fn show(
    page: PageRequest,
    Path(path): Path<String>,
    Query(query): Query<VersionChoice>,
    Query(editing): Query<editor::EditorQuery>,
) -> PageResult {
    if let Some(edited) = editor::edited_path(&page, &path).await? {
        return editor::show(&page, edited, &editing).await;
    }
    let view = PlaybookView::load(&page, path, &query).await?;
    let head = PageHead { title: &view.entry.path, place: NavPlace::Playbooks };
    Ok(page.respond(&head, &template::playbook(&page, &view)))
}

/// Runs, pauses, resumes, archives, restores or edits the playbook.
pub(super) async fn act(
    page: PageRequest,
    Path(path): Path<String>,
    form: SignedForm,
) -> PageResult {
    if let Some(edited) = editor::edited_path(&page, &path).await? {
        return editor::change(&page, edited, &form).await;
    }
    let choice = EntryChoice::Path { path: path.clone(), version: None };
    match form.get("action") {
        "run" => run(&page, &path, &form).await,
        "archive" => {
            page.must_write()?;
            page.app().archive(&choice).await?;
            Ok(see(&playbook_address(&path)))
        }
        "pause" => {
            page.app().pause_playbook(&path, page.pause_caller(&form)).await?;
            Ok(see(&playbook_address(&path)))
        }
        "resume" => {
            page.app().resume_playbook(&path, page.pause_caller(&form)).await?;
            Ok(see(&playbook_address(&path)))
        }
        "restore" => {
            page.must_write()?;
            page.app().restore(&choice).await?;
            Ok(see(&playbook_address(&path)))
        }
        other => Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    }
}

async fn run(page: &PageRequest, path: &str, form: &SignedForm) -> PageResult {
    let version = form.given("version").and_then(|it| it.parse::<u32>().ok());
    let entry = view::entry(page, path.to_owned(), version).await?;
    let payload = match inputs::payload(&entry.content, form) {
        Ok(payload) => payload,
        Err(refusal) => return refused(page, path, form, refusal).await,
    };
    let labels = match labels_of(form.get("labels")) {
        Ok(labels) => labels,
        Err(refusal) => return refused(page, path, form, refusal).await,
    };
    let request = ExecuteRequest {
        labels,
        path: Some(path.to_owned()),
        version: Some(json!(entry.version)),
        payload: Some(payload),
        execution_pool: form.given("pool").map(str::to_owned),
        ..ExecuteRequest::default()
    };
    let options = StartOptions { actor: page.actor(), ..StartOptions::default() };
    match page.app().execute(request, options).await {
        Ok(started) => Ok(see(&execution_address(started.execution))),
        Err(ExecuteError::Start(StartError::InvalidInputs(problems))) => {
            refused(page, path, form, problems.to_string()).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Answers a form that cannot be read: its values stay on the page.
async fn refused(page: &PageRequest, path: &str, form: &SignedForm, refusal: String) -> PageResult {
    let query = VersionChoice { version: form.get("version").to_owned(), compare: String::new() };
    let mut view = PlaybookView::load(page, path.to_owned(), &query).await?;
    view.inputs = inputs::sent_fields(&view.entry.content, form);
    view.pool = form.get("pool").to_owned();
    view.labels = form.get("labels").to_owned();
    view.refusal = Some(refusal);
    let head = PageHead { title: &view.entry.path, place: NavPlace::Playbooks };
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Ok(page.respond_with(status, &head, &template::playbook(page, &view)))
}

impl From<CatalogError> for PageError {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Unknown => Self::NotFound(error.to_string()),
            CatalogError::NotAPlaybook { .. }
            | CatalogError::Ambiguous(_)
            | CatalogError::OtherPath { .. }
            | CatalogError::Changed { .. } => Self::Refused(error.to_string()),
            CatalogError::Register(error) => error.into(),
            CatalogError::Store(error) => error.into(),
        }
    }
}

impl From<ExecuteError> for PageError {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::BatchSize(_)
            | ExecuteError::NoPlaybook
            | ExecuteError::Version(_)
            | ExecuteError::Pool(_)
            | ExecuteError::Key(_)
            | ExecuteError::KeyReused(_)
            | ExecuteError::KeyTaken => Self::Refused(error.to_string()),
            ExecuteError::Store(error) => error.into(),
            ExecuteError::Start(error) => error.into(),
        }
    }
}
