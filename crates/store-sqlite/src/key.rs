//! Start keys on SQLite.

use noetl_model::{Digest, ExecutionId, Timestamp};
use noetl_store::{KeptKey, KeyHolder, KeyName};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct KeyRow<'a> {
    scope: &'a str,
    name: &'a str,
    execution_id: ExecutionId,
    request: Option<Digest>,
    kept_until: Timestamp,
}

impl<'a> KeyRow<'a> {
    pub(crate) fn of((scope, name): &'a KeyName, kept: &KeptKey) -> Self {
        let KeptKey { holder: KeyHolder { execution, request }, until } = *kept;
        Self { scope, name, execution_id: execution, request, kept_until: until }
    }
}
