//! Checks the syntax of SQL in tools whose dialect is known.
//!
//! Every database reads more than the parser knows, so findings are warnings, and only statements that
//! read or change rows are parsed. A template stands for any part of a statement that may be in its
//! place: a finding holds whatever the values are.

use std::ops::Range;

use sqlparser::dialect::{Dialect, DuckDbDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::diagnostic::{DiagnosticCode, Finding};
use crate::source::SourceText;
use crate::suggest::nearest;
use crate::yaml::{Yaml, YamlNode};

/// The keys of a tool, and of a cursor, that hold statements.
const STATEMENT_KEYS: &[&str] =
    &["query", "command", "commands", "sql", "statement", "statements", "queries", "claim"];
/// The longest text that is checked, in bytes.
const SQL_BYTES_MAX: usize = 64 * 1024;
/// The most templates of one statement whose values are varied.
const VARIED_TEMPLATES_MAX: usize = 3;
/// The parts of a statement that a template may stand for, besides a name: a number, a text, a list in
/// parentheses, an operator, a join, a clause, nothing.
const STAND_INS: &[&str] = &["0", "''", "(_)", "=", "JOIN _", "AS _,", ""];
/// The first words of statements that are parsed.
const PARSED: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES"];
/// The first words of other statements.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "CHECKPOINT", "CLUSTER", "COMMENT", "COMMIT", "COPY",
    "CREATE", "DEALLOCATE", "DECLARE", "DESCRIBE", "DETACH", "DISCARD", "DO", "DROP", "END", "EXECUTE",
    "EXPLAIN", "EXPORT", "FETCH", "FROM", "GRANT", "IMPORT", "INSTALL", "LISTEN", "LOAD", "LOCK", "MERGE",
    "MOVE", "NOTIFY", "PIVOT", "PRAGMA", "PREPARE", "REASSIGN", "REFRESH", "REINDEX", "RELEASE", "REPLACE",
    "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SECURITY", "SET", "SHOW", "START", "SUMMARIZE", "TABLE",
    "TRUNCATE", "UNLISTEN", "UNPIVOT", "USE", "VACUUM",
];

/// Adds a warning for each statement of a tool that the parser cannot read.
pub(super) fn check(node: &YamlNode, source: &SourceText, faults: &mut Vec<Finding>) {
    let kind = node.get("kind").and_then(|kind| kind.text());
    let dialect: &dyn Dialect = match kind {
        Some("postgres") => &PostgreSqlDialect {},
        Some("sqlite") => &SQLiteDialect {},
        Some("duckdb") => &DuckDbDialect {},
        Some(_) | None => return,
    };
    for value in STATEMENT_KEYS.iter().filter_map(|key| node.get(key)) {
        match &value.yaml {
            Yaml::Text { text, .. } => check_text(value, text, dialect, source, faults),
            Yaml::List(items) => {
                for item in items {
                    if let Some(text) = item.text() {
                        check_text(item, text, dialect, source, faults);
                    }
                }
            }
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Map(_) => {}
        }
    }
}

fn check_text(
    node: &YamlNode,
    text: &str,
    dialect: &dyn Dialect,
    source: &SourceText,
    faults: &mut Vec<Finding>,
) {
    for SqlFault { at, message, help } in sql_faults(text, dialect) {
        let span = node.locate(at, source);
        let finding = Finding::warning(DiagnosticCode::BadSql, &span, message);
        faults.push(finding.help(help));
    }
}

/// A statement that cannot be read.
#[derive(Debug, PartialEq, Eq)]
struct SqlFault {
    /// The place in the text.
    at: Range<usize>,
    message: String,
    help: String,
}

impl SqlFault {
    fn new(at: Range<usize>, why: &str) -> Self {
        let mut letters = why.chars();
        let first = letters.next().map(|first| first.to_ascii_lowercase());
        let why: String = first.into_iter().chain(letters).collect();
        let message = format!("the SQL parser cannot read this: {why}");
        let help =
            "the database may know more: `# noetl: ignore[bad-sql]` keeps a statement as it is";
        Self { at, message, help: help.to_owned() }
    }
}

/// Returns the faults of a text with statements; none if it depends on statements of a template.
fn sql_faults(text: &str, dialect: &dyn Dialect) -> Vec<SqlFault> {
    if text.len() > SQL_BYTES_MAX || text.contains("{%") {
        return Vec::new();
    }
    let Some(templates) = templates_of(text) else { return Vec::new() };
    let plain = with_stand_ins(&without_format_parameters(text), &templates, &[]);
    let tokens = match Tokenizer::new(dialect, &plain).tokenize_with_location() {
        Ok(tokens) => tokens,
        Err(error) => {
            let at = offset_of(&plain, error.location);
            return vec![SqlFault::new(word_at(&plain, at), &error.message)];
        }
    };
    let statements = tokens.split(|it| it.token == Token::SemiColon);
    statements.filter_map(|tokens| statement_fault(&plain, tokens, &templates, dialect)).collect()
}

