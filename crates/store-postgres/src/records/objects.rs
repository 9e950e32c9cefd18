//! Named results and objects.

use async_trait::async_trait;
use noetl_model::{ExecutionId, Timestamp};
use noetl_store::{NamedResult, Object, ObjectKey, Objects, ResultRef, Results, StoreError};
use sqlx::postgres::PgRow;
use sqlx::query;

use super::{digest, maybe_instant};
use crate::PgStore;
use crate::instant::Instant;
use crate::row::{get, instant, plain, store_error};

#[async_trait]
impl Results for PgStore {
    async fn put_result(
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
            .fetch_one(&self.pool)
            .await
            .map_err(store_error)?;
        kept(&row)
    }

    async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError> {
        let row = query(include_str!("../../sql/find_result.sql"))
            .bind(reference.execution.0)
            .bind(plain(&reference.name))
            .bind(reference.id)
            .bind(Instant(now))
            .fetch_optional(&self.pool)
            .await
            .map_err(store_error)?;
        row.as_ref().map(kept).transpose()
    }
}

#[async_trait]
impl Objects for PgStore {
    async fn put_object(&self, object: &Object) -> Result<(), StoreError> {
        query(include_str!("../../sql/put_object.sql"))
            .bind(plain(object.key.as_str()))
            .bind(plain(&object.media_type))
            .bind(&object.digest.as_bytes()[..])
            .bind(&object.body)
            .bind(Instant(object.updated_at))
            .bind(object.expires_at.map(Instant))
            .execute(&self.pool)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    async fn object(&self, key: &ObjectKey, now: Timestamp) -> Result<Option<Object>, StoreError> {
        let row = query(include_str!("../../sql/find_object.sql"))
            .bind(plain(key.as_str()))
            .bind(Instant(now))
            .fetch_optional(&self.pool)
            .await
            .map_err(store_error)?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Object {
            key: key.clone(),
            media_type: get(&row, "media_type")?,
            digest: digest(&row, "sha256")?,
            body: get(&row, "body")?,
            updated_at: instant(&row, "updated_at")?,
            expires_at: maybe_instant(&row, "expires_at")?,
        }))
    }
}

fn kept(row: &PgRow) -> Result<NamedResult, StoreError> {
    Ok(NamedResult {
        reference: ResultRef {
            execution: ExecutionId(get(row, "execution_id")?),
            name: get(row, "name")?,
            id: get(row, "result_id")?,
        },
        digest: digest(row, "sha256")?,
        scope: get(row, "scope")?,
        source_step: get(row, "source_step")?,
        created_at: instant(row, "created_at")?,
        expires_at: maybe_instant(row, "expires_at")?,
    })
}
