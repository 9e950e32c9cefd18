//! `http`: one request, one response. A response that is not a success fails the call, with its
//! output kept.

mod auth;
mod request;
mod response;

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::ToolError;

use crate::call::{Call, Ended, Tool};
use crate::credentials::Credentials;
use crate::keys::Keys;
use crate::outgoing::{self, Outgoing};

pub(crate) struct Http {
    outgoing: Arc<Outgoing>,
    credentials: Arc<dyn Credentials>,
}

impl Http {
    pub(crate) fn new(outgoing: Arc<Outgoing>, credentials: Arc<dyn Credentials>) -> Self {
        Self { outgoing, credentials }
    }

    /// The body of a response, which must be JSON.
    pub(crate) async fn json(
        &self,
        call: &Call,
        keys: Keys<'_>,
    ) -> Result<serde_json::Value, ToolError> {
        let auth = auth::Auth::read(call, keys, self.credentials.as_ref()).await?;
        let request = request::build(keys, auth, &call.idempotency_key)?;
        let name = outgoing::named(&request);
        let response = self.outgoing.send(request).await?;
        match response::error(&name, &response) {
            Some(error) => Err(error),
            None => serde_json::from_slice(&response.body)
                .map_err(|reason| response::not_as_wanted(&name, &reason)),
        }
    }

    async fn exchange(&self, call: &Call) -> Result<Ended, ToolError> {
        let keys = Keys::new("http", &call.config);
        let wanted = response::Wanted::read(keys)?;
        let auth = auth::Auth::read(call, keys, self.credentials.as_ref()).await?;
        let request = request::build(keys, auth, &call.idempotency_key)?;
        let name = outgoing::named(&request);
        let response = self.outgoing.send(request).await?;
        let output = response::output(&response, wanted)
            .map_err(|reason| response::not_as_wanted(&name, &reason))?;
        Ok(match response::error(&name, &response) {
            None => Ended::completed(output),
            Some(error) => Ended::failed_with(error, output),
        })
    }
}

#[async_trait]
impl Tool for Http {
    async fn run(&self, call: &Call) -> Ended {
        tokio::select! {
            result = self.exchange(call) => result.into(),
            () = call.cancel.cancelled() => Ended::stopped(noetl_model::Logs::default()),
        }
    }
}

#[cfg(test)]
mod tests;
