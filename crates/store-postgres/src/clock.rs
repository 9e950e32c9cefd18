//! Reading of the clocks of a cluster's databases, without access to their data.

use noetl_model::Timestamp;
use noetl_store::{Clock as _, RemoteClock};

use crate::OpenError;
use crate::open;
use crate::settings::{ClusterSettings, PgSettings};

/// The time of a database, with its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseTime {
    pub host: String,
    pub port: u16,
    pub now: Timestamp,
}

/// Reads the clock of every database of a cluster, one after the other.
pub async fn read_clocks(settings: ClusterSettings) -> Result<Vec<DatabaseTime>, OpenError> {
    let ClusterSettings { shards, cluster, pool } = settings;
    let mut times = Vec::with_capacity(shards.len());
    for database in shards.into_iter().chain(cluster) {
        let (host, port) = (database.get_host().to_owned(), database.get_port());
        let connections = open::pool(PgSettings { database, pool: pool.clone() }).await?;
        let clock = RemoteClock::new(open::examine(&connections).await?);
        times.push(DatabaseTime { host, port, now: clock.now() });
        connections.close().await;
    }
    Ok(times)
}
