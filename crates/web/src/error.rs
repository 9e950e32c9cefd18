//! Errors as pages: complete for the visitor's mistakes, without details for internal errors.
//!
//! A handler returns a [`PageError`], which travels in the response until [`draw_errors`] draws the
//! page in the visitor's language.

use std::error::Error as StdError;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use noetl_app::StoreError;
use noetl_control::{LoadError, ScheduleError, StartError, SubmitError, SubscriptionError};
use noetl_model::{ExecutionId, Timestamp};

use crate::components::error::error_panel;
use crate::components::prose::prose;
use crate::components::time::utc_text;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::state::WebState;
use crate::visitor::Visitor;
use crate::words::Words;

/// The reason why a page is not shown or a form has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageError {
    UnknownPage,
    /// The subject of the page does not exist; the message names it.
    NotFound(String),
    /// The request cannot be fulfilled; the message says why.
    Refused(String),
    /// The same with a message of the catalogues.
    Told {
        kind: ToldKind,
        word: &'static str,
        values: Vec<(&'static str, String)>,
    },
    /// The execution of the page was deleted.
    Deleted {
        execution: ExecutionId,
        at: Timestamp,
    },
    Unreadable(String),
    /// The form carries no token of this browser.
    StaleForm,
    /// The request was refused before it reached the pages, with this status.
    Denied {
        status: u16,
        reason: String,
    },
    Unavailable,
    Internal,
}

/// The kind of an error whose message is in the catalogues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToldKind {
    NotFound,
    Refused,
}

/// The message of an error. Messages of the engine are in English.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ErrorMessage {
    English(String),
    Translated(String),
}

impl PageError {
    pub(crate) fn not_found(word: &'static str, values: Vec<(&'static str, String)>) -> Self {
        Self::Told { kind: ToldKind::NotFound, word, values }
    }

    pub(crate) fn refused(word: &'static str, values: Vec<(&'static str, String)>) -> Self {
        Self::Told { kind: ToldKind::Refused, word, values }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::UnknownPage | Self::NotFound(_) | Self::Told { kind: ToldKind::NotFound, .. } => {
                StatusCode::NOT_FOUND
            }
            Self::Deleted { .. } => StatusCode::GONE,
            Self::Refused(_) | Self::Told { kind: ToldKind::Refused, .. } => StatusCode::CONFLICT,
            Self::Unreadable(_) => StatusCode::BAD_REQUEST,
            Self::StaleForm => StatusCode::FORBIDDEN,
            Self::Denied { status, .. } => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::FORBIDDEN)
            }
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the keys of the heading and of the advice.
    fn headings(&self) -> (&'static str, &'static str) {
        match self {
            Self::UnknownPage => ("error.unknown_page", "error.unknown_page_more"),
            Self::Told { kind: ToldKind::NotFound, word: "error.no_position", .. } => {
                ("error.not_found", "error.no_position_more")
            }
            Self::NotFound(_) | Self::Told { kind: ToldKind::NotFound, .. } => {
                ("error.not_found", "error.not_found_more")
            }
            Self::Refused(_) | Self::Told { kind: ToldKind::Refused, .. } => {
                ("error.refused", "error.refused_more")
            }
            Self::Deleted { .. } => ("retention.deleted", "retention.deleted_more"),
            Self::Unreadable(_) => ("error.unreadable", "error.unreadable_more"),
            Self::StaleForm => ("error.stale_form", "error.stale_form_more"),
            Self::Denied { .. } => ("error.denied", "error.denied_more"),
            Self::Unavailable => ("error.unavailable", "error.unavailable_more"),
            Self::Internal => ("error.internal", "error.internal_more"),
        }
    }

    /// Returns the message of an error that has its own.
    fn message(&self, words: &Words) -> Option<ErrorMessage> {
        match self {
            Self::NotFound(text) | Self::Refused(text) | Self::Unreadable(text) => {
                Some(ErrorMessage::English(text.clone()))
            }
            Self::Denied { reason, .. } => Some(ErrorMessage::English(reason.clone())),
            Self::Told { word, values, .. } => {
                let values: Vec<(&str, &str)> =
                    values.iter().map(|(name, value)| (*name, value.as_str())).collect();
                Some(ErrorMessage::Translated(words.fill(word, &values)))
            }
            Self::Deleted { execution, at } => {
                let (execution, at) = (execution.to_string(), utc_text(*at));
                let values = [("execution", execution.as_str()), ("at", &at)];
                Some(ErrorMessage::Translated(words.fill("error.deleted_execution", &values)))
            }
            Self::UnknownPage | Self::StaleForm | Self::Unavailable | Self::Internal => None,
        }
    }

    /// Returns the keys of the heading and of the advice, and the message if the error has its own.
    fn said(&self, words: &Words) -> (&'static str, &'static str, Option<Markup>) {
        let (title, more) = self.headings();
        let message = self.message(words).map(|message| match message {
            ErrorMessage::English(text) => html! { span lang="en" { (prose(&text)) } },
            ErrorMessage::Translated(text) => html! { (text) },
        });
        (title, more, message)
    }

    /// Returns the error as a sentence, for a page that goes on.
    pub(crate) fn sentence(&self, words: &Words) -> ErrorMessage {
        let heading = || ErrorMessage::Translated(words.t(self.headings().0).to_owned());
        self.message(words).unwrap_or_else(heading)
    }

    /// Creates an error for a temporary failure; the cause is logged.
    fn unavailable(cause: &(dyn StdError + 'static)) -> Self {
        tracing::warn!(error = cause, "page refused for now");
        Self::Unavailable
    }

    /// Creates an internal error; the cause is logged and not shown.
    pub(crate) fn internal(cause: &(dyn StdError + 'static)) -> Self {
        tracing::error!(error = cause, "page failed");
        Self::Internal
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl PageError {
    fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Unavailable(_)
            | StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. } => Self::unavailable(error),
            StoreError::Unwritable { .. } => {
                tracing::error!(error = error as &(dyn StdError + 'static), "cannot store a form");
                Self::Refused(error.to_string())
            }
            StoreError::Corrupt { .. } => Self::internal(error),
        }
    }
}

impl From<LoadError> for PageError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::NotFound(id) => {
                Self::not_found("error.no_execution", vec![("execution", id.to_string())])
            }
            LoadError::Deleted { execution, at } => Self::Deleted { execution, at },
            LoadError::NotNative { execution, .. } => {
                Self::refused("error.not_native", vec![("execution", execution.to_string())])
            }
            LoadError::Rewound { seq, .. } => {
                Self::refused("error.rewound", vec![("seq", seq.to_string())])
            }
            LoadError::Unavailable(source) => Self::of_store(&source),
            LoadError::Corrupt { .. } => Self::internal(&error),
        }
    }
}

