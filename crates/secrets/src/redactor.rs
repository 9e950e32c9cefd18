//! Takes secrets out of what leaves a worker, by their value and never by the name of a field:
//! `author` is not a secret, and a token is one wherever it turns up.

use std::borrow::Cow;
use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";
/// How many bytes a secret has at least to be looked for: a shorter one is part of ordinary text.
pub const SECRET_MIN: usize = 6;
/// How long a line of a secret of many lines is at least to be looked for by itself.
const LINE_MIN: usize = 20;

/// The fields of a credential that say where and who, not how to get in.
const PLAIN_FIELDS: &[&str] = &[
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

/// The fields of a credential that stand before its secret where both are sent together.
const USERS: &[&str] = &["username", "user", "client_id"];

/// What URLs write as it is: the unreserved characters.
const IN_URLS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What forms write as it is, in which a space is a plus.
const IN_FORMS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// Knows some secrets, and replaces them.
#[derive(Default)]
pub struct Redactor {
    secrets: Option<AhoCorasick>,
}

impl Redactor {
    /// Looks for everything that is secret about some credentials, also as it is written in URLs
    /// and in headers.
    pub fn of_credentials<'a>(
        credentials: impl IntoIterator<Item = &'a Map<String, Value>>,
    ) -> Self {
        let mut secrets = BTreeSet::new();
        for fields in credentials {
            let mut found = Vec::new();
            fields.iter().for_each(|(name, value)| leaves(name, value, &mut found));
            let users = USERS.iter().filter_map(|name| fields.get(*name)?.as_str());
            let pairs: Vec<String> = users
                .flat_map(|user| found.iter().flat_map(move |secret| pairs(user, secret)))
                .collect();
            secrets.extend(pairs.iter().flat_map(|pair| in_base64(pair)));
            secrets.extend(found.iter().flat_map(|secret| forms(secret)));
        }
        Self::of(secrets)
    }

    fn of(mut secrets: BTreeSet<String>) -> Self {
        secrets.retain(|secret| secret.len() >= SECRET_MIN);
        if secrets.is_empty() {
            return Self::default();
        }
        let searcher =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&secrets);
        Self { secrets: Some(searcher.expect("credentials are bounded")) }
    }

    /// Whether there is nothing to look for.
    pub fn is_idle(&self) -> bool {
        self.secrets.is_none()
    }

    /// A text without the secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(secrets) = &self.secrets else { return Cow::Borrowed(text) };
        if !secrets.is_match(text) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(secrets.replace_all(text, &vec![REDACTED; secrets.patterns_len()]))
    }

    /// Takes the secrets out of a value, names of fields included.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Cow::Owned(redacted) = self.text(&number.to_string()) {
                    *value = Value::String(redacted);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => {
                if fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
                    let renamed = std::mem::take(fields).into_iter();
                    *fields = renamed
                        .map(|(name, value)| (self.text(&name).into_owned(), value))
                        .collect();
                }
                fields.values_mut().for_each(|field| self.json(field));
            }
        }
    }
}

/// Everything secret below a field.
fn leaves(name: &str, value: &Value, found: &mut Vec<String>) {
    if PLAIN_FIELDS.contains(&name.to_ascii_lowercase().as_str()) {
        return;
    }
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => found.push(number.to_string()),
        Value::String(text) => found.push(text.trim().to_owned()),
        Value::Array(items) => items.iter().for_each(|item| leaves(name, item, found)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(name, value, found));
        }
    }
}

/// A secret as it may be written.
fn forms(secret: &str) -> Vec<String> {
    if secret.len() < SECRET_MIN {
        return Vec::new();
    }
    let mut forms = vec![
        secret.to_owned(),
        utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
        utf8_percent_encode(secret, IN_URLS).to_string(),
        in_a_form(secret),
        in_json(secret),
    ];
    forms.extend(in_base64(secret));
    let lines = secret.lines().filter(|line| line.len() >= LINE_MIN && !line.starts_with("-----"));
    forms.extend(lines.map(str::to_owned));
    forms
}