/// Returns the places of the expressions of templates; `None` if one is not closed.
fn templates_of(text: &str) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("{{") {
        let start = at + open;
        let end = start + text[start..].find("}}")? + 2;
        found.push(start..end);
        at = end;
    }
    Some(found)
}

/// Replaces `%s` and `%(name)s` by names of the same length.
fn without_format_parameters(text: &str) -> String {
    let mut plain = text.to_owned();
    for (at, _) in text.match_indices('%') {
        let rest = &text[at + 1..];
        let end = match rest.strip_prefix('(') {
            Some(named) => named.find(")s").map(|close| close + 3),
            None => rest.starts_with('s').then_some(1),
        };
        let follows = |end: usize| rest[end..].chars().next();
        let is_name = |it: char| it.is_alphanumeric() || it == '_';
        if let Some(end) = end.filter(|end| !follows(*end).is_some_and(is_name))
            && rest.is_char_boundary(end)
            && rest[..end].is_ascii()
        {
            plain.replace_range(at..at + 1 + end, &"_".repeat(end + 1));
        }
    }
    plain
}

/// Replaces templates by texts of the same length in bytes: a name, unless another text is given for
/// the template. Line breaks stay.
fn with_stand_ins(text: &str, templates: &[Range<usize>], others: &[(usize, &str)]) -> String {
    let mut plain = text.to_owned();
    for (index, template) in templates.iter().enumerate() {
        let other = others.iter().find(|(number, _)| *number == index).map(|(_, other)| *other);
        let length = template.len();
        let stand_in = match other {
            Some(other) => format!("{other:length$}"),
            None => "_".repeat(length),
        };
        let breaks = text[template.clone()].bytes().zip(stand_in.bytes());
        // A name is not parted by a line break: what follows the first one is blank.
        let mut is_parted = false;
        let bytes = breaks.map(|(written, new)| match written {
            b'\n' => {
                is_parted = true;
                '\n'
            }
            _ if is_parted => ' ',
            _ => char::from(new),
        });
        plain.replace_range(template.clone(), &bytes.collect::<String>());
    }
    plain
}

fn statement_fault(
    plain: &str,
    tokens: &[TokenWithSpan],
    templates: &[Range<usize>],
    dialect: &dyn Dialect,
) -> Option<SqlFault> {
    let mut words = tokens.iter().filter(|it| !matches!(it.token, Token::Whitespace(_)));
    let first = words.next()?;
    let Token::Word(word) = &first.token else { return None };
    let start = offset_of(plain, first.span.start);
    let is_template = templates.iter().any(|it| it.contains(&start));
    let keyword = word.value.to_uppercase();
    if is_template || OTHERS.contains(&keyword.as_str()) {
        return None;
    }
    if !PARSED.contains(&keyword.as_str()) {
        let near = nearest(&keyword, PARSED.iter().chain(OTHERS).copied())?;
        let at = start..start + word.value.len();
        let fault = SqlFault::new(at, &format!("`{}` begins no statement", word.value));
        return Some(SqlFault { help: format!("did you mean `{near}`?"), ..fault });
    }
    let error = parse(tokens.to_vec(), dialect).err()?;
    let start_of = |token: &TokenWithSpan| offset_of(plain, token.span.start);
    let last = tokens.iter().rfind(|it| !matches!(it.token, Token::Whitespace(_)))?;
    let range = start_of(tokens.first()?)..offset_of(plain, tokens.last()?.span.end);
    let (at, why) = place_of(&error, plain, &word_at(plain, start_of(last)))?;
    let open: Vec<usize> = open_templates(plain, tokens, templates, &range);
    let is_before = open.first().is_none_or(|first| at.end <= templates[*first].start);
    if !is_before && can_be_read(&plain[range.clone()], range.start, templates, &open, dialect) {
        return None;
    }
    Some(SqlFault::new(at, &why))
}

