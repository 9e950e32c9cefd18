//! Scripts of several statements in one driver call. The driver runs each call on its own thread,
//! and for small statements the round trip costs more than the work.

use futures::TryStreamExt as _;
use noetl_store::StoreError;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, Either, Executor as _, SqliteConnection, query_with};

use crate::row::{NamedRow, store_error};

/// The value of a statement's parameter `?1`, `?2`, ….
pub(crate) enum Parameter {
    Text(String),
    Number(i64),
}

/// A list of statements, each with its parameters.
#[derive(Default)]
pub(crate) struct Script {
    sql: String,
    arguments: SqliteArguments,
}

impl Script {
    /// Adds a statement. Within a script, numbered parameters become positional ones.
    pub(crate) fn add(&mut self, statement: &str, parameters: &[Parameter]) {
        let code = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
        for line in code {
            let mut parts = line.split('?');
            self.sql.extend(parts.next());
            for part in parts {
                let digits =
                    part.len() - part.trim_start_matches(|it: char| it.is_ascii_digit()).len();
                let (number, rest) = part.split_at(digits);
                self.bind(
                    &parameters[number.parse::<usize>().expect("parameters are numbered") - 1],
                );
                self.sql.push('?');
                self.sql.push_str(rest);
            }
            self.sql.push('\n');
        }
        self.sql.push_str(";\n");
    }

    fn bind(&mut self, parameter: &Parameter) {
        let bound = match parameter {
            Parameter::Text(text) => self.arguments.add(text.clone()),
            Parameter::Number(number) => self.arguments.add(*number),
        };
        bound.expect("text and numbers can be bound");
    }

    /// Runs all statements and returns the rows of each.
    pub(crate) async fn run(
        self,
        connection: &mut SqliteConnection,
    ) -> Result<Vec<Vec<NamedRow>>, StoreError> {
        let mut results =
            connection.fetch_many(query_with(AssertSqlSafe(self.sql), self.arguments));
        let mut rows = Vec::new();
        let mut current = Vec::new();
        while let Some(result) = results.try_next().await.map_err(store_error)? {
            match result {
                Either::Right(row) => current.push(NamedRow(row)),
                Either::Left(_done) => rows.push(std::mem::take(&mut current)),
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_joined_without_comments_and_parameters_follow_each_other() {
        let mut script = Script::default();
        script.add("BEGIN IMMEDIATE", &[]);
        let parameters = [Parameter::Text("[]".to_owned()), Parameter::Number(7)];
        script.add("-- ?1 is an array.\nSELECT ?2, value\nFROM json_each(?1)", &parameters);
        assert_eq!(script.sql, "BEGIN IMMEDIATE\n;\nSELECT ?, value\nFROM json_each(?)\n;\n");
        assert_eq!(script.arguments.len(), 2);
    }
}
