//! The parts that the operations share.

use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use noetl_bus::Bus;
use noetl_compat::RecentEvents;
use noetl_control::Control;
use noetl_model::{IdGenerator, Timestamp};
use noetl_secrets::Vault;
use noetl_store::{Records, Store};
use tokio::sync::Notify;

use crate::audit::AuditWriter;
use crate::busy_pools::BusyPools;
use crate::credential_policies::{DefaultPolicy, PolicyGuard};
use crate::feeds::SubjectPrefix;
use crate::keyed_codes::KeyedCodes;
use crate::lease_secrets::{LeaseSecrets, LeaseVerification};
use crate::listeners::Listeners;
use crate::message_intake::{BrokerUrl, Intake};
use crate::notifications::{NoticeCounters, NoticeCounts, NoticeTransport};
use crate::positions::LogFolds;
use crate::replay::LargeReplays;
use crate::retention::{LastRound, RetentionRules};
use crate::sealed_inputs::VaultSealer;
use crate::secret_lookup::SecretLookup;
use crate::step_logs::{LogSettings, StepLogState};
use crate::store_condition::StoreCondition;
use crate::tokens::KnownTokens;
use crate::unserved_pools::UnservedPools;
use crate::worker_tokens;

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
    /// Limits and retention of the output of tools.
    pub logs: LogSettings,
    /// The time for which the entries of the audit log are kept.
    pub audit_kept: Duration,
    /// The time for which ended executions are kept.
    pub retention: RetentionRules,
    /// The requirement that workers prove that they hold a command.
    pub lease_verification: LeaseVerification,
    /// The default for credentials without a policy.
    pub policy_default: DefaultPolicy,
    /// The settings of the process, for display.
    pub in_force: Vec<SettingInForce>,
    /// The protections of the steps that this process runs, for display.
    pub step_protections: Vec<StepProtection>,
}

/// The state of a protection against the programs of steps, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepProtection {
    pub name: &'static str,
    /// `active`, `inactive` or `not_needed`.
    pub state: &'static str,
    /// The reason why it is not active.
    pub reason: Option<String>,
}

/// A setting of the process, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingInForce {
    /// The key in the configuration file.
    pub key: &'static str,
    /// The variable of the environment.
    pub variable: &'static str,
    /// The value; masked if it is a secret.
    pub value: Option<String>,
    pub source: SettingSource,
}

/// The source of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    Flag,
    Context,
    Environment,
    File,
    Default,
}

/// Default interval of saved replays; a replay of fewer events takes a fraction of a second.
const REPLAY_SAVED_EVERY: NonZeroU64 = NonZeroU64::new(50_000).expect("not zero");
/// Default size of a large replay; one with fewer entries takes a few megabytes.
const REPLAY_ALONE_FROM: usize = 20_000;

/// The time for which entries of the audit log are kept unless settings say otherwise.
const AUDIT_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

impl AppSettings {
    /// Creates settings without a broker and with defaults for feeds and replays.
    pub fn new(lease: Duration) -> Self {
        Self {
            lease,
            broker_url: None,
            feed_prefix: SubjectPrefix::default(),
            replay_saved_every: REPLAY_SAVED_EVERY,
            replay_alone_from: REPLAY_ALONE_FROM,
            logs: LogSettings::default(),
            audit_kept: AUDIT_KEPT,
            retention: RetentionRules::default(),
            lease_verification: LeaseVerification::default(),
            policy_default: DefaultPolicy::default(),
            in_force: Vec::new(),
            step_protections: Vec::new(),
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
    busy: BusyPools,
    condition: StoreCondition,
    seen: RecentEvents,
    large_replays: LargeReplays,
    bulk_hints: Arc<Notify>,
    log_folds: LogFolds,
    notice_transport: OnceLock<Arc<dyn NoticeTransport>>,
    notice_counters: NoticeCounters,
    step_logs: StepLogState,
    tokens: KnownTokens,
    audit: AuditWriter,
    lease_secrets: LeaseSecrets,
    last_round: LastRound,
    worker_token_codes: KeyedCodes,
}

impl App {
    pub fn new(services: Services, settings: AppSettings) -> Self {
        let secrets = SecretLookup::of(&services, settings.policy_default);
        let guard = PolicyGuard::of(&services, settings.policy_default);
        services.control.guard_starts_with(Arc::new(guard));
        services.control.seal_with(Arc::new(VaultSealer(services.vault.clone())));
        let audit = AuditWriter::new(services.records.clone());
        let lease_secrets = LeaseSecrets::of(&services.vault);
        let worker_token_codes = KeyedCodes::of(&services.vault, worker_tokens::PURPOSE);
        services.vault.log_to(Arc::new(audit.clone()));
        let intake = Intake::new(&services, settings.broker_url.clone());
        let parts = Parts {
            services,
            settings,
            secrets,
            intake,
            listeners: Listeners::default(),
            unserved: UnservedPools::default(),
            busy: BusyPools::default(),
            condition: StoreCondition::default(),
            seen: RecentEvents::default(),
            large_replays: LargeReplays::default(),
            bulk_hints: Arc::default(),
            log_folds: LogFolds::default(),
            notice_transport: OnceLock::new(),
            notice_counters: NoticeCounters::default(),
            step_logs: StepLogState::default(),
            tokens: KnownTokens::default(),
            audit,
            lease_secrets,
            last_round: LastRound::default(),
            worker_token_codes,
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

    /// Returns the protections against the programs of steps that this process runs.
    pub fn step_protections(&self) -> &[StepProtection] {
        &self.settings().step_protections
    }

    /// Returns the settings of the process and where each comes from; secrets are masked.
    pub fn settings_in_force(&self) -> &[SettingInForce] {
        &self.settings().in_force
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

    pub(crate) fn busy_pools(&self) -> &BusyPools {
        &self.parts.busy
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

    /// Sets the way to the receivers of notifications; only the first call has an effect.
    pub fn set_notice_transport(&self, transport: Arc<dyn NoticeTransport>) {
        let _ = self.parts.notice_transport.set(transport);
    }

    pub(crate) fn notice_transport(&self) -> Option<Arc<dyn NoticeTransport>> {
        self.parts.notice_transport.get().cloned()
    }

    pub(crate) fn notice_counters(&self) -> &NoticeCounters {
        &self.parts.notice_counters
    }

    /// Returns the numbers of notifications that this process has sent, by kind of target.
    pub fn notice_counts(&self) -> Vec<NoticeCounts> {
        self.parts.notice_counters.counts()
    }

    /// Returns the counters of the output of tools, and its waiting readers.
    pub(crate) fn step_log_state(&self) -> &StepLogState {
        &self.parts.step_logs
    }

    pub(crate) fn worker_token_codes(&self) -> &KeyedCodes {
        &self.parts.worker_token_codes
    }

    pub(crate) fn lease_secrets(&self) -> &LeaseSecrets {
        &self.parts.lease_secrets
    }

    pub(crate) fn audit_writer(&self) -> &AuditWriter {
        &self.parts.audit
    }

    /// Returns the last round of the retention in this process.
    pub(crate) fn last_round(&self) -> &LastRound {
        &self.parts.last_round
    }

    pub(crate) fn known_tokens(&self) -> &KnownTokens {
        &self.parts.tokens
    }

    pub(crate) fn condition(&self) -> &StoreCondition {
        &self.parts.condition
    }
}