impl From<SubmitError> for PageError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Load(error) => error.into(),
            SubmitError::Busy(_) | SubmitError::Contended(_) | SubmitError::Stopped => {
                Self::unavailable(&error)
            }
        }
    }
}

impl From<StartError> for PageError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::UnknownPlaybook(path) => {
                Self::not_found("error.no_playbook", vec![("path", path)])
            }
            StartError::ArchivedPlaybook(path) => {
                Self::refused("error.archived", vec![("path", path)])
            }
            StartError::PayloadTooLarge => {
                let max = noetl_model::PAYLOAD_MAX.to_string();
                Self::refused("error.payload_too_large", vec![("max", max)])
            }
            StartError::Submit(error) => error.into(),
            StartError::AmbiguousName(_)
            | StartError::TooDeep { .. }
            | StartError::InvalidInputs(_)
            | StartError::CredentialNotPermitted(_)
            | StartError::ParentCancelled(_)
            | StartError::PayloadTooNested
            | StartError::KeyTaken(_)
            | StartError::Refused(_)
            | StartError::BacklogFull(_) => Self::Refused(error.to_string()),
        }
    }
}

impl From<ScheduleError> for PageError {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Unknown(_) => Self::NotFound(error.to_string()),
            ScheduleError::Damaged(_) => Self::internal(&error),
            ScheduleError::TooMany | ScheduleError::Ahead(_) => Self::Refused(error.to_string()),
            ScheduleError::Contended => Self::unavailable(&error),
            ScheduleError::Start(error) => error.into(),
            ScheduleError::Store(error) => error.into(),
        }
    }
}

impl From<SubscriptionError> for PageError {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::UnknownPath(_) | SubscriptionError::Unknown(_) => {
                Self::NotFound(error.to_string())
            }
            SubscriptionError::NotASubscription { .. }
            | SubscriptionError::Illegal(_)
            | SubscriptionError::Replaced { .. } => Self::Refused(error.to_string()),
            SubscriptionError::Contended => Self::unavailable(&error),
            SubscriptionError::Damaged(_) => Self::internal(&error),
            SubscriptionError::Store(error) => error.into(),
        }
    }
}

/// Draws the page of an error that a handler has returned.
pub(crate) async fn draw_errors(
    State(state): State<WebState>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let page = PageRequest::of(&state, &parts);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    match response.extensions_mut().remove::<PageError>() {
        Some(error) => drawn(&page, &error),
        None => response,
    }
}

fn drawn(page: &PageRequest, error: &PageError) -> Response {
    let (title, more, message) = error.said(page.words);
    let title = page.t(title);
    let head = PageHead { title, place: NavPlace::None };
    let content = error_panel(title, message, page.t(more));
    page.respond_with(error.status(), &head, &content)
}

/// Answers an address without a page.
pub(crate) async fn unknown_page() -> PageError {
    PageError::UnknownPage
}

/// Draws the page for a request that was refused before it reached the pages.
pub fn refused_page(state: &WebState, request: Request, status: u16, reason: String) -> Response {
    let (mut parts, _) = request.into_parts();
    parts.extensions.insert(Visitor::UNKNOWN);
    drawn(&PageRequest::of(state, &parts), &PageError::Denied { status, reason })
}
