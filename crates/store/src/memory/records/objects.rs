//! In-memory named results and objects.

use std::collections::hash_map::Entry;

use noetl_model::Timestamp;

use super::super::{KeptPayload, MemoryStore};
use crate::{NamedResult, Object, ObjectKey, ResultRef, StoreError};

impl MemoryStore {
    pub(crate) async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<Option<NamedResult>, StoreError> {
        let mut tables = self.lock();
        if tables.is_erased(result.reference.execution) {
            return Ok(None);
        }
        match tables.payloads.entry(result.digest) {
            Entry::Occupied(mut kept) => {
                let since = &mut kept.get_mut().loose_since;
                *since = since.map(|_| result.created_at);
            }
            Entry::Vacant(place) => {
                let loose_since = Some(result.created_at);
                place.insert(KeptPayload { loose_since, ..KeptPayload::of(body) });
            }
        }
        let is_same = |known: &NamedResult| {
            known.digest == result.digest
                && known.reference.execution == result.reference.execution
                && known.reference.name == result.reference.name
        };
        let results = &mut tables.records.results;
        if let Some(known) = results.values_mut().find(|known| is_same(known)) {
            known.expires_at = match (known.expires_at, result.expires_at) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (None, _) | (_, None) => None,
            };
            return Ok(Some(known.clone()));
        }
        results.insert(result.reference.clone(), result.clone());
        Ok(Some(result.clone()))
    }

    pub(crate) async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError> {
        let tables = self.lock();
        let found = tables.records.results.get(reference);
        Ok(found.filter(|it| it.expires_at.is_none_or(|end| end > now)).cloned())
    }
}

impl MemoryStore {
    pub(crate) async fn put_object(&self, object: &Object) -> Result<(), StoreError> {
        self.lock().records.objects.insert(object.key.clone(), object.clone());
        Ok(())
    }

    pub(crate) async fn object(
        &self,
        key: &ObjectKey,
        now: Timestamp,
    ) -> Result<Option<Object>, StoreError> {
        let tables = self.lock();
        let found = tables.records.objects.get(key);
        Ok(found.filter(|it| it.expires_at.is_none_or(|end| end > now)).cloned())
    }
}
