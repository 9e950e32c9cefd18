//! Checks the syntax of SQL in tools whose dialect is known.
//!
//! Every database reads more than the parser knows, so findings are warnings, and only statements that
//! read or change rows are parsed. A template stands for any part of a statement that may be in its
//! place: a finding holds whatever the values are.

use std::ops::Range;

use noetl_expr::TemplateParts;
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
/// The most bytes of one document that are parsed, those of repeated attempts included.
const SQL_WORK_MAX: usize = 8 * 1024 * 1024;
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

/// The work that is left for the SQL of one document.
#[derive(Debug)]
pub(super) struct SqlBudget {
    bytes: usize,
}

impl Default for SqlBudget {
    fn default() -> Self {
        Self { bytes: SQL_WORK_MAX }
    }
}

impl SqlBudget {
    /// Takes the work of one parse; false if it is not left.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(0);
        left.is_some()
    }
}

/// Adds a warning for each statement of a tool that the parser cannot read, and for a text that is not
/// checked because of its size.
pub(super) fn check(
    node: &YamlNode,
    source: &SourceText,
    budget: &mut SqlBudget,
    faults: &mut Vec<Finding>,
) {
    let word =
        |node: &YamlNode, key: &str| node.get(key).and_then(|word| word.text()).map(str::to_owned);
    let kind = word(node, "kind");
    if kind.as_deref() == Some("transfer")
        && let Some(rows) = node.get("source")
    {
        let kind = ["type", "tool", "kind"].into_iter().find_map(|key| word(rows, key));
        // A source with a `kind` is visited as a tool of its own.
        if rows.get("kind").is_none() {
            check_statements(rows, kind.as_deref(), source, budget, faults);
        }
        return;
    }
    check_statements(node, kind.as_deref(), source, budget, faults);
}

/// Checks the statements of a tool, or of the source of a transfer.
fn check_statements(
    node: &YamlNode,
    kind: Option<&str>,
    source: &SourceText,
    budget: &mut SqlBudget,
    faults: &mut Vec<Finding>,
) {
    let dialect: &dyn Dialect = match kind {
        Some("postgres") => &PostgreSqlDialect {},
        Some("sqlite") => &SQLiteDialect {},
        Some("duckdb") => &DuckDbDialect {},
        Some(_) | None => return,
    };
    for value in STATEMENT_KEYS.iter().filter_map(|key| node.get(key)) {
        match &value.yaml {
            Yaml::Text { text, .. } => {
                faults.extend(findings_of(value, text, dialect, source, budget))
            }
            Yaml::List(items) => {
                for item in items {
                    if let Some(text) = item.text() {
                        faults.extend(findings_of(item, text, dialect, source, budget));
                    }
                }
            }
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Map(_) => {}
        }
    }
}

