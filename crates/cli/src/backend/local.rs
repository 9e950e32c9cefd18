//! The backend in this process: a store, a control plane and a worker, from opening to closing.
//!
//! Every request of a command to an embedded control plane goes through a [`Session`].

mod reader;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use async_trait::async_trait;
use noetl_api::ControlPlane;
use noetl_app::{
    App, AppSettings, CatalogError, EndError, EntryChoice, EntryState, ExecutionFilter,
    ForkPlaybook, KeyedSignalResult, Services, SignalError, send_notifications,
};
use noetl_bus::{Bus, LocalBus};
use noetl_control::{
    Control, ControlSettings, ForkError, ForkRequest, RegisterError, Registered, SendSignalError,
    SentSignal, SignalByKey, StartError, StartRequest,
};
use noetl_isolation::Isolation;
use noetl_model::{
    Actor, ChildExecutions, ExecutionId, ExecutionStatus, IdGenerator, PlaybookRef, Seq, Summary,
    WorkerId, machine_id_of,
};
use noetl_secrets::{EncryptionKey, ExternalCredentials, Keyring, Vault};
use noetl_store::{Bounded, MemoryStore, Records, SteadyClock, Store, SystemClock, WorkQueue as _};
use noetl_store_sqlite::SqliteStore;
use noetl_tools::{Egress, FixedCredentials, Registry, StandardSources};
use noetl_worker::{ControlPlaneCredentials, StoredResults, Worker};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Backend, BackendReader, Follower, HistoryLocation, PlaybookDocument, Started, Which,
    unknown_playbook,
};
use crate::config::Config;
use crate::show::failure::Failure;
use crate::wiring::database;
use crate::wiring::embedded::Embedded;
use crate::wiring::intake::IntakeHost;
use crate::wiring::isolation;
use crate::wiring::keys;
use crate::wiring::network;
use crate::wiring::notices;
use crate::wiring::server_parts::{Machine, ServerParts};
use crate::wiring::tools::Tools;

pub(crate) use reader::LocalReader;

/// The lease time of a command; a worker must send a heartbeat within it.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// The time for which steps of other executions may go on after the command is done.
const DRAIN: Duration = Duration::from_secs(2);
/// The wait for the outbox to be sent after the command is done.
const SETTLE_MAX: Duration = Duration::from_secs(2);
/// Interval at which the outbox is checked.
const SETTLE_LOOK: Duration = Duration::from_millis(10);
/// The most unfinished executions loaded.
const UNFINISHED_MAX: usize = 10_000;
/// The help for a playbook that is neither a file nor in the catalog.
pub(crate) const UNKNOWN_PLAYBOOK_HELP: &str =
    "name a playbook file, or the path of a playbook that has been registered or run before";

/// A control plane in this process, perhaps with a worker.
pub(crate) struct Session {
    app: App,
    bus: Arc<dyn Bus>,
    /// Renews the claim of the machine number for as long as ids are generated.
    numbering: Background,
    reader: LocalReader,
    /// The background loops of the control plane.
    loops: Background,
    worker: Background,
    /// The person that runs this command.
    actor: Option<Actor>,
}

/// The store of a session, and the keys that encrypt its secrets.
pub(crate) struct SealedStore {
    store: Arc<dyn Store>,
    /// The same store, as [`Records`].
    records: Arc<dyn Records>,
    keyring: Keyring,
}

impl SealedStore {
    /// Wraps the store so that every call has the configured deadline.
    pub(crate) fn of(
        store: Arc<impl Store + Records + 'static>,
        keyring: Keyring,
        config: &Config,
    ) -> Self {
        let store = Arc::new(Bounded::new(store, config.store_deadline()));
        Self { store: store.clone(), records: store, keyring }
    }
}

/// Returns the settings of a worker's tools: results and credentials come from the control plane,
/// except that credentials of the environment take precedence.
pub(crate) fn tool_settings(
    control: Arc<dyn ControlPlane>,
    config: &Config,
    settings: noetl_tools::ToolSettings,
) -> noetl_tools::ToolSettings {
    let fixed = FixedCredentials::from_environment(config.variables());
    noetl_tools::ToolSettings {
        credentials: Arc::new(ControlPlaneCredentials::new(fixed, control.clone())),
        results: Arc::new(StoredResults::of(control)),
        ..settings
    }
}

