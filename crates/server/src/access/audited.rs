//! Requests that the audit log records: changes by people and programs, and their refusals.
//!
//! Workers' reports and the messages of senders are in the logs of executions; they and the calls by
//! which parts of the system pass events on are not recorded here.

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use noetl_model::{Actor, Permission, TrailFact, TrailOutcome};

use super::{address_of, needed_by};
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
}

impl AuditedRequest {
    /// Returns the description of a request, if the audit log records it.
    pub(super) fn of(request: &Request, is_page: bool) -> Option<Self> {
        if !is_recorded(request, is_page) {
            return None;
        }
        let path = request.uri().path();
        let route = request.extensions().get::<MatchedPath>();
        let route = route.map_or("an unknown route", MatchedPath::as_str);
        let mut subject: String = path.chars().take(SUBJECT_CHARS_MAX).collect();
        // The link is a secret: who knows it may decide.
        if path.starts_with("/ui/decide/") {
            subject = "/ui/decide/…".to_owned();
        } else if subject.len() < path.len() {
            subject.push('…');
        }
        Some(Self {
            action: format!("{} {route}", request.method()),
            subject,
            source: address_of(request).to_string(),
        })
    }

    /// Records the request with the status of its answer, unless it was refused because there were
    /// too many.
    pub(super) async fn record(self, state: &AppState, actor: Option<Actor>, status: StatusCode) {
        let outcome = match status {
            StatusCode::TOO_MANY_REQUESTS => return,
            status if status.is_server_error() => TrailOutcome::Failed,
            status if status.is_client_error() => TrailOutcome::Refused,
            _ => TrailOutcome::Done,
        };
        let Self { action, subject, source } = self;
        let fact = TrailFact {
            at: state.now(),
            actor: actor.map(String::from),
            action,
            subject: Some(subject),
            source: Some(source),
            outcome,
            detail: Some(status.as_u16().to_string()),
        };
        state.app().audit(fact).await;
    }
}

fn is_recorded(request: &Request, is_page: bool) -> bool {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        return false;
    }
    let path = request.uri().path();
    let Some(needed) = needed_by(request, is_page) else {
        return PUBLIC_FORMS.iter().any(|prefix| path.starts_with(prefix));
    };
    needed.iter().any(|permission| match permission {
        Permission::Operate | Permission::Write | Permission::Administer => true,
        Permission::Internal => !PASSED_ON.iter().any(|prefix| path.starts_with(prefix)),
        Permission::Read | Permission::Work => false,
    })
}
