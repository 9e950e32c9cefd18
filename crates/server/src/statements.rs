//! SQL that an administrator sends, on the database that the operator has named for it.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::ToolError;
use serde_json::{Map, Value};

/// What is to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub sql: String,
    /// Bound, never pasted: a list for `$1`, or a map for `:name`.
    pub parameters: Option<Value>,
    /// Looked into before `public`.
    pub schema: Option<String>,
    /// Where to, if not the operator's database: the fields of a stored credential.
    pub credential: Option<Map<String, Value>>,
}

/// Whoever runs statements.
#[async_trait]
pub trait Statements: Send + Sync {
    /// The rows of the last statement, each a map by column.
    async fn run(&self, statement: Statement) -> Result<Vec<Value>, ToolError>;
}

/// How a server has it: not at all, unless an operator says where.
pub(crate) type MaybeStatements = Option<Arc<dyn Statements>>;
