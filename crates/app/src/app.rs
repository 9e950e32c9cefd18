//! The parts that the operations share.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use noetl_bus::Bus;
use noetl_compat::RecentEvents;
use noetl_control::Control;
use noetl_model::{IdGenerator, Timestamp};
use noetl_secrets::Vault;
use noetl_store::{Records, Store};
use tokio::sync::Notify;

use crate::feeds::SubjectPrefix;
use crate::listeners::Listeners;
use crate::message_intake::{BrokerUrl, Intake};
use crate::positions::LogFolds;
use crate::replay::LargeReplays;
use crate::secret_lookup::SecretLookup;
use crate::store_condition::StoreCondition;
use crate::unserved_pools::UnservedPools;

/// The control plane, the storage and the bus that the operations use.
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

/// Settings of the operations.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// Duration of a lease, as set in the control plane; a worker must send a heartbeat within that
    /// time.
    pub lease: Duration,
    /// Broker for subscriptions that name none.
    pub broker_url: Option<BrokerUrl>,
    /// Prefix of the subjects of feeds.
    pub feed_prefix: SubjectPrefix,
    /// Number of events after which a replay is saved, so that later ones can continue from it.
    pub replay_saved_every: NonZeroU64,
    /// Number of entries from which a replay counts as large and needs a permit.
    pub replay_alone_from: usize,
}

/// Default interval of saved replays; a replay of fewer events takes a fraction of a second.
const REPLAY_SAVED_EVERY: NonZeroU64 = NonZeroU64::new(50_000).expect("not zero");
/// Default size of a large replay; one with fewer entries takes a few megabytes.
const REPLAY_ALONE_FROM: usize = 20_000;

impl AppSettings {
    /// Creates settings without a broker and with defaults for feeds and replays.
    pub fn new(lease: Duration) -> Self {
        Self {
            lease,
            broker_url: None,
            feed_prefix: SubjectPrefix::default(),
            replay_saved_every: REPLAY_SAVED_EVERY,
            replay_alone_from: REPLAY_ALONE_FROM,
        }
    }
}

/// The application: each operation of a client is a method. Cheap to clone: all clones share the
/// same parts.
#[derive(Clone)]
pub struct App {
    parts: Arc<Parts>,
}

struct Parts {
    services: Services,
    settings: AppSettings,
    secrets: SecretLookup,
    intake: Intake,
    listeners: Listeners,
    unserved: UnservedPools,
    condition: StoreCondition,
    seen: RecentEvents,
    large_replays: LargeReplays,
    bulk_hints: Arc<Notify>,
    log_folds: LogFolds,
}

impl App {
    pub fn new(services: Services, settings: AppSettings) -> Self {
        let secrets = SecretLookup::of(&services);
        let intake = Intake::new(&services, settings.broker_url.clone());
        let parts = Parts {
            services,
            settings,
            secrets,
            intake,
            listeners: Listeners::default(),
            unserved: UnservedPools::default(),
            condition: StoreCondition::default(),
            seen: RecentEvents::default(),
            large_replays: LargeReplays::default(),
            bulk_hints: Arc::default(),
            log_folds: LogFolds::default(),
        };
        Self { parts: Arc::new(parts) }
    }

    pub fn control(&self) -> &Control {
        &self.parts.services.control
    }

    pub fn vault(&self) -> &Vault {
        &self.parts.services.vault
    }

    pub fn bus(&self) -> &dyn Bus {
        &*self.parts.services.bus
    }

    /// Returns the resolver of aliases to secrets.
    pub fn secrets(&self) -> &SecretLookup {
        &self.parts.secrets
    }

    /// Returns the intake for messages that runtimes fetch.
    pub fn intake(&self) -> &Intake {
        &self.parts.intake
    }

    /// Returns the time by the store's clock.
    pub fn now(&self) -> Timestamp {
        self.control().clock().now()
    }

    pub fn next_id(&self) -> i64 {
        self.parts.services.ids.next(self.now())
    }

    pub(crate) fn settings(&self) -> &AppSettings {
        &self.parts.settings
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.parts.services.store
    }

    pub(crate) fn shared_store(&self) -> &Arc<dyn Store> {
        &self.parts.services.store
    }

    pub(crate) fn shared_records(&self) -> &Arc<dyn Records> {
        &self.parts.services.records
    }

    pub(crate) fn records(&self) -> &dyn Records {
        &*self.parts.services.records
    }

    pub(crate) fn listeners(&self) -> &Listeners {
        &self.parts.listeners
    }

    pub(crate) fn unserved(&self) -> &UnservedPools {
        &self.parts.unserved
    }

    /// Returns the cache of claims and recently posted events.
    pub(crate) fn seen(&self) -> &RecentEvents {
        &self.parts.seen
    }

    pub(crate) fn large_replays(&self) -> &LargeReplays {
        &self.parts.large_replays
    }

    /// Returns the signal that a bulk job was created in this process.
    pub(crate) fn bulk_hints(&self) -> &Arc<Notify> {
        &self.parts.bulk_hints
    }

    /// Returns the folds of the logs that were shown last.
    pub(crate) fn log_folds(&self) -> &LogFolds {
        &self.parts.log_folds
    }

    pub(crate) fn condition(&self) -> &StoreCondition {
        &self.parts.condition
    }
}