/// What is sent of a user and a secret together, as it is or with both encoded for a form.
fn pairs(user: &str, secret: &str) -> [String; 2] {
    [format!("{user}:{secret}"), format!("{}:{}", in_a_form(user), in_a_form(secret))]
}

fn in_a_form(text: &str) -> String {
    utf8_percent_encode(text, IN_FORMS).to_string().replace("%20", "+")
}

/// As it stands between the quotes of a JSON text.
fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn in_base64(text: &str) -> [String; 4] {
    [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].map(|engine| engine.encode(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor(credential: Value) -> Redactor {
        Redactor::of_credentials([credential.as_object().unwrap()])
    }

    #[track_caller]
    fn check(credential: Value, mut value: Value, expected: Value) {
        redactor(credential).json(&mut value);
        assert_eq!(value, expected);
    }

    fn postgres() -> Value {
        json!({
            "type": "postgres", "db_host": "db.internal", "db_user": "reporting",
            "db_password": "s3cr3t pass", "port": 5432,
        })
    }

    #[test]
    fn a_secret_is_replaced_wherever_it_turns_up() {
        check(
            postgres(),
            json!({ "dsn": "postgres://reporting:s3cr3t pass@db.internal", "a": [["s3cr3t pass"]] }),
            json!({ "dsn": "postgres://reporting:[REDACTED]@db.internal", "a": [["[REDACTED]"]] }),
        );
    }

    #[test]
    fn ordinary_data_is_left_alone_whatever_its_field_is_called() {
        let value = json!({
            "author": "Ada", "tokens_used": 17, "password": "not ours", "host": "db.internal",
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        });
        check(postgres(), value.clone(), value);
    }

    #[test]
    fn a_secret_is_known_in_urls_and_in_headers() {
        let redactor = redactor(json!({ "username": "ada", "password": "s3cr3t/pass" }));
        let basic = STANDARD.encode("ada:s3cr3t/pass");
        let encoded = STANDARD.encode("s3cr3t/pass");
        let text = format!("Basic {basic} {encoded} ?p=s3cr3t%2Fpass");
        assert_eq!(redactor.text(&text), "Basic [REDACTED] [REDACTED] ?p=[REDACTED]");
    }

    #[test]
    fn a_secret_is_known_as_tools_write_it() {
        let redactor = redactor(json!({ "client_id": "me", "client_secret": "s-3 \"c\"/r\n" }));
        for written in [
            r#"s-3 "c"/r"#,
            r#"s-3 \"c\"/r"#,
            "s-3%20%22c%22%2Fr",
            "s-3+%22c%22%2Fr",
            &STANDARD.encode("me:s-3+%22c%22%2Fr"),
            &URL_SAFE.encode(r#"s-3 "c"/r"#),
        ] {
            assert_eq!(redactor.text(written), REDACTED, "{written}");
        }
    }

    #[test]
    fn a_short_secret_is_part_of_ordinary_text() {
        let value = json!("a pin is 12345");
        check(json!({ "pin": "12345" }), value.clone(), value);
        check(json!({ "pin": 123_456 }), json!([123_456, 12_345]), json!(["[REDACTED]", 12_345]));
    }

    #[test]
    fn the_longest_of_several_secrets_is_replaced() {
        let both = json!({ "token": "abcdef", "refresh_token": "abcdefghi" });
        check(both, json!("abcdefghi abcdefg"), json!("[REDACTED] [REDACTED]g"));
    }

    #[test]
    fn a_secret_of_many_lines_is_known_by_each_of_them() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        let redactor = redactor(json!({ "private_key": pem }));
        assert_eq!(redactor.text(&format!("> {body}")), "> [REDACTED]");
        assert_eq!(redactor.text(&pem), "[REDACTED]\n");
    }

    #[test]
    fn a_secret_in_the_name_of_a_field_is_replaced_too() {
        check(postgres(), json!({ "s3cr3t pass": 1 }), json!({ "[REDACTED]": 1 }));
    }

    #[test]
    fn without_secrets_nothing_is_looked_for() {
        assert!(redactor(json!({ "type": "bearer", "token": "" })).is_idle());
        assert!(matches!(Redactor::default().text("x"), Cow::Borrowed("x")));
    }
}
