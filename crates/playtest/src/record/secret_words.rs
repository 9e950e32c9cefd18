//! Keys whose values are secrets, and texts that are secrets wherever they stand.

use std::borrow::Cow;
use std::sync::LazyLock;

use noetl_playbook::secret_spans;
use regex::{Captures, Regex};

use super::mask::MASKED;

/// Parts of keys, in lower case without separators, whose values are secrets.
const SECRET_PARTS: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "bearer",
    "credential",
    "cookie",
    "sessionid",
    "signature",
    "connectionstring",
    "clientkey",
];
/// Whole words of keys, in lower case, whose values are secrets.
const SECRET_KEY_WORDS: [&str; 8] = ["auth", "dsn", "jwt", "otp", "pin", "pwd", "sas", "sig"];

/// The shortest text that looks generated.
const GENERATED_CHARS_MIN: usize = 8;

/// True if the value of a key is probably a secret.
pub(super) fn is_secret(key: &str) -> bool {
    let letters = key.chars().filter(char::is_ascii_alphanumeric);
    let word: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    let mut words = key.split(|c: char| !c.is_ascii_alphanumeric());
    SECRET_PARTS.iter().any(|part| word.contains(part))
        || words.any(|word| SECRET_KEY_WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

/// True if a text is longer than most words and has digits.
pub(super) fn looks_generated(text: &str) -> bool {
    text.chars().count() >= GENERATED_CHARS_MIN && text.contains(|c: char| c.is_ascii_digit())
}

/// A header with secrets, up to the end of its line or of the quoted text.
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)\b((?:proxy-|x-)?authorization|(?:set-)?cookie)(\\*["']?\s*[=:]\s*\\*)("[^"\\]+|'[^'\\]+|[^\r\n"']+)"#,
    )
});
/// The token of an HTTP authentication without the name of its header.
static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{6,})"));
/// A name and a value in a text: `password=…`, `"api_key": "…"`, `?sig=…`.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)([a-z0-9_.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|signature)[a-z0-9_-]*|\b(?:pwd|sig|otp|pin|jwt))(\\*["']?\s*[=:]\s*\\*)("[^"\\]+|'[^'\\]+|[^\s"'\\&,;(){}\[\]]+)"#,
    )
});
/// The user and the password in a URL.
static USER_INFO: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b([a-z][a-z0-9+.-]*)(://)([^/\s@?#]+)@"));
/// A private key with its lines.
static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)")
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// Returns the parts of a text that have the form of a secret.
pub(super) fn secrets_within(text: &str) -> Vec<String> {
    let values = [&*HEADER, &*SCHEME, &*ASSIGNMENT].into_iter();
    let values = values.flat_map(|form| form.captures_iter(text).map(|found| found[3].to_owned()));
    let passwords = USER_INFO.captures_iter(text).filter_map(|found| {
        let (_, password) = found[3].split_once(':')?;
        Some(password.to_owned())
    });
    let known = secret_spans(text).into_iter().map(|span| text[span].to_owned());
    let all = values.chain(passwords).chain(known);
    all.map(|secret| secret.trim_matches(['"', '\'']).to_owned()).collect()
}

/// Masks the parts of a text that are secrets by their form.
pub(super) fn mask_text(text: &str) -> Cow<'_, str> {
    let masked = PRIVATE_KEY.replace_all(text, MASKED);
    // Before the other forms, which mask the scheme of the URL too.
    let masked = then(masked, |it| USER_INFO.replace_all(it, format!("${{1}}${{2}}{MASKED}@")));
    let masked = masked_spans(masked);
    let masked = then(masked, |it| HEADER.replace_all(it, value_masked));
    let masked = then(masked, |it| {
        SCHEME.replace_all(it, |found: &Captures<'_>| {
            // `Basic authentication` is no token.
            let is_word = found[3].bytes().all(|byte| byte.is_ascii_lowercase());
            match is_word && found[1].eq_ignore_ascii_case("basic") {
                true => found[0].to_owned(),
                false => format!("{}{}{MASKED}", &found[1], &found[2]),
            }
        })
    });
    then(masked, |it| ASSIGNMENT.replace_all(it, value_masked))
}

/// Returns an assignment with its value masked; a quotation mark before the value stays.
fn value_masked(found: &Captures<'_>) -> String {
    let value = &found[3];
    let quote = if value.starts_with(['"', '\'']) { &value[..1] } else { "" };
    format!("{}{}{quote}{MASKED}", &found[1], &found[2])
}

fn masked_spans(text: Cow<'_, str>) -> Cow<'_, str> {
    let spans = secret_spans(&text);
    if spans.is_empty() {
        return text;
    }
    let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
    for span in spans {
        if at <= span.start {
            masked += &text[at..span.start];
            masked += MASKED;
        }
        at = at.max(span.end);
    }
    Cow::Owned(masked + &text[at..])
}

/// Applies a replacement to a text that may be borrowed.
fn then<'t>(text: Cow<'t, str>, replace: impl Fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    match replace(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(replaced) => Cow::Owned(replaced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(mask_text(text), expected);
        // Masking again changes nothing.
        assert_eq!(mask_text(expected), expected);
    }

    #[test]
    fn secrets_within_texts_are_masked_by_their_form() {
        check("GET https://x.y/?sig=a1%2Fb&n=1 failed", "GET https://x.y/?sig=masked&n=1 failed");
        check(
            "cannot reach postgres://app:hunter2@db:5432/x",
            "cannot reach postgres://masked@db:5432/x",
        );
        check(
            "sent Authorization: Bearer abc.def-1\nHost: x",
            "sent Authorization: masked\nHost: x",
        );
        check("rejected bearer abcdefgh12", "rejected bearer masked");
        check("Basic dXNlcjpwdw== is wrong", "Basic masked is wrong");
        check("basic authentication failed", "basic authentication failed");
        check(r#"body {"password": "hunter2", "n": 1}"#, r#"body {"password": "masked", "n": 1}"#);
        check(r#"{\"api_key\":\"k-1\"}"#, r#"{\"api_key\":\"masked\"}"#);
        check("password=hunter2, user=ada", "password=masked, user=ada");
        check("set-cookie: sid=1; auth=2", "set-cookie: masked");
        check("key AKIAIOSFODNN7ABCDEFG is inactive", "key masked is inactive");
        check("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nend", "masked\nend");
        check("the author is ada: 5 tokens", "the author is ada: 5 tokens");
    }

    #[test]
    fn keys_of_secrets_are_recognised() {
        for key in ["X-Api-Key", "access_token", "Set-Cookie", "auth", "x-auth", "clientSecret"] {
            assert!(is_secret(key), "{key}");
        }
        for key in ["author", "name", "shipping", "design", "signal"] {
            assert!(!is_secret(key), "{key}");
        }
    }
}
