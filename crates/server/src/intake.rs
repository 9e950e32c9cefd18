//! Messages that runtimes fetch: what each runtime is to fetch, and what becomes of each message.
//!
//! Invariants: a message is answered for only after its execution, or its failure, is durable; the
//! same message starts one execution however often it is handed in; a message never starts its
//! execution before an earlier one of its line has started or is dead.

mod dead;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_api::{Assignment, Line, Pace};
use noetl_control::{
    Admission, Control, LoadError, PlaybookChoice, StartError, StartRequest, SubmitError,
    SubscriptionError,
};
use noetl_engine::{BadMessage, once, order_key, wish};
use noetl_model::{
    Arrival, CatalogId, ExecutionId, SubscriptionState, Timestamp, Verdict, WorkerId,
};
use noetl_playbook::{Activation, Delivery, Order, Subscription};
use noetl_store::{
    Clock, FailedMark, FailedMessage, FailedStanding, PAGE_MAX, REASON_MAX, Records, StartKey,
    Store, StoreError, SubscriptionRow,
};

use crate::routes::pool_of;

pub(crate) use dead::Retried;

/// How many messages are in hand at once, where the subscription does not say.
const IN_FLIGHT: u32 = 1000;
/// For how long a runtime that goes without a word keeps its turn.
const TURN: Duration = Duration::from_secs(15);
/// How long a message waits that waits for another one.
const BEHIND: Duration = Duration::from_secs(1);
/// How many subscriptions are looked at.
const SUBSCRIPTIONS_MAX: usize = 10_000;
/// How many documents are remembered.
const DOCUMENTS_MAX: usize = 1000;

/// Why a runtime gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    #[error("{path} is pushed to; there is nothing to fetch")]
    Pushed { path: String },
    #[error("subscription {id} is {state} and takes no messages")]
    Closed { id: ExecutionId, state: SubscriptionState },
    /// Nothing is wrong with the messages; the same may work later.
    #[error("executions cannot be started at the moment")]
    Unavailable(#[source] StartError),
}

impl From<StoreError> for IntakeError {
    fn from(error: StoreError) -> Self {
        Self::Subscription(error.into())
    }
}

/// A document, and which version of it.
type Document = (u32, Arc<Subscription>);

/// What runtimes hand messages in at.
#[derive(Clone)]
pub struct Intake {
    pub(crate) control: Control,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) records: Arc<dyn Records>,
    pub(crate) clock: Arc<dyn Clock>,
    documents: Arc<Mutex<HashMap<CatalogId, Document>>>,
    broker_url: Option<BrokerUrl>,
}

/// The address of a broker, which may have a password in it.
#[derive(Clone)]
pub struct BrokerUrl(pub String);

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrokerUrl(…)")
    }
}

/// Why a message starts nothing.
enum Fault {
    /// The message is at fault, or what it asks for.
    Message(String),
    /// We are.
    Passing(StartError),
}

impl From<BadMessage> for Fault {
    fn from(error: BadMessage) -> Self {
        Fault::Message(error.to_string())
    }
}

impl Intake {
    pub fn new(
        control: Control,
        store: Arc<dyn Store>,
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { control, store, records, clock, documents: Arc::default(), broker_url: None }
    }

    /// The same with a broker for subscriptions that name none.
    #[must_use]
    pub fn with_broker(self, broker_url: Option<BrokerUrl>) -> Self {
        Self { broker_url, ..self }
    }

    /// The paths of the subscriptions that are active and fetched from all the time.
    pub async fn active(&self) -> Result<Vec<String>, IntakeError> {
        let mut active = Vec::new();
        let (mut before, mut seen) = (None, 0);
        loop {
            let page = self.store.subscriptions(before).await?;
            (before, seen) = (page.last().map(|row| row.id), seen + page.len());
            let is_last = page.len() < PAGE_MAX || seen >= SUBSCRIPTIONS_MAX;
            for row in page.into_iter().filter(|row| row.state() == SubscriptionState::Active) {
                match self.document(&row.path).await {
                    Ok((_, rules)) if rules.delivery == Delivery::Pull(Activation::Continuous) => {
                        active.push(row.path);
                    }
                    Ok(_) => {}
                    Err(SubscriptionError::Store(error)) => return Err(error.into()),
                    Err(error) => {
                        let error: &dyn std::error::Error = &error;
                        tracing::warn!(error, path = row.path, "nothing is fetched for it");
                    }
                }
            }
            if is_last {
                return Ok(active);
            }
        }
    }

