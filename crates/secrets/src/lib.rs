//! Credentials and keychain: secrets are encrypted before they are stored and delivered to one
//! worker only.
//!
//! Every record has its own data key, wrapped by the operator's key. A record is bound to its row:
//! moved to another row, it cannot be decrypted. A rotation of the operator's key rewraps the data
//! keys and leaves the encrypted data unchanged.
//!
//! Invariants: no secret is ever printed, not even by `Debug`; keys are wiped when dropped.

mod delivery;
mod envelope;
mod key;
mod vault;

pub use delivery::{DeliveryError, DeliveryKey, SealedEnvelope, seal_for};
pub use envelope::DecryptError;
pub use key::{EncryptionKey, KeyError, Keyring};
pub use vault::{
    AccessLog, DATA_MAX, ExternalCredentials, Identifier, KeychainSecret, NewCredential,
    NewKeychainSecret, PolicyChange, Rotation, RotationProgress, SecretAccess, SecretOperation,
    SecretOutcome, Vault, VaultError,
};
