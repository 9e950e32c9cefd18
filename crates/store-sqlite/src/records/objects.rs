//! Named results and objects on SQLite.

use noetl_model::Timestamp;
use noetl_store::from_row;
use noetl_store::{NamedResult, Object, ObjectKey, ResultRef, StoreError};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};
use crate::store::begin;

impl SqliteStore {
    pub(crate) async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<NamedResult, StoreError> {
        let body = match self.blobs() {
            Some(blobs) => {
                blobs.put(&result.digest, body).await?;
                &[]
            }
            None => body,
        };
        let mut writer = self.writer().await?;
        let mut transaction = begin(&mut writer).await?;
        query(include_str!("../../sql/put_loose_payload.sql"))
            .bind(&result.digest.as_bytes()[..])
            .bind(body)
            .bind(result.created_at.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        let row = query(include_str!("../../sql/put_result.sql"))
            .bind(result.reference.execution.0)
            .bind(&result.reference.name)
            .bind(result.reference.id)
            .bind(&result.digest.as_bytes()[..])
            .bind(&result.scope)
            .bind(&result.source_step)
            .bind(result.created_at.as_micros())
            .bind(result.expires_at.map(Timestamp::as_micros))
            .fetch_one(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        from_row::named_result(NamedRow(&row))
    }

    pub(crate) async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError> {
        let statement = query(include_str!("../../sql/find_result.sql"))
            .bind(reference.execution.0)
            .bind(&reference.name)
            .bind(reference.id)
            .bind(now.as_micros());
        let row = self.row(statement).await?;
        row.as_ref().map(NamedRow).map(from_row::named_result).transpose()
    }
}

impl SqliteStore {
    pub(crate) async fn put_object(&self, object: &Object) -> Result<(), StoreError> {
        let statement = query(include_str!("../../sql/put_object.sql"))
            .bind(object.key.as_str())
            .bind(&object.media_type)
            .bind(&object.digest.as_bytes()[..])
            .bind(&object.body)
            .bind(object.updated_at.as_micros())
            .bind(object.expires_at.map(Timestamp::as_micros));
        self.write(statement).await?;
        Ok(())
    }

    pub(crate) async fn object(
        &self,
        key: &ObjectKey,
        now: Timestamp,
    ) -> Result<Option<Object>, StoreError> {
        let statement = query(include_str!("../../sql/find_object.sql"))
            .bind(key.as_str())
            .bind(now.as_micros());
        let row = self.row(statement).await?;
        row.as_ref().map(|row| from_row::object(NamedRow(row), key)).transpose()
    }
}
