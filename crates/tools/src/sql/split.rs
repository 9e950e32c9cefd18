//! Splits a script into statements at semicolons, except inside quotes, comments, parentheses and
//! the bodies of triggers and functions.

use super::lex::{Dialect, SqlToken, SqlTokenKind, tokens};

/// One statement of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SqlStatement<'a> {
    /// The text, without preceding comments and the closing semicolon.
    pub(crate) sql: &'a str,
    /// The line on which the statement begins, from 1.
    pub(crate) line: usize,
}

impl SqlStatement<'_> {
    /// Returns true if a transaction is open after this statement; `open` is true if one was open
    /// before it.
    fn transaction(&self, dialect: Dialect, open: bool) -> bool {
        let mut words = tokens(dialect, self.sql).filter(|token| token.kind != SqlTokenKind::Blank);
        let Some(first) = words.next() else { return open };
        let mut has = |word: &str| words.any(|token| token.is_word(word));
        match first.text.to_ascii_uppercase().as_str() {
            "BEGIN" | "START" => true,
            "COMMIT" | "END" | "ROLLBACK" | "ABORT" => open && has("TO"),
            "PREPARE" => open && !has("TRANSACTION"),
            _ => open,
        }
    }
}

/// Returns the statements of a script, without empty ones.
pub(crate) fn statements(dialect: Dialect, script: &str) -> Vec<SqlStatement<'_>> {
    let mut found = Vec::new();
    let mut nesting = Nesting::new(dialect);
    let mut start = None;
    let mut end = 0;
    for token in tokens(dialect, script) {
        match token.kind {
            SqlTokenKind::Blank => continue,
            SqlTokenKind::Semicolon if !nesting.is_inside() => {
                found.extend(start.take().map(|start| statement(script, start, end)));
                nesting = Nesting::new(dialect);
                continue;
            }
            _ => nesting.see(&token),
        }
        start.get_or_insert(token.at);
        end = token.at + token.text.len();
    }
    found.extend(start.map(|start| statement(script, start, end)));
    found
}

/// Returns the index of a statement that begins a transaction which no later statement ends.
pub(crate) fn left_open(dialect: Dialect, statements: &[SqlStatement<'_>]) -> Option<usize> {
    let mut begun = None;
    for (index, statement) in statements.iter().enumerate() {
        let open = statement.transaction(dialect, begun.is_some());
        begun = open.then(|| begun.unwrap_or(index));
    }
    begun
}

fn statement(script: &str, start: usize, end: usize) -> SqlStatement<'_> {
    let line = 1 + script[..start].matches('\n').count();
    SqlStatement { sql: &script[start..end], line }
}

/// The nesting at the current position in a statement.
struct Nesting {
    dialect: Dialect,
    words: usize,
    creates: bool,
    parentheses: usize,
    body: BodyState,
    previous_is_begin: bool,
}

/// The state of a statement body that contains statements itself.
enum BodyState {
    None,
    /// In a trigger, before the `BEGIN` of its body.
    Awaited,
    /// In a body: the number of `BEGIN` and `CASE` without their `END`.
    Open(usize),
}

