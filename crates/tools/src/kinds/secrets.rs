//! The tool `secrets`: checks that a credential exists and has the required fields. The output
//! contains names, never values; a step uses a secret through `auth`.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::{ErrorKind, Logs, ToolError};
use serde_json::{Value, json};

use crate::protect::allowed_hosts::AllowedHosts;
use crate::protect::credentials::CredentialResolver;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::{ToolConfig, scalar_text};

pub(crate) struct SecretsTool {
    credentials: Arc<dyn CredentialResolver>,
}

impl SecretsTool {
    pub(crate) fn new(credentials: Arc<dyn CredentialResolver>) -> Self {
        Self { credentials }
    }

    async fn look(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::new("secrets", &call.config);
        let name = keys.required_text(&["credential", "auth", "secret_name", "name", "key"])?;
        let required = required(keys)?;
        let mut found = self.credentials.resolve(call, &name).await?;
        let kind = found.remove("type");
        AllowedHosts::take(&mut found);
        let missing: Vec<&str> = required
            .iter()
            .map(String::as_str)
            .filter(|field| found.get(*field).is_none_or(Value::is_null))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let message = format!("secrets: credential `{name}` has no {missing}");
            return Err(ToolError::new(ErrorKind::NotFound, message));
        }
        let mut fields: Vec<&String> = found.keys().collect();
        fields.sort();
        Ok(ToolResult::completed(json!({ "credential": name, "type": kind, "fields": fields })))
    }
}

/// Reads the names of the fields that must exist.
fn required(keys: ToolConfig<'_>) -> Result<Vec<String>, ToolError> {
    match keys.find(&["fields", "required"]) {
        None => Ok(Vec::new()),
        Some((key, Value::Array(fields))) => fields
            .iter()
            .map(|field| {
                scalar_text(field).ok_or_else(|| keys.wrong(key, "a list of names", field))
            })
            .collect(),
        Some((key, other)) => Err(keys.wrong(key, "a list of names", other)),
    }
}

#[async_trait]
impl Tool for SecretsTool {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            result = self.look(call) => result.into(),
            () = call.cancel.cancelled() => ToolResult::stopped(Logs::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protect::credentials::FixedCredentials;
    use crate::testing::{call, show};

    async fn check(config: Value, expected: &str) {
        let text = r#"{"type": "postgres", "data": {"db_user": "u", "db_password": "hunter2"}}"#;
        let variable = ("NOETL_CREDENTIAL_DB".to_owned(), text.to_owned());
        let tool = SecretsTool::new(Arc::new(FixedCredentials::from_environment([variable])));
        let told = show(&tool.run(&call(config)).await);
        assert_eq!(told.trim_end(), expected);
        assert!(!told.contains("hunter2"), "{told}");
    }

    #[tokio::test]
    async fn names_are_shown_and_values_are_not() {
        let told =
            r#"completed {"credential":"db","type":"postgres","fields":["db_password","db_user"]}"#;
        check(json!({"credential": "db"}), told).await;
        check(json!({"name": "db", "fields": ["db_user"]}), told).await;
    }

    #[tokio::test]
    async fn a_missing_credential_fails_before_any_work_begins() {
        let none = "failed config: there is no credential `x`: set the variable NOETL_CREDENTIAL_X";
        check(json!({"credential": "x"}), none).await;
        let no_field = "failed not_found: secrets: credential `db` has no port, host";
        check(json!({"credential": "db", "fields": ["port", "db_user", "host"]}), no_field).await;
        check(json!({}), "failed config: secrets: `credential` is missing").await;
        let wrong = "failed config: secrets: `fields` must be a list of names, but is \"port\"";
        check(json!({"credential": "db", "fields": "port"}), wrong).await;
    }
}
