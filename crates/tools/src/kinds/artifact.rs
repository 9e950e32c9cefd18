//! The tools `artifact` and `result_fetch`: load a result that is stored outside the event log.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::{Logs, ToolError};

use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::run::results::{ResultReference, ResultSource};

/// The keys that may hold the reference, in the input or in the tool's configuration.
const SPELLINGS: &[&str] = &["result_ref", "ref", "uri"];

pub(crate) struct Artifact {
    name: &'static str,
    results: Arc<dyn ResultSource>,
}

impl Artifact {
    /// Creates the tool under one of its two names.
    pub(crate) fn new(name: &'static str, results: Arc<dyn ResultSource>) -> Self {
        Self { name, results }
    }

    async fn get(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::new(self.name, &call.config);
        match keys.text(&["action", "operation"])?.as_deref() {
            None | Some("get") => {}
            Some("put") => {
                return Err(keys.error(
                    "nothing needs to be put: what a task returns is stored by itself if it is large",
                ));
            }
            Some(other) => {
                return Err(keys.error(format!("`action` is `{other}`; the only one is get")));
            }
        }
        let given = ToolConfig::new(self.name, &call.input)
            .find(SPELLINGS)
            .or_else(|| keys.find(SPELLINGS));
        let Some((key, given)) = given else {
            return Err(keys.error(
                "`result_ref` is missing: give it `{{ step._ref }}`, which results over 64 KB have",
            ));
        };
        let reference = ResultReference::read(given)
            .ok_or_else(|| keys.wrong(key, "a reference such as `{{ step._ref }}`", given))?;
        let value = self.results.fetch(call, &reference).await?;
        Ok(ToolResult::completed_shared(value))
    }
}

#[async_trait]
impl Tool for Artifact {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            result = self.get(call) => result.into(),
            () = call.cancel.cancelled() => ToolResult::stopped(Logs::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use noetl_model::{Digest, ErrorKind};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{call_with, show};

    /// A store with a single value.
    struct One(Digest);

    #[async_trait]
    impl ResultSource for One {
        async fn fetch(
            &self,
            _call: &Call,
            reference: &ResultReference,
        ) -> Result<Arc<Value>, ToolError> {
            match reference {
                ResultReference::Content(digest) if *digest == self.0 => {
                    Ok(Arc::new(json!([1, 2])))
                }
                ResultReference::Content(_) | ResultReference::Name(_) => {
                    Err(ToolError::new(ErrorKind::NotFound, "there is no such result"))
                }
            }
        }
    }

    async fn run(config: Value, input: Value) -> String {
        let tool = Artifact::new("artifact", Arc::new(One(Digest::of(b"x"))));
        show(&tool.run(&call_with(config, input, json!({}))).await)
    }

    #[tokio::test]
    async fn a_result_is_fetched_by_its_reference_wherever_that_is_written() {
        let reference =
            json!({"kind": "result_ref", "ref": format!("noetl://payload/{}", Digest::of(b"x"))});
        let fetched = "completed [1,2]\n";
        let get = json!({"action": "get"});
        assert_eq!(run(get, json!({"result_ref": reference})).await, fetched);
        assert_eq!(run(json!({"ref": reference["ref"]}), json!({})).await, fetched);
    }

    #[tokio::test]
    async fn an_artifact_that_cannot_be_fetched_is_an_error_with_its_reason() {
        let other = format!("noetl://payload/{}", Digest::of(b"y"));
        for (config, input, expected) in [
            (json!({}), json!({}), "failed config: artifact: `result_ref` is missing"),
            (
                json!({}),
                json!({"result_ref": null}),
                "failed config: artifact: `result_ref` is missing",
            ),
            (
                json!({}),
                json!({"result_ref": 7}),
                "failed config: artifact: `result_ref` must be a reference",
            ),
            (json!({}), json!({"result_ref": other}), "failed not_found: there is no such result"),
            (
                json!({"action": "put"}),
                json!({}),
                "failed config: artifact: nothing needs to be put",
            ),
            (json!({"action": "move"}), json!({}), "failed config: artifact: `action` is `move`"),
        ] {
            let told = run(config, input).await;
            assert!(told.starts_with(expected), "{told}");
        }
    }
}
