//! The parts that the operations share.

use std::sync::Arc;
use std::time::Duration;

use noetl_bus::Bus;
use noetl_control::Control;
use noetl_model::{IdGenerator, Timestamp};
use noetl_secrets::Vault;
use noetl_store::{Records, Store};

use crate::feeds::SubjectPrefix;
use crate::listeners::Listeners;
use crate::message_intake::{BrokerUrl, Intake};
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
}

impl AppSettings {
    /// Creates settings without a broker and with the default prefix of feeds.
    pub fn new(lease: Duration) -> Self {
        Self { lease, broker_url: None, feed_prefix: SubjectPrefix::default() }
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

    pub(crate) fn records(&self) -> &dyn Records {
        &*self.parts.services.records
    }

    pub(crate) fn listeners(&self) -> &Listeners {
        &self.parts.listeners
    }

    pub(crate) fn unserved(&self) -> &UnservedPools {
        &self.parts.unserved
    }

    pub(crate) fn condition(&self) -> &StoreCondition {
        &self.parts.condition
    }
}
