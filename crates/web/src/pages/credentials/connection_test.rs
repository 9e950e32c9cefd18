//! The test of a credential's connection: an execution of a small playbook, so that a worker makes the
//! connection as it would for any step, and the page of the execution tells the result.

use noetl_control::{PlaybookChoice, StartRequest};
use serde_json::{Map, Value};

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

    const fn playbook(self) -> &'static str {
        match self {
            Self::Postgres => POSTGRES,
            Self::Nats => NATS,
            Self::Http => HTTP,
        }
    }
}

const POSTGRES: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: postgres, path: connection_test/postgres}
workload: {credential: \"\"}
workflow:
  - step: connect
    tool:
      kind: postgres
      auth: \"{{ workload.credential }}\"
      query: SELECT current_database() AS database, current_user AS role, version() AS version
      timeout: 15s
";

const NATS: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: nats, path: connection_test/nats}
workload: {credential: \"\"}
workflow:
  - step: connect
    tool:
      kind: nats
      auth: \"{{ workload.credential }}\"
      operation: publish
      subject: noetl.connection_test
      data: hello
      timeout: 15s
";

const HTTP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: http, path: connection_test/http}
workload: {credential: \"\", url: \"https://example.org/\"}
workflow:
  - step: connect
    tool:
      kind: http
      auth: \"{{ workload.credential }}\"
      url: \"{{ workload.url }}\"
      timeout: 15s
";

/// Starts the test of a credential and shows its execution.
pub(super) async fn test_connection(page: &PageRequest, form: &SignedForm) -> PageResult {
    let name = form.get("name");
    let credential = page.app().credential(name).await?;
    let test = ConnectionTest::of(&credential.kind).ok_or_else(|| {
        PageError::refused("credentials.no_test", vec![("type", credential.kind)])
    })?;
    let registered = page.app().register(test.playbook()).await?;
    let mut workload = Map::new();
    workload.insert("credential".to_owned(), Value::from(name));
    if let Some(url) = form.given("url") {
        workload.insert("url".to_owned(), Value::from(url));
    }
    let playbook = PlaybookChoice::Id(registered.entry.catalog_id);
    let started = page.app().start(StartRequest::new(playbook, workload)).await?;
    Ok(see(&execution_address(started.execution)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_playbooks_of_the_tests_are_valid() {
        for test in [ConnectionTest::Postgres, ConnectionTest::Nats, ConnectionTest::Http] {
            let checked = noetl_playbook::parse("test", test.playbook().as_bytes());
            assert!(checked.is_ok(), "{test:?}: {checked:?}");
        }
        assert_eq!(ConnectionTest::of("Postgres"), Some(ConnectionTest::Postgres));
        assert_eq!(ConnectionTest::of("vault"), None);
    }
}
