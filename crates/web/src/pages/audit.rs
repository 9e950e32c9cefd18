//! The audit log, newest entry first, and the accesses to secrets.

mod template;

use axum::extract::Query;
use noetl_api::wire::{AuditLogPage, AuditVerification};
use noetl_app::{AuditEntry, AuditFilter, AuditLogQuery};
use serde::Deserialize;

use crate::address::with_query;
use crate::form::instant_of;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;

/// Number of entries on a page.
const ENTRIES: usize = 50;
/// Number of accesses to secrets on the page.
const ACCESSES: usize = 50;

/// The parameters of the page. A time that cannot be read selects nothing and is named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct AuditPageFilter {
    actor: String,
    /// A part of the action.
    action: String,
    since: String,
    /// The number below which the page begins.
    before: String,
    /// `on` verifies the chain of digests.
    verify: String,
}

#[derive(Debug)]
struct AuditView {
    filter: AuditPageFilter,
    entries: AuditLogPage,
    verification: Option<AuditVerification>,
    accesses: Vec<AuditEntry>,
}

impl AuditPageFilter {
    fn query(&self) -> AuditLogQuery {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|it| !it.is_empty());
        AuditLogQuery {
            after: 0,
            limit: Some(ENTRIES),
            since: instant_of(&self.since),
            actor: given(&self.actor),
            action: given(&self.action),
        }
    }

    fn is_narrow(&self) -> bool {
        [&self.actor, &self.action, &self.since].iter().any(|text| !text.trim().is_empty())
    }

    /// Returns the time that cannot be read, if it is one.
    fn bad_time(&self) -> Option<&str> {
        let given = Some(self.since.trim()).filter(|it| !it.is_empty());
        given.filter(|text| instant_of(text).is_none())
    }

    /// Returns the address of the page below a number; of the first page if it is empty.
    fn address(&self, before: &str) -> String {
        let query = [
            ("actor", self.actor.as_str()),
            ("action", &self.action),
            ("since", &self.since),
            ("before", before),
        ];
        with_query("/ui/audit", &query)
    }
}

pub(super) async fn show(page: PageRequest, Query(filter): Query<AuditPageFilter>) -> PageResult {
    let before = filter.before.parse().ok();
    let view = AuditView {
        entries: page.app().newest_audit(before, &filter.query()).await?,
        verification: match filter.verify.as_str() {
            "on" => Some(page.app().verify_audit().await?),
            _ => None,
        },
        accesses: page.app().secret_accesses(&AuditFilter::default(), Some(ACCESSES)).await?,
        filter,
    };
    let head = PageHead { title: page.t("nav.audit"), place: NavPlace::Audit };
    Ok(page.respond(&head, &template::audit(&page, &view)))
}
