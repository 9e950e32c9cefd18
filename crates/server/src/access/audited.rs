//! Requests that the audit log records: changes by people and programs, and their refusals.
//!
//! Workers' reports and the messages of senders are in the logs of executions; they and the calls by
//! which parts of the system pass events on are not recorded here.

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use noetl_model::{Actor, Permission, TrailFact, TrailOutcome};

use super::{address_of, needed_by};
use crate::request::shown_path::shown_path;
use crate::state::AppState;

/// Prefixes of the paths by which parts of the system pass events on.
const PASSED_ON: &[&str] =
    &["/api/internal/outbox/", "/api/internal/events/", "/api/internal/projection/"];
/// Prefixes of the public pages whose forms change something.
const PUBLIC_FORMS: &[&str] = &["/ui/login", "/ui/logout", "/ui/decide/"];
/// The maximum length of a subject, in characters.
const SUBJECT_CHARS_MAX: usize = 300;

/// A request that the audit log records, before its outcome is known.
pub(super) struct AuditedRequest {
    action: String,
    subject: String,
    source: String,
    waits: AuditWait,
}

/// The time at which a successful request is answered. A refused one is answered after its entry is
/// stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuditWait {
    /// After its entry is stored.
    Stored,
    /// At once: the change is stored with its actor in the log of an execution, a schedule or a job, so
    /// that an entry that a crash loses is not the only trace of it.
    None,
}

impl AuditedRequest {
    /// Returns the description of a request, if the audit log records it.
    pub(super) fn of(request: &Request, is_page: bool) -> Option<Self> {
        let waits = recorded(request, is_page)?;
        let path = shown_path(request.uri().path());
        let route = request.extensions().get::<MatchedPath>();
        let route = route.map_or("an unknown route", MatchedPath::as_str);
        let mut subject: String = path.chars().take(SUBJECT_CHARS_MAX).collect();
        if subject.len() < path.len() {
            subject.push('…');
        }
        Some(Self {
            action: format!("{} {route}", request.method()),
            subject,
            source: address_of(request).to_string(),
            waits,
        })
    }

    /// Records the request with the status of its answer, unless it was refused because there were
    /// too many.
    pub(super) async fn record(self, state: &AppState, actor: Option<Actor>, status: StatusCode) {
        if status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        let fact = self.fact(state, actor, status);
        match (self.waits, fact.outcome) {
            (AuditWait::None, TrailOutcome::Done) => state.app().audit_later(fact),
            (AuditWait::None | AuditWait::Stored, _) => state.app().audit(fact).await,
        }
    }

    /// Records a refused request in the background.
    pub(super) fn record_later(&self, state: &AppState, actor: Option<Actor>, status: StatusCode) {
        state.app().audit_later(self.fact(state, actor, status));
    }

    fn fact(&self, state: &AppState, actor: Option<Actor>, status: StatusCode) -> TrailFact {
        let outcome = match status {
            status if status.is_server_error() => TrailOutcome::Failed,
            status if status.is_client_error() => TrailOutcome::Refused,
            _ => TrailOutcome::Done,
        };
        TrailFact {
            at: state.now(),
            actor: actor.map(String::from),
            action: self.action.clone(),
            subject: Some(self.subject.clone()),
            source: Some(self.source.clone()),
            outcome,
            detail: Some(status.as_u16().to_string()),
        }
    }
}

/// True if a request sends a form that needs no token and changes something.
pub(super) fn is_public_form(request: &Request) -> bool {
    let is_read = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    let path = request.uri().path();
    !is_read && PUBLIC_FORMS.iter().any(|prefix| path.starts_with(prefix))
}

/// Returns when a request is answered, if the audit log records it.
fn recorded(request: &Request, is_page: bool) -> Option<AuditWait> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        return None;
    }
    let path = request.uri().path();
    let Some(needed) = needed_by(request, is_page) else {
        return is_public_form(request).then_some(AuditWait::Stored);
    };
    let waits = needed.iter().filter_map(|permission| match permission {
        Permission::Write | Permission::Administer => Some(AuditWait::Stored),
        Permission::Internal => {
            let is_passed_on = PASSED_ON.iter().any(|prefix| path.starts_with(prefix));
            (!is_passed_on).then_some(AuditWait::Stored)
        }
        Permission::Operate => Some(AuditWait::None),
        Permission::Read | Permission::Work => None,
    });
    waits.reduce(|one, other| if one == AuditWait::Stored { one } else { other })
}
