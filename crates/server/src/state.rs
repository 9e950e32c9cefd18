//! What every handler can reach.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use noetl_bus::Bus;
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
use crate::seen::Seen;
use crate::statements::{MaybeStatements, Statements};
use crate::tls::Tls;
use crate::tokens::Token;
use crate::unserved::UnservedPools;

/// What an operator may set.
#[derive(Debug, Clone)]
pub struct Settings {
    pub access: Access,
    /// What parts of the system show each other; everything they need is allowed with it.
    pub internal: Option<Token>,
    pub hosts: Hosts,
    pub origins: Origins,
    pub tls: Option<Arc<Tls>>,
    pub limits: Limits,
    /// The broker of subscriptions that name none.
    pub broker_url: Option<BrokerUrl>,
    /// The prefix of the subjects of feeds.
    pub feed_prefix: SubjectPrefix,
    pub figures: Figures,
    pub spans: Spans,
    /// How long a worker that sends heartbeats may go without one; the control plane's lease.
    pub lease: Duration,
    /// Every how many events a replay is saved, for later ones to go on from.
    pub replay_saved_every: NonZeroU64,
    /// How many entries a replay may have; with more, it goes on alone.
    pub replay_alone_from: usize,
}

/// A replay of fewer events takes a fraction of a second.
const REPLAY_SAVED_EVERY: NonZeroU64 = NonZeroU64::new(50_000).expect("not zero");

/// A replay with fewer entries takes a few megabytes.
const REPLAY_ALONE_FROM: usize = 20_000;

/// Whether the server tells what it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    Shown,
    Hidden,
}

/// Whether anybody sees the spans of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spans {
    Exported,
    Unseen,
}

impl Settings {
    /// The usual figures, for those who are let in under these names.
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

/// What the routes are made of.
#[derive(Clone)]
pub struct Services {
    pub control: Control,
    /// What `control` keeps its data in.
    pub store: Arc<dyn Store>,
    /// What is kept beside the log.
    pub records: Arc<dyn Records>,
    /// What keeps secrets in `records`.
    pub vault: Arc<Vault>,
    /// What `control` tells others by.
    pub bus: Arc<dyn Bus>,
    pub ids: Arc<IdGenerator>,
}

/// What every handler can reach. Cheap to clone: all clones are the same one.
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

/// How many large reports are taken in at once.
const LARGE_REPORTS_MAX: usize = 2;
/// How many large replays are under way at once, from when they are large to when they are sent.
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

    /// The same with other secrets for subscriptions than the stored credentials. To be said before
    /// the state is shared.
    pub fn with_secrets(mut self, secrets: Arc<dyn Secrets>) -> Self {
        let parts = Arc::get_mut(&mut self.parts).expect("nobody else holds the state yet");
        parts.ingress = Ingress::new(secrets, parts.settings.limits.message_bytes_max);
        self
    }

    /// The same with somebody who runs SQL by hand. To be said before the state is shared.
    pub fn with_statements(mut self, statements: Arc<dyn Statements>) -> Self {
        let parts = Arc::get_mut(&mut self.parts).expect("nobody else holds the state yet");
        parts.statements = Some(statements);
        self
    }

    /// The right to take in a large report: once read it takes many times its length until it is
    /// written, so however many come, few are at that point.
    pub(crate) async fn large_report(&self) -> SemaphorePermit<'_> {
        self.parts.large_reports.acquire().await.expect("it is never closed")
    }

    /// The right to hold a large replay: one takes tens of megabytes, so however many are asked
    /// for, few are held.
    pub(crate) async fn large_replay(&self) -> OwnedSemaphorePermit {
        let replays = self.parts.large_replays.clone();
        replays.acquire_owned().await.expect("it is never closed")
    }

    /// Who runs SQL by hand, if an operator wants it.
    pub(crate) fn statements(&self) -> Option<&dyn Statements> {
        self.parts.statements.as_deref()
    }

    /// What is kept for senders of messages.
    pub(crate) fn ingress(&self) -> &Ingress {
        &self.parts.ingress
    }

    /// The pools without a worker.
    pub(crate) fn unserved(&self) -> &UnservedPools {
        &self.parts.unserved
    }

    /// What runtimes hand messages in at.
    pub(crate) fn intake(&self) -> &Intake {
        &self.parts.intake
    }

    /// From now on nothing new should come here: readiness says no, and streams end.
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

    /// The health of the store, as last checked.
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

    /// What is measured.
    pub(crate) fn meters(&self) -> &Meters {
        &self.parts.meters
    }

    /// How often clients may ask.
    pub(crate) fn patience(&self) -> &Patience {
        &self.parts.patience
    }

    pub(crate) fn records(&self) -> &dyn Records {
        &*self.parts.services.records
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.parts.services.vault
    }

    /// From an alias to a secret.
    pub(crate) fn lookup(&self) -> &Lookup {
        &self.parts.lookup
    }

    /// The events of others that were recorded lately.
    pub(crate) fn seen(&self) -> &Seen {
        &self.parts.seen
    }
}
