//! Splits Rust source into code, comments and literals, as far as the checks need it.

/// A Rust file, line by line, with its comments separated from its code.
pub(super) struct RustScan {
    /// The code of each line, without comments. A literal is reduced to one quotation mark per
    /// line.
    pub(super) code: Vec<String>,
    /// The comments with their line numbers, counted from 1.
    pub(super) comments: Vec<(usize, String)>,
}

enum RustToken {
    Comment,
    Literal,
    Code,
}

impl RustScan {
    pub(super) fn of(source: &str) -> Self {
        let mut code = vec![String::new()];
        let mut comments = Vec::new();
        let mut rest = source;
        let mut after_word = false;
        while !rest.is_empty() {
            let (token, length) = first_token(rest, after_word);
            let (text, remaining) = rest.split_at(length);
            after_word = text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            for (index, line) in text.split('\n').enumerate() {
                if index > 0 {
                    code.push(String::new());
                }
                let number = code.len();
                let current = code.last_mut().expect("there is a first line");
                match token {
                    RustToken::Comment => comments.push((number, line.to_owned())),
                    RustToken::Literal => current.push('"'),
                    RustToken::Code => current.push_str(line),
                }
            }
            rest = remaining;
        }
        Self { code, comments }
    }

    /// Returns the number of lines before the `mod tests { … }` at the end.
    pub(super) fn lines_before_tests(&self) -> usize {
        let at = self.code.windows(2).position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        });
        at.unwrap_or(self.code.len())
    }
}

/// Returns the kind and the length of the first token of a non-empty text.
fn first_token(text: &str, after_word: bool) -> (RustToken, usize) {
    if text.starts_with("//") {
        return (RustToken::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (RustToken::Comment, block_comment_length(text));
    }
    if !after_word && let Some(length) = raw_string_length(text) {
        return (RustToken::Literal, length);
    }
    if text.starts_with('"') {
        return (RustToken::Literal, closed_by(text, '"'));
    }
    if let Some(length) = char_length(text) {
        return (RustToken::Literal, length);
    }
    (RustToken::Code, text.chars().next().map_or(0, char::len_utf8))
}

/// Returns the length of a block comment; block comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, _) in text.char_indices() {
        if text[at..].starts_with("/*") {
            depth += 1;
        } else if text[..at].ends_with("*/") && at >= "/**/".len() {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}

fn raw_string_length(text: &str) -> Option<usize> {
    let prefix = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = prefix.len() - prefix.trim_start_matches('#').len();
    let body = prefix[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - body.len();
    Some(body.find(&end).map_or(text.len(), |at| before + at + end.len()))
}

/// Returns the length of a literal that opens with one character and closes with `quote`.
fn closed_by(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Returns the length of a character literal; `None` for a lifetime.
fn char_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let mut chars = body.chars();
    let is_char = chars.next()? == '\\' || chars.next()? == '\'';
    is_char.then(|| closed_by(text, '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, code: &str, comments: &[&str]) {
        let scan = RustScan::of(source);
        let found: Vec<&str> = scan.comments.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!((scan.code.join("\n").as_str(), found.as_slice()), (code, comments));
    }

    #[test]
    fn comments_are_taken_out() {
        check("a // b\nc", "a \nc", &["// b"]);
        check("a /* b /* c */ d */ e", "a  e", &["/* b /* c */ d */"]);
        check("a /**/ b", "a  b", &["/**/"]);
        check("/* a\nb */ c", "\n c", &["/* a", "b */"]);
    }

    #[test]
    fn literals_hold_neither_comments_nor_code() {
        check(r#"f("// \" x", y)"#, "f(\", y)", &[]);
        check("r#\"a \" // b\"# c", "\" c", &[]);
        check("br\"a\\\" c", "\" c", &[]);
        check("('\"', '\\'', '{', 'x')", "(\", \", \", \")", &[]);
        check("r\"a\nb\" c", "\"\n\" c", &[]);
    }

    #[test]
    fn lifetimes_and_raw_names_are_code() {
        check("fn f<'a>(r#type: &'a str)", "fn f<'a>(r#type: &'a str)", &[]);
        check("for\"x\"", "for\"", &[]);
    }

    #[test]
    fn the_tests_at_the_end_are_recognised() {
        let scan = RustScan::of("fn f() {}\n\n#[cfg(test)]\nmod tests {\n}\n");
        assert_eq!(scan.lines_before_tests(), 2);
        assert_eq!(RustScan::of("a\n#[cfg(test)]\nmod tests;\nb").lines_before_tests(), 4);
    }
}
