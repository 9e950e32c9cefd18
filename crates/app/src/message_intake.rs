//! Messages that runtimes fetch: assignments of subscriptions to runtimes, and a verdict per
//! message.
//!
//! Invariants: a verdict is given only after the message's execution, or its failure, is durable; a
//! message starts one execution, or is one signal, however often it is handed in; in an ordered line, a message starts
//! its execution only after every earlier one has started or is dead.

mod dead_messages;
mod sealed_messages;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_api::{Assignment, FetchMode, FetchOrder};
use noetl_control::{
    Admission, Control, LoadError, PlaybookChoice, SendSignalError, SignalByKey, StartError,
    StartRequest, SubmitError, SubscriptionError,
};
use noetl_engine::{
    BadMessage, MessageRequest, MessageSignal, MessageTarget, SignedPart, message_request,
    order_key, posted_start_key, start_key,
};
use noetl_model::{
    Arrival, CatalogId, ExecutionId, MESSAGE_KEYS, MessageOutcome, SubscriptionState, Timestamp,
    WorkerId,
};
use noetl_playbook::{Activation, MessageDelivery, MessageOrder, Subscription};
use noetl_secrets::Vault;
use noetl_store::{
    Clock, FailedMark, FailedMessage, FailedStanding, PAGE_MAX, REASON_MAX, Records, StartKey,
    Store, StoreError, SubscriptionRow,
};

use crate::app::{App, Services};
use crate::listeners::Listener;
use crate::start::{PoolNameError, pool_of};

/// Default maximum number of messages in flight.
const IN_FLIGHT: u32 = 1000;
/// Time after which a silent runtime loses the lock of an ordered subscription.
const LOCK_LEASE: Duration = Duration::from_secs(15);
/// Delay for a message that waits behind another one.
const BEHIND: Duration = Duration::from_secs(1);
/// Maximum number of subscriptions that are considered.
const SUBSCRIPTIONS_MAX: usize = 10_000;
/// Maximum number of cached documents.
const DOCUMENTS_MAX: usize = 1000;

/// The error of a runtime's call.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    #[error("{path} is pushed to; there is nothing to fetch")]
    Pushed { path: String },
    #[error("subscription {id} is {state} and takes no messages")]
    Closed { id: ExecutionId, state: SubscriptionState },
    /// The messages are fine, but executions cannot be started; a later retry may work.
    #[error("executions cannot be started at the moment")]
    Unavailable(#[source] StartError),
}

/// The reason why a posted message starts no execution.
#[derive(Debug, thiserror::Error)]
pub enum PostedError {
    #[error(transparent)]
    Pool(#[from] PoolNameError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Signal(#[from] SendSignalError),
}

impl From<StoreError> for IntakeError {
    fn from(error: StoreError) -> Self {
        Self::Subscription(error.into())
    }
}

/// A document and its version.
type MessageDocument = (u32, Arc<Subscription>);

/// Assigns subscriptions to runtimes and takes the messages that they fetch.
#[derive(Clone)]
pub struct Intake {
    control: Control,
    store: Arc<dyn Store>,
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    vault: Arc<Vault>,
    documents: Arc<Mutex<HashMap<CatalogId, MessageDocument>>>,
    broker_url: Option<BrokerUrl>,
}

/// URL of a broker; hidden in debug output, because it may contain a password.
#[derive(Clone)]
pub struct BrokerUrl(pub String);

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrokerUrl(…)")
    }
}

/// The reason why a message starts no execution.
enum IntakeFault {
    /// The message, or the start that it asks for, is invalid.
    Message(String),
    /// The server failed temporarily.
    Passing(StartError),
}

impl From<BadMessage> for IntakeFault {
    fn from(error: BadMessage) -> Self {
        IntakeFault::Message(error.to_string())
    }
}

impl Intake {
    /// Creates an intake; `broker_url` is the broker for subscriptions that name none.
    pub fn new(services: &Services, broker_url: Option<BrokerUrl>) -> Self {
        let Services { control, store, records, vault, .. } = services.clone();
        let (clock, documents) = (control.clock(), Arc::default());
        Self { control, store, records, clock, vault, documents, broker_url }
    }