/// Returns the templates of a statement that are not inside of texts and comments.
fn open_templates(
    plain: &str,
    tokens: &[TokenWithSpan],
    templates: &[Range<usize>],
    statement: &Range<usize>,
) -> Vec<usize> {
    let is_closed = |template: &Range<usize>| {
        tokens.iter().any(|it| {
            let is_text = match &it.token {
                Token::SingleQuotedString(_)
                | Token::DollarQuotedString(_)
                | Token::EscapedStringLiteral(_)
                | Token::NationalStringLiteral(_)
                | Token::Whitespace(
                    Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
                ) => true,
                Token::Word(word) => word.quote_style.is_some(),
                _ => false,
            };
            let place = offset_of(plain, it.span.start)..offset_of(plain, it.span.end);
            is_text && place.start < template.start && template.end <= place.end
        })
    };
    let inside = templates.iter().enumerate().filter(|(_, template)| {
        statement.start <= template.start && template.end <= statement.end && !is_closed(template)
    });
    inside.map(|(index, _)| index).collect()
}

/// True if a statement can be read for some choice of what its open templates stand for, or if there
/// are too many of them to try.
fn can_be_read(
    statement: &str,
    start: usize,
    templates: &[Range<usize>],
    open: &[usize],
    dialect: &dyn Dialect,
) -> bool {
    if open.len() > VARIED_TEMPLATES_MAX {
        return true;
    }
    let places: Vec<Range<usize>> = open
        .iter()
        .map(|index| templates[*index].start - start..templates[*index].end - start)
        .collect();
    let choices = STAND_INS.len() + 1;
    (1..choices.pow(u32::try_from(open.len()).unwrap_or(u32::MAX))).any(|number| {
        let chosen = (0..open.len()).scan(number, |rest, index| {
            let choice = *rest % choices;
            *rest /= choices;
            Some((index, choice))
        });
        let others: Vec<(usize, &str)> = chosen
            .filter_map(|(index, choice)| Some((index, *STAND_INS.get(choice.checked_sub(1)?)?)))
            .filter(|(index, stand_in)| stand_in.len() <= places[*index].len())
            .collect();
        let text = with_stand_ins(statement, &places, &others);
        let tokens = Tokenizer::new(dialect, &text).tokenize_with_location();
        tokens.is_ok_and(|tokens| parse(tokens, dialect).is_ok())
    })
}

/// Removes what the databases read and the parser does not know: `FOR NO KEY UPDATE` and `FOR KEY SHARE`
/// of PostgreSQL; `CROSS JOIN` with a condition, `INDEXED BY` and `IS` between any values of SQLite.
fn without_gaps(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let word = |it: Option<&TokenWithSpan>| match it.map(|it| &it.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_uppercase(),
        _ => String::new(),
    };
    let mut tokens = tokens.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        let [one, two, three] = [0, 1, 2].map(|more| word(tokens.get(at + more)));
        let removed = match [one.as_str(), two.as_str(), three.as_str()] {
            ["FOR", "NO", "KEY"] => at + 1..at + 3,
            ["FOR", "KEY", "SHARE"] => at + 1..at + 2,
            ["CROSS", "JOIN", _] => at..at + 1,
            ["INDEXED", "BY", _] => at..(at + 3).min(tokens.len()),
            ["NOT", "INDEXED", _] => at..at + 2,
            ["IS", "NULL" | "NOT" | "TRUE" | "FALSE" | "UNKNOWN" | "DISTINCT" | "JSON", _] => {
                at..at
            }
            ["IS", _, "NORMALIZED"] | ["IS", "NORMALIZED", _] => at..at,
            ["IS", _, _] => {
                tokens[at].token = Token::Eq;
                at..at
            }
            _ => at..at,
        };
        tokens.drain(removed);
        at += 1;
    }
    tokens
}

/// Parses one statement to its end.
fn parse(tokens: Vec<TokenWithSpan>, dialect: &dyn Dialect) -> Result<(), ParserError> {
    let read = |tokens| {
        let mut parser = Parser::new(dialect).with_tokens_with_locations(tokens);
        parser.parse_statement()?;
        parser.expect_token(&Token::EOF).map(|_| ())
    };
    let tokens: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|it| !matches!(it.token, Token::Whitespace(_))).collect();
    let simple = without_gaps(&tokens);
    if simple == tokens {
        return read(tokens);
    }
    read(tokens).or_else(|_| read(simple))
}

/// Returns a message of the parser as a part of a sentence.
fn sentence(message: &str) -> String {
    message.replace(": ", " ").replace("EOF", "the end of the statement")
}

