//! Sealed delivery: a secret encrypted so that only the worker that requested it can read it.
//!
//! The public format: an ephemeral X25519 key, HKDF-SHA256 for key and nonce, ChaCha20-Poly1305.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};
use zeroize::Zeroizing;

use crate::key::random;

const ALGORITHM: &str = "x25519-hkdf-sha256-chacha20-poly1305";
const FORM: u32 = 1;
const PURPOSE: &[u8] = b"noetl-sealed-v1";
const PLACE: &[u8] = b"x25519-hkdf-sha256-chacha20-poly1305|v=1";

/// The reason why a secret could not be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    #[error("the worker's key is not 32 bytes in base64")]
    NotAKey,
    /// The key has low order, so anyone could decrypt the secret.
    #[error("the worker's key is weak")]
    WeakKey,
    #[error("the envelope is of another kind, damaged, or for somebody else")]
    Damaged,
}

/// An encrypted secret for one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedEnvelope {
    pub alg: String,
    pub v: u32,
    pub eph_pub: String,
    pub ciphertext: String,
}

/// Encrypts bytes for the holder of a public key, given in base64.
pub fn seal_for(public_key: &str, plain: &[u8]) -> Result<SealedEnvelope, DeliveryError> {
    let theirs = PublicKey::from(bytes_of(public_key).ok_or(DeliveryError::NotAKey)?);
    let mine = StaticSecret::from(random::<32>());
    let (cipher, nonce) = cipher(&mine.diffie_hellman(&theirs)).ok_or(DeliveryError::WeakKey)?;
    let sealed = cipher.encrypt(&nonce, Payload { msg: plain, aad: PLACE });
    let sealed = sealed.expect("what fits into memory can be sealed");
    Ok(SealedEnvelope {
        alg: ALGORITHM.to_owned(),
        v: FORM,
        eph_pub: STANDARD.encode(PublicKey::from(&mine).as_bytes()),
        ciphertext: STANDARD.encode(sealed),
    })
}

/// A worker's key pair for receiving secrets.
pub struct DeliveryKey(StaticSecret);

impl DeliveryKey {
    pub fn generate() -> Self {
        Self(StaticSecret::from(random::<32>()))
    }

    /// Returns the public key in base64, for the worker's registration.
    pub fn public(&self) -> String {
        STANDARD.encode(PublicKey::from(&self.0).as_bytes())
    }

    pub fn open(&self, envelope: &SealedEnvelope) -> Result<Zeroizing<Vec<u8>>, DeliveryError> {
        if envelope.alg != ALGORITHM || envelope.v != FORM {
            return Err(DeliveryError::Damaged);
        }
        let theirs = PublicKey::from(bytes_of(&envelope.eph_pub).ok_or(DeliveryError::Damaged)?);
        let shared = self.0.diffie_hellman(&theirs);
        let (cipher, nonce) = cipher(&shared).ok_or(DeliveryError::Damaged)?;
        let sealed = STANDARD.decode(&envelope.ciphertext).map_err(|_| DeliveryError::Damaged)?;
        let plain = cipher.decrypt(&nonce, Payload { msg: &sealed, aad: PLACE });
        plain.map(Zeroizing::new).map_err(|_| DeliveryError::Damaged)
    }
}

impl fmt::Debug for DeliveryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeliveryKey({})", self.public())
    }
}

fn bytes_of(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// Derives cipher and nonce from a shared secret; `None` if one key alone determines it.
fn cipher(shared: &SharedSecret) -> Option<(ChaCha20Poly1305, Nonce)> {
    if !shared.was_contributory() {
        return None;
    }
    let mut bytes = Zeroizing::new([0; 44]);
    let derived = Hkdf::<Sha256>::new(None, shared.as_bytes()).expand(PURPOSE, &mut bytes[..]);
    derived.expect("44 bytes are few");
    let (key, nonce) = bytes.split_first_chunk::<32>().expect("44 bytes are more than 32");
    let nonce: [u8; 12] = nonce.try_into().expect("12 bytes are left");
    Some((ChaCha20Poly1305::new(key.into()), Nonce::from(nonce)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_worker_it_is_for_opens_an_envelope() {
        let [worker, other] = [DeliveryKey::generate(), DeliveryKey::generate()];
        let envelope = seal_for(&worker.public(), b"secret").unwrap();
        assert_eq!((envelope.alg.as_str(), envelope.v), (ALGORITHM, 1));
        assert_eq!(worker.open(&envelope).unwrap()[..], b"secret"[..]);
        assert_eq!(other.open(&envelope), Err(DeliveryError::Damaged));
    }

    #[test]
    fn an_envelope_that_was_touched_does_not_open() {
        let worker = DeliveryKey::generate();
        let envelope = seal_for(&worker.public(), b"secret").unwrap();
        for touched in [
            SealedEnvelope { alg: "none".into(), ..envelope.clone() },
            SealedEnvelope { v: 2, ..envelope.clone() },
            SealedEnvelope { eph_pub: DeliveryKey::generate().public(), ..envelope.clone() },
            SealedEnvelope { ciphertext: STANDARD.encode([0; 40]), ..envelope },
        ] {
            assert_eq!(worker.open(&touched), Err(DeliveryError::Damaged), "{touched:?}");
        }
    }

    #[test]
    fn a_key_with_which_anybody_could_read_along_is_refused() {
        let weak = STANDARD.encode([0; 32]);
        assert_eq!(seal_for(&weak, b"secret"), Err(DeliveryError::WeakKey));
        assert_eq!(seal_for("AAAA", b"secret"), Err(DeliveryError::NotAKey));
    }
}
