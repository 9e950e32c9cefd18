//! The conformance suite, on one database and on three shards.

use noetl_store::conformance::TestClock;
use noetl_store_postgres::PgStore;

use crate::database::Database;

pub(crate) async fn fresh(clock: TestClock) -> (PgStore, Database) {
    let database = Database::migrated().await;
    (database.open(clock).await, database)
}

noetl_store::conformance!(fresh);

mod sharded {
    use crate::shards::fresh;

    noetl_store::conformance!(fresh);
}