/// Returns a lookup of the environment's credentials, for keychains that name them.
fn given(config: &Config) -> ExternalCredentials {
    let fixed = FixedCredentials::from_environment(config.variables());
    Arc::new(move |name| fixed.get(name))
}

/// Returns the id of the embedded worker, which is the same for every process that opens a
/// database.
pub(crate) fn embedded_worker() -> WorkerId {
    WorkerId::new("embedded")
}

/// A worker in the process of its control plane.
pub(crate) struct EmbeddedWorker {
    pub(crate) id: WorkerId,
    pub(crate) tools: Tools,
    /// The time for which running commands may go on after shutdown begins.
    pub(crate) drain: Duration,
    /// The URL of the server that this worker is part of.
    pub(crate) server_url: Option<String>,
    /// The isolation of its steps.
    pub(crate) isolation: Isolation,
    /// The embedded database that its process has open.
    pub(crate) database: Option<PathBuf>,
}

impl EmbeddedWorker {
    /// The worker of a command whose user waits for it.
    fn of_command(database: Option<&Path>, config: &Config) -> Result<Self, Failure> {
        let isolation = isolation::of_process(config, database)?;
        let (id, tools) = (embedded_worker(), Tools::LocalUser);
        let database = database.map(Path::to_owned);
        Ok(Self { id, tools, drain: DRAIN, server_url: None, isolation, database })
    }
}

/// The place where a session runs the steps of its executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerMode {
    /// A worker in this process.
    Embedded,
    /// No worker: the session only changes stored data.
    None,
}

/// Returns the settings of a control plane in this process.
fn settings(config: &Config) -> ControlSettings {
    ControlSettings {
        attempts_max: config.attempts_max(),
        backlog_max: config.backlog_max(),
        lease: LEASE,
        snapshot_after: config.snapshot_after(),
        ..ControlSettings::default()
    }
}

/// Imports the events of other programs that an earlier release has stored.
async fn import_old_events(app: &App, stop: CancellationToken) {
    match stop.run_until_cancelled(app.fold_old_imports()).await {
        None | Some(Ok(0)) => {}
        Some(Ok(executions)) => {
            tracing::info!(executions, "imported executions from events of an earlier release");
        }
        Some(Err(error)) => tracing::warn!(
            %error,
            "events of an earlier release are not imported; the next start tries again"
        ),
    }
}

