//! `POST /api/postgres/execute`: manual SQL, if the operator allows it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use noetl_model::{ErrorKind, ToolError};
use noetl_secrets::{SecretAccess, SecretOperation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::Body;
use crate::response::error::ApiError;
use crate::state::AppState;
use crate::statements::Statement;

/// The format of a result whose rows are lists.
const TABLE: &str = "table";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(execute_sql))
}

/// A request with one of `query`, `query_base64` and `procedure`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
struct SqlRequest {
    query: Option<String>,
    /// The query in base64.
    query_base64: Option<String>,
    /// The procedure to call, without `CALL`.
    procedure: Option<String>,
    /// A list for `$1`, `$2`, …, or a map for `:name`.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Value>,
    /// Schema to search before `public`.
    #[serde(alias = "db_schema")]
    schema: Option<String>,
    /// `table`: each row is a list of values, and `columns` has their names; otherwise each row is
    /// an object.
    format: Option<String>,
    /// Name of a stored credential, to use its database instead of the operator's.
    credential: Option<String>,
    /// Always refused; name a credential instead.
    database: Option<String>,
    /// Always refused; name a credential instead.
    connection_string: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SqlAnswer {
    status: &'static str,
    /// The rows of the last statement, each an object by column, or a list of values if a table was
    /// requested.
    #[schema(value_type = Vec<Object>)]
    result: Vec<Value>,
    /// The names of the columns, if a table was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<String>>,
}

/// Runs SQL on the database of `NOETL_SQL_DSN`.
#[utoipa::path(
    post, path = "/api/postgres/execute", tag = "database", request_body = SqlRequest,
    responses((status = 200, body = SqlAnswer))
)]
async fn execute_sql(
    State(state): State<AppState>,
    Body(request): Body<SqlRequest>,
) -> Result<Json<SqlAnswer>, ApiError> {
    let Some(statements) = state.statements() else {
        let detail = "this server runs no SQL by hand; name a database for it in NOETL_SQL_DSN, or \
                      run SQL in a step of a playbook, with a credential";
        return Err(ApiError::new(StatusCode::NOT_IMPLEMENTED, "no-sql", detail));
    };
    if request.database.is_some() || request.connection_string.is_some() {
        let detail = "another database is reached by the name of a stored `credential`";
        return Err(ApiError::invalid("not-supported", detail));
    }
    let credential = match &request.credential {
        Some(alias) => Some(fields_of(&state, alias).await?),
        None => None,
    };
    let sql = sql_of(&request)?;
    let SqlRequest { parameters, schema, format, .. } = request;
    let schema = schema.filter(|schema| !schema.is_empty());
    let statement = Statement { sql, parameters, schema, credential };
    let rows = statements.run(statement).await.map_err(failed)?;
    let is_table = format.is_some_and(|format| format.eq_ignore_ascii_case(TABLE));
    let (result, columns) = if is_table { table_of(rows) } else { (rows, None) };
    Ok(Json(SqlAnswer { status: "ok", result, columns }))
}

/// Returns rows as lists of values, and the names of their columns.
fn table_of(rows: Vec<Value>) -> (Vec<Value>, Option<Vec<String>>) {
    let names = |row: &Value| row.as_object().map(|fields| fields.keys().cloned().collect());
    let columns = rows.first().and_then(names).unwrap_or_default();
    let cells = |row: Value| match row {
        Value::Object(fields) => Value::Array(fields.into_iter().map(|(_, value)| value).collect()),
        other => Value::Array(vec![other]),
    };
    (rows.into_iter().map(cells).collect(), Some(columns))
}

fn sql_of(request: &SqlRequest) -> Result<String, ApiError> {
    let sql = match (&request.query, &request.query_base64, &request.procedure) {
        (Some(query), None, None) => query.clone(),
        (None, Some(encoded), None) => {
            let decoded = STANDARD.decode(encoded).ok().and_then(|it| String::from_utf8(it).ok());
            decoded.ok_or_else(|| {
                ApiError::invalid("invalid-statement", "`query_base64` is not text in base64")
            })?
        }
        (None, None, Some(procedure)) => called(procedure),
        (..) => {
            let detail = "name one of `query`, `query_base64` and `procedure`";
            return Err(ApiError::invalid("invalid-statement", detail));
        }
    };
    if sql.trim().is_empty() {
        return Err(ApiError::invalid("invalid-statement", "there is no statement"));
    }
    Ok(sql)
}

/// Returns the statement that calls a procedure.
fn called(procedure: &str) -> String {
    let procedure = procedure.trim();
    let first = procedure.split_whitespace().next().unwrap_or_default();
    if first.eq_ignore_ascii_case("call") {
        procedure.to_owned()
    } else if procedure.contains('(') {
        format!("CALL {procedure}")
    } else {
        format!("CALL {procedure}()")
    }
}

async fn fields_of(state: &AppState, alias: &str) -> Result<Map<String, Value>, ApiError> {
    let found =
        state.app().secrets().find(alias, SecretOperation::Read, &SecretAccess::default()).await;
    Ok(found?.fields())
}

/// Converts an error: errors of the caller's statement are shown, others are logged.
fn failed(error: ToolError) -> ApiError {
    match error.kind {
        ErrorKind::DbConnection | ErrorKind::Auth | ErrorKind::NotFound => {
            tracing::warn!(%error, "no connection to the database of NOETL_SQL_DSN");
            let detail = "the database cannot be reached; the server's log says why";
            ApiError::new(StatusCode::BAD_GATEWAY, "no-database", detail)
        }
        ErrorKind::Timeout | ErrorKind::DbTimeout => {
            ApiError::new(StatusCode::GATEWAY_TIMEOUT, "sql-too-slow", error.message)
        }
        ErrorKind::Child
        | ErrorKind::ClientError
        | ErrorKind::Config
        | ErrorKind::Connection
        | ErrorKind::DbConstraint
        | ErrorKind::DbDeadlock
        | ErrorKind::Exception
        | ErrorKind::Limit
        | ErrorKind::Policy
        | ErrorKind::Parse
        | ErrorKind::RateLimit
        | ErrorKind::Rejected
        | ErrorKind::Schema
        | ErrorKind::ServerError
        | ErrorKind::StorageAccess
        | ErrorKind::StorageQuota
        | ErrorKind::Template
        | ErrorKind::Transform
        | ErrorKind::Unknown
        | ErrorKind::WorkerLost => {
            ApiError::invalid("sql-failed", error.message).with("sqlstate", json!(error.code))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_table_are_lists_in_the_order_of_the_columns() {
        let rows = vec![json!({ "b": 1, "a": null }), json!({ "b": 2, "a": [3] })];
        let (result, columns) = table_of(rows);
        assert_eq!(result, [json!([1, null]), json!([2, [3]])]);
        assert_eq!(columns, Some(vec!["b".to_owned(), "a".to_owned()]));
        assert_eq!(table_of(Vec::new()), (Vec::new(), Some(Vec::new())));
    }

    #[test]
    fn a_procedure_is_called_however_it_is_written() {
        for written in ["tidy", "tidy()", "CALL tidy()", " call tidy() "] {
            assert_eq!(called(written).to_lowercase(), "call tidy()", "{written}");
        }
        assert_eq!(called("tidy(1, 'a')"), "CALL tidy(1, 'a')");
    }
}