    /// What a runtime is to fetch for the subscription of a path.
    pub async fn attend(&self, runtime: &WorkerId, path: &str) -> Result<Assignment, IntakeError> {
        let (version, rules) = self.document(path).await?;
        let row = self.store.subscription_at(path).await?;
        let row = row.ok_or_else(|| SubscriptionError::UnknownPath(path.to_owned()))?;
        let pace = match rules.delivery {
            Delivery::Pull(Activation::Continuous) => Pace::Continuous,
            Delivery::Pull(Activation::Scheduled) => Pace::UntilEmpty,
            Delivery::Push(_) => return Err(IntakeError::Pushed { path: path.to_owned() }),
        };
        let in_flight_max = rules.limits.in_flight_max.unwrap_or(IN_FLIGHT);
        let line = match rules.order {
            Order::None => Line::Free,
            Order::PerKey(_) | Order::Global if self.has_turn(runtime, row.id).await? => Line::Mine,
            Order::PerKey(_) | Order::Global => Line::Anothers,
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

    /// Lets another runtime have the turn.
    pub async fn leave(&self, runtime: &WorkerId, id: ExecutionId) -> Result<(), IntakeError> {
        Ok(self.records.end_turn(&turn_of(id), runtime.as_str()).await?)
    }

    /// Takes messages in the order they came; one verdict for each, in order.
    pub async fn take(
        &self,
        runtime: &WorkerId,
        id: ExecutionId,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<Verdict>, IntakeError> {
        let row = self.store.subscription(id).await?.ok_or(SubscriptionError::Unknown(id))?;
        match row.state() {
            SubscriptionState::Registered
            | SubscriptionState::Active
            // What was fetched before is finished.
            | SubscriptionState::Paused
            | SubscriptionState::Draining => {}
            state @ SubscriptionState::Deactivated => {
                return Err(IntakeError::Closed { id, state });
            }
        }
        let (_, rules) = self.document(&row.path).await?;
        let is_in_line = rules.order != Order::None;
        if is_in_line && !self.has_turn(runtime, id).await? {
            let behind = |_| later("another runtime fetches for this subscription", BEHIND);
            return Ok(arrivals.iter().map(behind).collect());
        }
        let desk = Dispatching::begin(self, row, rules, &arrivals).await?;
        desk.dispatch(arrivals).await
    }

    async fn has_turn(&self, runtime: &WorkerId, id: ExecutionId) -> Result<bool, StoreError> {
        self.records.take_turn(&turn_of(id), runtime.as_str(), TURN).await
    }

    /// The newest document of a path; parsed once for each version.
    async fn document(&self, path: &str) -> Result<Document, SubscriptionError> {
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

    fn documents(&self) -> MutexGuard<'_, HashMap<CatalogId, Document>> {
        self.documents.lock().expect("nothing panics while it holds the documents")
    }

    /// Starts the execution that a message wishes for, once.
    async fn start(
        &self,
        row: &SubscriptionRow,
        rules: &Subscription,
        arrival: &Arrival,
    ) -> Result<Verdict, Fault> {
        let wished = wish(&row.path, rules, arrival)?;
        let (name, keep) = once(rules, &wished, arrival);
        let choice = PlaybookChoice::Path { path: wished.playbook, version: None };
        let mut request = StartRequest::new(choice, wished.payload);
        request.admission = Admission::Internal;
        if let Some(pool) = wished.pool {
            request.pool =
                pool_of(&pool).map_err(|error| Fault::Message(error.detail().to_owned()))?;
        }
        let scope = format!("subscription {}", row.id);
        let key = StartKey { scope, name, keep, request: None };
        (request.trace, request.key) = (wished.trace, Some(key));
        match self.control.start(request).await {
            Ok(execution) => Ok(Verdict::Started { execution }),
            Err(StartError::KeyTaken(holder)) => {
                Ok(Verdict::Duplicate { execution: holder.execution })
            }
            Err(
                error @ (StartError::BacklogFull(_)
                | StartError::Submit(
                    SubmitError::Load(LoadError::Unavailable(_))
                    | SubmitError::Busy(_)
                    | SubmitError::Contended(_)
                    | SubmitError::Stopped,
                )),
            ) => Err(Fault::Passing(error)),
            Err(
                error @ (StartError::UnknownPlaybook(_)
                | StartError::Submit(SubmitError::Load(
                    LoadError::NotFound(_) | LoadError::Rewound { .. } | LoadError::Corrupt { .. },
                ))
                | StartError::TooDeep { .. }
                | StartError::PayloadTooLarge
                | StartError::PayloadTooNested
                | StartError::ParentCancelled(_)
                | StartError::Refused(_)),
            ) => Err(Fault::Message(error.to_string())),
        }
    }
}

fn turn_of(id: ExecutionId) -> String {
    format!("subscription/{id}")
}

fn later(reason: impl Into<String>, after: Duration) -> Verdict {
    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    Verdict::Later { reason: reason.into(), after_ms }
}

/// Messages, each with its place among those that were handed in.
type Numbered = Vec<(usize, Arrival)>;

/// A batch of messages on its way.
struct Dispatching<'a> {
    intake: &'a Intake,
    row: SubscriptionRow,
    rules: Arc<Subscription>,
    /// Those of them that failed before, and those that wait in front of them.
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

    /// Dispatches the lines side by side, and each line one after another.
    async fn dispatch(&self, arrivals: Vec<Arrival>) -> Result<Vec<Verdict>, IntakeError> {
        let count = arrivals.len();
        let mut lines: BTreeMap<(Option<String>, usize), Numbered> = BTreeMap::new();
        for (index, arrival) in arrivals.into_iter().enumerate() {
            let key = order_key(&self.rules.order, &arrival);
            // Without an order each message is a line of its own.
            let own = if key.is_none() { index } else { 0 };
            lines.entry((key, own)).or_default().push((index, arrival));
        }
        let dispatching = lines.into_iter().map(|((key, _), line)| self.line(key, line));
        let mut verdicts: Vec<Option<Verdict>> = vec![None; count];
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
    ) -> Result<Vec<(usize, Verdict)>, IntakeError> {
        let mut done = Vec::with_capacity(line.len());
        let mut is_held = self.is_held(key.as_deref(), &line);
        for (index, arrival) in line {
            let verdict = if is_held {
                later("an earlier message of its line has not started yet", BEHIND)
            } else {
                self.one(key.as_deref(), arrival).await?
            };
            is_held |= key.is_some() && matches!(verdict, Verdict::Later { .. });
            done.push((index, verdict));
        }
        Ok(done)
    }

    /// Whether somebody waits in front of a line who is not in it.
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

    async fn one(&self, key: Option<&str>, arrival: Arrival) -> Result<Verdict, IntakeError> {
        let mark = self.marks.iter().find(|mark| mark.once == arrival.once);
        match mark.map(|mark| mark.standing) {
            Some(FailedStanding::Dead) => {
                return Ok(Verdict::Dead { reason: "it is among the dead already".to_owned() });
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
            Err(Fault::Passing(error)) => Err(IntakeError::Unavailable(error)),
            Err(Fault::Message(reason)) => self.failed(mark, key, arrival, reason).await,
        }
    }

    async fn failed(
        &self,
        mark: Option<&FailedMark>,
        key: Option<&str>,
        arrival: Arrival,
        reason: String,
    ) -> Result<Verdict, IntakeError> {
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
        self.intake.records.put_failed_message(&failed).await?;
        Ok(match standing {
            FailedStanding::Dead => Verdict::Dead { reason },
            FailedStanding::Waiting { until } => later(reason, until.since(self.now)),
        })
    }
}
