//! The test of a credential's connection: an execution of a small playbook, so that a worker makes the
//! connection as it would for any step, and the page of the execution tells the result.
//!
//! Invariant: a started test sends its credential only where the administrator has said, also if somebody
//! starts its playbook again.

use noetl_control::{PlaybookChoice, StartRequest};
use serde_json::{Map, json};

use crate::components::id::execution_address;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::request::PageRequest;
use crate::response::{PageResult, see};

/// A way to test a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionTest {
    Postgres,
    Nats,
    /// A request to a URL that the visitor names.
    Http,
}

impl ConnectionTest {
    /// Returns the test for a kind of credential; `None` if there is none.
    pub(super) fn of(kind: &str) -> Option<Self> {
        match kind.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" => Some(Self::Postgres),
            "nats" => Some(Self::Nats),
            "http" | "bearer" | "basic" | "api_key" | "oauth2" => Some(Self::Http),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Nats => "nats",
            Self::Http => "http",
        }
    }
}

/// The address of the test of an `http` credential if the visitor names none.
const URL_USUAL: &str = "https://example.org/";

/// The credential of a test and, for `http`, the URL that it is sent to. They are part of the document
/// and no workload: a document with a workload could be started again with another URL, by anybody who
/// may start playbooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TestedConnection<'a> {
    test: ConnectionTest,
    credential: &'a str,
    url: &'a str,
}

impl TestedConnection<'_> {
    /// Returns the playbook; `None` if a name would be read as a template.
    fn playbook(self) -> Option<String> {
        let Self { test, credential, url } = self;
        let is_template = |text: &str| ["{{", "{%", "{#"].iter().any(|it| text.contains(it));
        if is_template(credential) || is_template(url) {
            return None;
        }
        let tool = match test {
            ConnectionTest::Postgres => json!({
                "kind": "postgres",
                "query": "SELECT current_database() AS database, current_user AS role, version() AS version",
            }),
            ConnectionTest::Nats => json!({
                "kind": "nats",
                "operation": "publish",
                "subject": "noetl.connection_test",
                "data": "hello",
            }),
            ConnectionTest::Http => json!({ "kind": "http", "url": url }),
        };
        let mut tool = tool;
        tool["auth"] = json!(credential);
        tool["timeout"] = json!("15s");
        let name = test.name();
        let document = json!({
            "apiVersion": "noetl.io/v2",
            "kind": "Playbook",
            "metadata": { "name": name, "path": format!("connection_test/{name}") },
            "workflow": [{ "step": "connect", "tool": tool }],
        });
        // JSON is YAML.
        Some(serde_json::to_string_pretty(&document).expect("a document is JSON"))
    }
}

/// Starts the test of a credential and shows its execution.
pub(super) async fn test_connection(page: &PageRequest, form: &SignedForm) -> PageResult {
    let name = form.get("name");
    let credential = page.app().credential(name).await?;
    let test = ConnectionTest::of(&credential.kind).ok_or_else(|| {
        PageError::refused("credentials.no_test", vec![("type", credential.kind)])
    })?;
    let url = form.given("url").unwrap_or(URL_USUAL);
    let document = TestedConnection { test, credential: name, url }.playbook();
    let document =
        document.ok_or_else(|| PageError::refused("credentials.test_template", Vec::new()))?;
    let registered = page.app().register(&document).await?;
    let playbook = PlaybookChoice::Id(registered.entry.catalog_id);
    let started = page.app().start(StartRequest::new(playbook, Map::new())).await?;
    Ok(see(&execution_address(started.execution)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ConnectionTest; 3] =
        [ConnectionTest::Postgres, ConnectionTest::Nats, ConnectionTest::Http];

    fn tested<'a>(test: ConnectionTest, credential: &'a str, url: &'a str) -> TestedConnection<'a> {
        TestedConnection { test, credential, url }
    }

    #[test]
    fn the_playbooks_of_the_tests_are_valid() {
        for test in ALL {
            let document = tested(test, "a \"name\": {x}", URL_USUAL).playbook().unwrap();
            let checked = noetl_playbook::parse("test", document.as_bytes());
            assert!(checked.is_ok(), "{test:?}: {checked:?}");
        }
        assert_eq!(ConnectionTest::of("Postgres"), Some(ConnectionTest::Postgres));
        assert_eq!(ConnectionTest::of("vault"), None);
    }

    #[test]
    fn a_start_of_a_registered_test_chooses_neither_credential_nor_address() {
        for test in ALL {
            let document = tested(test, "prod_api", "https://api.example/").playbook().unwrap();
            assert!(!document.contains("{{"), "{document}");
            assert!(document.contains("\"auth\": \"prod_api\""), "{document}");
        }
        for hostile in ["{{ workload.x }}", "{% raw %}", "{# x"] {
            assert_eq!(tested(ConnectionTest::Http, hostile, URL_USUAL).playbook(), None);
            assert_eq!(tested(ConnectionTest::Http, "a", hostile).playbook(), None);
        }
    }
}
