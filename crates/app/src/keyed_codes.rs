//! Codes by which the server recognises what it has issued, without storing it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use noetl_secrets::Vault;
use sha2::Sha256;

/// HMAC-SHA256 with keys that are derived from the encryption keys.
pub(crate) struct KeyedCodes {
    /// Keyed with the current key.
    current: Hmac<Sha256>,
    earlier: Vec<Hmac<Sha256>>,
}

impl KeyedCodes {
    /// Creates the codes for a purpose. Every server with the same encryption key computes the same.
    pub(crate) fn of(vault: &Vault, purpose: &str) -> Self {
        let earlier = vault.earlier_derived_keys(purpose);
        Self::with_keys(&vault.derived_key(purpose)[..], earlier.iter().map(|key| &key[..]))
    }

    pub(crate) fn with_keys<'a>(
        current: &[u8],
        earlier: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        Self { current: keyed(current), earlier: earlier.into_iter().map(keyed).collect() }
    }

    /// Returns the code over the parts. All parts but the last need fixed lengths.
    pub(crate) fn code(&self, parts: &[&[u8]]) -> Vec<u8> {
        over(&self.current, parts).finalize().into_bytes().to_vec()
    }

    /// True if a code is the one over the parts, with the current key or an earlier one. The
    /// comparison takes the same time for every wrong code.
    pub(crate) fn is_valid(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        // All keys are tried, so that the time does not tell which one matches.
        let all = self.earlier.iter().chain([&self.current]);
        all.fold(false, |is_valid, keyed| over(keyed, parts).verify_slice(code).is_ok() | is_valid)
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key may have any length")
}

fn over(keyed: &Hmac<Sha256>, parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut code = keyed.clone();
    parts.iter().for_each(|part| code.update(part));
    code
}
