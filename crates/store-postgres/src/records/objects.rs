//! Named results and objects on PostgreSQL.

use noetl_model::Timestamp;
use noetl_store::from_row;
use noetl_store::{NamedResult, Object, ObjectKey, ResultRef, StoreError};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, plain, store_error};

impl PgStore {
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
        let row = query(include_str!("../../sql/put_result.sql"))
            .bind(result.reference.execution.0)
            .bind(plain(&result.reference.name))
            .bind(result.reference.id)
            .bind(&result.digest.as_bytes()[..])
            .bind(plain(&result.scope))
            .bind(result.source_step.as_deref().map(plain))
            .bind(Instant(result.created_at))
            .bind(result.expires_at.map(Instant))
            .bind(body)
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        from_row::named_result(Named(&row))
    }

    pub(crate) async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError> {
        let statement = query(include_str!("../../sql/find_result.sql"))
            .bind(reference.execution.0)
            .bind(plain(&reference.name))
            .bind(reference.id)
            .bind(Instant(now));
        let row = self.row(statement).await?;
        row.as_ref().map(Named).map(from_row::named_result).transpose()
    }
}

impl PgStore {
    pub(crate) async fn put_object(&self, object: &Object) -> Result<(), StoreError> {
        let statement = query(include_str!("../../sql/put_object.sql"))
            .bind(plain(object.key.as_str()))
            .bind(plain(&object.media_type))
            .bind(&object.digest.as_bytes()[..])
            .bind(&object.body)
            .bind(Instant(object.updated_at))
            .bind(object.expires_at.map(Instant));
        self.write(statement).await?;
        Ok(())
    }

    pub(crate) async fn object(
        &self,
        key: &ObjectKey,
        now: Timestamp,
    ) -> Result<Option<Object>, StoreError> {
        let statement = query(include_str!("../../sql/find_object.sql"))
            .bind(plain(key.as_str()))
            .bind(Instant(now));
        let row = self.row(statement).await?;
        row.as_ref().map(|row| from_row::object(Named(row), key)).transpose()
    }
}