    /// Returns the paths of the active subscriptions that are fetched continuously.
    pub async fn active(&self) -> Result<Vec<String>, IntakeError> {
        let mut active = Vec::new();
        let (mut before, mut seen) = (None, 0);
        loop {
            let page = self.store.subscriptions(before, PAGE_MAX).await?;
            (before, seen) = (page.last().map(|row| row.id), seen + page.len());
            let is_last = page.len() < PAGE_MAX || seen >= SUBSCRIPTIONS_MAX;
            for row in page.into_iter().filter(|row| row.state() == SubscriptionState::Active) {
                match self.document(&row.path).await {
                    Ok((_, rules))
                        if rules.delivery == MessageDelivery::Pull(Activation::Continuous) =>
                    {
                        active.push(row.path);
                    }
                    Ok(_) => {}
                    Err(SubscriptionError::Store(error)) => return Err(error.into()),
                    Err(error) => {
                        let error: &dyn std::error::Error = &error;
                        tracing::warn!(
                            error,
                            path = row.path,
                            "the messages of a subscription cannot be fetched"
                        );
                    }
                }
            }
            if is_last {
                return Ok(active);
            }
        }
    }

    /// Returns the assignment of a runtime for the subscription at `path`, and renews its lock.
    pub async fn attend(&self, runtime: &WorkerId, path: &str) -> Result<Assignment, IntakeError> {
        let (version, rules) = self.document(path).await?;
        let row = self.store.subscription_at(path).await?;
        let row = row.ok_or_else(|| SubscriptionError::UnknownPath(path.to_owned()))?;
        let pace = match rules.delivery {
            MessageDelivery::Pull(Activation::Continuous) => FetchMode::Continuous,
            MessageDelivery::Pull(Activation::Scheduled) => FetchMode::UntilEmpty,
            MessageDelivery::Push(_) => return Err(IntakeError::Pushed { path: path.to_owned() }),
        };
        let in_flight_max = rules.limits.in_flight_max.unwrap_or(IN_FLIGHT);
        let line = match rules.order {
            MessageOrder::None => FetchOrder::Any,
            MessageOrder::PerKey(_) | MessageOrder::Global
                if self.holds_lock(runtime, row.id).await? =>
            {
                FetchOrder::Assigned
            }
            MessageOrder::PerKey(_) | MessageOrder::Global => FetchOrder::Waiting,
        };
        Ok(Assignment {
            subscription: row.id,
            state: row.state(),
            path: row.path,
            version,
            source: rules.source.as_str().to_owned(),
            settings: rules.spec.clone(),
            broker_url: self.broker_url.as_ref().map(|BrokerUrl(url)| url.clone()),
            batch: rules.fetch.batch,
            wait_ms: u64::try_from(rules.fetch.wait.as_millis()).unwrap_or(u64::MAX),
            in_flight_max,
            per_second_max: rules.limits.dispatches_per_second_max,
            chunk: rules.dispatch.batch_max.unwrap_or(1),
            line,
            pace,
        })
    }

    /// Releases a runtime's lock, so that another one can take over.
    pub async fn leave(&self, runtime: &WorkerId, id: ExecutionId) -> Result<(), IntakeError> {
        Ok(self.records.release_lock(&lock_name(id), runtime.as_str()).await?)
    }

    /// Takes messages in the order of their arrival; returns one verdict per message, in order.
    pub async fn take(
        &self,
        runtime: &WorkerId,
        id: ExecutionId,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<MessageOutcome>, IntakeError> {
        let row = self.store.subscription(id).await?.ok_or(SubscriptionError::Unknown(id))?;
        match row.state() {
            SubscriptionState::Registered
            | SubscriptionState::Active
            // Messages fetched before the pause are still processed.
            | SubscriptionState::Paused
            | SubscriptionState::Draining => {}
            state @ SubscriptionState::Deactivated => {
                return Err(IntakeError::Closed { id, state });
            }
        }
        let (_, rules) = self.document(&row.path).await?;
        let is_in_line = rules.order != MessageOrder::None;
        if is_in_line && !self.holds_lock(runtime, id).await? {
            let behind = |_| later("another runtime fetches for this subscription", BEHIND);
            return Ok(arrivals.iter().map(behind).collect());
        }
        let dispatching = Dispatching::begin(self, row, rules, &arrivals).await?;
        dispatching.dispatch(arrivals).await
    }

    async fn holds_lock(&self, runtime: &WorkerId, id: ExecutionId) -> Result<bool, StoreError> {
        self.records.acquire_lock(&lock_name(id), runtime.as_str(), LOCK_LEASE).await
    }

    /// Returns the newest document at a path; each version is parsed once.
    async fn document(&self, path: &str) -> Result<MessageDocument, SubscriptionError> {
        let entry = self.store.by_path(path, None).await?;
        let entry = entry.ok_or_else(|| SubscriptionError::UnknownPath(path.to_owned()))?;
        if let Some(known) = self.documents().get(&entry.catalog_id) {
            return Ok(known.clone());
        }
        let document = (entry.version, self.control.subscription_document(path).await?);
        let mut documents = self.documents();
        if documents.len() >= DOCUMENTS_MAX {
            documents.clear();
        }
        documents.insert(entry.catalog_id, document.clone());
        Ok(document)
    }

    fn documents(&self) -> MutexGuard<'_, HashMap<CatalogId, MessageDocument>> {
        self.documents.lock().expect("nothing panics while it holds the documents")
    }

