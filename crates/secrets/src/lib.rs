//! Credentials and keychain: what is secret is sealed before it is stored, delivered to one worker
//! only, and taken out of everything else.
//!
//! Every record has a key of its own, which the operator's key wraps. A record is sealed for its
//! place: moved to another row, it does not open. A new operator's key wraps the records' keys anew
//! and leaves what they seal alone.
//!
//! Invariants: no secret is ever printed, not even by `Debug`; keys are wiped when they are dropped.

mod delivery;
mod envelope;
mod key;
mod redactor;
mod vault;

pub use delivery::{DeliveryError, DeliveryKey, SealedEnvelope, seal_for};
pub use envelope::OpenError;
pub use key::{Key, KeyError, Keyring};
pub use redactor::{REDACTED, Redactor, SECRET_MIN};
pub use vault::{
    Access, DATA_MAX, Given, Identifier, KeychainSecret, NewCredential, NewKeychainSecret,
    Operation, Progress, Rotation, Vault, VaultError,
};
