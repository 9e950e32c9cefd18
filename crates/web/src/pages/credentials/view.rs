//! The values of the page of credentials.

use std::collections::BTreeMap;

use noetl_app::{AuditEntry, AuditFilter, Credential, CredentialFilter};
use noetl_model::{CredentialPolicy, ExecutionId, Timestamp};

use crate::error::PageError;
use crate::request::PageRequest;

/// Number of accesses that are searched for the last use of each credential.
const ACCESSES: usize = 500;

#[derive(Debug)]
pub(super) struct CredentialsView {
    pub(super) credentials: Vec<ListedCredential>,
}

/// A credential without its secret.
#[derive(Debug)]
pub(super) struct ListedCredential {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) description: Option<String>,
    /// The playbooks, labels, people and hosts of its policy.
    pub(super) restricted: Option<String>,
    pub(super) updated_at: Timestamp,
    pub(super) last_use: Option<LastUse>,
}

#[derive(Debug, Clone)]
pub(super) struct LastUse {
    pub(super) at: Timestamp,
    pub(super) execution: Option<ExecutionId>,
}

impl CredentialsView {
    pub(super) async fn load(page: &PageRequest) -> Result<Self, PageError> {
        let credentials = page.app().list_credentials(&CredentialFilter::default()).await?;
        let accesses = page.app().secret_accesses(&AuditFilter::default(), Some(ACCESSES)).await?;
        let used = last_uses(accesses);
        let listed = credentials.into_iter().map(|it| listed(it, &used));
        Ok(Self { credentials: listed.collect() })
    }
}

/// Returns the latest access to each credential by an execution or a worker.
fn last_uses(accesses: Vec<AuditEntry>) -> BTreeMap<String, LastUse> {
    let mut used = BTreeMap::new();
    let by_work = accesses.into_iter().filter(|it| it.execution.is_some() || it.worker.is_some());
    for access in by_work {
        let last = LastUse { at: access.at, execution: access.execution };
        used.entry(access.credential).or_insert(last);
    }
    used
}

fn listed(credential: Credential, used: &BTreeMap<String, LastUse>) -> ListedCredential {
    ListedCredential {
        last_use: used.get(&credential.name).cloned(),
        name: credential.name,
        kind: credential.kind,
        description: credential.description,
        restricted: credential.policy.as_ref().map(restricted),
        updated_at: credential.updated_at,
    }
}

/// Returns the entries of a policy, for reading.
fn restricted(policy: &CredentialPolicy) -> String {
    let CredentialPolicy { paths, labels, owners, hosts } = policy;
    let labels = labels.iter().map(ToString::to_string);
    let hosts = hosts.iter().map(|host| format!("→ {host}"));
    let entries = paths.iter().cloned().chain(labels).chain(owners.iter().cloned()).chain(hosts);
    entries.collect::<Vec<_>>().join(", ")
}
