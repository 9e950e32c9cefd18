//! The functions that scripts can call: time, digests, random numbers, comparison of secrets.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rhai::{Array, Engine, EvalAltResult};
use sha2::{Digest as _, Sha256};

/// The maximum number of random digits or bytes per call.
const RANDOM_MAX: usize = 1024;

pub(super) fn add_to(engine: &mut Engine) {
    engine
        .register_fn("timestamp", || now().as_secs().cast_signed())
        .register_fn("timestamp_ms", || i64::try_from(now().as_millis()).unwrap_or(i64::MAX))
        .register_fn("contains_any", contains_any)
        .register_fn("sha256_hex", |text: &str| hex(&Sha256::digest(text)))
        .register_fn("hmac_sha256_hex", hmac_sha256_hex)
        .register_fn("random_digits", random_digits)
        .register_fn("random_token", random_token)
        .register_fn("eq_ct", eq_ct);
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn contains_any(text: &str, parts: Array) -> bool {
    parts.iter().any(|part| text.contains(&part.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac_sha256_hex(key: &str, text: &str) -> String {
    let mut code = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("a key of any length");
    code.update(text.as_bytes());
    hex(&code.finalize().into_bytes())
}

fn random_digits(count: i64) -> Result<String, Box<EvalAltResult>> {
    let count = allowed(count)?;
    let mut digits = String::new();
    while digits.len() < count {
        // Bytes below 250 give each digit with the same probability.
        let fair = random(count)?.into_iter().filter(|byte| *byte < 250);
        let left = count - digits.len();
        digits.extend(fair.take(left).map(|byte| char::from(b'0' + byte % 10)));
    }
    Ok(digits)
}

/// Returns random bytes in URL-safe base64.
fn random_token(bytes: i64) -> Result<String, Box<EvalAltResult>> {
    Ok(URL_SAFE_NO_PAD.encode(random(allowed(bytes)?)?))
}

fn allowed(count: i64) -> Result<usize, Box<EvalAltResult>> {
    let told = || format!("from 0 to {RANDOM_MAX} can be drawn at once, not {count}").into();
    usize::try_from(count).ok().filter(|count| *count <= RANDOM_MAX).ok_or_else(told)
}

fn random(count: usize) -> Result<Vec<u8>, Box<EvalAltResult>> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).map_err(|error| format!("there is no chance here: {error}"))?;
    Ok(bytes)
}

/// True if two strings are equal, compared in constant time.
fn eq_ct(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
