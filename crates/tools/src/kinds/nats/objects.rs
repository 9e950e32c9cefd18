//! Operations on an object store.

use async_nats::jetstream::Context;
use async_nats::jetstream::object_store::{
    DeleteErrorKind, GetErrorKind, InfoErrorKind, ObjectInfo, ObjectMetadata, ObjectStore,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::TryStreamExt as _;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::operation::{Encoding, ObjectWork};
use super::{failed, missing};

/// The maximum size of an object that is returned as a result.
const OBJECT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The maximum number of objects listed.
const OBJECTS_MAX: usize = 10_000;

pub(super) async fn work(
    stream: &Context,
    bucket: &str,
    work: ObjectWork,
) -> Result<Value, ToolError> {
    let store = stream.get_object_store(bucket).await;
    let store =
        store.map_err(|_| missing("object bucket", bucket, "make it with `nats object add`"))?;
    let gone = |name: &str| missing("object", name, "`object_list` says which there are");
    match work {
        ObjectWork::Get { name, encoding } => get(&store, bucket, &name, encoding).await,
        ObjectWork::Put { name, data, description } => {
            let metadata =
                ObjectMetadata { name: name.clone(), description, ..ObjectMetadata::default() };
            let info = store.put(metadata, &mut data.as_slice()).await;
            let info = info.map_err(|error| {
                failed(ErrorKind::StorageAccess, "cannot put the object", &error)
            })?;
            Ok(json!({ "status": "success", "bucket": bucket, "name": name, "size": info.size }))
        }
        ObjectWork::Delete { name } => {
            store.delete(&name).await.map_err(|error| match error.kind() {
                DeleteErrorKind::NotFound => gone(&name),
                _ => failed(ErrorKind::StorageAccess, "cannot delete the object", &error),
            })?;
            Ok(json!({ "status": "success", "bucket": bucket, "name": name }))
        }
        ObjectWork::Describe { name } => {
            let info = store.info(&name).await.map_err(|error| match error.kind() {
                InfoErrorKind::NotFound => gone(&name),
                _ => failed(ErrorKind::StorageAccess, "cannot look at the object", &error),
            })?;
            let mut described = described(&info);
            described["status"] = json!("success");
            described["bucket"] = json!(bucket);
            Ok(described)
        }
        ObjectWork::List => {
            let broken = |error: &dyn std::error::Error| {
                let message = format!("nats: cannot list the objects: {error}");
                ToolError::new(ErrorKind::StorageAccess, message)
            };
            let mut infos = store.list().await.map_err(|error| broken(&error))?;
            let mut objects = Vec::new();
            while let Some(info) = infos.try_next().await.map_err(|error| broken(&error))? {
                if OBJECTS_MAX <= objects.len() {
                    let message = format!("nats: there are more than {OBJECTS_MAX} objects");
                    return Err(ToolError::new(ErrorKind::StorageQuota, message));
                }
                objects.push(described(&info));
            }
            let count = objects.len();
            Ok(json!({ "status": "success", "bucket": bucket, "objects": objects, "count": count }))
        }
    }
}

async fn get(
    store: &ObjectStore,
    bucket: &str,
    name: &str,
    encoding: Encoding,
) -> Result<Value, ToolError> {
    let mut object = store.get(name).await.map_err(|error| match error.kind() {
        GetErrorKind::NotFound => missing("object", name, "`object_list` says which there are"),
        _ => failed(ErrorKind::StorageAccess, "cannot get the object", &error),
    })?;
    if OBJECT_BYTES_MAX < object.info().size {
        let message = format!(
            "nats: the object `{name}` has {} bytes; at most {OBJECT_BYTES_MAX} become a result",
            object.info().size
        );
        return Err(ToolError::new(ErrorKind::StorageQuota, message));
    }
    let mut bytes = Vec::new();
    object
        .read_to_end(&mut bytes)
        .await
        .map_err(|error| failed(ErrorKind::StorageAccess, "cannot read the object", &error))?;
    let size = bytes.len();
    let data = match encoding {
        Encoding::Base64 => BASE64_STANDARD.encode(&bytes),
        Encoding::Utf8 => String::from_utf8(bytes).map_err(|_| {
            let message = format!("nats: the object `{name}` is no text; say `encoding: base64`");
            ToolError::new(ErrorKind::Parse, message)
        })?,
    };
    Ok(json!({ "status": "success", "bucket": bucket, "name": name, "data": data, "size": size }))
}

fn described(info: &ObjectInfo) -> Value {
    json!({
        "name": info.name, "size": info.size, "description": info.description,
        "chunks": info.chunks, "digest": info.digest,
    })
}
