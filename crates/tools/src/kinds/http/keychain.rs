//! Credentials for templates: a credential that describes how to obtain a token includes the token.

use async_trait::async_trait;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};

use super::Http;
use super::auth::{Auth, is_grant};
use crate::protect::allowed_hosts::AllowedHosts;
use crate::protect::credentials::CredentialResolver;
use crate::run::call::Call;
use crate::run::keys::ToolConfig;

/// The source of the template variable `keychain`.
pub(crate) struct KeychainVariable(pub(crate) Http);

#[async_trait]
impl CredentialResolver for KeychainVariable {
    async fn resolve(&self, call: &Call, alias: &str) -> Result<Map<String, Value>, ToolError> {
        let Self(http) = self;
        let mut fields = http.credentials.resolve(call, alias).await?;
        if AllowedHosts::of(&fields).are_limited() {
            let message = format!(
                "the credential `{alias}` may be sent to certain hosts only, so that templates cannot \
                 read it: use it with `auth: {alias}`"
            );
            return Err(ToolError::new(ErrorKind::Policy, message));
        }
        if is_grant(&fields) {
            let nothing = Map::new();
            let keys = ToolConfig::new("keychain", &nothing);
            if let Auth::Grant(grant) = Auth::of(keys, &fields)? {
                let token = http.token(call, &grant).await?;
                for name in ["token", "access_token"] {
                    fields.insert(name.to_owned(), token.clone().into());
                }
            }
        }
        Ok(fields)
    }
}
