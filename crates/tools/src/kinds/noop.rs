//! The tool `noop`: does nothing and returns the configured result or message.

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::run::call::{Call, Tool, ToolResult};

pub(crate) struct Noop;

#[async_trait]
impl Tool for Noop {
    async fn run(&self, call: &Call) -> ToolResult {
        let output = call.config.get("result").filter(|result| !result.is_null()).cloned();
        ToolResult::completed(output.unwrap_or_else(|| {
            let message = call.config.get("message").cloned().unwrap_or(Value::Null);
            json!({"status": "ok", "message": message})
        }))
    }
}