fn findings_of(
    node: &YamlNode,
    text: &str,
    dialect: &dyn Dialect,
    source: &SourceText,
    budget: &mut SqlBudget,
) -> Vec<Finding> {
    if text.len() > SQL_BYTES_MAX {
        let message = format!("SQL of more than {SQL_BYTES_MAX} bytes is not checked");
        return vec![Finding::warning(DiagnosticCode::Unchecked, &node.span, message)];
    }
    let Some(found) = sql_faults(text, dialect, budget) else {
        let message = format!(
            "this SQL is not checked: all SQL of a document may take {SQL_WORK_MAX} bytes of parsing"
        );
        return vec![Finding::warning(DiagnosticCode::Unchecked, &node.span, message)];
    };
    let finding = |SqlFault { at, message, help }| {
        let span = node.locate(at, source);
        Finding::warning(DiagnosticCode::BadSql, &span, message).help(help)
    };
    found.into_iter().map(finding).collect()
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

/// Returns the faults of a text with statements, none if it depends on statements of a template; `None`
/// if the budget does not suffice.
fn sql_faults(text: &str, dialect: &dyn Dialect, budget: &mut SqlBudget) -> Option<Vec<SqlFault>> {
    let Some(parts) = TemplateParts::of(text).filter(|parts| !parts.has_statements) else {
        return Some(Vec::new());
    };
    let text = &parts.without_comments(text);
    let templates = parts.outputs;
    if !budget.take(text.len()) {
        return None;
    }
    let plain = with_stand_ins(&without_format_parameters(text), &templates, &[]);
    let places = TextPlaces::of(&plain);
    let tokens = match Tokenizer::new(dialect, &plain).tokenize_with_location() {
        Ok(tokens) => tokens,
        Err(error) => {
            let at = places.offset(error.location);
            return Some(vec![SqlFault::new(word_at(&plain, at), &error.message)]);
        }
    };
    let text = SqlText { plain: &plain, places: &places, templates: &templates, dialect };
    let mut faults = Vec::new();
    for tokens in tokens.split(|it| it.token == Token::SemiColon) {
        match text.statement_fault(tokens, budget) {
            Checked::Fine => {}
            Checked::Fault(fault) => faults.push(fault),
            Checked::NotLeft => return None,
        }
    }
    Some(faults)
}

/// The result of checking one statement.
enum Checked {
    Fine,
    Fault(SqlFault),
    /// The budget does not suffice.
    NotLeft,
}

/// A text with statements, in which every template is replaced.
struct SqlText<'t> {
    plain: &'t str,
    places: &'t TextPlaces,
    templates: &'t [Range<usize>],
    dialect: &'t dyn Dialect,
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

impl SqlText<'_> {
    fn statement_fault(&self, tokens: &[TokenWithSpan], budget: &mut SqlBudget) -> Checked {
        let mut words = tokens.iter().filter(|it| !matches!(it.token, Token::Whitespace(_)));
        let Some(first) = words.next() else { return Checked::Fine };
        let Token::Word(word) = &first.token else { return Checked::Fine };
        let start = self.places.offset(first.span.start);
        let is_template = self.templates.iter().any(|it| it.contains(&start));
        let keyword = word.value.to_uppercase();
        if is_template || OTHERS.contains(&keyword.as_str()) {
            return Checked::Fine;
        }
        if !PARSED.contains(&keyword.as_str()) {
            let near = nearest(&keyword, PARSED.iter().chain(OTHERS).copied());
            let Some(near) = near else { return Checked::Fine };
            let at = start..start + word.value.len();
            let fault = SqlFault::new(at, &format!("`{}` begins no statement", word.value));
            return Checked::Fault(SqlFault { help: format!("did you mean `{near}`?"), ..fault });
        }
        match parse(tokens.to_vec(), self.dialect) {
            Ok(()) => Checked::Fine,
            Err(error) => self.parse_fault(&error, tokens, budget),
        }
    }

    /// Returns the fault of a statement that the parser cannot read as it is.
    fn parse_fault(
        &self,
        error: &ParserError,
        tokens: &[TokenWithSpan],
        budget: &mut SqlBudget,
    ) -> Checked {
        let start_of = |token: &TokenWithSpan| self.places.offset(token.span.start);
        let last = tokens.iter().rfind(|it| !matches!(it.token, Token::Whitespace(_)));
        let (Some(first), Some(last), Some(end)) = (tokens.first(), last, tokens.last()) else {
            return Checked::Fine;
        };
        let range = start_of(first)..self.places.offset(end.span.end);
        let end = word_at(self.plain, start_of(last));
        let Some((at, why)) = place_of(error, self.plain, self.places, &end) else {
            return Checked::Fine;
        };
        let open = self.open_templates(tokens, &range);
        let is_before = open.first().is_none_or(|first| at.end <= self.templates[*first].start);
        if is_before {
            return Checked::Fault(SqlFault::new(at, &why));
        }
        match self.can_be_read(&range, &open, budget) {
            Some(true) => Checked::Fine,
            Some(false) => Checked::Fault(SqlFault::new(at, &why)),
            None => Checked::NotLeft,
        }
    }

    /// Returns the templates of a statement that are not inside of texts and comments.
    fn open_templates(&self, tokens: &[TokenWithSpan], statement: &Range<usize>) -> Vec<usize> {
        let is_text = |token: &Token| match token {
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
        // The texts are in the order of the statement, so the one around a place is the last before it.
        let texts: Vec<Range<usize>> = tokens
            .iter()
            .filter(|it| is_text(&it.token))
            .map(|it| self.places.offset(it.span.start)..self.places.offset(it.span.end))
            .collect();
        let is_closed = |template: &Range<usize>| {
            let before = texts.partition_point(|text| text.start < template.start);
            let text = before.checked_sub(1).and_then(|at| texts.get(at));
            text.is_some_and(|text| template.end <= text.end)
        };
        let inside = self.templates.iter().enumerate().filter(|(_, template)| {
            statement.start <= template.start
                && template.end <= statement.end
                && !is_closed(template)
        });
        inside.map(|(index, _)| index).collect()
    }

    /// True if a statement can be read for some choice of what its open templates stand for, or if there
    /// are too many of them to try; `None` if the budget does not suffice.
    fn can_be_read(
        &self,
        statement: &Range<usize>,
        open: &[usize],
        budget: &mut SqlBudget,
    ) -> Option<bool> {
        if open.len() > VARIED_TEMPLATES_MAX {
            return Some(true);
        }
        let text = &self.plain[statement.clone()];
        let places: Vec<Range<usize>> = open
            .iter()
            .map(|index| &self.templates[*index])
            .map(|template| template.start - statement.start..template.end - statement.start)
            .collect();
        let choices = STAND_INS.len() + 1;
        for number in 1..choices.pow(u32::try_from(open.len()).unwrap_or(u32::MAX)) {
            if !budget.take(text.len()) {
                return None;
            }
            let chosen = (0..open.len()).scan(number, |rest, index| {
                let choice = *rest % choices;
                *rest /= choices;
                Some((index, choice))
            });
            let others: Vec<(usize, &str)> = chosen
                .filter_map(|(index, choice)| {
                    Some((index, *STAND_INS.get(choice.checked_sub(1)?)?))
                })
                .filter(|(index, stand_in)| stand_in.len() <= places[*index].len())
                .collect();
            let varied = with_stand_ins(text, &places, &others);
            let tokens = Tokenizer::new(self.dialect, &varied).tokenize_with_location();
            if tokens.is_ok_and(|tokens| parse(tokens, self.dialect).is_ok()) {
                return Some(true);
            }
        }
        Some(false)
    }
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
    places: &TextPlaces,
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
    let at = word_at(plain, places.offset(location));
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

/// The byte offsets of the characters of a text, by line and column.
struct TextPlaces {
    /// The offset of each character, then the length of the text.
    characters: Vec<usize>,
    /// The index in `characters` of the first character of each line.
    lines: Vec<usize>,
    /// The length of the text without the white space at its end.
    trimmed: usize,
}

impl TextPlaces {
    fn of(text: &str) -> Self {
        let mut lines = vec![0];
        let breaks = text.chars().enumerate().filter(|(_, it)| *it == '\n');
        lines.extend(breaks.map(|(index, _)| index + 1));
        let characters = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        Self { characters, lines, trimmed: text.trim_end().len() }
    }

    /// Returns the offset of a line and a column, both counted from 1, the column in characters. The end
    /// of the text has no location of its own.
    fn offset(&self, location: Location) -> usize {
        let Some(line) = location.line.checked_sub(1) else { return self.trimmed };
        let line = usize::try_from(line).ok().and_then(|line| self.lines.get(line));
        let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let place = line.and_then(|line| self.characters.get(line.saturating_add(column)));
        place.or(self.characters.last()).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = sql_faults(text, &PostgreSqlDialect {}, &mut SqlBudget::default())
            .unwrap()
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

    /// A long statement with an error and many templates in texts takes no more than its length.
    #[test]
    fn long_statements_are_checked_within_a_budget() {
        let columns = "'{{ a }}', ".repeat(4_000);
        let text = format!("SELECT {columns} 1 FORM b c d");
        assert!(text.len() < SQL_BYTES_MAX);
        let mut budget = SqlBudget::default();
        let faults = sql_faults(&text, &PostgreSqlDialect {}, &mut budget).unwrap();
        assert_eq!(faults.len(), 1);
        assert_eq!(budget.bytes, SQL_WORK_MAX - text.len());
        let varied =
            format!("SELECT {} {{{{ a }}}} {{{{ b }}}} {{{{ c }}}} FORM b c", "1, ".repeat(20_000));
        assert_eq!(sql_faults(&varied, &PostgreSqlDialect {}, &mut budget), None);
        assert_eq!(sql_faults("SELECT 1", &PostgreSqlDialect {}, &mut budget), None);
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
                for fault in sql_faults(&text, dialect, &mut SqlBudget::default()).unwrap() {
                    found += &format!("{}: {fault:?}\n", file.display());
                }
                count += 1;
            }
        }
        assert!(count > 300, "{count} statements");
        assert_eq!(found, "");
    }
}
