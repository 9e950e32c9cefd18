//! The list of everything that waits for a person: approvals with their form, steps that wait for a
//! signal, and signals that wait for a step.

mod template;

use std::collections::BTreeMap;

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use noetl_api::wire::{ApprovalView, KeptSignalList};
use noetl_app::{
    ApprovalError, ApprovalQuery, DecideError, DropSignalError, KeptSignalFilter, OpenApprovals,
    OpenSignalWaits, SignalError,
};
use noetl_control::{SendSignalError, SentSignal, SignalByKey};
use noetl_engine::{ApprovalDecision, Refusal};
use noetl_model::{CommandId, ExecutionId, SignalKey, SignalName, Verdict};
use noetl_playbook::FormProblem;
use serde::Deserialize;
use serde_json::Value;

use crate::components::approval::{Decider, RefusedDecision, VALUE_PREFIX, form_of};
use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};

/// Number of waits for signals on a page.
const SIGNAL_WAITS: usize = 50;
/// Number of kept signals on a page.
const KEPT_SIGNALS: usize = 50;

#[derive(Debug, Deserialize)]
pub(super) struct WaitingQuery {
    /// The cursor of the approvals on the page before.
    after: Option<String>,
    /// The cursor of the waits for signals on the page before.
    signals_after: Option<String>,
    /// The number of the last kept signal on the page before.
    kept_after: Option<i64>,
}

pub(super) async fn show(page: PageRequest, Query(query): Query<WaitingQuery>) -> PageResult {
    let asked = ApprovalQuery { after: query.after.clone(), ..ApprovalQuery::default() };
    let approvals = page.app().open_approvals(&asked).await?;
    let signals_after = query.signals_after.as_deref();
    let signals = page.app().open_signal_waits(signals_after, SIGNAL_WAITS).await?;
    let filter = KeptSignalFilter {
        after: query.kept_after,
        limit: Some(KEPT_SIGNALS),
        ..KeptSignalFilter::default()
    };
    let kept = page.app().kept_signals(&filter).await?;
    let lists = WaitingLists { approvals, signals, kept };
    let head = PageHead { title: page.t("nav.waiting"), place: NavPlace::Waiting };
    Ok(page.respond(&head, &template::waiting(&page, &query, &lists)))
}

/// The lists of the page.
struct WaitingLists {
    approvals: OpenApprovals,
    signals: OpenSignalWaits,
    kept: KeptSignalList,
}

/// Drops a signal that no step has taken.
pub(super) async fn drop_signal(
    page: PageRequest,
    Path(id): Path<i64>,
    form: SignedForm,
) -> PageResult {
    page.app().drop_signal(id).await?;
    Ok(see(form.get("return_to")))
}

/// Decides about an approval.
pub(super) async fn decide(
    page: PageRequest,
    Path((execution, command)): Path<(String, u64)>,
    form: SignedForm,
) -> PageResult {
    let execution = execution_of(&execution)?;
    let view = page.app().approval(execution, CommandId(command)).await?;
    let decider = decider(&page);
    let is_checked = page.actor().is_some();
    let sent = SentDecision::of(&form, &view, (&decider, is_checked))?;
    let decided = page.app().decide_approval(execution, sent.decision.clone(), page.visitor.names);
    match decided.await {
        Ok(_) => Ok(see(form.get("return_to"))),
        Err(error) => {
            let refused = sent.refused(error)?;
            let address = decision_address(&view);
            Ok(refusal_page(&page, &view, &address, &decider, &refused))
        }
    }
}

/// Sends a signal to an execution that waits for it. A wait with a correlation key gets its signal by
/// the key: a signal by name goes to the oldest wait of the execution, whatever its key.
pub(super) async fn signal(
    page: PageRequest,
    Path((execution, name)): Path<(String, String)>,
    form: SignedForm,
) -> PageResult {
    let execution = execution_of(&execution)?;
    let name: SignalName = name.parse().map_err(|_| PageError::UnknownPage)?;
    let body: Value = match form.given("body") {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|error| {
            PageError::refused("waiting.not_json", vec![("error", error.to_string())])
        })?,
    };
    let sender = form.given("sender").map(str::to_owned);
    let (actor, once) = (page.actor(), form.given("once").map(str::to_owned));
    match form.given("key") {
        Some(key) => {
            let key: SignalKey = key.parse().map_err(|_| PageError::UnknownPage)?;
            let sent = SignalByKey { name, key, body, sender, actor, once, kept_for: None };
            page.app().signal_by_key(sent).await.map(drop)?;
        }
        None => {
            let sent = SentSignal { name, body, sender, key: once, actor };
            page.app().signal(execution, sent).await?;
        }
    }
    Ok(see(form.get("return_to")))
}

