//! Credentials and keychain: a secret is sealed before it is stored, and delivered to one worker only.
//!
//! Every record has a key of its own, which the operator's key wraps. A record is sealed for its
//! place: moved to another row, it does not open. A new operator's key wraps the records' keys anew
//! and leaves what they seal alone.
//!
//! Invariants: no secret is ever printed, not even by `Debug`; keys are wiped when they are dropped.

mod delivery;
mod envelope;
mod key;
mod vault;

pub use delivery::{DeliveryError, DeliveryKey, SealedEnvelope, seal_for};
pub use envelope::OpenError;
pub use key::{Key, KeyError, Keyring};
pub use vault::{
    Access, DATA_MAX, Given, Identifier, KeychainSecret, NewCredential, NewKeychainSecret,
    Operation, Progress, Rotation, Vault, VaultError,
};