/// Returns the place of an error and its reason; `None` for a limit of the parser. An error at the end
/// has the place `end`.
fn place_of(
    error: &ParserError,
    plain: &str,
    end: &Range<usize>,
) -> Option<(Range<usize>, String)> {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => return None,
    };
    let Some((why, place)) = message.rsplit_once(" at Line: ") else {
        return Some((end.clone(), sentence(message)));
    };
    let (line, column) = place.split_once(", Column: ")?;
    let location = Location { line: line.parse().ok()?, column: column.trim().parse().ok()? };
    let at = word_at(plain, offset_of(plain, location));
    // The place is that of the next token if the parser has stepped over the one that it names.
    let named = why.rsplit_once("found: ").map_or("", |(_, found)| found);
    let is_other = !matches!(named, "" | "EOF") && !plain[at.clone()].starts_with(named);
    let before = if is_other { plain[..at.start].rfind(named) } else { None };
    let at = before.map_or(at, |start| start..start + named.len());
    Some((at, sentence(why)))
}

/// Returns the range of the word at an offset, or of its one character.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    let rest = &text[at..];
    let end = rest.find(|it: char| !is_name(it)).unwrap_or(rest.len());
    let one = rest.chars().next().map_or(0, char::len_utf8);
    at..at + end.max(one)
}

/// Returns the byte offset of a line and a column, both counted from 1, the column in characters. The
/// end of the text has no location of its own.
fn offset_of(text: &str, location: Location) -> usize {
    let Some(line) = location.line.checked_sub(1) else { return text.trim_end().len() };
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let Some(start) = starts.into_iter().nth(line) else { return text.len() };
    let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
    let place = text[start..].char_indices().nth(column).map(|(at, _)| start + at);
    place.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = sql_faults(text, &PostgreSqlDialect {})
            .into_iter()
            .map(|it| {
                format!("`{}` {}", &text[it.at], it.message.rsplit(": ").next().unwrap_or(""))
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn mistakes_are_found_at_their_place() {
        check("SELECT a FORM b", &["`b` expected the end of the statement, found b"]);
        check("SELECT a,\n  FROM b", &["`FROM` expected an expression, found FROM"]);
        check("SELECT 1; SELCT 2", &["`SELCT` `SELCT` begins no statement"]);
        check("SELECT (1", &["`1` expected ), found the end of the statement"]);
        check("SELECT 'a", &["`'` unterminated string literal"]);
        check("INSERT INTO t (a VALUES (1)", &["`VALUES` expected ), found VALUES"]);
        check(
            "UPDATE t SET a = {{ x }} WHER b = 1",
            &["`WHER` expected the end of the statement, found WHER"],
        );
        check("SELECT a FORM b WHERE {{ c }}", &["`b` expected the end of the statement, found b"]);
        check("SELECT {{ a }} +", &["`+` expected an expression, found the end of the statement"]);
    }

    #[test]
    fn templates_stand_for_whatever_fits() {
        for text in [
            "SELECT {{ columns }} FROM {{ schema }}.{{ table }} WHERE {{ where }}",
            "SELECT * FROM t {{ where }} ORDER BY {{ by }} {{ direction }}",
            "INSERT INTO t (a, b) VALUES {{ rows }} ON CONFLICT DO NOTHING",
            "INSERT INTO t VALUES ({{ a }}, '{{ b | replace(\"'\", \"''\") }}', {{ c }}, {{ d }})",
            "SELECT * FROM a {{ join }} b ON a.x = b.x",
            "SELECT a {{ operator }} 1",
            "SELECT interval '{{ days }} days', CAST(a AS varchar({{ n }}))",
            "SELECT a FROM t LIMIT {{ n }} OFFSET {{ m }}",
            "SELECT a FROM t_{{ part }} -- {{ it's }}",
            "{{ statement }} x y z; {% if a %}SELCT{% endif %}",
            "SELECT unnest(:names::text[]), :x, $1, %s, %(name)s, a % 3",
            "SELECT {{ a\n }} FROM t",
        ] {
            check(text, &[]);
        }
    }

    /// The statements of the stores, which their tests prepare with both databases.
    #[test]
    fn statements_that_work_have_no_findings() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut count = 0;
        let mut found = String::new();
        let stores: [(&str, &dyn Dialect); 2] =
            [("store-postgres", &PostgreSqlDialect {}), ("store-sqlite", &SQLiteDialect {})];
        for (store, dialect) in stores {
            for file in root.join(store).join("sql").read_dir().expect("the statements are there") {
                let file = file.expect("an entry").path();
                if file.extension().is_none_or(|it| it != "sql") {
                    continue;
                }
                let text = std::fs::read_to_string(&file).expect("a readable file");
                for fault in sql_faults(&text, dialect) {
                    found += &format!("{}: {fault:?}\n", file.display());
                }
                count += 1;
            }
        }
        assert!(count > 300, "{count} statements");
        assert_eq!(found, "");
    }
}
