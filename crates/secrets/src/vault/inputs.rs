//! Secret inputs of executions: sealed into the workload, so that they are stored, forked and removed
//! with it.
//!
//! A rotation of the operator's key does not rewrap them, because events never change: an earlier key
//! has to stay in the keyring for as long as executions that were started under it are continued.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use noetl_model::{ExecutionId, SealedMark};
use noetl_store::Sealed;
use serde_json::Value;

use super::Vault;
use crate::envelope::{BoundRow, DecryptError, open, seal};

/// The kind of place that the values are bound to.
const INPUT: &str = "input";

fn place(execution: ExecutionId, name: &str) -> BoundRow<'_> {
    BoundRow { table: INPUT, key: name, id: execution.0 }
}

impl Vault {
    /// Seals the value of an input for one execution; returns the value that stands for it.
    pub fn seal_input(&self, execution: ExecutionId, name: &str, value: &Value) -> Value {
        let plain = zeroize::Zeroizing::new(value.to_string());
        let sealed = seal(&self.keyring, place(execution, name), plain.as_bytes());
        let [key, data] =
            [&sealed.wrapped_key, &sealed.ciphertext].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let envelope = format!("{}.{key}.{data}", sealed.key_version);
        SealedMark { execution, name, envelope: &envelope }.to_value()
    }

    /// Opens a sealed input. The caller has checked that its reader may have it.
    pub fn open_input(&self, mark: SealedMark<'_>) -> Result<Value, DecryptError> {
        let mut parts = mark.envelope.split('.');
        let mut next = || parts.next().ok_or(DecryptError::Damaged);
        let (version, key, data) = (next()?, next()?, next()?);
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| DecryptError::Damaged);
        let sealed = Sealed {
            key_version: version.to_owned(),
            wrapped_key: decoded(key)?,
            ciphertext: decoded(data)?,
        };
        let plain = open(&self.keyring, place(mark.execution, mark.name), &sealed)?;
        serde_json::from_slice(&plain).map_err(|_| DecryptError::Damaged)
    }
}