    /// Sends the signal that a message becomes, at most once.
    async fn signal(
        &self,
        row: &SubscriptionRow,
        signal: MessageSignal,
        once: String,
    ) -> Result<MessageOutcome, IntakeFault> {
        let sent = signal_by_key(row, signal, Some(once));
        match self.control.signal_by_key(sent).await {
            // Of messages with one key the first counts, whatever the others contain.
            Ok(_) | Err(SendSignalError::KeyReused { .. }) => Ok(MessageOutcome::Signalled),
            Err(error @ (SendSignalError::Body(_) | SendSignalError::TooManyOfKey(..))) => {
                Err(IntakeFault::Message(error.to_string()))
            }
            Err(error) => Err(IntakeFault::Passing(passing(row, error))),
        }
    }

    /// Starts the execution that a message asks for, at most once.
    async fn start(
        &self,
        row: &SubscriptionRow,
        rules: &Subscription,
        arrival: &Arrival,
    ) -> Result<MessageOutcome, IntakeFault> {
        let requested = message_request(&row.path, rules, arrival)?;
        let (name, keep) = start_key(rules, &requested, arrival);
        let playbook = match requested.target {
            MessageTarget::Playbook(playbook) => playbook,
            MessageTarget::Signal(signal) => return self.signal(row, signal, name).await,
        };
        let choice = PlaybookChoice::Path { path: playbook, version: None };
        let mut request = StartRequest::new(choice, requested.payload);
        request.admission = Admission::Internal;
        request.input.labels = requested.labels;
        request.input.added = MESSAGE_KEYS;
        if let Some(pool) = requested.pool {
            request.input.pool =
                pool_of(&pool).map_err(|error| IntakeFault::Message(error.to_string()))?;
        }
        let scope = format!("subscription {}", row.id);
        let key = StartKey { scope, name, keep, request: None };
        (request.input.trace, request.key) = (requested.trace, Some(key));
        match self.control.start(request).await {
            Ok(execution) => Ok(MessageOutcome::Started { execution }),
            Err(StartError::KeyTaken(holder)) => {
                Ok(MessageOutcome::Duplicate { execution: holder.execution })
            }
            Err(
                error @ (StartError::BacklogFull(_)
                | StartError::Submit(
                    SubmitError::Load(LoadError::Unavailable(_))
                    | SubmitError::Busy(_)
                    | SubmitError::Contended(_)
                    | SubmitError::Stopped,
                )),
            ) => Err(IntakeFault::Passing(error)),
            Err(
                error @ (StartError::UnknownPlaybook(_)
                | StartError::ArchivedPlaybook(_)
                | StartError::AmbiguousName(_)
                | StartError::Submit(SubmitError::Load(
                    LoadError::NotFound(_)
                    | LoadError::Deleted { .. }
                    | LoadError::NotNative { .. }
                    | LoadError::Rewound { .. }
                    | LoadError::Corrupt { .. },
                ))
                | StartError::TooDeep { .. }
                | StartError::CredentialNotPermitted(_)
                | StartError::InvalidInputs(_)
                | StartError::PayloadTooLarge
                | StartError::PayloadTooNested
                | StartError::ParentCancelled(_)
                | StartError::Refused(_)),
            ) => Err(IntakeFault::Message(error.to_string())),
        }
    }
}

/// Returns the signal of a message; `once` identifies the message within its subscription.
fn signal_by_key(
    row: &SubscriptionRow,
    signal: MessageSignal,
    once: Option<String>,
) -> SignalByKey {
    let MessageSignal { name, key, body } = signal;
    SignalByKey {
        name,
        key,
        body,
        sender: Some(format!("subscription {}", row.path)),
        actor: None,
        once: once.map(|once| format!("subscription {} {once}", row.id)),
        kept_for: None,
    }
}