/// Background tasks with a token that stops them.
#[derive(Default)]
struct Background {
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Background {
    async fn end(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Session {
    /// Opens a database to run executions on it.
    pub(crate) async fn open(path: &Path, config: &Config) -> Result<Self, Failure> {
        Self::on(database::open(path, config).await?, path, WorkerMode::Embedded, config).await
    }

    /// Creates a session on a database that was opened at `path`.
    pub(crate) async fn on(
        store: SqliteStore,
        path: &Path,
        workers: WorkerMode,
        config: &Config,
    ) -> Result<Self, Failure> {
        let store = Arc::new(store);
        let held = SealedStore::of(store.clone(), keys::embedded(path, config)?, config);
        let location = HistoryLocation::File(path.to_owned());
        match workers {
            WorkerMode::None => {
                Self::local(held, location, config)?.with_notices(Tools::LocalUser, config)
            }
            WorkerMode::Embedded => {
                // Only one process opens a database, so its previous embedded worker is gone.
                store.release(&embedded_worker()).await.map_err(Failure::broken)?;
                Self::local(held, location, config)?
                    .with_worker(EmbeddedWorker::of_command(Some(path), config)?, config)?
                    .with_notices(Tools::LocalUser, config)
            }
        }
    }

    /// Creates a session that stores nothing.
    pub(crate) fn ephemeral(config: &Config) -> Result<Self, Failure> {
        let clock = Arc::new(SteadyClock::default());
        let keyring = Keyring::new(EncryptionKey::generate(), Vec::new());
        let held = SealedStore::of(Arc::new(MemoryStore::new(clock)), keyring, config);
        Self::local(held, HistoryLocation::Memory, config)?
            .with_worker(EmbeddedWorker::of_command(None, config)?, config)?
            .with_notices(Tools::LocalUser, config)
    }

    /// Creates a control plane that is the only user of its store.
    fn local(
        held: SealedStore,
        location: HistoryLocation,
        config: &Config,
    ) -> Result<Self, Failure> {
        let machine = Machine::Exclusive(machine_id_of(&config.host()));
        let (settings, given) = (settings(config), given(config));
        let app = network::app_settings(config)?;
        let bus = Arc::new(LocalBus::new());
        let session = Self::new(held, bus, (settings, app), machine, (location, given));
        Ok(Self { actor: config.actor(), ..session })
    }

    /// Creates the control plane of a server.
    pub(crate) fn serving(
        parts: ServerParts,
        public_url: String,
        app_settings: AppSettings,
        config: &Config,
    ) -> Self {
        let ServerParts { kept, bus, sharing: _, upkeep, machine } = parts;
        let settings = ControlSettings {
            notifications: config.notification_sender(),
            public_url: Some(public_url.trim_end_matches('/').to_owned()),
            ..settings(config)
        };
        let given = given(config);
        let settings = (settings, app_settings);
        let mut session = Self::new(kept, bus, settings, machine, (HistoryLocation::Memory, given));
        let (app, stop) = (session.app.clone(), session.loops.stop.clone());
        session.loops.tasks.spawn(async move { app.clean_up_records(stop).await });
        let (app, stop) = (session.app.clone(), session.loops.stop.clone());
        session.loops.tasks.spawn(async move { import_old_events(&app, stop).await });
        let (control, stop) = (session.app.control().clone(), session.loops.stop.clone());
        session.loops.tasks.spawn(async move { control.keep_schedules(stop).await });
        if let Some(upkeep) = upkeep {
            let stop = session.loops.stop.clone();
            session.loops.tasks.spawn(async move { upkeep.run(stop).await });
        }
        session
    }

    fn new(
        held: SealedStore,
        bus: Arc<dyn Bus>,
        (settings, app_settings): (ControlSettings, AppSettings),
        machine: Machine,
        (location, given): (HistoryLocation, ExternalCredentials),
    ) -> Self {
        let SealedStore { store, records, keyring } = held;
        let ids = Arc::new(IdGenerator::new(machine.number()));
        let (shared, clock) = (bus.clone(), Arc::new(SystemClock));
        let control = Control::new(store.clone(), shared, clock, ids.clone(), settings);
        let mut loops = Background::default();
        let (running, stop) = (control.clone(), loops.stop.clone());
        loops.tasks.spawn(async move { running.run(stop).await });
        let mut numbering = Background::default();
        let (numbered, stop) = (ids.clone(), numbering.stop.clone());
        numbering.tasks.spawn(async move { machine.keep(&numbered, stop).await });
        let worker = Background::default();
        let vault = Vault::new(records.clone(), keyring, ids.clone(), control.clock());
        let vault = Arc::new(vault.with_given(given));
        let services = Services { control, store, records, vault, bus: bus.clone(), ids };
        let app = App::new(services, app_settings);
        let reader = LocalReader { store: app.reader(), location, server: None };
        Self { app, bus, numbering, reader, loops, worker, actor: None }
    }

    /// Returns the name of the person that runs this command.
    pub(crate) fn actor(&self) -> Option<Actor> {
        self.actor.clone()
    }

    /// Adds a worker in this process.
    pub(crate) fn with_worker(
        self,
        worker: EmbeddedWorker,
        config: &Config,
    ) -> Result<Self, Failure> {
        let mut session = self;
        let bus = session.bus.clone();
        let embedded = Arc::new(Embedded::new(session.app.clone()));
        let settings = worker.tools.settings_beside(worker.database.as_deref(), config)?;
        let mut tools = tool_settings(embedded.clone(), config, settings);
        tools.isolation = worker.isolation;
        tools.identity.worker = Some(worker.id.to_string());
        let is_of_server = worker.server_url.is_some();
        if is_of_server {
            tools.identity.server_url = worker.server_url;
        }
        let registry = Registry::standard(tools);
        let settings = noetl_worker::WorkerSettings::new(worker.id, config.worker_concurrency());
        // The embedded worker of a command is not listed; only those of servers are.
        let announce = settings.announce.filter(|_| is_of_server);
        let settings = noetl_worker::WorkerSettings { drain: worker.drain, announce, ..settings };
        let worker = Worker::new(embedded.clone(), registry, settings);
        let stop = session.worker.stop.clone();
        session.worker.tasks.spawn(async move {
            tokio::select! {
                () = worker.run(stop) => {}
                () = embedded.hear(bus) => {}
            }
        });
        Ok(session)
    }

    /// Adds the sender of notifications about executions.
    pub(crate) fn with_notices(mut self, tools: Tools, config: &Config) -> Result<Self, Failure> {
        let transport = notices::transport(tools, config)?;
        self.app.set_notice_transport(transport.clone());
        let (app, stop) = (self.app.clone(), self.loops.stop.clone());
        self.loops.tasks.spawn(async move { send_notifications(app, transport, stop).await });
        Ok(self)
    }

    /// Adds the intake runtimes that fetch the messages of active subscriptions.
    pub(crate) fn with_intake(
        mut self,
        id: WorkerId,
        nats_url: Option<String>,
        egress: Egress,
        config: &Config,
    ) -> Self {
        let embedded = Arc::new(Embedded::new(self.app.clone()));
        let fixed = FixedCredentials::from_environment(config.variables());
        let credentials = Arc::new(ControlPlaneCredentials::new(fixed, embedded));
        let sources = Arc::new(StandardSources::new(credentials, nats_url, egress));
        let host = IntakeHost { intake: self.app.intake().clone(), sources, id };
        let stop = self.worker.stop.clone();
        self.worker.tasks.spawn(host.run(stop));
        self
    }

    /// Returns the operations of this session.
    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    /// Waits until the outbox is empty, for example until cancellations are delivered, up to
    /// `SETTLE_MAX`.
    async fn settle(&self) {
        let deadline = Instant::now() + SETTLE_MAX;
        while Instant::now() < deadline
            && self.app.unsent_messages().await.is_ok_and(|owed| owed > 0)
        {
            tokio::time::sleep(SETTLE_LOOK).await;
        }
    }
}

fn signal_failure(error: SignalError) -> Failure {
    match error {
        SignalError::SenderTooLong
        | SignalError::KeptTooLong
        | SignalError::Refused(_)
        | SignalError::Send(
            SendSignalError::Body(_)
            | SendSignalError::TooMany
            | SendSignalError::TooManyOfKey(..)
            | SendSignalError::KeyReused { .. },
        ) => Failure::bad_input(error),
        SignalError::Send(SendSignalError::Submit(_) | SendSignalError::Store(_)) => {
            Failure::broken(error)
        }
    }
}

#[async_trait]
impl Backend for Session {
    fn reader(&self) -> &dyn BackendReader {
        &self.reader
    }

    fn local_app(&self) -> Option<App> {
        Some(self.app.clone())
    }

    async fn register(&self, file: &Path, content: &str) -> Result<PlaybookRef, Failure> {
        match self.app.register_file(&file.display().to_string(), content).await {
            Ok(Registered { entry, warnings: _, is_restored: _ }) => Ok(PlaybookRef {
                catalog_id: entry.catalog_id,
                path: entry.path,
                version: entry.version,
            }),
            Err(error) => Err(unregistered(error)),
        }
    }

    async fn set_playbook_state(
        &self,
        path: &str,
        state: EntryState,
    ) -> Result<PlaybookDocument, Failure> {
        let choice = EntryChoice::Path { path: path.to_owned(), version: None };
        let changed = match state {
            EntryState::Archived => self.app.archive(&choice).await,
            EntryState::Active => self.app.restore(&choice).await,
        };
        match changed {
            Ok(entry) => Ok(PlaybookDocument { content: None, ..entry.into() }),
            Err(CatalogError::Store(error)) => Err(Failure::broken(error)),
            Err(CatalogError::Unknown) => Err(unknown_playbook(path)),
            Err(
                error @ (CatalogError::NotAPlaybook { .. }
                | CatalogError::Ambiguous(_)
                | CatalogError::OtherPath { .. }
                | CatalogError::Changed { .. }
                | CatalogError::Register(_)),
            ) => Err(Failure::bad_input(error).help("`noetl catalog list` lists the playbooks")),
        }
    }

    async fn start(&self, mut request: StartRequest) -> Result<Summary, Failure> {
        request.input.actor = self.actor();
        match self.app.start(request).await {
            Ok(started) => Ok(started),
            Err(StartError::UnknownPlaybook(name)) => {
                let failure =
                    Failure::bad_input(anyhow!("there is no file and no playbook {name}"));
                Err(self.reader().suggest_playbook(failure, &name, UNKNOWN_PLAYBOOK_HELP).await)
            }
            Err(
                error @ (StartError::ArchivedPlaybook(_)
                | StartError::AmbiguousName(_)
                | StartError::InvalidInputs(_)
                | StartError::PayloadTooLarge
                | StartError::PayloadTooNested
                | StartError::ParentCancelled(_)
                | StartError::CredentialNotPermitted(_)
                | StartError::TooDeep { .. }),
            ) => Err(Failure::bad_input(error)),
            Err(
                error @ (StartError::KeyTaken(_)
                | StartError::BacklogFull(_)
                | StartError::Refused(_)
                | StartError::Submit(_)),
            ) => Err(Failure::broken(error)),
        }
    }

    async fn fork(&self, request: ForkRequest) -> Result<Summary, Failure> {
        let request = ForkRequest { actor: self.actor(), ..request };
        self.app.fork(request, ForkPlaybook::Registered).await.map_err(unforked)
    }

    async fn fork_onto(
        &self,
        request: ForkRequest,
        file: &Path,
        content: &str,
    ) -> Result<Summary, Failure> {
        let file = file.display().to_string();
        let playbook = ForkPlaybook::Document { file: &file, content };
        let request = ForkRequest { actor: self.actor(), ..request };
        self.app.fork(request, playbook).await.map_err(unforked)
    }

    /// Leaves out child executions: their parents wait for them.
    async fn unfinished(&self) -> Result<Vec<Summary>, Failure> {
        let filter =
            ExecutionFilter { status: Some(ExecutionStatus::Running), ..Default::default() };
        let started = Started::default();
        let running = self.reader().list(Which::RequestedHere, &filter, started, UNFINISHED_MAX);
        Ok(running.await?.into_iter().rev().map(|known| known.summary).collect())
    }

    fn follow(&self, execution: ExecutionId) -> Follower {
        Follower::Here(self.app.control().events_follow(execution, Seq::ZERO))
    }

    async fn cancel(
        &self,
        execution: ExecutionId,
        reason: &str,
        below: ChildExecutions,
    ) -> Result<(), Failure> {
        match self.app.cancel(execution, Some(reason.to_owned()), below, self.actor()).await {
            Ok(_) => Ok(()),
            Err(error @ (EndError::ReasonTooLong | EndError::NotAnEnd | EndError::Refused(_))) => {
                Err(Failure::bad_input(error))
            }
            Err(error @ (EndError::Submit(_) | EndError::Store(_))) => Err(Failure::broken(error)),
        }
    }

    async fn signal(&self, execution: ExecutionId, sent: SentSignal) -> Result<(), Failure> {
        let sent = SentSignal { actor: self.actor(), ..sent };
        self.app.signal(execution, sent).await.map_err(signal_failure)
    }

    async fn signal_by_key(&self, sent: SignalByKey) -> Result<KeyedSignalResult, Failure> {
        let sent = SignalByKey { actor: self.actor(), ..sent };
        self.app.signal_by_key(sent).await.map_err(signal_failure)
    }

    async fn close(self: Box<Self>) {
        self.settle().await;
        self.worker.end().await;
        self.app.finish_audit().await;
        self.loops.end().await;
        self.numbering.end().await;
    }
}

/// Converts an error of registering the playbook of a fork.
fn unregistered(error: RegisterError) -> Failure {
    match error {
        RegisterError::Invalid(problems) => Failure::Invalid(problems),
        RegisterError::SecretPayload { .. } => Failure::bad_input(error),
        RegisterError::Subscription(_) | RegisterError::Schedule(_) | RegisterError::Store(_) => {
            Failure::broken(error)
        }
    }
}

fn unforked(error: ForkError) -> Failure {
    match error {
        ForkError::UnknownEvent(..) => {
            Failure::bad_input(error).help("`noetl executions events ID` lists its events")
        }
        ForkError::NotFailed { .. } => Failure::bad_input(error)
            .help("`noetl executions fork ID --at-event SEQ` forks it at any of its events"),
        ForkError::Unforkable(_) => Failure::bad_input(error).help("fork at an earlier event"),
        ForkError::TooManyForks(_) => Failure::bad_input(error),
        ForkError::Register(error) => unregistered(error),
        ForkError::Start(error) => Failure::broken(error),
    }
}
