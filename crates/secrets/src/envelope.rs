//! Envelope encryption at rest: each record is encrypted with its own data key, which the
//! operator's key wraps.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use noetl_store::Sealed;
use zeroize::Zeroizing;

use crate::key::{EncryptionKey, Keyring, random};

const NONCE_BYTES: usize = 24;

/// The reason why an encrypted record could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecryptError {
    #[error("it is sealed under the key {version}, which is not known here")]
    UnknownKey { version: String },
    #[error("it is damaged, or was sealed for another place")]
    Damaged,
}

/// The row that a record is bound to (associated data of the encryption).
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundRow<'a> {
    /// The name of the table, or of another kind of place.
    pub(crate) table: &'static str,
    pub(crate) key: &'a str,
    pub(crate) id: i64,
}

/// The two ciphertexts of an envelope.
#[derive(Debug, Clone, Copy)]
enum EnvelopePart {
    Data,
    Key,
}

impl BoundRow<'_> {
    /// Returns the row and part as bytes, distinct for all rows and parts.
    fn bytes(&self, part: EnvelopePart) -> Vec<u8> {
        let part = match part {
            EnvelopePart::Data => b'd',
            EnvelopePart::Key => b'k',
        };
        let mut bytes = vec![1, part];
        bytes.extend(self.table.as_bytes());
        bytes.push(0);
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(self.key.as_bytes());
        bytes
    }
}

pub(crate) fn seal(keyring: &Keyring, row: BoundRow<'_>, plain: &[u8]) -> Sealed {
    let own = EncryptionKey::generate();
    Sealed {
        key_version: keyring.current().version(),
        wrapped_key: encrypt(keyring.current(), own.bytes(), &row.bytes(EnvelopePart::Key)),
        ciphertext: encrypt(&own, plain, &row.bytes(EnvelopePart::Data)),
    }
}

pub(crate) fn open(
    keyring: &Keyring,
    row: BoundRow<'_>,
    sealed: &Sealed,
) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
    let own = unwrap(keyring, row, sealed)?;
    decrypt(&own, &sealed.ciphertext, &row.bytes(EnvelopePart::Data))
}

/// Wraps the record's data key with the current key; the encrypted data does not change.
pub(crate) fn rewrap(
    keyring: &Keyring,
    row: BoundRow<'_>,
    sealed: &Sealed,
) -> Result<Vec<u8>, DecryptError> {
    let own = unwrap(keyring, row, sealed)?;
    Ok(encrypt(keyring.current(), own.bytes(), &row.bytes(EnvelopePart::Key)))
}

fn unwrap(
    keyring: &Keyring,
    row: BoundRow<'_>,
    sealed: &Sealed,
) -> Result<EncryptionKey, DecryptError> {
    let version = &sealed.key_version;
    let outer = keyring.find(version);
    let outer = outer.ok_or_else(|| DecryptError::UnknownKey { version: version.clone() })?;
    let own = decrypt(outer, &sealed.wrapped_key, &row.bytes(EnvelopePart::Key))?;
    let own: [u8; 32] = own[..].try_into().map_err(|_| DecryptError::Damaged)?;
    Ok(EncryptionKey::from_bytes(own))
}

/// Returns the nonce followed by the ciphertext with its tag.
fn encrypt(key: &EncryptionKey, plain: &[u8], row: &[u8]) -> Vec<u8> {
    let nonce: [u8; NONCE_BYTES] = random();
    let cipher = XChaCha20Poly1305::new(key.bytes().into());
    let sealed = cipher.encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: row });
    let mut bytes = nonce.to_vec();
    bytes.extend(sealed.expect("what fits into memory can be sealed"));
    bytes
}

fn decrypt(
    key: &EncryptionKey,
    bytes: &[u8],
    row: &[u8],
) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
    let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(DecryptError::Damaged)?;
    let cipher = XChaCha20Poly1305::new(key.bytes().into());
    let plain = cipher.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: row });
    plain.map(Zeroizing::new).map_err(|_| DecryptError::Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PG: BoundRow<'static> = BoundRow { table: "credential", key: "pg", id: 7 };

    fn keyring() -> Keyring {
        Keyring::new(EncryptionKey::generate(), Vec::new())
    }

    #[test]
    fn a_sealed_value_opens_in_its_place() {
        let keyring = keyring();
        let sealed = seal(&keyring, PG, b"secret");
        assert_eq!(open(&keyring, PG, &sealed).unwrap()[..], b"secret"[..]);
        assert!(!sealed.ciphertext.windows(6).any(|bytes| bytes == b"secret"));
    }

    #[test]
    fn a_record_that_was_moved_to_another_place_does_not_open() {
        let keyring = keyring();
        let sealed = seal(&keyring, PG, b"secret");
        for row in [
            BoundRow { key: "pg2", ..PG },
            BoundRow { id: 8, ..PG },
            BoundRow { table: "keychain", ..PG },
        ] {
            assert_eq!(open(&keyring, row, &sealed), Err(DecryptError::Damaged), "{row:?}");
        }
    }

    #[test]
    fn a_record_that_was_touched_does_not_open() {
        let keyring = keyring();
        let sealed = seal(&keyring, PG, b"secret");
        let check =
            |sealed: &Sealed| assert_eq!(open(&keyring, PG, sealed), Err(DecryptError::Damaged));
        let other = seal(&keyring, PG, b"other");
        check(&Sealed { ciphertext: other.ciphertext, ..sealed.clone() });
        check(&Sealed { wrapped_key: other.wrapped_key, ..sealed.clone() });
        check(&Sealed { ciphertext: vec![1; 10], ..sealed.clone() });
        let mut flipped = sealed;
        *flipped.ciphertext.last_mut().unwrap() ^= 1;
        check(&flipped);
    }

    #[test]
    fn the_same_secret_is_never_sealed_to_the_same_bytes() {
        let keyring = keyring();
        let [one, other] = [seal(&keyring, PG, b"secret"), seal(&keyring, PG, b"secret")];
        assert_ne!(one.ciphertext, other.ciphertext);
        assert_ne!(one.wrapped_key, other.wrapped_key);
    }

    #[test]
    fn a_new_key_wraps_anew_and_leaves_the_ciphertext_alone() {
        let old = EncryptionKey::generate();
        let sealed = seal(&Keyring::new(old.clone(), Vec::new()), PG, b"secret");
        let both = Keyring::new(EncryptionKey::generate(), vec![old]);
        assert_eq!(open(&both, PG, &sealed).unwrap()[..], b"secret"[..]);
        let rewrapped = Sealed {
            key_version: both.current().version(),
            wrapped_key: rewrap(&both, PG, &sealed).unwrap(),
            ..sealed.clone()
        };
        let new_only = Keyring::new(both.current().clone(), Vec::new());
        assert_eq!(open(&new_only, PG, &rewrapped).unwrap()[..], b"secret"[..]);
        let version = sealed.key_version.clone();
        assert_eq!(open(&new_only, PG, &sealed), Err(DecryptError::UnknownKey { version }));
    }
}
