//! Functions in the database: created at start-up, under the lock of the migrations.
//!
//! A function has its version in its name, so that servers of two versions each call their own
//! during a rolling upgrade. A start-up keeps the version before its own and drops older ones: an
//! upgrade from an older version requires that all servers are stopped first. A database without
//! migrations has no other server, so its first start-up drops all other versions.

use sqlx::{AssertSqlSafe, Executor as _, PgConnection, query_scalar};

/// The version of the append function that this server calls.
const APPEND_VERSION: i64 = 5;

/// The servers that may call functions of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callers {
    /// Only servers with this server's version.
    SameVersion,
    /// Servers with this server's version or the version before.
    PreviousVersion,
}

/// Returns the servers that may use a database. Called before the migrations.
pub(crate) async fn callers(connection: &mut PgConnection) -> Result<Callers, sqlx::Error> {
    let is_new: bool = query_scalar(include_str!("../sql/is_new_database.sql"))
        .persistent(false)
        .fetch_one(connection)
        .await?;
    Ok(if is_new { Callers::SameVersion } else { Callers::PreviousVersion })
}

/// Creates or replaces the functions of this server's version, and drops the versions that no
/// server can call.
pub(crate) async fn create(
    connection: &mut PgConnection,
    callers: Callers,
) -> Result<(), sqlx::Error> {
    connection.execute(include_str!("../sql/functions/append.sql")).await?;
    let oldest = match callers {
        Callers::SameVersion => APPEND_VERSION,
        Callers::PreviousVersion => APPEND_VERSION - 1,
    };
    let unused: Vec<String> = query_scalar(include_str!("../sql/list_old_appends.sql"))
        .bind(oldest)
        .persistent(false)
        .fetch_all(&mut *connection)
        .await?;
    for function in unused {
        connection.execute(AssertSqlSafe(format!("DROP FUNCTION {function}"))).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_calls_the_version_that_is_created() {
        let call = format!("noetl.append_v{APPEND_VERSION}(");
        for text in [include_str!("../sql/functions/append.sql"), include_str!("../sql/append.sql")]
        {
            assert_eq!(text.matches("noetl.append_v").count(), 1);
            assert!(text.contains(&call), "{text}");
        }
    }
}