/// Converts the failure of a signal that may succeed later.
fn passing(row: &SubscriptionRow, error: SendSignalError) -> StartError {
    StartError::Submit(match error {
        SendSignalError::Submit(error) => error,
        SendSignalError::Store(error) => SubmitError::Load(LoadError::of_store(row.id, error)),
        SendSignalError::TooMany
        | SendSignalError::TooManyOfKey(..)
        | SendSignalError::KeyReused { .. }
        | SendSignalError::Body(_) => SubmitError::Busy(row.id),
    })
}

/// The effect of a posted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenMessage {
    /// The message started this execution, now or before.
    Started(ExecutionId),
    /// The message is a signal that this execution took; `None` if it is kept for the next wait.
    Signalled(Option<ExecutionId>),
}

impl App {
    /// Returns the subscription that takes the messages of a listener, active or not.
    pub async fn listening_subscription(
        &self,
        listener: &Listener,
    ) -> Result<SubscriptionRow, SubscriptionError> {
        self.control().subscription_for(&listener.path).await
    }

    /// Starts the execution that a posted message asks for; the same message again gets the same
    /// execution. `signed` is the signed part of the message, if it has a signature.
    pub async fn take_posted(
        &self,
        listener: &Listener,
        row: &SubscriptionRow,
        requested: MessageRequest,
        signed: Option<&SignedPart>,
    ) -> Result<TakenMessage, PostedError> {
        let scope = format!("subscription {}", row.id);
        let key = posted_start_key(&listener.subscription, &requested, signed);
        let playbook = match requested.target {
            MessageTarget::Playbook(playbook) => playbook,
            MessageTarget::Signal(signal) => {
                let sent = signal_by_key(row, signal, key.map(|(once, _)| once));
                let taken = match self.control().signal_by_key(sent).await {
                    // Of messages with one key the first counts, whatever the others contain.
                    Ok(taken) | Err(SendSignalError::KeyReused { taken, .. }) => taken,
                    Err(error) => return Err(error.into()),
                };
                return Ok(TakenMessage::Signalled(taken.map(|target| target.execution)));
            }
        };
        let key = key.map(|(name, keep)| StartKey { scope, name, keep, request: None });
        let choice = PlaybookChoice::Path { path: playbook, version: None };
        let mut request = StartRequest::new(choice, requested.payload);
        request.input.labels = requested.labels;
        request.input.added = MESSAGE_KEYS;
        if let Some(pool) = requested.pool {
            request.input.pool = pool_of(&pool)?;
        }
        (request.input.trace, request.key) = (requested.trace, key);
        match self.control().start(request).await {
            Ok(execution) => Ok(TakenMessage::Started(execution)),
            Err(StartError::KeyTaken(holder)) => Ok(TakenMessage::Started(holder.execution)),
            Err(error) => Err(error.into()),
        }
    }
}

fn lock_name(id: ExecutionId) -> String {
    format!("subscription/{id}")
}

fn later(reason: impl Into<String>, after: Duration) -> MessageOutcome {
    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    MessageOutcome::Later { reason: reason.into(), after_ms }
}

/// Messages with their index in the call.
type Numbered = Vec<(usize, Arrival)>;

/// A batch of messages that is being dispatched.
struct Dispatching<'a> {
    intake: &'a Intake,
    row: SubscriptionRow,
    rules: Arc<Subscription>,
    /// Failures of these messages, and of messages that wait ahead of them in their lines.
    marks: Vec<FailedMark>,
    now: Timestamp,
}

impl<'a> Dispatching<'a> {
    async fn begin(
        intake: &'a Intake,
        row: SubscriptionRow,
        rules: Arc<Subscription>,
        arrivals: &[Arrival],
    ) -> Result<Self, IntakeError> {
        let named: Vec<String> = arrivals.iter().map(|it| it.once.clone()).collect();
        let mut lines: Vec<String> =
            arrivals.iter().filter_map(|it| order_key(&rules.order, it)).collect();
        lines.sort_unstable();
        lines.dedup();
        let marks = intake.records.failed_among(row.id, &named, &lines).await?;
        let now = intake.clock.now();
        Ok(Self { intake, row, rules, marks, now })
    }

