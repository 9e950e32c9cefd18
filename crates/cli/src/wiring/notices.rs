//! The way from the application to the receivers of notifications.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_app::{NoticeCall, NoticeFailure, NoticeMail, NoticeTransport};
use noetl_tools::{NoticeClient, OutgoingMail, Undelivered};

use crate::config::Config;
use crate::show::failure::Failure;
use crate::wiring::tools::Tools;

/// Sends notifications with the client of the tools, under their network policy.
struct ClientTransport(NoticeClient);

/// Returns the transport for a server or session whose playbooks are started by these people.
pub(crate) fn transport(
    tools: Tools,
    config: &Config,
) -> Result<Arc<dyn NoticeTransport>, Failure> {
    let settings = tools.settings(config)?;
    let client = NoticeClient::new(settings.egress, settings.proxy_from_environment);
    Ok(Arc::new(ClientTransport(client)))
}

fn failure(undelivered: Undelivered) -> NoticeFailure {
    match undelivered {
        Undelivered::Refused(reason) => NoticeFailure::refused(reason),
        Undelivered::Temporary(reason) => NoticeFailure::temporary(reason),
        Undelivered::Unreachable(reason) => NoticeFailure::unreachable(reason),
    }
}

#[async_trait]
impl NoticeTransport for ClientTransport {
    async fn call(&self, call: NoticeCall) -> Result<(), NoticeFailure> {
        let NoticeCall { method, url, headers, body, credential } = call;
        let to = (method.as_str(), url.as_str());
        let sent = self.0.call(to, &headers, body.as_ref(), credential.as_ref()).await;
        sent.map_err(failure)
    }

    async fn mail(&self, mail: NoticeMail) -> Result<(), NoticeFailure> {
        let NoticeMail { id, to, subject, body, credential } = mail;
        let mail = OutgoingMail { id, to, subject, body };
        self.0.mail(&mail, &credential).await.map_err(failure)
    }
}
