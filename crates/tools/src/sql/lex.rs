//! A tokenizer for SQL, as far as needed to find the ends of statements and the placeholders.
//!
//! Every byte of the text belongs to exactly one token, so the concatenated tokens are the text.

/// The SQL dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Sqlite,
    Duckdb,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlTokenKind {
    /// White space or a comment.
    Blank,
    /// A keyword or an unquoted name.
    Word,
    /// A quoted string or name.
    Quoted,
    Semicolon,
    /// `:name`, or Python's `%(name)s`.
    Named,
    /// `$1` or `?1`.
    Numbered,
    /// `?`
    Mark,
    /// Python's `%s`.
    PythonMark,
    /// Anything else.
    Symbol,
}

/// A token of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SqlToken<'a> {
    pub(crate) kind: SqlTokenKind,
    pub(crate) text: &'a str,
    /// The byte offset of the token.
    pub(crate) at: usize,
}

impl<'a> SqlToken<'a> {
    /// The name in a [`SqlTokenKind::Named`].
    pub(crate) fn name(&self) -> &'a str {
        self.text
            .strip_prefix("%(")
            .and_then(|rest| rest.strip_suffix(")s"))
            .unwrap_or_else(|| self.text.trim_start_matches(':'))
    }

    /// The number in a [`SqlTokenKind::Numbered`]; `None` if it is too large.
    pub(crate) fn number(&self) -> Option<usize> {
        self.text[1..].parse().ok()
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == SqlTokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }
}

/// Returns the tokens of a text, in order.
pub(crate) fn tokens(dialect: Dialect, text: &str) -> SqlTokens<'_> {
    SqlTokens { dialect, text, at: 0 }
}

pub(crate) struct SqlTokens<'a> {
    dialect: Dialect,
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for SqlTokens<'a> {
    type Item = SqlToken<'a>;

    fn next(&mut self) -> Option<SqlToken<'a>> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        let (kind, length) = self.measure(rest, first);
        let token = SqlToken { kind, text: &rest[..length], at: self.at };
        self.at += length;
        Some(token)
    }
}

impl SqlTokens<'_> {
    fn measure(&self, rest: &str, first: char) -> (SqlTokenKind, usize) {
        let nests = self.dialect != Dialect::Sqlite;
        match first {
            c if c.is_whitespace() => (SqlTokenKind::Blank, span(rest, char::is_whitespace)),
            '-' if rest.starts_with("--") => (SqlTokenKind::Blank, span(rest, |c| c != '\n')),
            '/' if rest.starts_with("/*") => (SqlTokenKind::Blank, comment(rest, nests)),
            '\'' => (SqlTokenKind::Quoted, quoted(rest, '\'')),
            '"' => (SqlTokenKind::Quoted, quoted(rest, '"')),
            '`' if self.dialect == Dialect::Sqlite => (SqlTokenKind::Quoted, quoted(rest, '`')),
            '[' if self.dialect == Dialect::Sqlite => {
                (SqlTokenKind::Quoted, rest.find(']').map_or(rest.len(), |end| end + 1))
            }
            ';' => (SqlTokenKind::Semicolon, 1),
            '$' => self.dollar(rest),
            '?' => match span(&rest[1..], |c| c.is_ascii_digit()) {
                0 => (SqlTokenKind::Mark, 1),
                digits => (SqlTokenKind::Numbered, 1 + digits),
            },
            ':' if rest.starts_with("::") => (SqlTokenKind::Symbol, 2),
            ':' if starts_name(&rest[1..]) => (SqlTokenKind::Named, 1 + span(&rest[1..], is_name)),
            '%' if is_python_mark(rest) => (SqlTokenKind::PythonMark, 2),
            '%' => python_placeholder(rest)
                .map_or((SqlTokenKind::Symbol, 1), |end| (SqlTokenKind::Named, end)),
            c if c.is_ascii_digit() => {
                (SqlTokenKind::Symbol, span(rest, |c| is_name(c) || c == '.'))
            }
            c if is_name(c) => self.word(rest),
            c => (SqlTokenKind::Symbol, c.len_utf8()),
        }
    }

    /// Reads a word; `E'…'` is a string with backslash escapes.
    fn word(&self, rest: &str) -> (SqlTokenKind, usize) {
        let escapes = self.dialect != Dialect::Sqlite;
        if escapes && (rest.starts_with("E'") || rest.starts_with("e'")) {
            return (SqlTokenKind::Quoted, 1 + quoted_with_escapes(&rest[1..]));
        }
        (SqlTokenKind::Word, span(rest, |c| is_name(c) || c == '$'))
    }

    /// Reads `$1`, or a string between `$tag$` and `$tag$`.
    fn dollar(&self, rest: &str) -> (SqlTokenKind, usize) {
        let digits = span(&rest[1..], |c| c.is_ascii_digit());
        if digits > 0 {
            return (SqlTokenKind::Numbered, 1 + digits);
        }
        let tag = 1 + span(&rest[1..], is_name);
        if self.dialect == Dialect::Sqlite || !rest[tag..].starts_with('$') {
            return (SqlTokenKind::Symbol, tag);
        }
        let fence = &rest[..=tag];
        let end = rest[fence.len()..].find(fence);
        (SqlTokenKind::Quoted, end.map_or(rest.len(), |end| end + 2 * fence.len()))
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn starts_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the length in bytes of the longest prefix whose characters all match.
fn span(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// Returns the length in bytes of a quoted string, in which quotes are doubled; the whole text if
/// the closing quote is missing.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(quote) {
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

fn quoted_with_escapes(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_none() => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn comment(text: &str, nests: bool) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        let pair = text.get(at..at + 2).unwrap_or_default();
        match pair {
            "/*" if nests || depth == 0 => depth += 1,
            "*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// True if the text begins with `%s`, and not with a modulo by a name that begins with `s`.
fn is_python_mark(text: &str) -> bool {
    text.strip_prefix("%s").is_some_and(|rest| !rest.starts_with(is_name))
}

/// Returns the length in bytes of `%(name)s`.
fn python_placeholder(text: &str) -> Option<usize> {
    let name = text.strip_prefix("%(").filter(|name| starts_name(name))?;
    let length = span(name, is_name);
    name[length..].starts_with(")s").then_some(2 + length + 2)
}