    /// Dispatches the lines concurrently, and the messages of each line one after another.
    async fn dispatch(&self, arrivals: Vec<Arrival>) -> Result<Vec<MessageOutcome>, IntakeError> {
        let count = arrivals.len();
        let mut lines: BTreeMap<(Option<String>, usize), Numbered> = BTreeMap::new();
        for (index, arrival) in arrivals.into_iter().enumerate() {
            let key = order_key(&self.rules.order, &arrival);
            // Without an order, each message is a line of its own.
            let own = if key.is_none() { index } else { 0 };
            lines.entry((key, own)).or_default().push((index, arrival));
        }
        let dispatching = lines.into_iter().map(|((key, _), line)| self.line(key, line));
        let mut verdicts: Vec<Option<MessageOutcome>> = vec![None; count];
        for done in futures::future::join_all(dispatching).await {
            for (index, verdict) in done? {
                verdicts[index] = Some(verdict);
            }
        }
        Ok(verdicts.into_iter().map(|it| it.expect("each message is in one line")).collect())
    }

    async fn line(
        &self,
        key: Option<String>,
        line: Numbered,
    ) -> Result<Vec<(usize, MessageOutcome)>, IntakeError> {
        let mut done = Vec::with_capacity(line.len());
        let mut is_held = self.is_held(key.as_deref(), &line);
        for (index, arrival) in line {
            let verdict = if is_held {
                later("an earlier message of its line has not started yet", BEHIND)
            } else {
                self.one(key.as_deref(), arrival).await?
            };
            is_held |= key.is_some() && matches!(verdict, MessageOutcome::Later { .. });
            done.push((index, verdict));
        }
        Ok(done)
    }

    /// True if a failed message outside this batch still waits ahead of the line.
    fn is_held(&self, key: Option<&str>, line: &[(usize, Arrival)]) -> bool {
        let is_here = |once: &str| line.iter().any(|(_, arrival)| arrival.once == once);
        key.is_some()
            && self.marks.iter().any(|mark| {
                let waits = match mark.standing {
                    FailedStanding::Waiting { .. } => true,
                    FailedStanding::Dead => false,
                };
                waits && mark.order_key.as_deref() == key && !is_here(&mark.once)
            })
    }

    async fn one(
        &self,
        key: Option<&str>,
        arrival: Arrival,
    ) -> Result<MessageOutcome, IntakeError> {
        let mark = self.marks.iter().find(|mark| mark.once == arrival.once);
        match mark.map(|mark| mark.standing) {
            Some(FailedStanding::Dead) => {
                return Ok(MessageOutcome::Dead {
                    reason: "it is among the dead already".to_owned(),
                });
            }
            Some(FailedStanding::Waiting { until }) if self.now < until => {
                return Ok(later("it failed not long ago", until.since(self.now)));
            }
            Some(FailedStanding::Waiting { .. }) | None => {}
        }
        match self.intake.start(&self.row, &self.rules, &arrival).await {
            Ok(verdict) => {
                if mark.is_some() {
                    let named = [arrival.once];
                    self.intake.records.remove_failed_messages(self.row.id, &named).await?;
                }
                Ok(verdict)
            }
            Err(IntakeFault::Passing(error)) => Err(IntakeError::Unavailable(error)),
            Err(IntakeFault::Message(reason)) => self.failed(mark, key, arrival, reason).await,
        }
    }

    async fn failed(
        &self,
        mark: Option<&FailedMark>,
        key: Option<&str>,
        arrival: Arrival,
        reason: String,
    ) -> Result<MessageOutcome, IntakeError> {
        let failures = mark.map_or(0, |mark| mark.failures).saturating_add(1);
        let standing = FailedStanding::after(failures, self.rules.failures_max, self.now);
        let (path, message) = (&self.row.path, arrival.id.clone());
        tracing::warn!(path, message, failures, reason, "a message was not dispatched");
        let failed = FailedMessage {
            subscription: self.row.id,
            arrival,
            order_key: key.map(str::to_owned),
            failures,
            reason: reason.chars().take(REASON_MAX).collect(),
            standing,
            first_at: mark.map_or(self.now, |mark| mark.first_at),
            last_at: self.now,
        };
        self.intake.keep_failed(&self.rules, failed).await?;
        Ok(match standing {
            FailedStanding::Dead => MessageOutcome::Dead { reason },
            FailedStanding::Waiting { until } => later(reason, until.since(self.now)),
        })
    }
}
