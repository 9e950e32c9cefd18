//! The loop of the server: messages of the editor in, answers and diagnostics out.

use std::ops::ControlFlow;
use std::path::Path;

use crossbeam_channel::select;
use lsp_server::{
    Connection, ErrorCode, ExtractError, Message, Notification, ProtocolError, Request, RequestId,
    Response,
};
use lsp_types::notification::{self as sent, Notification as _};
use lsp_types::request::{self as asked, Request as _};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions,
    DocumentSymbolResponse, GotoDefinitionResponse, HoverProviderCapability, OneOf,
    PublishDiagnosticsParams, RenameOptions, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use noetl_playbook::LintLevels;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use crate::checks::{BackgroundChecks, CheckAnswers, CheckQueue, EditedTest, file_of};
use crate::context::{ContextQueue, EditorContext};
use crate::documents::{
    DOCUMENTS_MAX, OpenDocument, OpenDocuments, is_test_file, playbook_of, tests_of,
};
use crate::features;

/// The reason why the server ended early.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error("the editor does not speak the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    #[error("the editor is gone")]
    Disconnected,
    #[error("standard input or output failed")]
    Io(#[from] std::io::Error),
}

/// The answer to a request that cannot be carried out.
struct RequestError {
    code: ErrorCode,
    message: String,
}

impl RequestError {
    fn failed(error: impl std::fmt::Display) -> Self {
        Self { code: ErrorCode::RequestFailed, message: error.to_string() }
    }
}

/// The parts of the server that need more than the text of a document.
pub struct EditorServices {
    /// Names and values outside of the documents.
    pub context: Box<dyn EditorContext>,
    /// Checks in the background; without them, diagnostics are those of the text alone.
    pub checks: Option<Box<dyn BackgroundChecks>>,
    /// Reads a file beside an open document; `None` if it cannot be read.
    pub read_file: fn(&Path) -> Option<String>,
    /// The severities that the project chose.
    pub levels: LintLevels,
}

/// Serves an editor on standard input and output until it ends the session.
pub fn serve_stdio(services: EditorServices) -> Result<(), ServeError> {
    let (connection, threads) = Connection::stdio();
    serve(&connection, services)?;
    // The threads end when both channels are closed.
    drop(connection);
    threads.join()?;
    Ok(())
}

/// Serves an editor until it ends the session.
pub fn serve(connection: &Connection, services: EditorServices) -> Result<(), ServeError> {
    let (id, _) = connection.initialize_start()?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let info = ServerInfo { name: "noetl".to_owned(), version: Some(version) };
    let initialized = json!({ "capabilities": capabilities(), "serverInfo": info });
    connection.initialize_finish(id, initialized)?;
    let editor = connection.sender.clone();
    let EditorServices { context, checks, read_file, levels } = services;
    let context = ContextQueue::start(context, move |answer| editor.send(answer.into()).is_ok());
    let checks = CheckQueue::start(checks, levels);
    let documents = OpenDocuments::default();
    let mut session = EditorSession { connection, documents, context, checks, read_file };
    loop {
        select! {
            recv(connection.receiver) -> message => {
                let Ok(message) = message else { return Ok(()) };
                if session.receive(message)?.is_break() {
                    return Ok(());
                }
            }
            recv(session.checks.due()) -> _ => session.checks.send(),
            recv(session.checks.answers()) -> answers => match answers {
                Ok(answers) => session.checked(answers)?,
                Err(_) => session.checks.stop(),
            }
        }
    }
}

fn capabilities() -> ServerCapabilities {
    let characters = ["{", "|", ".", " ", ":"].map(str::to_owned).to_vec();
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(characters),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: lsp_types::WorkDoneProgressOptions::default(),
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

/// The session of one editor.
struct EditorSession<'a> {
    connection: &'a Connection,
    documents: OpenDocuments,
    context: ContextQueue,
    checks: CheckQueue,
    read_file: fn(&Path) -> Option<String>,
}

