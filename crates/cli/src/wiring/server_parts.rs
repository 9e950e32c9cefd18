//! Builds the store and the bus of a server, embedded or shared.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use noetl_bus::{Bus, LocalBus};
use noetl_bus_nats::{NatsBus, NatsSettings};
use noetl_model::{IdGenerator, Timestamp, WorkerId, machine_id_of};
use noetl_store::{Clock as _, SystemClock, WorkQueue as _};
use noetl_store_postgres::{
    ClaimError, ClusterSettings, MACHINES_MAX, MachineClaim, Shards, TimeSource,
};
use tokio_util::sync::CancellationToken;

use crate::args::ServerArgs;
use crate::backend::local::{SealedStore, embedded_worker};
use crate::config::Config;
use crate::show::failure::Failure;
use crate::wiring::database;
use crate::wiring::keys;

/// Interval at which partitions are created ahead of time.
const UPKEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// The store, bus and machine number of a server.
pub(crate) struct ServerParts {
    pub(crate) kept: SealedStore,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) sharing: Sharing,
    pub(crate) upkeep: Option<Upkeep>,
    pub(crate) machine: Machine,
}

/// The machine number, which distinguishes this process's ids from those of others.
pub(crate) enum Machine {
    /// No other process writes to the store.
    Exclusive(u16),
    /// No other server gets the number while the claim is renewed.
    Claimed(MachineClaim),
}

impl Machine {
    pub(crate) fn number(&self) -> u16 {
        match self {
            Machine::Exclusive(number) => *number,
            Machine::Claimed(claim) => claim.number(),
        }
    }

    /// Renews the claim until told to stop, then releases it. If another server has got the number,
    /// a new one is claimed.
    pub(crate) async fn keep(self, ids: &IdGenerator, stop: CancellationToken) {
        let mut claim = match self {
            Machine::Exclusive(_) => return,
            Machine::Claimed(claim) => claim,
        };
        let renumber = |number| {
            tracing::warn!(
                number,
                "another server has this one's machine number; it has a new one"
            );
            ids.renumber(number);
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = claim.keep(renumber) => {}
        }
        if let Err(error) = claim.release().await {
            let error: &dyn std::error::Error = &error;
            tracing::debug!(
                error,
                "cannot release the machine number; it expires in a few seconds"
            );
        }
    }
}

/// The exclusive or shared use of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sharing {
    Alone { database: PathBuf },
    WithOthers,
}

/// Creates the partitions of a cluster ahead of time.
pub(crate) struct Upkeep {
    shards: Arc<Shards>,
}

impl Upkeep {
    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(UPKEEP_EVERY) => {}
            }
            if let Err(error) = self.shards.upkeep(self.shards.clock().now()).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(
                    error,
                    "cannot create the partitions of the coming months; will retry"
                );
            }
        }
    }
}

/// Builds what the flags and the environment configure; also returns its name for messages.
pub(crate) async fn build(
    args: &ServerArgs,
    address: SocketAddr,
    config: &Config,
) -> Result<(ServerParts, String), Failure> {
    let config = &config.clone().with_payload_directory(args.payload_dir.as_deref());
    let bus = bus(args, address, config).await?;
    let names_embedded = args.database.db.is_some();
    if args.postgres.is_none() && (names_embedded || !config.names_postgres()) {
        let path = database::path_of(&args.database, config);
        let store = Arc::new(database::open(&path, config).await?);
        // Only one process opens a database, so its previous embedded worker is gone.
        store.release(&embedded_worker()).await.map_err(Failure::broken)?;
        let number = chosen_machine(config)?.unwrap_or_else(|| machine_id_of(&config.host()));
        let machine = Machine::Exclusive(number);
        let kept = SealedStore::of(store, keys::embedded(&path, config)?, config);
        let history = config.short(&path);
        let sharing = Sharing::Alone { database: path };
        return Ok((ServerParts { kept, bus, sharing, upkeep: None, machine }, history));
    }
    let read = |name: &str| match (&args.postgres, name) {
        (Some(url), "DATABASE_URL") => Some(url.clone()),
        (Some(_), "NOETL_SHARDS" | "NOETL_CLUSTER_DSN") => None,
        (_, name) => config.variable(name),
    };
    let keyring = keys::shared(config)?;
    let settings = ClusterSettings::from_env(read).map_err(Failure::bad_input)?;
    let shards = Shards::connect(settings, TimeSource::Database).await.map_err(Failure::broken)?;
    let shards = Arc::new(database::shards_with_payloads(shards, config)?);
    let name = match shards.shards() {
        1 => "PostgreSQL".to_owned(),
        count => format!("{count} shards of PostgreSQL"),
    };
    let upkeep = Some(Upkeep { shards: shards.clone() });
    let machine = Machine::Claimed(claim_machine(&shards, config).await?);
    let kept = SealedStore::of(shards, keyring, config);
    let parts = ServerParts { kept, bus, sharing: Sharing::WithOthers, upkeep, machine };
    Ok((parts, name))
}

/// Returns the machine number set by the operator.
fn chosen_machine(config: &Config) -> Result<Option<u16>, Failure> {
    let Some(number) = config.variable("NOETL_SERVER_MACHINE_ID") else {
        return Ok(None);
    };
    let parsed = number.parse().ok().filter(|number| *number < MACHINES_MAX);
    parsed.map(Some).ok_or_else(|| {
        Failure::bad_input(anyhow!(
            "NOETL_SERVER_MACHINE_ID must be a number below {MACHINES_MAX}, not `{number}`"
        ))
    })
}

/// Claims a machine number that no other server of the cluster has.
async fn claim_machine(shards: &Shards, config: &Config) -> Result<MachineClaim, Failure> {
    let claimed = match chosen_machine(config)? {
        Some(number) => shards.claim_exact_machine(number).await,
        // The process is hashed, not the host: servers on one host would all begin with the same
        // number.
        None => shards.claim_machine(machine_id_of(worker_of_process(config).as_str())).await,
    };
    claimed.map_err(|error| match error {
        ClaimError::Taken { .. } => Failure::bad_input(error)
            .help("give NOETL_SERVER_MACHINE_ID another value, or none to get one that is free"),
        ClaimError::NoneFree | ClaimError::Store(_) => Failure::broken(error),
    })
}

async fn bus(
    args: &ServerArgs,
    address: SocketAddr,
    config: &Config,
) -> Result<Arc<dyn Bus>, Failure> {
    let Some(url) = args.nats.clone().or_else(|| config.variable("NOETL_NATS_URL")) else {
        return Ok(Arc::new(LocalBus::new()));
    };
    let settings =
        NatsSettings { public_server_url: config.public_url(address), ..NatsSettings::at(url) };
    let bus = NatsBus::connect(settings).await.map_err(Failure::bad_input)?;
    Ok(Arc::new(bus))
}

/// Returns the time by the clock of this machine.
pub(crate) fn machine_time() -> Timestamp {
    SystemClock.now()
}

/// Returns a unique worker id: in a shared store, leases may outlive this process.
pub(crate) fn worker_of_process(config: &Config) -> WorkerId {
    let begun = machine_time().as_micros();
    WorkerId::new(format!("{}-{}-{begun:x}", config.host(), std::process::id()))
}
