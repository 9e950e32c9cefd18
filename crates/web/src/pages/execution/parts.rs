//! Pages and files about an execution beside the page itself: one value, the proof of the log, and
//! the log as JSON lines.

use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use maud::html;
use noetl_app::{App, PositionValueName};
use noetl_model::{ExecutionId, Seq};
use serde::Deserialize;

use crate::components::id::{execution_address, execution_link};
use crate::components::json_tree::json_tree;
use crate::components::status::{Tone, badge};
use crate::error::PageError;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct ValueQuery {
    at: String,
    name: String,
}

/// Shows one value at a position, whatever its size.
pub(in crate::pages) async fn show_value(
    page: PageRequest,
    Path(id): Path<String>,
    Query(query): Query<ValueQuery>,
) -> PageResult {
    let execution = super::execution_of(&id)?;
    let name: PositionValueName =
        query.name.parse().map_err(|_| PageError::NotFound(query.name.clone()))?;
    let loaded = page.app().position_value(execution, query.at.parse().ok(), &name).await?;
    let head = PageHead { title: &loaded.name, place: NavPlace::Executions };
    let back = format!("{}?at={}", execution_address(execution), loaded.position);
    let content = html! {
        header.page-head { h1 { code { (loaded.name) } }
            span { (execution_link(execution)) " "
                a href=(back) { (page.words.fill("exec.at_event", &[("seq", &loaded.position.to_string())])) } } }
        div #value { (json_tree(&loaded.value)) }
    };
    Ok(page.respond(&head, &content))
}

/// Verifies the log against its digests.
pub(in crate::pages) async fn verify(page: PageRequest, Path(id): Path<String>) -> PageResult {
    let execution = super::execution_of(&id)?;
    let found = page.app().verify(execution, None).await?;
    let head = PageHead { title: page.t("exec.verify"), place: NavPlace::Executions };
    let (tone, word) = match found.valid {
        true => (Tone::Good, "exec.is_valid"),
        false => (Tone::Bad, "exec.is_invalid"),
    };
    let content = html! {
        header.page-head { h1 { (page.t("exec.verify")) " " (execution_link(execution)) } (badge(tone, page.words.t(word))) }
        p { (page.words.count("exec.verified", found.events)) }
        @if let Some(fault) = &found.fault { p.failure lang="en" { (fault) } }
        @if let Some(note) = &found.note { p.soft lang="en" { (note) } }
        @if let Some(head) = &found.head { p { (page.t("exec.last_digest")) " " code { (head) } } }
    };
    Ok(page.respond(&head, &content))
}

/// Sends the log as JSON lines, a page at a time.
pub(in crate::pages) async fn download(page: PageRequest, Path(id): Path<String>) -> PageResult {
    let execution = super::execution_of(&id)?;
    page.app().execution(execution).await?;
    let app = page.app().clone();
    let lines = stream::unfold(Some((app, Seq::ZERO)), move |next| async move {
        let (app, after) = next?;
        match next_lines(&app, execution, after).await {
            Ok(Some((text, last))) => Some((Ok(text), Some((app, last)))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    let name = format!("attachment; filename=\"{execution}.jsonl\"");
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    let response: Response = (headers, Body::from_stream(lines)).into_response();
    Ok(response)
}

/// Returns the lines after a seq, and the last seq of them.
async fn next_lines(
    app: &App,
    execution: ExecutionId,
    after: Seq,
) -> Result<Option<(String, Seq)>, std::io::Error> {
    let events = app.log(execution, after).await.map_err(std::io::Error::other)?;
    let Some(last) = events.last().map(|recorded| recorded.seq) else { return Ok(None) };
    let mut text = String::new();
    for recorded in &events {
        text.push_str(&serde_json::to_string(recorded).map_err(std::io::Error::other)?);
        text.push('\n');
    }
    Ok(Some((text, last)))
}
