//! Who sent a message: signatures and tokens, compared in constant time, before anything is parsed.

use std::time::Duration;

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit as _, Mac as _};
use noetl_model::Timestamp;
use noetl_playbook::{Signed, Verify};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// A sender that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    /// What is the same only if the same message is sent again, and for how long it can be.
    pub(crate) once: Option<(String, Duration)>,
}

/// Why a sender is not known. Senders are not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    Missing,
    Malformed,
    Stale,
    Wrong,
    /// Only a gateway can tell.
    Unsupported,
}

/// Checks who sent a message.
pub(crate) fn verify(
    rule: &Verify,
    secret: &[u8],
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<Proof, Unknown> {
    match rule {
        Verify::Hmac { header, secret: _, signed, tolerance } => {
            let given = text(headers, header)?;
            hmac(signed, secret, given, headers, body, now, *tolerance)
        }
        Verify::Bearer { header, secret: _ } => {
            let given = text(headers, header)?;
            let token = match given.split_once(' ') {
                Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
                Some(_) | None => given,
            };
            let is_right = bool::from(token.as_bytes().ct_eq(secret));
            if is_right { Ok(Proof { once: None }) } else { Err(Unknown::Wrong) }
        }
        Verify::PubsubOidc { .. } => Err(Unknown::Unsupported),
    }
}

fn hmac(
    signed: &Signed,
    secret: &[u8],
    given: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
    tolerance: Duration,
) -> Result<Proof, Unknown> {
    match signed {
        Signed::Body => {
            check(secret, &[body], &[given.strip_prefix("sha256=").unwrap_or(given)])?;
            Ok(Proof { once: None })
        }
        Signed::TimeAndBody { time_header } => {
            let time = text(headers, time_header)?;
            check_time(time, now, tolerance)?;
            let signature = given.strip_prefix("sha256=").unwrap_or(given);
            let parts: [&[u8]; 3] = [time.as_bytes(), b".", body];
            check(secret, &parts, &[signature])?;
            Ok(Proof { once: Some((signature.to_ascii_lowercase(), tolerance * 2)) })
        }
        Signed::Stripe => {
            let fields = || given.split(',').filter_map(|field| field.trim().split_once('='));
            let time = fields().find(|(name, _)| *name == "t").map(|(_, time)| time);
            let time = time.ok_or(Unknown::Malformed)?;
            let signatures: Vec<&str> =
                fields().filter(|(name, _)| *name == "v1").map(|(_, value)| value).collect();
            check_time(time, now, tolerance)?;
            let parts: [&[u8]; 3] = [time.as_bytes(), b".", body];
            let right = check(secret, &parts, &signatures)?;
            Ok(Proof { once: Some((right.to_ascii_lowercase(), tolerance * 2)) })
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h str, Unknown> {
    let value = headers.get(name).ok_or(Unknown::Missing)?;
    value.to_str().map(str::trim).map_err(|_| Unknown::Malformed)
}

/// Whether a time in seconds is close enough to now, to either side.
fn check_time(time: &str, now: Timestamp, tolerance: Duration) -> Result<(), Unknown> {
    let seconds: i64 = time.parse().map_err(|_| Unknown::Malformed)?;
    let apart = (now.as_millis() / 1000).abs_diff(seconds);
    if apart <= tolerance.as_secs() { Ok(()) } else { Err(Unknown::Stale) }
}

/// Which of some signatures is right; all are compared, in constant time.
fn check<'s>(secret: &[u8], parts: &[&[u8]], given: &[&'s str]) -> Result<&'s str, Unknown> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length is taken");
    for part in parts {
        mac.update(part);
    }
    let expected = mac.finalize().into_bytes();
    let right = given.iter().fold(None, |right, signature| {
        let same = unhex(signature)
            .is_some_and(|bytes| bool::from(bytes.as_slice().ct_eq(expected.as_slice())));
        if same { Some(*signature) } else { right }
    });
    right.ok_or(Unknown::Wrong)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    // A sign would be taken for a digit, and so give one signature two spellings.
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    /// The example that GitHub publishes for its signatures.
    const GITHUB_SECRET: &str = "It's a Secret to Everybody";
    const GITHUB_SIGNATURE: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const NOW: i64 = 1_800_000_000;

    fn hmac_rule(signed: Signed) -> Verify {
        let (header, secret) = ("x-sig".to_owned(), "alias".to_owned());
        Verify::Hmac { header, secret, signed, tolerance: Duration::from_secs(300) }
    }

    #[track_caller]
    fn check_sender(
        rule: &Verify,
        secret: &str,
        headers: &[(&'static str, String)],
        expected: Result<(), Unknown>,
    ) -> Option<Proof> {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                let value = HeaderValue::from_str(value).expect("a value");
                (HeaderName::from_static(name), value)
            })
            .collect();
        let now = Timestamp::from_millis(NOW * 1000);
        let known = verify(rule, secret.as_bytes(), &headers, b"Hello, World!", now);
        assert_eq!(known.as_ref().map(|_| ()).map_err(|unknown| *unknown), expected);
        known.ok()
    }

    fn signature(time: i64) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"s").expect("a key");
        mac.update(format!("{time}.Hello, World!").as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_body_signed_as_github_does_is_known() {
        let rule = hmac_rule(Signed::Body);
        let good = GITHUB_SIGNATURE.to_owned();
        check_sender(&rule, GITHUB_SECRET, &[("x-sig", good.clone())], Ok(()));
        check_sender(&rule, GITHUB_SECRET, &[("x-sig", good[7..].to_uppercase())], Ok(()));
        check_sender(&rule, "other", &[("x-sig", good)], Err(Unknown::Wrong));
    }

    #[test]
    fn a_signature_that_is_missing_cut_or_no_signature_is_refused() {
        let rule = hmac_rule(Signed::Body);
        check_sender(&rule, GITHUB_SECRET, &[], Err(Unknown::Missing));
        for bad in ["", "sha256=", "zz", "sha256=757107ea", "é"] {
            let headers = [("x-sig", bad.to_owned())];
            let expected = if bad == "é" { Unknown::Malformed } else { Unknown::Wrong };
            check_sender(&rule, GITHUB_SECRET, &headers, Err(expected));
        }
    }

    #[test]
    fn a_signature_has_one_spelling_but_for_the_case() {
        assert_eq!(unhex("0a0B"), Some(vec![10, 11]));
        assert_eq!(unhex("+a0b"), None, "a replay would look like a new message");
    }

    #[test]
    fn a_signed_time_must_be_near() {
        let rule = hmac_rule(Signed::TimeAndBody { time_header: "x-time".to_owned() });
        let sent = |time: i64| [("x-sig", signature(time)), ("x-time", time.to_string())];
        let proof = check_sender(&rule, "s", &sent(NOW - 300), Ok(())).expect("it is known");
        assert_eq!(proof.once, Some((signature(NOW - 300), Duration::from_secs(600))));
        check_sender(&rule, "s", &sent(NOW + 300), Ok(()));
        check_sender(&rule, "s", &sent(NOW - 301), Err(Unknown::Stale));
        check_sender(&rule, "s", &sent(NOW + 301), Err(Unknown::Stale));
        let moved = [("x-sig", signature(NOW - 900)), ("x-time", NOW.to_string())];
        check_sender(&rule, "s", &moved, Err(Unknown::Wrong));
    }

    #[test]
    fn one_of_several_signatures_as_stripe_sends_them_is_enough() {
        let rule = hmac_rule(Signed::Stripe);
        let sent = |value: String| [("x-sig", value)];
        let good = signature(NOW);
        check_sender(&rule, "s", &sent(format!("t={NOW},v1=00,v1={good},v0=11")), Ok(()));
        check_sender(&rule, "s", &sent(format!("t={NOW},v0={good}")), Err(Unknown::Wrong));
        check_sender(&rule, "s", &sent(format!("v1={good}")), Err(Unknown::Malformed));
    }

    #[test]
    fn a_token_is_compared_whole() {
        let (header, secret) = ("authorization".to_owned(), "alias".to_owned());
        let rule = Verify::Bearer { header, secret };
        let sent = |value: &str| [("authorization", value.to_owned())];
        check_sender(&rule, "abc", &sent("Bearer abc"), Ok(()));
        check_sender(&rule, "abc", &sent("abc"), Ok(()));
        check_sender(&rule, "abc", &sent("Bearer abcd"), Err(Unknown::Wrong));
        check_sender(&rule, "abc", &sent("Bearer "), Err(Unknown::Wrong));
    }
}
