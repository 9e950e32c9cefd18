//! Sessions of browsers: a signed cookie instead of the token, and the tokens of forms.
//!
//! Invariants: a cookie holds no secret and is worthless without the server's key; it is valid for
//! one token of the server until an instant, so that it ends when the token is withdrawn. Every
//! server of a cluster accepts it, because all derive the same key. Signatures are compared in
//! constant time.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use noetl_model::{Digest, Timestamp};
use noetl_secrets::Vault;
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// The cookie with the session of a browser that has logged in.
pub const SESSION_COOKIE: &str = "noetl_session";
/// The cookie with a random name for the browser; forms are signed for it.
pub(crate) const BROWSER_COOKIE: &str = "noetl_browser";
/// The time for which a session is valid.
pub(crate) const SESSION_LASTS: Duration = Duration::from_secs(12 * 3600);
/// The number of random bytes in a session and in the name of a browser.
const NONCE_BYTES: usize = 16;
/// The purpose of the key among all keys that are derived from the operator's.
const KEY_PURPOSE: &str = "noetl web session v1";

/// The key that signs sessions and forms.
#[derive(Clone)]
pub struct SessionKey(Zeroizing<[u8; 32]>);

impl SessionKey {
    /// Derives the key from the operator's key.
    pub fn of(vault: &Vault) -> Self {
        Self(vault.derived_key(KEY_PURPOSE))
    }

    /// Returns the cookie of a new session for a token.
    pub(crate) fn session(&self, token: &Digest, now: Timestamp) -> String {
        let until = now.after(SESSION_LASTS).as_millis();
        let nonce = random_name();
        let signature = self.session_signature(token, &until.to_string(), &nonce);
        format!("{until}.{nonce}.{signature}")
    }

    /// True if a cookie is a session of a token that has not ended.
    pub fn admits(&self, cookie: &str, token: &Digest, now: Timestamp) -> bool {
        let mut parts = cookie.split('.');
        let (Some(until), Some(nonce), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let is_open = until.parse::<i64>().is_ok_and(|until| now.as_millis() < until);
        let expected = self.session_signature(token, until, nonce);
        is_open && bool::from(expected.as_bytes().ct_eq(signature.as_bytes()))
    }

    /// Returns the token that forms of a browser carry.
    pub(crate) fn form_token(&self, browser: &str) -> String {
        self.sign(&[b"form", browser.as_bytes()])
    }

    /// True if a form carries the token of its browser.
    pub(crate) fn admits_form(&self, browser: &str, token: &str) -> bool {
        self.form_token(browser).as_bytes().ct_eq(token.as_bytes()).into()
    }

    fn session_signature(&self, token: &Digest, until: &str, nonce: &str) -> String {
        self.sign(&[b"session", token.as_bytes(), until.as_bytes(), nonce.as_bytes()])
    }

    /// Signs parts, each with its length, so that no two lists of parts have the same signature.
    fn sign(&self, parts: &[&[u8]]) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0[..]).expect("a key may have any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }
}

/// Returns a random name of letters, digits, `-` and `_`.
pub(crate) fn random_name() -> String {
    let mut bytes = [0; NONCE_BYTES];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn key(byte: u8) -> SessionKey {
        SessionKey(Zeroizing::new([byte; 32]))
    }

    #[test]
    fn a_session_is_good_for_its_token_its_key_and_its_time() {
        let (token, other) = (Digest::of(b"a"), Digest::of(b"b"));
        let cookie = key(1).session(&token, NOW);
        assert!(key(1).admits(&cookie, &token, NOW));
        assert!(!key(1).admits(&cookie, &other, NOW));
        assert!(!key(2).admits(&cookie, &token, NOW));
        assert!(!key(1).admits(&cookie, &token, NOW.after(SESSION_LASTS)));
    }

    #[test]
    fn a_changed_session_is_refused() {
        let token = Digest::of(b"a");
        let cookie = key(1).session(&token, NOW);
        let (until, rest) = cookie.split_once('.').unwrap();
        let longer = format!("{}.{rest}", until.parse::<i64>().unwrap() + 1);
        for changed in [longer.as_str(), "", "..", &format!("{cookie}.x"), &cookie[1..]] {
            assert!(!key(1).admits(changed, &token, NOW), "{changed}");
        }
    }

    #[test]
    fn a_form_is_good_for_its_browser() {
        let token = key(1).form_token("browser");
        assert!(key(1).admits_form("browser", &token));
        assert!(!key(1).admits_form("other", &token));
        assert!(!key(2).admits_form("browser", &token));
        assert!(!key(1).admits_form("browser", ""));
    }
}
