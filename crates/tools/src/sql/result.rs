//! What a script's results look like to a playbook: those of the last statement at the top, and those
//! of each statement under `command_0`, `command_1`, ….

use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value, json};

/// What the rows of one call may take together.
pub(crate) const RESULT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What one statement gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Produced {
    /// It returns rows, perhaps none.
    Rows { columns: Vec<String>, rows: Vec<Vec<Value>> },
    /// It returns none, and changed that many.
    Affected(u64),
}

/// How a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// A map by column.
    Map,
    /// A list in the order of the columns.
    List,
}

/// The output of a script, from what its statements gave.
pub(crate) fn output(results: Vec<Produced>, form: RowForm) -> Value {
    let views: Vec<Value> = results.into_iter().map(|produced| view(produced, form)).collect();
    let mut output = match views.last() {
        Some(Value::Object(last)) => last.clone(),
        _ => Map::new(),
    };
    for (index, view) in views.into_iter().enumerate() {
        output.insert(format!("command_{index}"), view);
    }
    Value::Object(output)
}

fn view(produced: Produced, form: RowForm) -> Value {
    match produced {
        Produced::Affected(count) => json!({
            "status": "success",
            "columns": [],
            "rows": [],
            "row_count": count,
            "affected_rows": count,
        }),
        Produced::Rows { columns, rows } => {
            let columns = distinct(columns);
            let count = rows.len();
            let rows: Vec<Value> = match form {
                RowForm::List => rows.into_iter().map(Value::Array).collect(),
                RowForm::Map => rows.into_iter().map(|row| by_column(&columns, row)).collect(),
            };
            json!({"status": "success", "columns": columns, "rows": rows, "row_count": count})
        }
    }
}

fn by_column(columns: &[String], row: Vec<Value>) -> Value {
    Value::Object(columns.iter().cloned().zip(row).collect())
}

/// The names of columns, each once: a second `id` is `id_2`, so that no value hides another.
pub(crate) fn distinct(columns: Vec<String>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::with_capacity(columns.len());
    for column in columns {
        let mut name = column.clone();
        let mut count = 2;
        while taken.contains(&name) {
            name = format!("{column}_{count}");
            count += 1;
        }
        taken.push(name);
    }
    taken
}

/// What is left of [`RESULT_BYTES_MAX`].
pub(crate) struct Budget {
    left: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: RESULT_BYTES_MAX }
    }

    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), ToolError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(ToolError::new(
                ErrorKind::StorageQuota,
                format!(
                    "the rows take more than {RESULT_BYTES_MAX} bytes: add a LIMIT, or move them with the `transfer` tool"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(results: Vec<Produced>, form: RowForm, expected: Expect) {
        expected.assert_eq(&output(results, form).to_string());
    }

    fn rows(columns: &[&str], rows: Vec<Vec<Value>>) -> Produced {
        Produced::Rows { columns: columns.iter().map(ToString::to_string).collect(), rows }
    }

    #[test]
    fn the_last_statement_is_at_the_top_and_each_under_its_number() {
        check(
            vec![Produced::Affected(3), rows(&["a"], vec![vec![json!(1)]])],
            RowForm::Map,
            expect![[
                r#"{"status":"success","columns":["a"],"rows":[{"a":1}],"row_count":1,"command_0":{"status":"success","columns":[],"rows":[],"row_count":3,"affected_rows":3},"command_1":{"status":"success","columns":["a"],"rows":[{"a":1}],"row_count":1}}"#
            ]],
        );
    }

    #[test]
    fn columns_of_one_name_are_told_apart() {
        let row = vec![json!(1), json!(2), json!(3)];
        check(
            vec![rows(&["id", "id", "id_2"], vec![row.clone()])],
            RowForm::Map,
            expect![[
                r#"{"status":"success","columns":["id","id_2","id_2_2"],"rows":[{"id":1,"id_2":2,"id_2_2":3}],"row_count":1,"command_0":{"status":"success","columns":["id","id_2","id_2_2"],"rows":[{"id":1,"id_2":2,"id_2_2":3}],"row_count":1}}"#
            ]],
        );
        check(
            vec![rows(&["a", "b", "c"], vec![row])],
            RowForm::List,
            expect![[
                r#"{"status":"success","columns":["a","b","c"],"rows":[[1,2,3]],"row_count":1,"command_0":{"status":"success","columns":["a","b","c"],"rows":[[1,2,3]],"row_count":1}}"#
            ]],
        );
    }

    #[test]
    fn no_statement_gives_nothing() {
        check(vec![], RowForm::Map, expect!["{}"]);
    }
}
