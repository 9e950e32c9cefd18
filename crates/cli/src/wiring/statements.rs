//! Runs SQL that administrators send to a server, with the tool that playbooks use.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Attempt, CommandId, ExecutionId, Outcome, StepName, ToolError, ToolKind};
use noetl_server::{Statement, Statements};
use noetl_tools::{Call, CallMemory, Egress, Registry, ToolSettings, UsedCredentials};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs statements on a database chosen by the operator.
pub(crate) struct SqlByHand {
    dsn: String,
    tools: Registry,
}

impl SqlByHand {
    pub(crate) fn on(dsn: String, settings: ToolSettings) -> Self {
        // The network policy is for playbooks; administrators have named these databases.
        let settings = ToolSettings { egress: Egress::Any, ..settings };
        Self { dsn, tools: Registry::standard(settings) }
    }
}

#[async_trait]
impl Statements for SqlByHand {
    async fn run(&self, statement: Statement) -> Result<Vec<Value>, ToolError> {
        let call = call(&self.dsn, statement, self.tools.memory().call());
        match self.tools.call(ToolKind::Postgres, &call).await.outcome {
            Outcome::Completed { output } => match output.get("rows") {
                Some(Value::Array(rows)) => Ok(rows.clone()),
                _ => Ok(Vec::new()),
            },
            Outcome::Failed { error, .. } => Err(error),
        }
    }
}

/// Converts a statement to a call of the tool.
fn call(dsn: &str, statement: Statement, memory: CallMemory) -> Call {
    let Statement { sql, parameters, schema, credential } = statement;
    let mut config = Map::from_iter([("query".to_owned(), json!(sql))]);
    match credential {
        Some(fields) => config.insert("auth".to_owned(), Value::Object(fields)),
        None => config.insert("connection_string".to_owned(), json!(dsn)),
    };
    config.extend(schema.map(|schema| ("schema".to_owned(), json!(schema))));
    config.extend(parameters.map(|parameters| ("params".to_owned(), parameters)));
    Call {
        files: noetl_tools::FileAccess::default(),
        config,
        input: Map::new(),
        variables: BTreeMap::new(),
        execution: ExecutionId(0),
        command: CommandId(0),
        step: StepName::new("sql"),
        label: "sql".to_owned(),
        attempt: Attempt(1),
        idempotency_key: String::new(),
        key_attempt: 1,
        timeout: TIMEOUT,
        cancel: CancellationToken::new(),
        used: UsedCredentials::default(),
        memory,
        live: noetl_tools::LiveLog::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noetl_testkit::PostgresServer;

    fn by_hand() -> SqlByHand {
        let dsn = PostgresServer::shared().url("postgres");
        SqlByHand::on(dsn, ToolSettings::from_environment([]))
    }

    fn statement(sql: &str) -> Statement {
        Statement { sql: sql.to_owned(), parameters: None, schema: None, credential: None }
    }

    #[tokio::test]
    async fn values_of_every_type_come_back() {
        let sql = "SELECT 1::int2 AS small, 1.50::numeric AS exact, ARRAY[1, 2] AS list, \
                   NULL::text AS nothing, '2024-05-06 07:08:09'::timestamp AS at, \
                   'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS id, '{\"a\": [1]}'::jsonb AS doc";
        let rows = by_hand().run(statement(sql)).await.expect("rows");
        let expected = json!({
            "small": 1, "exact": "1.50", "list": [1, 2], "nothing": null,
            "at": "2024-05-06T07:08:09", "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "doc": { "a": [1] },
        });
        assert_eq!(rows, [expected]);
    }

    #[tokio::test]
    async fn parameters_are_bound_and_braces_are_no_templates() {
        let parameters = Some(json!(["'; DROP TABLE x; --", 2]));
        let asked = Statement {
            parameters,
            ..statement("SELECT $1::text AS a, $2::int AS b, '{{ 1 }}' AS c")
        };
        let rows = by_hand().run(asked).await.expect("rows");
        assert_eq!(rows, [json!({ "a": "'; DROP TABLE x; --", "b": 2, "c": "{{ 1 }}" })]);
    }

    #[tokio::test]
    async fn a_schema_is_a_name_and_stays_with_its_request() {
        let by_hand = by_hand();
        let shown = async |schema: Option<&str>| {
            let schema = schema.map(str::to_owned);
            let asked = Statement { schema, ..statement("SHOW search_path") };
            by_hand.run(asked).await.expect("rows")[0]["search_path"].clone()
        };
        let usual = shown(None).await;
        let named = shown(Some("odd\"; DROP TABLE x; --")).await;
        assert!(named.as_str().is_some_and(|it| it.starts_with("\"odd\"\"; DROP")), "{named}");
        assert_eq!(shown(None).await, usual);
    }

    #[tokio::test]
    async fn an_sql_error_has_its_sqlstate() {
        let error = by_hand().run(statement("SELECT * FROM nowhere")).await.expect_err("no table");
        assert_eq!(error.code.as_deref(), Some("42P01"));
    }
}
