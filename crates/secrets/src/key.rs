//! The operator's keys: the current one wraps data keys, earlier ones only unwrap them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hkdf::Hkdf;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;

/// The reason why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a key is {KEY_BYTES} bytes in base64")]
    NotBase64,
    #[error("a key has {KEY_BYTES} bytes, not {0}")]
    Length(usize),
}

/// A 256-bit key. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey(Zeroizing<[u8; KEY_BYTES]>);

impl EncryptionKey {
    /// Generates a random key.
    pub fn generate() -> Self {
        Self(Zeroizing::new(random()))
    }

    /// Parses a key from base64.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = Zeroizing::new(STANDARD.decode(text.trim()).map_err(|_| KeyError::NotBase64)?);
        let bytes: [u8; KEY_BYTES] =
            bytes[..].try_into().map_err(|_| KeyError::Length(bytes.len()))?;
        Ok(Self(Zeroizing::new(bytes)))
    }

    /// Returns the key in base64.
    pub fn encode(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(&self.0[..]))
    }

    /// Returns a short name of the key, derived from a hash, that reveals nothing about it.
    pub fn version(&self) -> String {
        let digest = Sha256::new().chain_update(b"noetl key version\0").chain_update(&self.0[..]);
        let digest = digest.finalize();
        let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("k{digits}")
    }

    /// Derives a key for a purpose by HKDF-SHA256.
    pub(crate) fn derive(&self, purpose: &str) -> Zeroizing<[u8; KEY_BYTES]> {
        let mut derived = Zeroizing::new([0; KEY_BYTES]);
        Hkdf::<Sha256>::new(None, &self.0[..])
            .expand(purpose.as_bytes(), &mut derived[..])
            .expect("a key is shorter than the maximum of HKDF");
        derived
    }

    pub(crate) fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.version())
    }
}

/// The operator's keys.
#[derive(Debug, Clone)]
pub struct Keyring {
    current: EncryptionKey,
    earlier: Vec<EncryptionKey>,
}

impl Keyring {
    /// Creates a keyring: `current` encrypts, the `earlier` keys only decrypt.
    pub fn new(current: EncryptionKey, earlier: Vec<EncryptionKey>) -> Self {
        Self { current, earlier }
    }

    pub fn current(&self) -> &EncryptionKey {
        &self.current
    }

    pub(crate) fn earlier(&self) -> &[EncryptionKey] {
        &self.earlier
    }

    pub(crate) fn find(&self, version: &str) -> Option<&EncryptionKey> {
        std::iter::once(&self.current).chain(&self.earlier).find(|key| key.version() == version)
    }
}

/// Returns cryptographically random bytes.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_written_form() {
        let key = EncryptionKey::generate();
        assert_eq!(EncryptionKey::parse(&format!(" {}\n", *key.encode())), Ok(key.clone()));
        assert_ne!(key, EncryptionKey::generate());
    }

    #[test]
    fn a_key_derives_a_different_key_for_each_purpose() {
        let key = EncryptionKey::generate();
        assert_eq!(key.derive("a"), key.clone().derive("a"));
        assert_ne!(key.derive("a"), key.derive("b"));
        assert_ne!(key.derive("a"), EncryptionKey::generate().derive("a"));
    }

    #[test]
    fn an_invalid_key_is_refused_without_being_quoted() {
        assert_eq!(EncryptionKey::parse("hunter2!"), Err(KeyError::NotBase64));
        assert_eq!(EncryptionKey::parse("aHVudGVyMg=="), Err(KeyError::Length(7)));
    }

    #[test]
    fn a_key_is_named_by_what_it_is_and_never_printed() {
        let key = EncryptionKey::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap();
        assert_eq!(key.version(), key.clone().version());
        assert_ne!(key.version(), EncryptionKey::generate().version());
        assert_eq!(format!("{key:?}"), format!("Key({})", key.version()));
    }
}
