//! The values of the editor's page.

use axum::http::StatusCode;
use noetl_api::wire::DocumentFinding;
use noetl_app::{KnownExecution, check_document, document_findings};
use noetl_model::{ExecutionId, LogOrigin};

use crate::components::progress::ExecutionLine;
use crate::error::{ErrorMessage, PageError};
use crate::form::SignedForm;
use crate::pages::playbook::inputs::{InputField, fields, sent_fields};
use crate::request::PageRequest;

/// The document that is edited.
#[derive(Debug)]
pub(super) enum EditedDocument {
    New,
    Existing {
        path: String,
        /// The newest version when the text was loaded.
        base: u32,
    },
}

/// The outcome of the last form.
#[derive(Debug)]
pub(super) enum EditorNotice {
    Checked,
    Saved {
        version: u32,
    },
    /// The text cannot be saved because of its errors.
    Invalid,
    /// Somebody has saved another version meanwhile.
    Conflict {
        newest: u32,
    },
    /// A new playbook has the path of an existing one.
    Exists {
        path: String,
        version: u32,
    },
    Refused(ErrorMessage),
}

impl EditorNotice {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Checked | Self::Saved { .. } => StatusCode::OK,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Conflict { .. } | Self::Exists { .. } | Self::Refused(_) => StatusCode::CONFLICT,
        }
    }

    /// Returns the notice of an error; the text stays on the page.
    pub(super) fn of(page: &PageRequest, error: &PageError) -> Self {
        Self::Refused(error.sentence(page.words))
    }
}

#[derive(Debug)]
pub(super) struct EditorView {
    pub(super) document: EditedDocument,
    pub(super) content: String,
    pub(super) findings: Vec<DocumentFinding>,
    pub(super) inputs: Vec<InputField>,
    pub(super) pool: String,
    pub(super) notice: Option<EditorNotice>,
    /// The execution that was started here.
    pub(super) run: Option<ExecutionLine>,
}

impl EditorView {
    pub(super) fn of(document: EditedDocument, content: String) -> Self {
        let problems = check_document(&content).unwrap_or_else(|problems| problems);
        Self {
            findings: document_findings(&content, &problems),
            inputs: fields(&content),
            document,
            content,
            pool: String::new(),
            notice: None,
            run: None,
        }
    }

    /// Keeps the inputs that a form has sent.
    pub(super) fn fill(&mut self, form: &SignedForm) {
        self.inputs = sent_fields(&self.content, form);
        self.pool = form.get("pool").to_owned();
    }

    /// Adds the execution that was started here.
    pub(super) async fn follow(
        &mut self,
        page: &PageRequest,
        execution: ExecutionId,
    ) -> Result<(), PageError> {
        let summary = page.app().execution(execution).await?;
        let known = KnownExecution { origin: LogOrigin::Native, summary: summary.clone() };
        let hint = page.app().hint_of(&known).await?;
        let initiator = page.app().initiator(&known).await?;
        self.run = Some(ExecutionLine { summary, initiator, hint });
        Ok(())
    }
}