impl EditorSession<'_> {
    fn receive(&mut self, message: Message) -> Result<ControlFlow<()>, ServeError> {
        match message {
            Message::Request(request) => {
                if self.connection.handle_shutdown(&request)? {
                    return Ok(ControlFlow::Break(()));
                }
                if let Some(response) = self.answer(request) {
                    self.send(response.into())?;
                }
            }
            Message::Notification(notification) => self.note(notification)?,
            // The server asks the editor nothing.
            Message::Response(_) => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn send(&self, message: Message) -> Result<(), ServeError> {
        self.connection.sender.send(message).map_err(|_| ServeError::Disconnected)
    }

    fn note(&mut self, notification: Notification) -> Result<(), ServeError> {
        match notification.method.as_str() {
            sent::DidOpenTextDocument::METHOD => {
                let Some(params) = read::<sent::DidOpenTextDocument>(notification) else {
                    return Ok(());
                };
                let opened = params.text_document;
                self.changed(opened.uri, opened.text, opened.version)
            }
            sent::DidChangeTextDocument::METHOD => {
                let Some(params) = read::<sent::DidChangeTextDocument>(notification) else {
                    return Ok(());
                };
                let (uri, version) = (params.text_document.uri, params.text_document.version);
                // Every change has the whole text.
                let Some(change) = params.content_changes.into_iter().next_back() else {
                    return Ok(());
                };
                self.changed(uri, change.text, version)
            }
            sent::DidCloseTextDocument::METHOD => {
                let Some(params) = read::<sent::DidCloseTextDocument>(notification) else {
                    return Ok(());
                };
                let uri = params.text_document.uri;
                self.documents.close(&uri);
                self.checks.forget(uri.as_str());
                self.publish(uri, Vec::new(), None)
            }
            _ => Ok(()),
        }
    }

    fn changed(&mut self, uri: Uri, text: String, version: i32) -> Result<(), ServeError> {
        if !self.documents.set(&uri, OpenDocument { text, version }) {
            return Ok(());
        }
        if let Some(test) = tests_of(uri.as_str()) {
            self.want_test(&test);
        }
        if is_test_file(uri.as_str()) {
            self.want_test(uri.as_str());
        }
        self.publish_findings(&uri)
    }

    /// Queues an open test file for a check.
    fn want_test(&mut self, uri: &str) {
        let Some(text) = self.documents.by_address(uri).map(|it| it.text.clone()) else { return };
        let Some(file) = file_of(uri) else { return };
        let playbook = playbook_of(uri).and_then(|uri| self.documents.by_address(&uri));
        let playbook = playbook.map(|it| it.text.clone());
        self.checks.want_test(uri, EditedTest { file, text, playbook });
    }

    /// Publishes the findings about a document, and queues its code that was not checked yet.
    fn publish_findings(&mut self, uri: &Uri) -> Result<(), ServeError> {
        let Some(OpenDocument { text, version }) = self.documents.get(uri) else { return Ok(()) };
        let (found, unknown) = features::findings(uri.as_str(), text, &self.checks);
        let shown = found.iter().map(|it| features::shown(text, it)).collect();
        let version = *version;
        if !is_test_file(uri.as_str()) {
            self.checks.want_code(uri.as_str(), unknown);
        }
        self.publish(uri.clone(), shown, Some(version))
    }

    /// Publishes what was found in the background.
    fn checked(&mut self, answers: CheckAnswers) -> Result<(), ServeError> {
        for address in self.checks.learn(answers) {
            if let Ok(uri) = address.parse() {
                self.publish_findings(&uri)?;
            }
        }
        Ok(())
    }

    fn publish(
        &self,
        uri: Uri,
        diagnostics: Vec<lsp_types::Diagnostic>,
        version: Option<i32>,
    ) -> Result<(), ServeError> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let method = sent::PublishDiagnostics::METHOD.to_owned();
        self.send(Notification::new(method, params).into())
    }

    /// Answers a request; `None` if the context answers it later.
    fn answer(&self, request: Request) -> Option<Response> {
        let id = request.id.clone();
        let answered = match request.method.as_str() {
            asked::Completion::METHOD => self.complete(request),
            asked::HoverRequest::METHOD => self.hover(request),
            _ => return Some(self.answer_now(request)),
        };
        answered.unwrap_or_else(|RequestError { code, message }| {
            Some(Response::new_err(id, code as i32, message))
        })
    }

    fn complete(&self, request: Request) -> Result<Option<Response>, RequestError> {
        let id = request.id.clone();
        let at = params::<asked::Completion>(request)?.text_document_position;
        let uri = at.text_document.uri;
        let text = self.text(&uri)?;
        let found = match is_test_file(uri.as_str()) {
            true => features::test_completions_at(text, at.position, self.tested(&uri).as_deref()),
            false => features::completions_at(text, at.position),
        };
        let Some(kind) = found.outside else {
            let items = features::completion_items(text, at.position, found, Vec::new());
            return Ok(Some(Response::new_ok(id, items)));
        };
        let text = text.to_owned();
        Ok(self.context.ask(Box::new(move |context| {
            let names = context.names(kind);
            Response::new_ok(id, features::completion_items(&text, at.position, found, names))
        })))
    }

    fn hover(&self, request: Request) -> Result<Option<Response>, RequestError> {
        let id = request.id.clone();
        let at = params::<asked::HoverRequest>(request)?.text_document_position_params;
        let uri = at.text_document.uri;
        let text = self.text(&uri)?;
        if is_test_file(uri.as_str()) {
            let found = features::test_hover(text, at.position, self.tested(&uri).as_deref());
            return Ok(Some(Response::new_ok(id, found)));
        }
        let path = features::path_at(text, at.position).filter(|_| self.context.has_values);
        let Some(path) = path else {
            return Ok(Some(Response::new_ok(id, features::hover(text, at.position, None))));
        };
        let text = text.to_owned();
        Ok(self.context.ask(Box::new(move |context| {
            let value = context.value(&path).map(|value| (path, value));
            Response::new_ok(id, features::hover(&text, at.position, value))
        })))
    }

    fn answer_now(&self, request: Request) -> Response {
        let id = request.id.clone();
        match self.result_of(request) {
            Ok(result) => Response::new_ok(id, result),
            Err(RequestError { code, message }) => Response::new_err(id, code as i32, message),
        }
    }

    fn result_of(&self, request: Request) -> Result<Value, RequestError> {
        match request.method.as_str() {
            asked::GotoDefinition::METHOD => {
                let at = params::<asked::GotoDefinition>(request)?.text_document_position_params;
                let uri = at.text_document.uri;
                let text = self.text(&uri)?;
                let found = match playbook_of(uri.as_str()) {
                    None => features::definition(&uri, text, at.position),
                    Some(address) => self.tested(&uri).and_then(|playbook| {
                        let playbook = (address.parse().ok()?, playbook.as_str());
                        features::test_definition(text, at.position, playbook)
                    }),
                };
                Ok(json!(found.map(GotoDefinitionResponse::Scalar)))
            }
            asked::References::METHOD => {
                let asked = params::<asked::References>(request)?;
                let (at, with) = (asked.text_document_position, asked.context.include_declaration);
                let uri = at.text_document.uri;
                Ok(json!(features::references(&uri, self.text(&uri)?, at.position, with)))
            }
            asked::PrepareRenameRequest::METHOD => {
                let at = params::<asked::PrepareRenameRequest>(request)?;
                let text = self.text(&at.text_document.uri)?;
                Ok(json!(features::prepare_rename(text, at.position)))
            }
            asked::Rename::METHOD => {
                let asked = params::<asked::Rename>(request)?;
                let at = asked.text_document_position;
                let uri = at.text_document.uri;
                let text = self.text(&uri)?;
                let test = self.tests_beside(&uri);
                let test = test.as_ref().map(|(uri, text)| (uri, text.as_str()));
                let edit = features::rename((&uri, text), test, at.position, &asked.new_name);
                Ok(json!(edit.map_err(RequestError::failed)?))
            }
            asked::CodeActionRequest::METHOD => {
                let asked = params::<asked::CodeActionRequest>(request)?;
                let uri = asked.text_document.uri;
                Ok(json!(features::code_actions(&uri, self.text(&uri)?, asked.range, &self.checks)))
            }
            asked::Formatting::METHOD => {
                let uri = params::<asked::Formatting>(request)?.text_document.uri;
                let edits = features::format(&uri, self.text(&uri)?);
                Ok(json!(edits.map_err(RequestError::failed)?))
            }
            asked::DocumentSymbolRequest::METHOD => {
                let uri = params::<asked::DocumentSymbolRequest>(request)?.text_document.uri;
                Ok(json!(DocumentSymbolResponse::Nested(features::symbols(self.text(&uri)?))))
            }
            method => Err(RequestError {
                code: ErrorCode::MethodNotFound,
                message: format!("the server does not have the method {method}"),
            }),
        }
    }

    /// Returns the test file beside a playbook: as the editor has it, else the file.
    fn tests_beside(&self, uri: &Uri) -> Option<(Uri, String)> {
        let address = tests_of(uri.as_str())?;
        let text = match self.documents.by_address(&address) {
            Some(open) => open.text.clone(),
            None => (self.read_file)(&file_of(&address)?)?,
        };
        Some((address.parse().ok()?, text))
    }

    /// Returns the text of the playbook that a test file is for: as the editor has it, else the file.
    fn tested(&self, uri: &Uri) -> Option<String> {
        let playbook = playbook_of(uri.as_str())?;
        match self.documents.by_address(&playbook) {
            Some(open) => Some(open.text.clone()),
            None => (self.read_file)(&file_of(&playbook)?),
        }
    }

    fn text(&self, uri: &Uri) -> Result<&str, RequestError> {
        self.documents.get(uri).map(|it| it.text.as_str()).ok_or_else(|| RequestError {
            code: ErrorCode::InvalidParams,
            message: format!(
                "the document is not open; at most {DOCUMENTS_MAX} documents are open at a time"
            ),
        })
    }
}

/// Returns the parameters of a notification; `None` if they are malformed.
fn read<N: sent::Notification>(notification: Notification) -> Option<N::Params>
where
    N::Params: DeserializeOwned,
{
    notification.extract(N::METHOD).ok()
}

fn params<R: asked::Request>(request: Request) -> Result<R::Params, RequestError>
where
    R::Params: DeserializeOwned,
{
    let extracted: Result<(RequestId, R::Params), _> = request.extract(R::METHOD);
    extracted.map(|(_, params)| params).map_err(|error| RequestError {
        code: ErrorCode::InvalidParams,
        message: match error {
            ExtractError::MethodMismatch(request) => format!("{} is not meant", request.method),
            ExtractError::JsonError { error, .. } => error.to_string(),
        },
    })
}
