//! The state shared by all handlers.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use noetl_bus::Bus;
use noetl_compat::Seen;
use noetl_control::Control;
use noetl_model::{IdGenerator, Timestamp};
use noetl_secrets::Vault;
use noetl_store::{Records, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Hosts, Origins, Patience};
use crate::condition::Condition;
use crate::ingress::{Ingress, Secrets};
use crate::intake::{BrokerUrl, Intake};
use crate::limits::Limits;
use crate::lookup::Lookup;
use crate::meters::Meters;
use crate::routes::SubjectPrefix;
use crate::statements::{MaybeStatements, Statements};
use crate::tls::Tls;
use crate::tokens::Token;
use crate::unserved::UnservedPools;

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct Settings {
    pub access: Access,
    /// Token for the internal routes, used between parts of the system.
    pub internal: Option<Token>,
    pub hosts: Hosts,
    pub origins: Origins,
    pub tls: Option<Arc<Tls>>,
    pub limits: Limits,
    /// Broker for subscriptions that name none.
    pub broker_url: Option<BrokerUrl>,
    /// Prefix of the subjects of feeds.
    pub feed_prefix: SubjectPrefix,
    pub figures: Figures,
    pub spans: Spans,
    /// Duration of a lease, as set in the control plane; a worker must send a heartbeat within that
    /// time.
    pub lease: Duration,
    /// Number of events after which a replay is saved, so that later ones can continue from it.
    pub replay_saved_every: NonZeroU64,
    /// Number of entries from which a replay counts as large and needs a permit.
    pub replay_alone_from: usize,
}

/// Default interval of saved replays; a replay of fewer events takes a fraction of a second.
const REPLAY_SAVED_EVERY: NonZeroU64 = NonZeroU64::new(50_000).expect("not zero");

/// Default size of a large replay; one with fewer entries takes a few megabytes.
const REPLAY_ALONE_FROM: usize = 20_000;

/// Switch for the metrics route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    Shown,
    Hidden,
}

/// Switch for the export of request spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spans {
    Exported,
    Unseen,
}

impl Settings {
    /// Creates settings with default limits.
    pub fn new(access: Access, hosts: Hosts, lease: Duration) -> Self {
        Self {
            access,
            internal: None,
            hosts,
            origins: Origins::default(),
            tls: None,
            limits: Limits::default(),
            broker_url: None,
            feed_prefix: SubjectPrefix::default(),
            figures: Figures::Shown,
            spans: Spans::Unseen,
            lease,
            replay_saved_every: REPLAY_SAVED_EVERY,
            replay_alone_from: REPLAY_ALONE_FROM,
        }
    }
}

/// The services that the routes use.
#[derive(Clone)]
pub struct Services {
    pub control: Control,
    /// The store that `control` uses.
    pub store: Arc<dyn Store>,
    /// Records stored beside the event log.
    pub records: Arc<dyn Records>,
    /// Encrypted secrets in `records`.
    pub vault: Arc<Vault>,
    /// The bus that `control` publishes on.
    pub bus: Arc<dyn Bus>,
    pub ids: Arc<IdGenerator>,
}

/// The state shared by all handlers. Cheap to clone: all clones share the same parts.
#[derive(Clone)]
pub struct AppState {
    parts: Arc<Parts>,
}

struct Parts {
    services: Services,
    settings: Settings,
    started: Instant,
    draining: CancellationToken,
    lookup: Lookup,
    seen: Seen,
    patience: Patience,
    meters: Meters,
    condition: Condition,
    ingress: Ingress,
    unserved: UnservedPools,
    statements: MaybeStatements,
    intake: Intake,
    large_reports: Semaphore,
    large_replays: Arc<Semaphore>,
}

/// Maximum number of large reports processed at once.
const LARGE_REPORTS_MAX: usize = 2;
/// Maximum number of large replays at once, until they are sent.
const LARGE_REPLAYS_MAX: usize = 1;