impl Nesting {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            words: 0,
            creates: false,
            parentheses: 0,
            body: BodyState::None,
            previous_is_begin: false,
        }
    }

    fn is_inside(&self) -> bool {
        0 < self.parentheses || matches!(self.body, BodyState::Open(depth) if 0 < depth)
    }

    fn see(&mut self, token: &SqlToken<'_>) {
        match token.text {
            "(" => self.parentheses += 1,
            ")" => self.parentheses = self.parentheses.saturating_sub(1),
            _ if token.kind == SqlTokenKind::Word => self.see_word(token),
            _ => {}
        }
    }

    fn see_word(&mut self, token: &SqlToken<'_>) {
        self.words += 1;
        self.creates |= self.words == 1 && token.is_word("CREATE");
        if !self.creates {
            return;
        }
        let begins = token.is_word("BEGIN");
        let is_trigger = self.is_trigger(token);
        match &mut self.body {
            BodyState::Open(depth) if begins || token.is_word("CASE") => *depth += 1,
            BodyState::Open(depth) if token.is_word("END") => *depth = depth.saturating_sub(1),
            BodyState::Awaited if begins => self.body = BodyState::Open(1),
            BodyState::None if is_trigger => self.body = BodyState::Awaited,
            BodyState::None if self.previous_is_begin && token.is_word("ATOMIC") => {
                self.body = BodyState::Open(1);
            }
            BodyState::None | BodyState::Awaited | BodyState::Open(_) => {}
        }
        self.previous_is_begin = begins;
    }

    /// True for `CREATE [TEMP] TRIGGER`, where the body is part of the statement.
    fn is_trigger(&self, token: &SqlToken<'_>) -> bool {
        self.dialect == Dialect::Sqlite && self.words <= 3 && token.is_word("TRIGGER")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(dialect: Dialect, script: &str, expected: Expect) {
        let shown: Vec<String> = statements(dialect, script)
            .iter()
            .map(|statement| format!("{}: {}\n", statement.line, statement.sql.escape_debug()))
            .collect();
        expected.assert_eq(&shown.concat());
    }

    #[test]
    fn semicolons_part_statements_and_empty_ones_are_none() {
        check(
            Dialect::Postgres,
            " ;; SELECT 1;\nSELECT 2 ; ",
            expect![[r#"
            1: SELECT 1
            2: SELECT 2
        "#]],
        );
        check(Dialect::Postgres, "-- nothing\n/* here */ ;", expect![[""]]);
    }

    #[test]
    fn a_semicolon_in_quotes_parts_nothing() {
        check(
            Dialect::Postgres,
            r#"SELECT ';' || 'it''s;' || "a;""b" || E'\';'; SELECT 2"#,
            expect![[r#"
            1: SELECT \';\' || \'it\'\'s;\' || \"a;\"\"b\" || E\'\\\';\'
            1: SELECT 2
        "#]],
        );
        check(
            Dialect::Postgres,
            r"SELECT '\'; SELECT 2",
            expect![[r#"
            1: SELECT \'\\\'
            1: SELECT 2
        "#]],
        );
        check(
            Dialect::Sqlite,
            "SELECT `a;b`, [c;d]; SELECT 2",
            expect![[r#"
            1: SELECT `a;b`, [c;d]
            1: SELECT 2
        "#]],
        );
    }

    #[test]
    fn a_semicolon_in_dollar_quotes_parts_nothing() {
        check(
            Dialect::Postgres,
            "DO $$ BEGIN; $x$ END $$; SELECT $a$;$$;$a$, a$b$c; SELECT $1;",
            expect![[r#"
            1: DO $$ BEGIN; $x$ END $$
            1: SELECT $a$;$$;$a$, a$b$c
            1: SELECT $1
        "#]],
        );
    }

    #[test]
    fn a_semicolon_in_a_comment_parts_nothing() {
        check(
            Dialect::Postgres,
            "-- one;\nSELECT 1 -- two;\n, 2; /* a /* b; */ ; */ SELECT 3",
            expect![[r#"
            2: SELECT 1 -- two;\n, 2
            3: SELECT 3
        "#]],
        );
        check(
            Dialect::Sqlite,
            "SELECT 1 /* a /* b; */; SELECT 2",
            expect![[r#"
                1: SELECT 1
                1: SELECT 2
            "#]],
        );
    }

    #[test]
    fn the_body_of_a_trigger_a_rule_and_a_function_stays_whole() {
        let trigger = "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN UPDATE b SET c = CASE WHEN 1 THEN 2 END; DELETE FROM d; END; SELECT 1";
        check(
            Dialect::Sqlite,
            trigger,
            expect![[r#"
            1: CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN UPDATE b SET c = CASE WHEN 1 THEN 2 END; DELETE FROM d; END
            1: SELECT 1
        "#]],
        );
        let rule = "CREATE RULE r AS ON INSERT TO a DO (DELETE FROM b; DELETE FROM c); SELECT 1";
        check(
            Dialect::Postgres,
            rule,
            expect![[r#"
            1: CREATE RULE r AS ON INSERT TO a DO (DELETE FROM b; DELETE FROM c)
            1: SELECT 1
        "#]],
        );
        let function = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END; BEGIN; SELECT 3; COMMIT";
        check(
            Dialect::Postgres,
            function,
            expect![[r#"
            1: CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END
            1: BEGIN
            1: SELECT 3
            1: COMMIT
        "#]],
        );
    }

    #[test]
    fn an_unclosed_quote_or_bracket_reaches_to_the_end() {
        for script in
            ["SELECT 'a; b", "SELECT $$ a; b", "SELECT 1 /* a; b", "SELECT (1; 2", "SELECT E'\\"]
        {
            assert_eq!(statements(Dialect::Postgres, script).len(), 1, "{script}");
        }
    }

    #[test]
    fn a_transaction_that_nobody_ends_is_found() {
        let check = |script: &str, expected: Option<usize>| {
            let found = left_open(Dialect::Postgres, &statements(Dialect::Postgres, script));
            assert_eq!(found, expected, "{script}");
        };
        check("SELECT 1; BEGIN; SELECT 2", Some(1));
        check("BEGIN; SELECT 1; COMMIT", None);
        check("START TRANSACTION; SAVEPOINT a; ROLLBACK TO a; INSERT INTO b VALUES (1)", Some(0));
        check("BEGIN; PREPARE TRANSACTION 'x'", None);
        check("END; SELECT 1", None);
    }
}
