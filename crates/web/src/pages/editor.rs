//! The editor of a playbook: check, save as a new version, run and follow, on one page.
//!
//! Invariant: the text that a form has sent is on the page that answers it, unless it was saved.

mod analysis;
mod save;
mod template;
mod view;

use axum::http::StatusCode;
use noetl_api::wire::ExecuteRequest;
use noetl_app::{EntryChoice, StartOptions};
use noetl_model::ExecutionId;
use serde::Deserialize;
use serde_json::json;

use super::playbook::inputs;
use crate::address::with_query;
use crate::components::id::playbook_address;
use crate::error::{ErrorMessage, PageError};
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
pub(super) use analysis::{analysis, complete};
use save::{SavedVersion, save};
use view::{EditedDocument, EditorNotice, EditorView};

/// The end of the address of an editor.
const EDIT: &str = "/edit";
/// The address of the editor of a new playbook.
pub(super) const NEW: &str = "/ui/playbooks/new";

/// The text that a new playbook begins with.
const FIRST_TEXT: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: hello
  path: examples/hello
workload:
  name: world
workflow:
  - step: start
    tool:
      kind: python
      input:
        name: \"{{ workload.name }}\"
      code: |
        result = {\"greeting\": f\"hello {name}\"}
";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EditorQuery {
    /// The version whose text is edited; the newest if empty.
    version: String,
    /// The version that was saved just now.
    saved: String,
    /// The execution that was started here.
    run: String,
}

/// Returns the address of the editor of a playbook.
pub(super) fn editor_address(path: &str) -> String {
    format!("{}{EDIT}", playbook_address(path))
}

/// Returns the playbook whose editor an address names: its path and `/edit`, unless a playbook has
/// that path itself.
pub(super) async fn edited_path(
    page: &PageRequest,
    path: &str,
) -> Result<Option<String>, PageError> {
    let Some(edited) = path.strip_suffix(EDIT) else { return Ok(None) };
    let itself = EntryChoice::Path { path: path.to_owned(), version: None };
    let is_free = page.app().find_entry(&itself).await?.is_none();
    Ok(is_free.then(|| edited.to_owned()))
}

pub(super) async fn show(page: &PageRequest, path: String, query: &EditorQuery) -> PageResult {
    let choice = |version| EntryChoice::Path { path: path.clone(), version };
    let newest = page.app().catalog_entry(&choice(None)).await?;
    let base = newest.version;
    let entry = match query.version.parse() {
        Ok(version) if version != base => page.app().catalog_entry(&choice(Some(version))).await?,
        Ok(_) | Err(_) => newest,
    };
    let document = EditedDocument::Existing { path: path.clone(), base };
    let mut view = EditorView::of(document, entry.content);
    if let Ok(version) = query.saved.parse() {
        view.notice = Some(EditorNotice::Saved { version });
    }
    if let Ok(execution) = query.run.parse::<ExecutionId>() {
        view.follow(page, execution).await?;
    }
    Ok(answer(page, StatusCode::OK, &view))
}

pub(super) async fn show_new(page: PageRequest) -> PageResult {
    let view = EditorView::of(EditedDocument::New, FIRST_TEXT.to_owned());
    Ok(answer(&page, StatusCode::OK, &view))
}

pub(super) async fn create(page: PageRequest, form: SignedForm) -> PageResult {
    act(&page, EditedDocument::New, &form).await
}

/// Checks, saves or runs the text of an existing playbook.
pub(super) async fn change(page: &PageRequest, path: String, form: &SignedForm) -> PageResult {
    let base = form.given("base").and_then(|it| it.parse().ok()).unwrap_or(0);
    act(page, EditedDocument::Existing { path, base }, form).await
}

fn answer(page: &PageRequest, status: StatusCode, view: &EditorView) -> axum::response::Response {
    let title = match &view.document {
        EditedDocument::New => page.t("editor.new"),
        EditedDocument::Existing { path, .. } => path,
    };
    let head = PageHead { title, place: NavPlace::Playbooks };
    page.respond_with(status, &head, &template::editor(page, view))
}

async fn act(page: &PageRequest, document: EditedDocument, form: &SignedForm) -> PageResult {
    // A browser sends the lines of a text with two characters at their ends.
    let content = form.get("content").replace("\r\n", "\n");
    if form.get("action") != "check" {
        page.must_write()?;
    }
    let done = match form.get("action") {
        "check" => Ok(None),
        "save" => save(page, &document, &content).await.map(Some),
        "run" => run(page, &document, &content, form).await.map(Some),
        other => return Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    };
    let (status, notice) = match done {
        Ok(Some(address)) => return Ok(see(&address.address())),
        Ok(None) => (StatusCode::OK, EditorNotice::Checked),
        Err(notice) => (notice.status(), notice),
    };
    let mut view = EditorView::of(document, content);
    view.fill(form);
    view.notice = Some(notice);
    Ok(answer(page, status, &view))
}

/// Saves the text if it differs from the newest version, and starts it.
async fn run(
    page: &PageRequest,
    document: &EditedDocument,
    content: &str,
    form: &SignedForm,
) -> Result<SavedVersion, EditorNotice> {
    let payload = inputs::payload(content, form)
        .map_err(|problems| EditorNotice::Refused(ErrorMessage::English(problems)))?;
    let saved = save(page, document, content).await?;
    let request = ExecuteRequest {
        path: Some(saved.path.clone()),
        version: Some(json!(saved.version)),
        payload: Some(payload),
        execution_pool: form.given("pool").map(str::to_owned),
        ..ExecuteRequest::default()
    };
    let options = StartOptions { actor: page.actor(), ..StartOptions::default() };
    let started = page.app().execute(request, options).await;
    let started = started.map_err(|error| EditorNotice::of(page, &PageError::from(error)))?;
    Ok(SavedVersion { run: Some(started.execution), ..saved })
}

impl SavedVersion {
    /// Returns the address of the editor that shows what was done.
    fn address(&self) -> String {
        let run = self.run.map(|it| it.to_string()).unwrap_or_default();
        let saved = if self.is_new { self.version.to_string() } else { String::new() };
        with_query(&editor_address(&self.path), &[("saved", &saved), ("run", &run)])
    }
}
