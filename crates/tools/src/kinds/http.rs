//! The tool `http`: sends one request and returns the response. A response with an error status
//! fails the call; its output is kept.

pub(crate) mod auth;
mod keychain;
mod multipart;
mod oauth;
mod request;
mod response;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::ToolError;
use reqwest::StatusCode;
use serde_json::Map;

use crate::protect::credentials::CredentialResolver;
use crate::protect::outgoing::{self, HttpRequest, HttpResponse, Outgoing};
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::run::memory::CallMemory;
use auth::{Auth, AuthHeader};
pub(crate) use keychain::KeychainVariable;
use oauth::{ClientCredentials, TokenCache};
use response::ResponseType;

/// The tool. Clones share their OAuth2 tokens.
#[derive(Clone)]
pub(crate) struct Http {
    outgoing: Arc<Outgoing>,
    credentials: Arc<dyn CredentialResolver>,
    tokens: Arc<TokenCache>,
}

/// A request, with the grant by which its token was obtained, if any.
struct Ready {
    request: HttpRequest,
    grant: Option<Box<ClientCredentials>>,
}

impl Http {
    pub(crate) fn new(outgoing: Arc<Outgoing>, credentials: Arc<dyn CredentialResolver>) -> Self {
        Self { outgoing, credentials, tokens: Arc::default() }
    }

    /// Sends a request and returns the body of the response, which must be JSON.
    pub(crate) async fn json(
        &self,
        call: &Call,
        keys: ToolConfig<'_>,
    ) -> Result<serde_json::Value, ToolError> {
        let ready = self.ready(call, keys).await?;
        let name = outgoing::named(&ready.request);
        let response = self.send(ready, &call.memory).await?;
        match response::error(&name, &response) {
            Some(error) => Err(error),
            None => {
                let value = call.memory.json(&response.body, 1).await;
                value.map_err(|reason| response::not_as_wanted(&name, &reason))
            }
        }
    }

    async fn ready(&self, call: &Call, keys: ToolConfig<'_>) -> Result<Ready, ToolError> {
        let (auth, hosts) = Auth::read(call, keys, self.credentials.as_ref()).await?;
        let (header, grant) = match auth {
            Auth::Header(header) => (header, None),
            Auth::Grant(grant) => {
                (AuthHeader::Bearer { token: self.token(call, &grant).await? }, Some(grant))
            }
        };
        let request = request::build(keys, header, call).await?;
        // A redirect to another origin does not get the credential.
        hosts.check_url(&request.url)?;
        Ok(Ready { request, grant })
    }

    /// Obtains the token of a grant and records it as a secret of the call.
    async fn token(&self, call: &Call, grant: &ClientCredentials) -> Result<String, ToolError> {
        let token = self.tokens.get(grant, &self.outgoing, &call.memory).await?;
        call.used.record(&Map::from_iter([("token".to_owned(), token.clone().into())]));
        Ok(token)
    }

    async fn send(&self, ready: Ready, memory: &CallMemory) -> Result<HttpResponse, ToolError> {
        let response = self.outgoing.send(ready.request, memory).await?;
        self.learn(response.status, ready.grant.as_deref());
        Ok(response)
    }

    fn learn(&self, status: StatusCode, grant: Option<&ClientCredentials>) {
        if let (StatusCode::UNAUTHORIZED, Some(grant)) = (status, grant) {
            self.tokens.forget(grant);
        }
    }

    async fn exchange(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::of_call("http", call);
        let wanted = ResponseType::read(keys)?;
        let save_to = keys.text(&["save_to", "response_file"])?;
        let ready = self.ready(call, keys).await?;
        let name = outgoing::named(&ready.request);
        let (response, saved) = match save_to {
            None => (self.send(ready, &call.memory).await?, None),
            Some(path) => {
                let file = keys.file(Path::new(&path))?;
                let file = (file.as_path(), &call.files);
                let (response, saved) =
                    self.outgoing.save(ready.request, file, &call.memory).await?;
                self.learn(response.status, ready.grant.as_deref());
                (response, saved)
            }
        };
        let error = response::error(&name, &response);
        let output = match &saved {
            Some(saved) => Ok(response::saved_output(&response, saved)),
            None => response::output(response, wanted, &call.memory).await,
        };
        match (error, output) {
            (None, Ok(output)) => Ok(ToolResult::completed(output)),
            (Some(error), Ok(output)) => Ok(ToolResult::failed_with(error, output)),
            // The error status is more useful than the error about the body.
            (Some(error), Err(_)) => Err(error),
            (None, Err(reason)) => Err(response::not_as_wanted(&name, &reason)),
        }
    }
}

#[async_trait]
impl Tool for Http {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            result = self.exchange(call) => result.into(),
            () = call.cancel.cancelled() => ToolResult::stopped(noetl_model::Logs::default()),
        }
    }
}

#[cfg(test)]
mod tests;
