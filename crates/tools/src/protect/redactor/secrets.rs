//! Extracts the secrets of credentials, and the patterns to find each of them in every reading.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};
use url::Url;

use super::SECRET_MIN;
use super::scan::{Edges, Tail};

/// The minimum length in bytes for a line of a multi-line secret to be searched for by itself.
const LINE_MIN: usize = 20;

/// The fields of a credential that are not secret, such as hosts and user names.
const PLAIN_FIELDS: &[&str] = &[
    noetl_model::HOSTS_FIELD,
    "account",
    "audience",
    "auth_uri",
    "base_url",
    "bucket",
    "client_auth",
    "client_email",
    "client_id",
    "database",
    "db_host",
    "db_name",
    "db_port",
    "db_user",
    "db_username",
    "dbname",
    "driver",
    "endpoint",
    "header",
    "host",
    "hostname",
    "kind",
    "name",
    "nats_user",
    "nats_username",
    "port",
    "project",
    "project_id",
    "region",
    "role",
    "schema",
    "scope",
    "scopes",
    "sf_account",
    "sf_database",
    "sf_public_key",
    "sf_role",
    "sf_schema",
    "sf_user",
    "sf_warehouse",
    "sslmode",
    "token_endpoint",
    "token_type",
    "token_uri",
    "token_url",
    "type",
    "user",
    "username",
    "warehouse",
];

/// The fields that are sent in front of the secret, as in `user:password`.
const USERS: &[&str] = &["username", "user", "client_id"];

/// The characters that HTML forms percent-encode; a space becomes a plus.
const IN_FORMS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// The names of passwords in connection strings: `host=db password=…`.
const PASSWORD_WORDS: &[&str] = &["password", "passwd", "pwd"];

/// A text to search for.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) edges: Edges,
}

impl Pattern {
    fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), edges: Edges::NONE }
    }
}

/// The texts to search for, by reading.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    pub(super) as_written: BTreeSet<Pattern>,
    pub(super) decoded: BTreeSet<Pattern>,
    pub(super) compact: BTreeSet<Pattern>,
}

impl Patterns {
    pub(super) fn of_credentials<'a>(
        credentials: impl IntoIterator<Item = &'a Map<String, Value>>,
    ) -> Self {
        let mut patterns = Self::default();
        for fields in credentials {
            let mut secrets = BTreeSet::new();
            fields.iter().for_each(|(name, value)| leaves(name, value, &mut secrets));
            secrets.retain(|secret| secret.len() >= SECRET_MIN);
            let users = USERS.iter().filter_map(|name| fields.get(*name)?.as_str());
            for (user, secret) in
                users.flat_map(|user| secrets.iter().map(move |secret| (user, secret)))
            {
                patterns.add_pair(user, secret);
            }
            secrets.iter().for_each(|secret| patterns.add(secret));
        }
        patterns
    }

    /// True if a pattern may be written as a JSON number.
    pub(super) fn has_number(&self) -> bool {
        let is_number = |text: &str| text.bytes().all(|byte| b"0123456789.eE+-".contains(&byte));
        self.as_written.iter().any(|pattern| is_number(&pattern.text))
    }

    fn add(&mut self, secret: &str) {
        let lines = secret
            .lines()
            .filter(|line| line.len() >= LINE_MIN && !line.starts_with("-----"))
            .map(str::trim);
        let texts: BTreeSet<&str> = lines.chain([secret]).collect();
        for text in texts {
            self.as_written.insert(Pattern::whole(text));
            self.as_written.insert(Pattern::whole(in_json(text)));
            // URLs keep a `%41` in the secret unchanged, and forms write a space as a plus.
            let decoded = percent_decode_str(text).decode_utf8_lossy();
            for text in [text, &decoded] {
                self.decoded.insert(Pattern::whole(text));
                self.decoded.insert(Pattern::whole(text.replace(' ', "+")));
            }
            let lower = text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
            self.compact.insert(Pattern::whole(lower.to_ascii_uppercase()));
            self.compact.insert(Pattern::whole(lower));
            self.compact.extend((0..3).map(|before| in_base64(text, before)));
        }
    }

    /// Adds the base64 of `user:secret`, as it is and with both parts form-encoded.
    fn add_pair(&mut self, user: &str, secret: &str) {
        let form = format!("{}:{}", in_a_form(user), in_a_form(secret));
        for pair in [format!("{user}:{secret}"), form] {
            let edges = Edges { shares_first: false, tail: Tail::Padding };
            self.compact.insert(Pattern { text: STANDARD_NO_PAD.encode(pair), edges });
        }
    }
}

/// Collects all secrets below a field, and the passwords of connection strings in any field.
fn leaves(name: &str, value: &Value, found: &mut BTreeSet<String>) {
    let is_plain = PLAIN_FIELDS.contains(&name.to_ascii_lowercase().as_str());
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            if !is_plain {
                found.insert(number.to_string());
            }
        }
        Value::String(text) => {
            found.extend(passwords_within(text));
            if !is_plain {
                found.insert(text.trim().to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(name, item, found)),
        Value::Object(fields) => {
            fields.iter().for_each(|(inner, value)| {
                leaves(if is_plain { name } else { inner }, value, found);
            });
        }
    }
}

/// Returns the password of a URL, both as written and decoded, or of a connection string.
fn passwords_within(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |password: &str| {
        let meant = percent_decode_str(password).decode_utf8_lossy().into_owned();
        found.extend([password.to_owned(), meant]);
    };
    if let Ok(url) = Url::parse(text.trim()) {
        url.password().into_iter().for_each(&mut add);
        let named = url.query_pairs().filter(|(name, _)| PASSWORD_WORDS.contains(&name.as_ref()));
        named.for_each(|(_, value)| add(&value));
        return found;
    }
    let words = text.split(|c: char| c.is_whitespace() || c == ';');
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        if PASSWORD_WORDS.contains(&name.to_ascii_lowercase().as_str()) {
            add(value.trim_matches(['\'', '"']));
        }
    }
    found
}

/// Returns the base64 characters that depend on the text alone, if `before` bytes precede it.
fn in_base64(text: &str, before: usize) -> Pattern {
    let bytes = [&[0; 2][..before], text.as_bytes()].concat();
    let encoded = STANDARD_NO_PAD.encode(&bytes);
    let bits = bytes.len() * 8;
    let first = (before * 8).div_ceil(6);
    let last = bits / 6;
    let tail = if bits % 6 == 0 { Tail::None } else { Tail::Shared };
    Pattern {
        text: encoded[first..last].to_owned(),
        edges: Edges { shares_first: before > 0, tail },
    }
}

fn in_a_form(text: &str) -> String {
    utf8_percent_encode(text, IN_FORMS).to_string().replace("%20", "+")
}

/// Escapes a text as inside the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
