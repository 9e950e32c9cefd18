//! Sessions of browsers: a signed cookie instead of the token, and the tokens of forms.
//!
//! Invariants: a cookie holds no secret and is worthless without the server's key; it is valid for
//! one token of the server until an instant, so that it ends when the token is withdrawn, and on the server
//! that has logged its browser out. Every
//! server of a cluster accepts it, because all derive the same key. Signatures are compared in
//! constant time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
/// The maximum number of ended sessions that are known.
const ENDED_MAX: usize = 100_000;
/// The number of random bytes in a session and in the name of a browser.
const NONCE_BYTES: usize = 16;
/// The purpose of the key among all keys that are derived from the operator's.
const KEY_PURPOSE: &str = "noetl web session v2";

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
        let masked = URL_SAFE_NO_PAD.encode(self.masked(token.as_bytes(), &nonce));
        let signature = self.session_signature(&until.to_string(), &nonce, &masked);
        format!("{until}.{nonce}.{masked}.{signature}")
    }

    /// Returns the digest of the token of a session that has not ended; `None` if the cookie is no such
    /// session. The work does not depend on the number of tokens that the server knows.
    pub fn token_of(&self, cookie: &str, now: Timestamp) -> Option<Digest> {
        let mut parts = cookie.split('.');
        let (Some(until), Some(nonce), Some(masked), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let expected = self.session_signature(until, nonce, masked);
        let is_signed = bool::from(expected.as_bytes().ct_eq(signature.as_bytes()));
        if !is_signed || until.parse::<i64>().is_ok_and(|until| until <= now.as_millis()) {
            return None;
        }
        let masked: [u8; 32] = URL_SAFE_NO_PAD.decode(masked).ok()?.try_into().ok()?;
        Some(Digest::from_bytes(self.masked(&masked, nonce)))
    }

    /// Returns the token that forms of a browser carry.
    pub(crate) fn form_token(&self, browser: &str) -> String {
        self.sign(&[b"form", browser.as_bytes()])
    }

    /// True if a form carries the token of its browser.
    pub(crate) fn admits_form(&self, browser: &str, token: &str) -> bool {
        self.form_token(browser).as_bytes().ct_eq(token.as_bytes()).into()
    }

    fn session_signature(&self, until: &str, nonce: &str, masked: &str) -> String {
        self.sign(&[b"session", until.as_bytes(), nonce.as_bytes(), masked.as_bytes()])
    }

    /// Masks the digest of a token, or returns a masked one: its owner could otherwise try secrets.
    fn masked(&self, digest: &[u8; 32], nonce: &str) -> [u8; 32] {
        let mask = self.mac(&[b"mask", nonce.as_bytes()]);
        std::array::from_fn(|at| digest[at] ^ mask[at])
    }

    fn sign(&self, parts: &[&[u8]]) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(parts))
    }

    /// Authenticates parts, each with its length, so that no two lists of parts have the same code.
    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0[..]).expect("a key may have any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// The sessions that have ended before their time, because their browsers have logged out. Only this
/// process knows them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct EndedSessions(Arc<Mutex<BTreeMap<String, Timestamp>>>);

impl EndedSessions {
    /// Ends the session of a valid cookie.
    pub(crate) fn end(&self, cookie: &str, now: Timestamp) {
        let mut ended = self.lock();
        ended.retain(|_, until| now < *until);
        if ended.len() < ENDED_MAX {
            ended.insert(cookie.to_owned(), now.after(SESSION_LASTS));
        }
    }

    /// True if a session has been ended.
    pub fn has(&self, cookie: &str) -> bool {
        self.lock().contains_key(cookie)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert_eq!(key(1).token_of(&cookie, NOW), Some(token));
        assert_ne!(key(1).token_of(&key(1).session(&other, NOW), NOW), Some(token));
        assert_eq!(key(2).token_of(&cookie, NOW), None);
        assert_eq!(key(1).token_of(&cookie, NOW.after(SESSION_LASTS)), None);
        let hex = token.to_string();
        assert!(!cookie.contains(&URL_SAFE_NO_PAD.encode(token.as_bytes())), "{cookie}");
        assert!(!cookie.contains(&hex), "{cookie}");
    }

    #[test]
    fn a_changed_session_is_refused() {
        let token = Digest::of(b"a");
        let cookie = key(1).session(&token, NOW);
        let (until, rest) = cookie.split_once('.').unwrap();
        let longer = format!("{}.{rest}", until.parse::<i64>().unwrap() + 1);
        let parts: Vec<&str> = cookie.split('.').collect();
        let other = key(1).session(&Digest::of(b"b"), NOW);
        let masked = other.split('.').nth(2).unwrap();
        let exchanged = [parts[0], parts[1], masked, parts[3]].join(".");
        let changed = [&*longer, "", "...", &format!("{cookie}.x"), &cookie[1..], &exchanged];
        for changed in changed {
            assert_eq!(key(1).token_of(changed, NOW), None, "{changed}");
        }
    }

    #[test]
    fn an_ended_session_is_known_until_it_would_have_ended() {
        let ended = EndedSessions::default();
        ended.end("a", NOW);
        assert!(ended.has("a") && !ended.has("b"));
        ended.end("b", NOW.after(SESSION_LASTS));
        assert!(!ended.has("a") && ended.has("b"));
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
