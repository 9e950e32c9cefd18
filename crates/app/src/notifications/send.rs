//! Sending one notification to its target.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::time::Duration;

use noetl_control::{PlaybookChoice, StartError, StartRequest};
use noetl_model::{ExecutionId, HOSTS_FIELD, NoticeOrigin, NoticeTarget, Seq, Webhook};
use noetl_secrets::{SecretAccess, SecretOperation};
use noetl_store::StartKey;
use serde_json::{Map, Value, json};

use super::{NoticeCall, NoticeFailure, NoticeMail, NoticeTransport, notice_id};
use crate::app::App;
use crate::secret_lookup::SecretError;

/// The time for which the start key of a started playbook is kept: longer than all attempts take.
const START_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The header with the id of a notification.
const ID_HEADER: &str = "Idempotency-Key";
/// The fields of a credential that may hold the address of a webhook.
const WEBHOOK_FIELDS: &[&str] = &["url", "webhook_url", "webhook", "value", "secret"];

/// A notification to send.
#[derive(Debug, Clone)]
pub(super) struct Notice<'a> {
    /// The execution that the notification is about.
    pub(super) execution: ExecutionId,
    pub(super) event: Seq,
    pub(super) document: Option<String>,
    pub(super) depth: u32,
    /// The id; derived from the execution and the event unless this is a test.
    pub(super) id: String,
    pub(super) target: &'a NoticeTarget,
}

impl<'a> Notice<'a> {
    pub(super) fn requested(
        execution: ExecutionId,
        event: Seq,
        (document, depth): (Option<String>, u32),
        target: &'a NoticeTarget,
    ) -> Self {
        Self { execution, event, document, depth, id: notice_id(execution, event), target }
    }
}

impl App {
    /// Sends a notification once.
    pub(super) async fn send_notice(
        &self,
        transport: &dyn NoticeTransport,
        notice: &Notice<'_>,
    ) -> Result<(), NoticeFailure> {
        match notice.target {
            NoticeTarget::Playbook { path, workload } => {
                self.start_notified(notice, path, workload.clone()).await
            }
            NoticeTarget::Http { url, method, headers, body, credential } => {
                let mut headers = headers.clone();
                headers.insert(ID_HEADER.to_owned(), notice.id.clone());
                let credential = match credential {
                    Some(name) => Some(self.notice_secret(notice.execution, name).await?),
                    None => None,
                };
                let (url, method) = (url.clone(), method.clone());
                let body = (method != "GET").then(|| body.clone());
                transport.call(NoticeCall { method, url, headers, body, credential }).await
            }
            NoticeTarget::Mail { to, subject, body, credential } => {
                let credential = self.notice_secret(notice.execution, credential).await?;
                let (to, subject, body) = (to.clone(), subject.clone(), body.clone());
                let mail = NoticeMail { id: notice.id.clone(), to, subject, body, credential };
                transport.mail(mail).await
            }
            NoticeTarget::Slack { webhook, text } => {
                let (url, hosts) = self.webhook_url(notice.execution, webhook).await?;
                let headers = BTreeMap::from([(ID_HEADER.to_owned(), notice.id.clone())]);
                let (method, body) = ("POST".to_owned(), Some(json!({ "text": text })));
                let call = NoticeCall { method, url, headers, body, credential: hosts };
                transport.call(call).await
            }
        }
    }

    /// Returns the address of a webhook, and the hosts that it may be on if it is secret.
    async fn webhook_url(
        &self,
        execution: ExecutionId,
        webhook: &Webhook,
    ) -> Result<(String, Option<Map<String, Value>>), NoticeFailure> {
        let name = match webhook {
            Webhook::Url(url) => return Ok((url.clone(), None)),
            Webhook::Credential(name) => name,
        };
        let fields = self.notice_secret(execution, name).await?;
        let found = WEBHOOK_FIELDS.iter().find_map(|field| fields.get(*field)?.as_str());
        let url = found.map(str::to_owned).ok_or_else(|| {
            let fields = WEBHOOK_FIELDS.join(", ");
            NoticeFailure::refused(format!("the credential `{name}` has none of {fields}"))
        })?;
        // The address itself is the secret; nothing else is sent.
        let hosts = fields.get(HOSTS_FIELD).map(|hosts| {
            let none = ("type".to_owned(), json!("none"));
            Map::from_iter([none, (HOSTS_FIELD.to_owned(), hosts.clone())])
        });
        Ok((url, hosts))
    }

    /// Returns the fields of a credential; a missing one may be stored later.
    async fn notice_secret(
        &self,
        execution: ExecutionId,
        name: &str,
    ) -> Result<Map<String, Value>, NoticeFailure> {
        let access = SecretAccess { execution: Some(execution), ..SecretAccess::default() };
        let found = self.secrets().find(name, SecretOperation::Read, &access).await;
        match found {
            Ok(found) => Ok(found.fields()),
            Err(error @ SecretError::Unknown(_)) => match self.vault().given(name) {
                Some(fields) => Ok(fields),
                None => Err(NoticeFailure::temporary(format!(
                    "{error}; store it with `noetl credential set {name}`"
                ))),
            },
            Err(error @ SecretError::NotPermitted(_)) => {
                Err(NoticeFailure::refused(error.to_string()))
            }
            Err(error) => Err(NoticeFailure::temporary(in_full(&error))),
        }
    }

    /// Starts the playbook of a notification, once: the start key is the id of the notification.
    async fn start_notified(
        &self,
        notice: &Notice<'_>,
        path: &str,
        workload: Map<String, Value>,
    ) -> Result<(), NoticeFailure> {
        let choice = PlaybookChoice::Path { path: path.to_owned(), version: None };
        let mut request = StartRequest::new(choice, workload);
        request.input.notice = Some(NoticeOrigin {
            execution: notice.execution,
            event: notice.event,
            document: notice.document.clone(),
            depth: notice.depth,
        });
        request.key = Some(StartKey {
            scope: "notification".to_owned(),
            name: notice.id.clone(),
            keep: START_KEPT,
            request: None,
        });
        match self.control().start(request).await {
            Ok(_) | Err(StartError::KeyTaken(_)) => Ok(()),
            Err(
                error @ (StartError::UnknownPlaybook(_)
                | StartError::ArchivedPlaybook(_)
                | StartError::AmbiguousName(_)
                | StartError::PayloadTooLarge
                | StartError::PayloadTooNested
                | StartError::TooDeep { .. }
                | StartError::ParentCancelled(_)
                | StartError::InvalidInputs(_)
                | StartError::CredentialNotPermitted(_)
                | StartError::Refused(_)),
            ) => Err(NoticeFailure::refused(in_full(&error))),
            Err(error @ (StartError::BacklogFull(_) | StartError::Submit(_))) => {
                Err(NoticeFailure::temporary(in_full(&error)))
            }
        }
    }
}

/// Returns an error message with all its causes.
fn in_full(error: &dyn StdError) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
}