/// Returns the name under which a visitor decides.
pub(in crate::pages) fn decider(page: &PageRequest) -> Decider {
    page.actor().map_or(Decider::Asked, |actor| Decider::Known(actor.into()))
}

/// Returns the address that a decision of a visitor with access is sent to.
pub(in crate::pages) fn decision_address(view: &ApprovalView) -> String {
    format!("/ui/waiting/{}/{}", view.execution_id, view.command)
}

/// Draws an approval whose decision was refused, with the values that were given.
pub(in crate::pages) fn refusal_page(
    page: &PageRequest,
    view: &ApprovalView,
    address: &str,
    decider: &Decider,
    refused: &RefusedDecision,
) -> Response {
    let head = PageHead { title: &view.title, place: NavPlace::Waiting };
    let content = template::refused(page, view, address, decider, refused);
    page.respond_with(StatusCode::UNPROCESSABLE_ENTITY, &head, &content)
}

/// A decision as a form has sent it.
pub(in crate::pages) struct SentDecision {
    pub(in crate::pages) decision: ApprovalDecision,
    texts: BTreeMap<String, String>,
}

impl SentDecision {
    pub(in crate::pages) fn of(
        form: &SignedForm,
        view: &ApprovalView,
        (decider, is_checked): (&Decider, bool),
    ) -> Result<Self, PageError> {
        let verdict = match form.get("decision") {
            "approve" => Verdict::Approved,
            "reject" => Verdict::Rejected,
            other => return Err(PageError::Unreadable(format!("there is no decision `{other}`"))),
        };
        let texts: BTreeMap<String, String> = form
            .under(VALUE_PREFIX)
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect();
        let mut values = form_of(view).from_texts(&texts);
        if verdict == Verdict::Rejected {
            // The values of the form are ignored for a rejection.
            values.clear();
        }
        let actor = match decider {
            Decider::Known(name) => Some(name.clone()),
            Decider::Asked => form.given("actor").map(str::to_owned),
        };
        let comment = form.given("comment").map(str::to_owned);
        let command = CommandId(view.command);
        let actor_stated = actor.is_some() && !is_checked;
        let decision = ApprovalDecision {
            command,
            verdict,
            actor,
            actor_stated,
            link_by: None,
            comment,
            values,
        };
        Ok(Self { decision, texts })
    }

    /// Returns the values of a refused decision with the problems; the error of the page if it is
    /// none of the person's.
    pub(in crate::pages) fn refused(
        self,
        error: DecideError,
    ) -> Result<RefusedDecision, PageError> {
        let whole = |message: String| vec![FormProblem { field: String::new(), message }];
        let message = error.to_string();
        let problems = match error {
            DecideError::Refused(Refusal::UnfitDecision(problems)) => problems,
            DecideError::Refused(Refusal::NotAnApprover { .. })
            | DecideError::NameNotChecked(_)
            | DecideError::BadActor => whole(message),
            DecideError::Decided(_) | DecideError::Refused(_) => {
                return Err(PageError::Refused(message));
            }
            DecideError::Show(error) => return Err(error.into()),
            DecideError::Submit(error) => return Err(error.into()),
        };
        let ApprovalDecision { comment, actor, .. } = self.decision;
        Ok(RefusedDecision {
            values: self.texts,
            comment: comment.unwrap_or_default(),
            actor: actor.unwrap_or_default(),
            problems,
        })
    }
}

fn execution_of(text: &str) -> Result<ExecutionId, PageError> {
    text.parse().map_err(|_| PageError::UnknownPage)
}

impl From<ApprovalError> for PageError {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::Unknown(..) => Self::NotFound(error.to_string()),
            ApprovalError::Load(error) => error.into(),
            ApprovalError::Store(error) => error.into(),
        }
    }
}

impl From<SignalError> for PageError {
    fn from(error: SignalError) -> Self {
        match error {
            SignalError::SenderTooLong
            | SignalError::KeptTooLong
            | SignalError::Refused(_)
            | SignalError::Send(
                SendSignalError::Body(_)
                | SendSignalError::TooMany
                | SendSignalError::TooManyOfKey(..)
                | SendSignalError::KeyReused { .. },
            ) => Self::Refused(error.to_string()),
            SignalError::Send(SendSignalError::Store(error)) => error.into(),
            SignalError::Send(SendSignalError::Submit(error)) => error.into(),
        }
    }
}

impl From<DropSignalError> for PageError {
    fn from(error: DropSignalError) -> Self {
        match error {
            DropSignalError::Unknown(_) | DropSignalError::Taken(_) => {
                Self::Refused(error.to_string())
            }
            DropSignalError::Store(error) => error.into(),
        }
    }
}