impl AppState {
    pub fn new(services: Services, settings: Settings) -> Self {
        let lookup = Lookup {
            control: services.control.clone(),
            store: services.store.clone(),
            vault: services.vault.clone(),
        };
        let ingress = Ingress::new(Arc::new(lookup.clone()), settings.limits.message_bytes_max);
        let intake = Intake::new(
            services.control.clone(),
            services.store.clone(),
            services.records.clone(),
            services.control.clock(),
        )
        .with_broker(settings.broker_url.clone());
        let parts = Parts {
            services,
            patience: Patience::new(&settings),
            settings,
            started: Instant::now(),
            draining: CancellationToken::new(),
            lookup,
            seen: Seen::default(),
            meters: Meters::default(),
            condition: Condition::default(),
            ingress,
            unserved: UnservedPools::default(),
            statements: None,
            intake,
            large_reports: Semaphore::new(LARGE_REPORTS_MAX),
            large_replays: Arc::new(Semaphore::new(LARGE_REPLAYS_MAX)),
        };
        Self { parts: Arc::new(parts) }
    }

    /// Replaces the stored credentials as the source of subscription secrets. Call before the state
    /// is shared.
    pub fn with_secrets(mut self, secrets: Arc<dyn Secrets>) -> Self {
        let parts = Arc::get_mut(&mut self.parts).expect("nobody else holds the state yet");
        parts.ingress = Ingress::new(secrets, parts.settings.limits.message_bytes_max);
        self
    }

    /// Enables manual SQL. Call before the state is shared.
    pub fn with_statements(mut self, statements: Arc<dyn Statements>) -> Self {
        let parts = Arc::get_mut(&mut self.parts).expect("nobody else holds the state yet");
        parts.statements = Some(statements);
        self
    }

    /// Waits for a permit to process a large report. A parsed report takes many times its length in
    /// memory until it is written.
    pub(crate) async fn large_report(&self) -> SemaphorePermit<'_> {
        self.parts.large_reports.acquire().await.expect("it is never closed")
    }

    /// Waits for a permit to hold a large replay, which takes tens of megabytes.
    pub(crate) async fn large_replay(&self) -> OwnedSemaphorePermit {
        let replays = self.parts.large_replays.clone();
        replays.acquire_owned().await.expect("it is never closed")
    }

    /// Returns the runner of manual SQL, if enabled.
    pub(crate) fn statements(&self) -> Option<&dyn Statements> {
        self.parts.statements.as_deref()
    }

    /// Returns the state for receiving posted messages.
    pub(crate) fn ingress(&self) -> &Ingress {
        &self.parts.ingress
    }

    /// Returns the pools that have waiting commands and no worker.
    pub(crate) fn unserved(&self) -> &UnservedPools {
        &self.parts.unserved
    }

    /// Returns the intake for messages that runtimes fetch.
    pub(crate) fn intake(&self) -> &Intake {
        &self.parts.intake
    }

    /// Starts the drain: the server is not ready for new requests, and streams end.
    pub fn drain(&self) {
        self.parts.draining.cancel();
    }

    pub(crate) fn draining(&self) -> &CancellationToken {
        &self.parts.draining
    }

    pub(crate) fn control(&self) -> &Control {
        &self.parts.services.control
    }

    pub(crate) fn replay_saved_every(&self) -> u64 {
        self.parts.settings.replay_saved_every.get()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.parts.services.store
    }

    pub(crate) fn shared_store(&self) -> &Arc<dyn Store> {
        &self.parts.services.store
    }

    /// Returns the last known state of the store.
    pub(crate) fn condition(&self) -> &Condition {
        &self.parts.condition
    }

    pub(crate) fn bus(&self) -> &dyn Bus {
        &*self.parts.services.bus
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.parts.services.control.clock().now()
    }

    pub(crate) fn next_id(&self) -> i64 {
        self.parts.services.ids.next(self.now())
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.parts.settings
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.parts.started.elapsed()
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.parts.meters
    }

    /// Returns the rate limits per client.
    pub(crate) fn patience(&self) -> &Patience {
        &self.parts.patience
    }

    pub(crate) fn records(&self) -> &dyn Records {
        &*self.parts.services.records
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.parts.services.vault
    }

    /// Returns the resolver of secrets.
    pub(crate) fn lookup(&self) -> &Lookup {
        &self.parts.lookup
    }

    /// Returns the cache of claims and recently posted events.
    pub(crate) fn seen(&self) -> &Seen {
        &self.parts.seen
    }
}
