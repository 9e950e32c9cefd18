//! The operator's view of a database.

use super::{SqlDatabase, all_of};
use crate::from_row::Columns as _;
use crate::to_row::at_most;
use crate::{StoreError, Tables, WRITE_CHECK_LEN};

pub async fn tables<D: SqlDatabase>(database: &D) -> Result<Tables, StoreError> {
    let statement = &database.sql().list_tables;
    let found = all_of(database, statement, &[], |row| row.string("name")).await?;
    Ok(Tables::of(found, D::NEEDED_TABLES))
}

pub async fn check_writable<D: SqlDatabase>(database: &D) -> Result<(), StoreError> {
    let arguments = [at_most(WRITE_CHECK_LEN, WRITE_CHECK_LEN).into()];
    database.write(&database.sql().check_writable, &arguments).await?;
    match database.blobs() {
        Some(blobs) => blobs.check_writable().await,
        None => Ok(()),
    }
}
