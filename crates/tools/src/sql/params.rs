//! Binds `params`: a list for `$1`, `$2`, … or for successive `%s`, or a map for `:name`. Values
//! are never inserted into the text of a statement that takes parameters.

use noetl_model::ToolError;
use serde_json::{Map, Value};

use super::lex::{Dialect, SqlTokenKind, tokens};
use crate::run::keys::ToolConfig;

/// The value of `params`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Params {
    None,
    Listed(Vec<Value>),
    Named(Map<String, Value>),
}

/// A statement with numbered placeholders and a value for each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundStatement {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Params {
    pub(crate) fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        match keys.find(&["params", "parameters"]) {
            None => Ok(Params::None),
            Some((_, Value::Array(values))) => Ok(Params::Listed(values.clone())),
            Some((_, Value::Object(values))) => Ok(Params::Named(values.clone())),
            Some((key, other)) => Err(keys.wrong(key, "a list or a map", other)),
        }
    }

    /// Returns the statement with its values. Each statement of a script uses a list from its
    /// beginning.
    pub(crate) fn bind(
        &self,
        keys: ToolConfig<'_>,
        dialect: Dialect,
        sql: &str,
    ) -> Result<BoundStatement, ToolError> {
        match self {
            Params::None => Ok(BoundStatement { sql: sql.to_owned(), values: Vec::new() }),
            Params::Listed(values) => listed(keys, dialect, sql, values),
            Params::Named(values) => named(keys, dialect, sql, values),
        }
    }
}

fn listed(
    keys: ToolConfig<'_>,
    dialect: Dialect,
    sql: &str,
    values: &[Value],
) -> Result<BoundStatement, ToolError> {
    let mut bound = String::with_capacity(sql.len());
    let mut needed = 0;
    let mut marks = 0;
    // In a statement with numbered placeholders, `%s` is a modulo by `s`.
    let has_numbers = tokens(dialect, sql)
        .any(|it| it.kind == SqlTokenKind::Numbered && it.text.starts_with('$'));
    for token in tokens(dialect, sql) {
        // In PostgreSQL a question mark is an operator.
        let number = match token.kind {
            SqlTokenKind::Numbered
                if token.text.starts_with('$') || dialect != Dialect::Postgres =>
            {
                token.number()
            }
            SqlTokenKind::Mark if dialect != Dialect::Postgres => {
                marks += 1;
                Some(marks)
            }
            SqlTokenKind::PythonMark if !has_numbers => {
                marks += 1;
                Some(marks)
            }
            _ => None,
        };
        match number {
            Some(number) => {
                needed = needed.max(number);
                bound.push_str(&placeholder(dialect, number));
            }
            None => bound.push_str(token.text),
        }
    }
    if values.len() < needed {
        let given = values.len();
        return Err(keys.error(format!(
            "a statement asks for parameter {needed}, but `params` has only {given}"
        )));
    }
    Ok(BoundStatement { sql: bound, values: values[..needed].to_vec() })
}

fn named(
    keys: ToolConfig<'_>,
    dialect: Dialect,
    sql: &str,
    values: &Map<String, Value>,
) -> Result<BoundStatement, ToolError> {
    let mut bound = String::with_capacity(sql.len());
    let mut names: Vec<&str> = Vec::new();
    let mut brackets = 0_usize;
    for token in tokens(dialect, sql) {
        match token.text {
            "[" => brackets += 1,
            "]" => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if token.kind != SqlTokenKind::Named {
            bound.push_str(token.text);
            continue;
        }
        let name = token.name();
        if !values.contains_key(name) {
            // `list[from:to]` is a slice.
            if 0 < brackets {
                bound.push_str(token.text);
                continue;
            }
            let known: Vec<&str> = values.keys().map(String::as_str).collect();
            return Err(keys.error(format!(
                "a statement asks for `{name}`, but `params` has only: {}",
                known.join(", ")
            )));
        }
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        bound.push_str(&placeholder(dialect, at + 1));
    }
    let values = names.iter().map(|name| values[*name].clone()).collect();
    Ok(BoundStatement { sql: bound, values })
}

fn placeholder(dialect: Dialect, number: usize) -> String {
    match dialect {
        Dialect::Postgres | Dialect::Duckdb => format!("${number}"),
        Dialect::Sqlite => format!("?{number}"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(dialect: Dialect, sql: &str, params: Value, expected: Expect) {
        let config = json!({ "params": params });
        let keys = ToolConfig::new("postgres", config.as_object().expect("it is a map"));
        let bound = Params::read(keys).and_then(|params| params.bind(keys, dialect, sql));
        let shown = match bound {
            Ok(bound) => format!("{} {}", bound.sql, Value::Array(bound.values)),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_name_is_numbered_once_and_a_cast_is_no_name() {
        check(
            Dialect::Postgres,
            "SELECT :a::int, :b, ':a', \"x:a\", %(a)s -- :c",
            json!({"b": 2, "a": 1}),
            expect![[r#"SELECT $1::int, $2, ':a', "x:a", $1 -- :c [1,2]"#]],
        );
        check(Dialect::Postgres, "SELECT l[1:n]", json!({}), expect!["SELECT l[1:n] []"]);
        check(Dialect::Sqlite, "SELECT :a", json!({"a": null}), expect!["SELECT ?1 [null]"]);
    }

    #[test]
    fn a_list_serves_the_statement_from_its_beginning() {
        check(
            Dialect::Postgres,
            "SELECT $2, $1 ? 'k'",
            json!([1, 2, 3]),
            expect!["SELECT $2, $1 ? 'k' [1,2]"],
        );
        check(
            Dialect::Sqlite,
            "SELECT ?, ?, $1",
            json!([1, 2]),
            expect!["SELECT ?1, ?2, ?1 [1,2]"],
        );
        check(Dialect::Duckdb, "SELECT ?", json!([1]), expect!["SELECT $1 [1]"]);
        check(
            Dialect::Postgres,
            "SELECT %s::int, '%s', %s, 7 %size",
            json!([1, 2]),
            expect!["SELECT $1::int, '%s', $2, 7 %size [1,2]"],
        );
        check(Dialect::Postgres, "SELECT $1 %s", json!([1]), expect!["SELECT $1 %s [1]"]);
    }

    #[test]
    fn a_parameter_without_a_value_is_an_error() {
        check(
            Dialect::Postgres,
            "SELECT $3",
            json!([1]),
            expect!["postgres: a statement asks for parameter 3, but `params` has only 1"],
        );
        check(
            Dialect::Postgres,
            "SELECT :naem",
            json!({"name": 1, "id": 2}),
            expect!["postgres: a statement asks for `naem`, but `params` has only: name, id"],
        );
        check(
            Dialect::Postgres,
            "SELECT 1",
            json!("x"),
            expect![[r#"postgres: `params` must be a list or a map, but is "x""#]],
        );
    }
}
