//! SQL sent by an administrator, for the database that the operator has configured.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::ToolError;
use serde_json::{Map, Value};

/// SQL to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub sql: String,
    /// Bound parameters: a list for `$1`, or a map for `:name`.
    pub parameters: Option<Value>,
    /// Schema to search before `public`.
    pub schema: Option<String>,
    /// Fields of a stored credential, to use its database instead of the operator's.
    pub credential: Option<Map<String, Value>>,
}

/// Runs SQL statements.
#[async_trait]
pub trait Statements: Send + Sync {
    /// Runs the SQL and returns the rows of the last statement, each an object by column.
    async fn run(&self, statement: Statement) -> Result<Vec<Value>, ToolError>;
}

/// The server's runner of statements; `None` unless the operator has configured one.
pub(crate) type MaybeStatements = Option<Arc<dyn Statements>>;
