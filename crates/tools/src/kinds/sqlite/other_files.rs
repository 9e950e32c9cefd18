//! Statements of SQLite that open another file: `ATTACH` and `VACUUM INTO`.

use std::path::Path;

use noetl_model::{ErrorKind, ToolError};

use crate::protect::files::FileAccess;
use crate::sql::lex::{Dialect, SqlToken, SqlTokenKind, tokens};

/// Fails if a statement opens a file that the call may not open, or one that cannot be known before
/// the statement runs.
pub(super) fn check(sql: &str, files: &FileAccess) -> Result<(), ToolError> {
    let all = tokens(Dialect::Sqlite, sql).filter(|token| token.kind != SqlTokenKind::Blank);
    let all: Vec<SqlToken<'_>> = all.collect();
    let named = match all.first() {
        Some(first) if first.is_word("attach") => {
            let is_noise = all.get(1).is_some_and(|token| token.is_word("database"));
            all.get(if is_noise { 2 } else { 1 })
        }
        Some(first) if first.is_word("vacuum") => {
            let Some(into) = all.iter().position(|token| token.is_word("into")) else {
                return Ok(());
            };
            all.get(into + 1)
        }
        Some(_) | None => return Ok(()),
    };
    let is_alone = named.is_some_and(|named| {
        let next = all.iter().skip_while(|token| token.at < named.at).nth(1);
        next.is_none_or(|next| next.is_word("as") || next.kind == SqlTokenKind::Semicolon)
    });
    let path = named.filter(|token| token.kind == SqlTokenKind::Quoted && is_alone);
    let Some(path) = path.and_then(|token| literal(token.text)) else {
        let message = "sqlite: the file of ATTACH and VACUUM INTO must be a text in quotes";
        return Err(ToolError::new(ErrorKind::Config, message));
    };
    if path.is_empty() || path == ":memory:" {
        return Ok(());
    }
    if path.starts_with("file:") {
        let message = "sqlite: ATTACH takes a path, not a URI";
        return Err(ToolError::new(ErrorKind::Config, message));
    }
    files
        .check(Path::new(&path))
        .map(|_| ())
        .map_err(|error| ToolError::new(ErrorKind::Config, format!("sqlite: {}", error.message)))
}

/// Returns the value of a quoted text.
fn literal(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_sql(sql: &str, allowed: bool) {
        let files = FileAccess::below(vec!["/tmp".into()], vec!["/tmp/noetl-hidden".into()]);
        assert_eq!(check(sql, &files).is_ok(), allowed, "{sql}");
    }

    #[test]
    fn another_file_is_opened_only_if_it_is_allowed() {
        check_sql("SELECT 1", true);
        check_sql("ATTACH '/tmp/other.db' AS o", true);
        check_sql("ATTACH ':memory:' AS o", true);
        check_sql("attach database \"/tmp/other.db\" as o", true);
        check_sql("ATTACH '/etc/passwd' AS o", false);
        check_sql("/* x */ ATTACH '/etc/passwd' AS o", false);
        check_sql("ATTACH '/tmp/noetl-hidden' AS o", false);
        check_sql("ATTACH '/tmp/../etc/passwd' AS o", false);
        check_sql("ATTACH '/tmp/' || '../etc/passwd' AS o", false);
        check_sql("ATTACH ? AS o", false);
        check_sql("ATTACH (SELECT path FROM t) AS o", false);
        check_sql("ATTACH 'file:/etc/passwd' AS o", false);
        check_sql("VACUUM", true);
        check_sql("VACUUM main INTO '/tmp/copy.db'", true);
        check_sql("VACUUM INTO '/etc/copy.db'", false);
    }
}
