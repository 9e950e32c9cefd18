//! Maps errors of the server or the connection to tool errors: kind, SQLSTATE, and whether a retry
//! may help.

use std::error::Error as _;

use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, ErrorPosition};

use crate::sql::redact::SecretMasker;
use crate::sql::split::SqlStatement;

/// Converts the error of a statement or a connection attempt.
pub(crate) fn of(error: &Error) -> ToolError {
    match error.as_db_error() {
        Some(error) => of_server(error),
        None => of_connection(error),
    }
}

fn of_server(error: &DbError) -> ToolError {
    let code = error.code().code();
    let mut told = ToolError::new(
        ErrorKind::of_sqlstate(code),
        format!("PostgreSQL says: {}", error.message()),
    );
    let position = match error.position() {
        Some(ErrorPosition::Original(position)) => Some(Value::from(*position)),
        Some(ErrorPosition::Internal { .. }) | None => None,
    };
    let text = |text: Option<&str>| text.map(Value::from);
    let facts: Map<String, Value> = [
        ("detail", text(error.detail())),
        ("hint", text(error.hint())),
        ("table", text(error.table())),
        ("column", text(error.column())),
        ("constraint", text(error.constraint())),
        ("position", position),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect();
    if !facts.is_empty() {
        told.details = Some(Box::new(Value::Object(facts)));
    }
    told.with_code(code)
}

fn of_connection(error: &Error) -> ToolError {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(next) = source {
        reason = next.to_string();
        source = next.source();
    }
    if let Some(untrusted) = untrusted(error) {
        let message =
            format!("PostgreSQL is not trusted: {untrusted}; see `sslmode` and `sslrootcert`");
        return ToolError::new(ErrorKind::Auth, message);
    }
    let message = match error.is_closed() {
        true => {
            "the connection to PostgreSQL was lost; whether the statement took effect is unknown"
                .into()
        }
        false => format!("cannot talk to PostgreSQL: {reason}"),
    };
    ToolError::new(ErrorKind::DbConnection, message)
}

/// Returns the reason why the server's certificate was rejected, if that is the cause.
fn untrusted(error: &Error) -> Option<&rustls::CertificateError> {
    let io = error.source()?.downcast_ref::<std::io::Error>()?;
    match io.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(reason) => Some(reason),
        _ => None,
    }
}

/// Adds the number of the failed statement, and the line if the server reports a position.
pub(crate) fn at_statement(
    mut error: ToolError,
    index: usize,
    count: usize,
    statement: &SqlStatement<'_>,
) -> ToolError {
    let position = error.details.as_deref().and_then(|details| details["position"].as_u64());
    let line = position.map(|position| {
        let before = usize::try_from(position).unwrap_or(usize::MAX).saturating_sub(1);
        statement.line + statement.sql.chars().take(before).filter(|c| *c == '\n').count()
    });
    match (count, line) {
        (1, None) => {}
        (1, Some(line)) => error.message.push_str(&format!(" (line {line})")),
        (_, line) => {
            let line = line.unwrap_or(statement.line);
            error.message.push_str(&format!(" (statement {}, line {line})", index + 1));
        }
    }
    error
}

/// Removes the secrets of the call from an error.
pub(crate) fn redacted(mut error: ToolError, secrets: &SecretMasker) -> ToolError {
    error.message = secrets.redact(&error.message);
    if let Some(Value::Object(details)) = error.details.as_deref_mut() {
        for value in details.values_mut() {
            if let Value::String(text) = value {
                *text = secrets.redact(text);
            }
        }
    }
    error
}
