//! Verification of a message's sender: signatures and tokens, compared in constant time, before the
//! message is parsed.

use std::time::Duration;

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit as _, Mac as _};
use noetl_engine::SignedPart;
use noetl_model::{Digest, Timestamp};
use noetl_playbook::{Signed, Verify};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// Proof of a sender's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A signature of this part of the message.
    Signature(SignedPart),
    /// A secret sent with the message.
    Secret,
}

impl Proof {
    pub(crate) fn signed(&self) -> Option<&SignedPart> {
        match self {
            Proof::Signature(part) => Some(part),
            Proof::Secret => None,
        }
    }
}

/// The reason why a sender is not verified; logged, and not sent to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unknown {
    #[error("the header with the signature, its time or the token is missing")]
    Missing,
    #[error("the header with the signature, its time or the token cannot be read")]
    Malformed,
    #[error("the signed time is further from now than `tolerance_secs`")]
    Stale,
    #[error("the signature or token is wrong")]
    Wrong,
    #[error("`pubsub_oidc` can be verified by a gateway only, not by this server")]
    Unsupported,
}

/// Result of checking the headers of a message.
#[derive(Debug)]
pub(crate) enum HeadProof<'h> {
    Known(Proof),
    /// The signature covers the body, which must be read next.
    Signature(SignedHead<'h>),
}

/// The signature of a message whose body is not read yet.
#[derive(Debug)]
pub(crate) struct SignedHead<'h> {
    signatures: Vec<&'h str>,
    /// The signed time, and its maximum distance from the current time.
    time: Option<(&'h str, Duration)>,
}

impl SignedHead<'_> {
    /// Checks the signature of a body.
    pub(crate) fn verify(&self, secret: &[u8], body: &[u8]) -> Result<Proof, Unknown> {
        match self.time {
            None => check(secret, &[body], &self.signatures, None),
            Some((time, tolerance)) => {
                let parts: [&[u8]; 3] = [time.as_bytes(), b".", body];
                check(secret, &parts, &self.signatures, Some(tolerance))
            }
        }
    }
}

/// Checks the headers of a message against the subscription's rule.
pub(crate) fn verify_head<'h>(
    rule: &Verify,
    secret: &[u8],
    headers: &'h HeaderMap,
    now: Timestamp,
) -> Result<HeadProof<'h>, Unknown> {
    match rule {
        Verify::Hmac { header, secret: _, signed, tolerance } => {
            let given = text(headers, header)?;
            signed_head(signed, given, headers, now, *tolerance).map(HeadProof::Signature)
        }
        Verify::Bearer { header, secret: _ } => {
            let given = text(headers, header)?;
            let token = match given.split_once(' ') {
                Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
                Some(_) | None => given,
            };
            let is_right = bool::from(token.as_bytes().ct_eq(secret));
            if is_right { Ok(HeadProof::Known(Proof::Secret)) } else { Err(Unknown::Wrong) }
        }
        Verify::PubsubOidc { .. } => Err(Unknown::Unsupported),
    }
}

fn signed_head<'h>(
    signed: &Signed,
    given: &'h str,
    headers: &'h HeaderMap,
    now: Timestamp,
    tolerance: Duration,
) -> Result<SignedHead<'h>, Unknown> {
    let only = || vec![given.strip_prefix("sha256=").unwrap_or(given)];
    let (signatures, time) = match signed {
        Signed::Body => (only(), None),
        Signed::TimeAndBody { time_header } => (only(), Some(text(headers, time_header)?)),
        Signed::Stripe => {
            let fields = || given.split(',').filter_map(|field| field.trim().split_once('='));
            let time = fields().find(|(name, _)| *name == "t").map(|(_, time)| time);
            let signatures = fields().filter(|(name, _)| *name == "v1").map(|(_, value)| value);
            (signatures.collect(), Some(time.ok_or(Unknown::Malformed)?))
        }
    };
    if let Some(time) = time {
        check_time(time, now, tolerance)?;
    }
    Ok(SignedHead { signatures, time: time.map(|time| (time, tolerance)) })
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h str, Unknown> {
    let value = headers.get(name).ok_or(Unknown::Missing)?;
    value.to_str().map(str::trim).map_err(|_| Unknown::Malformed)
}

/// Checks that a time in seconds is within `tolerance` of the current time, before or after.
fn check_time(time: &str, now: Timestamp, tolerance: Duration) -> Result<(), Unknown> {
    let seconds: i64 = time.parse().map_err(|_| Unknown::Malformed)?;
    let run_blocking = (now.as_millis() / 1000).abs_diff(seconds);
    if run_blocking <= tolerance.as_secs() { Ok(()) } else { Err(Unknown::Stale) }
}

/// Checks that one of the given signatures matches the parts; all are compared, in constant time.
/// The proof contains the parts and not the signature, which changes with the secret.
fn check(
    secret: &[u8],
    parts: &[&[u8]],
    given: &[&str],
    tolerance: Option<Duration>,
) -> Result<Proof, Unknown> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length is taken");
    for part in parts {
        mac.update(part);
    }
    let expected = mac.finalize().into_bytes();
    let is_right = given.iter().fold(false, |is_right, signature| {
        let same = unhex(signature)
            .is_some_and(|bytes| bool::from(bytes.as_slice().ct_eq(expected.as_slice())));
        is_right | same
    });
    if !is_right {
        return Err(Unknown::Wrong);
    }
    Ok(Proof::Signature(SignedPart { digest: Digest::of(&parts.concat()), tolerance }))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    // `from_str_radix` would accept a sign.
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
        let secret = secret.as_bytes();
        let known = verify_head(rule, secret, &headers, now).and_then(|head| match head {
            HeadProof::Known(proof) => Ok(proof),
            HeadProof::Signature(head) => head.verify(secret, b"Hello, World!"),
        });
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
        assert_eq!(unhex("+a0b"), None);
    }

    #[test]
    fn a_signed_time_must_be_near() {
        let rule = hmac_rule(Signed::TimeAndBody { time_header: "x-time".to_owned() });
        let sent = |time: i64| [("x-sig", signature(time)), ("x-time", time.to_string())];
        let proof = check_sender(&rule, "s", &sent(NOW - 300), Ok(())).expect("it is known");
        let digest = Digest::of(format!("{}.Hello, World!", NOW - 300).as_bytes());
        let tolerance = Some(Duration::from_secs(300));
        assert_eq!(proof, Proof::Signature(SignedPart { digest, tolerance }));
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
