//! The output format of a script: the result of the last statement at the top level, and the result
//! of each statement under `command_0`, `command_1`, ….

use noetl_model::{ErrorKind, Footprint, TooLarge, ToolError, Unmeasured, ValueLimits};
use serde_json::{Map, Value, json};

use crate::run::memory::{CallMemory, too_large};

/// The maximum size of all rows of one call, in bytes of text.
pub(crate) const RESULT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The number of copies of a row in the output: at the top level and under its statement's number.
const COPIES: usize = 2;
/// The estimated memory of a row without its values, and of each column name.
const ROW_BYTES: usize = 160;
const COLUMN_BYTES: usize = 80;

/// The result of one statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StatementResult {
    /// The rows of a statement that returns rows, possibly none.
    Rows { columns: Vec<String>, rows: Vec<Vec<Value>> },
    /// The number of rows changed by a statement that returns none.
    Affected(u64),
}

/// The format of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// A map by column name.
    Map,
    /// A list in column order.
    List,
}

/// Builds the output of a script from the results of its statements.
pub(crate) fn output(results: Vec<StatementResult>, form: RowForm) -> Value {
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

fn view(produced: StatementResult, form: RowForm) -> Value {
    match produced {
        StatementResult::Affected(count) => json!({
            "status": "success",
            "columns": [],
            "rows": [],
            "row_count": count,
            "affected_rows": count,
        }),
        StatementResult::Rows { columns, rows } => {
            let columns = distinct(columns);
            let count = rows.len();
            let rows: Vec<Value> = match form {
                RowForm::List => rows.into_iter().map(Value::Array).collect(),
                RowForm::Map => rows.into_iter().map(|row| by_column(&columns, row)).collect(),
            };
            let mut view = json!({
                "status": "success", "columns": columns, "rows": null, "row_count": count,
            });
            // Moved, because `json!` would copy.
            view["rows"] = Value::Array(rows);
            view
        }
    }
}

fn by_column(columns: &[String], row: Vec<Value>) -> Value {
    Value::Object(columns.iter().cloned().zip(row).collect())
}

/// Makes column names unique: a second `id` becomes `id_2`, so that no value hides another.
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

/// The remaining budget for the rows of one call: [`RESULT_BYTES_MAX`], and memory, which is
/// reserved row by row.
pub(crate) struct ResultBudget<'m> {
    memory: &'m CallMemory,
    found: Footprint,
    left: usize,
}

impl<'m> ResultBudget<'m> {
    pub(crate) fn new(memory: &'m CallMemory) -> Self {
        Self { memory, found: Footprint::default(), left: RESULT_BYTES_MAX }
    }

    /// Reserves memory for a row; waits until it is available. Fails if the rows exceed a limit.
    pub(crate) async fn spend(&mut self, row: &[Value]) -> Result<(), ToolError> {
        self.left = self.left.checked_sub(row.iter().map(size).sum()).ok_or_else(|| {
            let message = format!(
                "the rows take more than {RESULT_BYTES_MAX} bytes: add a LIMIT, or move them with the `transfer` tool"
            );
            ToolError::new(ErrorKind::StorageQuota, message)
        })?;
        let found = row.iter().map(Footprint::of).fold(Footprint::default(), Footprint::and);
        let names = Footprint { elements: 1, memory: ROW_BYTES + row.len() * COLUMN_BYTES };
        let found = found.and(names).times(COPIES);
        self.found = self.found.and(found);
        self.memory.limits().check(self.found).map_err(|limit| too_many(&limit))?;
        self.memory.reserve(found.memory).await.map_err(|limit| too_many(&limit))
    }

    /// Fails if a value, measured by its text before it is built, would be too large.
    pub(crate) fn check(&self, found: Result<Footprint, Unmeasured>) -> Result<(), ToolError> {
        match found {
            Ok(found) => self.memory.limits().check(found).map_err(|limit| too_many(&limit)),
            Err(Unmeasured::TooLarge(limit)) => Err(too_many(&limit)),
            Err(Unmeasured::NotJson(_)) => Ok(()),
        }
    }

    pub(crate) fn limits(&self) -> ValueLimits {
        self.memory.limits()
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
    }
}

fn too_many(limit: &TooLarge) -> ToolError {
    let mut error = too_large("the rows", limit);
    error.message.push_str("; add a LIMIT, or move them with the `transfer` tool");
    error
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(results: Vec<StatementResult>, form: RowForm, expected: Expect) {
        expected.assert_eq(&output(results, form).to_string());
    }

    fn rows(columns: &[&str], rows: Vec<Vec<Value>>) -> StatementResult {
        StatementResult::Rows { columns: columns.iter().map(ToString::to_string).collect(), rows }
    }

    #[test]
    fn the_last_statement_is_at_the_top_and_each_under_its_number() {
        check(
            vec![StatementResult::Affected(3), rows(&["a"], vec![vec![json!(1)]])],
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
