//! Tests that secrets are found in every encoding, in whole texts and in pieces.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
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

/// A secret with characters that the encodings treat differently.
const SECRET: &str = "p4ss/wörd+\"Ω\" ?=&%41~_-$!";

/// Returns encodings of a secret, by name. Redaction must not leave a part of any of them.
fn writings(secret: &str) -> Vec<(String, String)> {
    let percent = |lower: bool| {
        let bytes = secret.bytes().map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte if lower => format!("%{byte:02x}"),
            byte => format!("%{byte:02X}"),
        });
        bytes.collect::<String>()
    };
    let url = url::Url::parse_with_params("http://h/", [("p", secret)]).unwrap();
    let mut login = url::Url::parse("http://h/").unwrap();
    login.set_password(Some(secret)).unwrap();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let ascii = json!(secret).to_string();
    let ascii: String = ascii[1..ascii.len() - 1]
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) })
        .collect();
    let mut writings = vec![
        ("as it is".to_owned(), secret.to_owned()),
        ("upper percent".to_owned(), percent(false)),
        ("lower percent".to_owned(), percent(true)),
        ("query".to_owned(), url.query().unwrap()["p=".len()..].to_owned()),
        ("URL password".to_owned(), login.password().unwrap().to_owned()),
        ("JSON".to_owned(), json!(secret).to_string().trim_matches('"').to_owned()),
        ("JSON in ASCII, slashes escaped".to_owned(), ascii.replace('/', "\\/")),
        ("upper hex".to_owned(), hex.to_ascii_uppercase()),
        ("wrapped hex".to_owned(), wrapped(&hex, 10, "\n")),
        ("lower hex".to_owned(), hex),
    ];
    for before in 0..3 {
        for after in 0..3 {
            let bytes = [&b"x"[..].repeat(before), secret.as_bytes(), &b"y".repeat(after)].concat();
            for (name, engine) in [
                ("standard", STANDARD),
                ("bare", STANDARD_NO_PAD),
                ("URL-safe", URL_SAFE),
                ("bare URL-safe", URL_SAFE_NO_PAD),
            ] {
                let encoded = engine.encode(&bytes);
                let name = format!("{name} base64, {before} before, {after} after");
                writings.push((format!("{name}, in lines"), wrapped(&encoded, 7, "\r\n  ")));
                writings.push((format!("{name}, in JSON lines"), wrapped(&encoded, 7, "\\n")));
                writings.push((name, encoded));
            }
        }
    }
    writings
}

fn wrapped(text: &str, width: usize, end: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()).collect();
    lines.join(end)
}

/// Redacts a text in pieces of `size` bytes.
fn in_pieces(redactor: &Redactor, text: &str, size: usize) -> String {
    let (mut redaction, mut kept) = (redactor.begin(), Vec::new());
    text.as_bytes().chunks(size).for_each(|piece| redaction.push(piece, &mut kept));
    redaction.finish(&mut kept);
    into_text(kept)
}

#[test]
fn a_secret_is_known_in_every_writing_and_however_its_text_is_cut() {
    let redactor = redactor(json!({ "password": SECRET }));
    for (name, written) in writings(SECRET) {
        let text = format!("<{written}> and <{written}>");
        let kept = redactor.text(&text);
        // Base64 characters that depend only on the bytes beside the secret may remain.
        let beside_max = if name.contains("base64") { 6 } else { 0 };
        for shown in kept.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
            let beside = shown.replacen(REDACTED, "", 1);
            let beside = beside.chars().filter(|c| c.is_alphanumeric()).count();
            assert!(shown.contains(REDACTED) && beside <= beside_max, "{name}: {kept}");
        }
        for size in [1, 2, 3, 5, 8, 13, 1000] {
            assert_eq!(in_pieces(&redactor, &text, size), kept, "{name}, {size} at a time");
        }
    }
}

#[test]
fn the_password_of_a_url_is_a_secret_by_itself() {
    for field in ["dsn", "endpoint", "base_url", "host"] {
        let text = "postgres://ada:s3cr3t%2Fpass@db/x?sslmode=require";
        let redactor = redactor(json!({ field: text }));
        assert_eq!(redactor.text("no entry with s3cr3t/pass"), "no entry with [REDACTED]");
        assert_eq!(redactor.text("no entry with s3cr3t%2fpass"), "no entry with [REDACTED]");
        assert_eq!(redactor.text("ada db x require"), "ada db x require");
    }
    for text in ["host=db password='s3cr3t/pass' user=ada", "Server=db;Pwd=s3cr3t/pass;"] {
        let redactor = redactor(json!({ "dsn": text }));
        assert_eq!(redactor.text("> s3cr3t/pass <"), "> [REDACTED] <", "{text}");
    }
}

#[test]
fn secrets_that_overlap_are_replaced_as_one() {
    let both = json!({ "a": "abcdef", "b": "defghi" });
    check(both, json!("abcdefghi, abcdefabcdef"), json!("[REDACTED], [REDACTED][REDACTED]"));
}

#[test]
fn escapes_that_are_none_are_left_alone() {
    let redactor = redactor(json!({ "password": "abcdef" }));
    for text in [r"100% of C:\new\xabcde \u12 %4 %", r"\ud83d \ud83dabc %", "%%41bcde\\"] {
        assert_eq!(redactor.text(text), text);
        assert_eq!(in_pieces(&redactor, text, 1), text);
    }
    // The percent sign before it belongs to the text, not to the secret.
    assert_eq!(
        redactor.text(r"%4abcdef \uabcdef %61bcdef"),
        r"%4[REDACTED] \u[REDACTED] [REDACTED]"
    );
}

#[test]
fn output_that_cannot_be_part_of_a_secret_is_released_at_once() {
    let redactor = redactor(json!({ "password": "abcdef" }));
    let (mut redaction, mut kept) = (redactor.begin(), Vec::new());
    redaction.push(&b" .".repeat(100_000), &mut kept);
    assert!(kept.len() > 199_000, "{}", kept.len());
    kept.clear();
    // A long sequence of secrets is not held back either.
    redaction.push(&b"abcdef".repeat(100_000), &mut kept);
    assert!(redaction.pending.len() < 100 && redaction.found.len() < 100);
}
