//! The handle of the control plane, and its parts.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use noetl_bus::Bus;
use noetl_engine::Input;
use noetl_model::{Actor, ExecutionId, ExecutionStatus, IdGenerator, Recorded, Seq, Summary};
use noetl_store::{Clock, ExecutionFilter, Page, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::clock::SkewGauge;
use crate::loops::schedules::ScheduleCache;
use crate::loops::timers::DueTimer;
use crate::read::follow::Followers;
use crate::starts::admission::Backlogs;
use crate::starts::catalog::PlaybookCache;
use crate::starts::catalog_lookup::Lookups;
use crate::starts::guard::StartGuard;
use crate::starts::sealing::InputSealer;
use crate::state::load::StateCache;
use crate::state::notices::NoticeCache;
use crate::state::payloads::PayloadCache;
use crate::state::positions::PositionCache;
use crate::state::rewind::Rewinds;
use crate::submit::blocking::Deciders;
use crate::submit::commit::{Committer, Wakes};
use crate::submit::draft::Stamps;
use crate::submit::mailbox::Mailboxes;
use crate::tasks::Tasks;
use crate::work::durations::{DurationTable, Durations};
use crate::work::idle_workers::IdleWorkers;
use crate::work::lease::ReadyKey;
use crate::work::outcomes::{OutcomeCounts, Outcomes};
use crate::work::pauses::PauseCache;
use crate::work::ready_poll::ReadyPolls;
use crate::work::reservations::{ASIDE, RowReservations};
use crate::work::round_robin::RoundRobin;
use crate::{ControlSettings, MailboxAnswer, SubmitError};

/// The control plane of one process. Cheap to clone: all clones share their state.
#[derive(Clone)]
pub struct Control {
    pub(crate) parts: Arc<ControlParts>,
}

pub(crate) struct ControlParts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) stamps: Stamps,
    pub(crate) skew: SkewGauge,
    pub(crate) rewinds: Rewinds,
    pub(crate) settings: ControlSettings,
    pub(crate) tasks: Tasks,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) deciders: Deciders,
    pub(crate) committer: Committer,
    pub(crate) wakes: Wakes,
    pub(crate) followers: Followers,
    pub(crate) outcomes: Outcomes,
    pub(crate) durations: Durations,
    pub(crate) states: StateCache,
    pub(crate) positions: PositionCache,
    pub(crate) playbooks: PlaybookCache,
    pub(crate) payloads: PayloadCache,
    pub(crate) schedules: ScheduleCache,
    pub(crate) notices: NoticeCache,
    pub(crate) claims: RowReservations<ReadyKey>,
    pub(crate) round_robin: RoundRobin,
    pub(crate) backlogs: Backlogs,
    pub(crate) pauses: PauseCache,
    pub(crate) idle_workers: IdleWorkers,
    pub(crate) ready_polls: ReadyPolls,
    pub(crate) lookups: Lookups,
    pub(crate) timers_aside: RowReservations<DueTimer>,
    /// True if as many signals are kept for waits as are allowed.
    pub(crate) signals_full: AtomicBool,
    pub(crate) sealer: OnceLock<Arc<dyn InputSealer>>,
    pub(crate) start_guard: OnceLock<Arc<dyn StartGuard>>,
}

impl Control {
    /// Creates a control plane on a store. All times come from the store's clock; `machine` is this
    /// machine's clock, which is only compared with it.
    pub fn new(
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
        machine: Arc<dyn Clock>,
        ids: Arc<IdGenerator>,
        settings: ControlSettings,
    ) -> Self {
        let parts = ControlParts {
            bus,
            stamps: Stamps { clock: store.clock(), ids },
            skew: SkewGauge::new(machine),
            rewinds: Rewinds::default(),
            tasks: Tasks::default(),
            mailboxes: Mailboxes::default(),
            deciders: Deciders::new(),
            committer: Committer::default(),
            wakes: Wakes::default(),
            followers: Followers::default(),
            outcomes: Outcomes::default(),
            durations: Durations::default(),
            states: StateCache::new(settings.states_max),
            positions: PositionCache::default(),
            playbooks: PlaybookCache::new(settings.playbooks_max),
            payloads: PayloadCache::new(settings.payload_bytes_max),
            schedules: ScheduleCache::default(),
            notices: NoticeCache::default(),
            claims: RowReservations::new(),
            round_robin: RoundRobin::new(),
            backlogs: Backlogs::new(settings.backlog_max),
            pauses: PauseCache::default(),
            idle_workers: IdleWorkers::default(),
            ready_polls: ReadyPolls::default(),
            lookups: Lookups::default(),
            signals_full: AtomicBool::new(false),
            timers_aside: RowReservations::new(),
            sealer: OnceLock::new(),
            start_guard: OnceLock::new(),
            settings,
            store,
        };
        Self { parts: Arc::new(parts) }
    }

    /// Runs the background loops (timers, lost leases, children, outbox) until `shutdown`, then
    /// waits for open tasks. Inputs are answered even if this does not run.
    pub async fn run(&self, shutdown: CancellationToken) {
        let tasks = &self.parts.tasks;
        tasks.spawn(self.clone().watch_clock(shutdown.clone()));
        tasks.spawn(self.clone().hear_ends(shutdown.clone()));
        tasks.spawn(self.clone().relay_outbox(shutdown.clone()));
        tasks.spawn(self.clone().start_children(shutdown.clone()));
        tasks.spawn(self.clone().fire_timers(shutdown.clone()));
        tasks.spawn(self.clone().watch_limits(shutdown.clone()));
        tasks.spawn(self.clone().carry_on_pauses(shutdown.clone()));
        tasks.spawn(self.clone().sweep_leases(shutdown.clone()));
        tasks.spawn(self.clone().remind_workers(shutdown.clone()));
        tasks.spawn(self.clone().sweep_signals(shutdown.clone()));
        tasks.spawn(self.clone().sweep_stalls(shutdown));
        tasks.finished().await;
    }

    /// Returns the store's clock, with which every stored time has to be compared.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.parts.stamps.clock)
    }

    /// Ends an execution by hand, as completed or as failed.
    pub async fn finalize(
        &self,
        execution: ExecutionId,
        status: ExecutionStatus,
        reason: impl Into<String>,
        actor: Option<Actor>,
    ) -> Result<MailboxAnswer, SubmitError> {
        let reason = reason.into();
        self.submit(execution, Input::Finalize { status, reason, actor }).await
    }

    /// Returns the number of executions this process has started and ended.
    pub fn outcomes(&self) -> OutcomeCounts {
        self.parts.outcomes.counts()
    }

    /// Returns the durations of the executions and commands that this process has ended.
    pub fn durations(&self) -> DurationTable {
        self.parts.durations.table()
    }

    /// Returns the summary of an execution.
    pub async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        self.parts.store.summary(execution).await
    }

    /// Lists summaries of executions, newest first.
    pub async fn list(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        self.parts.store.list(filter, page).await
    }

    /// Returns the events of an execution after a seq, in order.
    pub async fn events(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.parts.store.read(execution, after, limit).await
    }

    /// Returns how long a row is not retried after its input failed.
    pub(crate) fn aside_after(&self, error: &SubmitError) -> Duration {
        if error.is_transient() { self.parts.settings.poll } else { ASIDE }
    }
}
