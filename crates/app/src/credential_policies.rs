//! Policies of credentials: checked when an execution is started and when a secret is used.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use noetl_control::{Control, LoadError, StartGuard};
use noetl_engine::Execution;
use noetl_expr::{Template, VariableSource};
use noetl_model::{CredentialPolicy, CredentialUser, ExecutionId, Labels, Parent, Payload};
use noetl_playbook::{Playbook, credential_names};
use noetl_secrets::{Identifier, SecretAccess, SecretOperation, SecretOutcome, Vault, VaultError};
use noetl_store::{Credential, Store, StoreError};
use serde_json::Value;

use crate::app::Services;
use crate::secret_lookup::{SecretError, SecretLookup};

/// Maximum number of ancestors that are searched for the one that somebody has started.
const ANCESTORS_MAX: usize = 32;

/// The executions that may use a credential without a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultPolicy {
    /// Every execution.
    #[default]
    Open,
    /// None.
    Closed,
}

impl DefaultPolicy {
    fn permits(self, policy: Option<&CredentialPolicy>, user: CredentialUser<'_>) -> bool {
        match (policy, self) {
            (Some(policy), _) => policy.permits(user),
            (None, DefaultPolicy::Open) => true,
            (None, DefaultPolicy::Closed) => false,
        }
    }
}

impl SecretLookup {
    /// Fails if a policy does not let the execution or the subscription in `access` use a credential.
    /// The server itself and administrators name none.
    pub(crate) async fn check_policy(
        &self,
        credential: &Credential,
        operation: SecretOperation,
        access: &SecretAccess,
    ) -> Result<(), SecretError> {
        let Some(execution) = access.execution else { return Ok(()) };
        if self.is_permitted(credential, execution).await? {
            return Ok(());
        }
        let name = &credential.name;
        self.vault().note(name, operation, SecretOutcome::NotPermitted, access).await?;
        Err(SecretError::NotPermitted(name.clone()))
    }

    async fn is_permitted(
        &self,
        credential: &Credential,
        execution: ExecutionId,
    ) -> Result<bool, SecretError> {
        let policy = credential.policy.as_ref();
        match self.control().known_state(execution).await {
            Ok(state) => Ok(self.permits(policy, &state).await?),
            Err(LoadError::NotFound(_)) => {
                let Some(row) = self.store().subscription(execution).await? else {
                    return Ok(false);
                };
                let labels = Labels::default();
                let user = CredentialUser { path: &row.path, labels: &labels, owner: None };
                Ok(self.policy_default().permits(policy, user))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn permits(
        &self,
        policy: Option<&CredentialPolicy>,
        state: &Execution,
    ) -> Result<bool, LoadError> {
        let owner = match policy {
            Some(policy) if !policy.owners.is_empty() => self.owner_of(state).await?,
            Some(_) | None => None,
        };
        let path = &state.playbook().path;
        let user = CredentialUser { path, labels: state.labels(), owner: owner.as_deref() };
        Ok(self.policy_default().permits(policy, user))
    }

    /// Returns the name of who has started an execution. A child is of whoever has started the execution
    /// that calls it.
    async fn owner_of(&self, state: &Execution) -> Result<Option<String>, LoadError> {
        let mut summary = state.summary();
        for _ in 0..ANCESTORS_MAX {
            match (summary.actor, summary.parent.and_then(Parent::command)) {
                (Some(actor), _) => return Ok(Some(actor.into())),
                (None, None) => return Ok(None),
                (None, Some(parent)) => {
                    summary = self.control().known_state(parent.execution).await?.summary();
                }
            }
        }
        Ok(None)
    }

    /// Returns the names of the stored credentials that a playbook names, as far as they are known when
    /// it is started.
    async fn names_at_start(&self, state: &Execution, playbook: &Playbook) -> BTreeSet<String> {
        let names = credential_names(playbook);
        let mut known = names.exact;
        let mut templates = names.templates;
        for entry in &playbook.keychain {
            let named = ["credential", "auth"].into_iter().filter_map(|key| entry[key].as_str());
            templates.extend(named.map(str::to_owned));
            let mapped = entry["map"].as_object().into_iter().flat_map(|map| map.values());
            let paths = mapped.filter_map(|path| Some(path.as_str()?.split_once('.')?.0));
            known.extend(paths.map(str::to_owned));
        }
        if templates.is_empty() {
            return known;
        }
        let workload = match state.workload() {
            Payload::Inline(value) => Some(value.clone()),
            Payload::Ref(reference) => self.control().payload(reference.digest).await.ok(),
        };
        let Some(workload) = workload else { return known };
        let workload = StartWorkload(workload);
        // A template that needs more is checked when the secret is used.
        known.extend(templates.into_iter().filter_map(|text| {
            let template = Template::parse(Value::String(text)).ok()?;
            template.render(&workload).ok()?.as_str().map(str::to_owned)
        }));
        known
    }
}

/// The variables that are known when an execution is started.
struct StartWorkload(Arc<Value>);

impl VariableSource for StartWorkload {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        match name {
            "workload" => Some(self.0.clone()),
            name => self.0.get(name).cloned().map(Arc::new),
        }
    }
}

/// Checks the policies of the credentials that a playbook names when it is started.
pub(crate) struct PolicyGuard {
    store: Arc<dyn Store>,
    vault: Arc<Vault>,
    policy_default: DefaultPolicy,
}

impl PolicyGuard {
    pub(crate) fn of(services: &Services, policy_default: DefaultPolicy) -> Self {
        Self { store: services.store.clone(), vault: services.vault.clone(), policy_default }
    }

    /// Returns the lookup of secrets. The guard does not keep it, because it belongs to the control
    /// plane that the lookup holds.
    fn lookup(&self, control: &Control) -> SecretLookup {
        let (store, vault) = (self.store.clone(), self.vault.clone());
        SecretLookup::new(control.clone(), store, vault, self.policy_default)
    }
}

#[async_trait]
impl StartGuard for PolicyGuard {
    async fn forbidden_credential(
        &self,
        control: &Control,
        state: &Execution,
        playbook: &Playbook,
    ) -> Result<Option<String>, StoreError> {
        let lookup = self.lookup(control);
        let unavailable = |error: LoadError| StoreError::Unavailable(error.into());
        for name in lookup.names_at_start(state, playbook).await {
            let found = self.vault.find(Identifier(&name)).await.map_err(|error| match error {
                VaultError::Store(error) => error,
                error @ (VaultError::Unreadable { .. }
                | VaultError::TooLarge
                | VaultError::Contended(_)) => StoreError::Unavailable(error.into()),
            })?;
            let Some(credential) = found else { continue };
            let policy = credential.policy.as_ref();
            if !lookup.permits(policy, state).await.map_err(unavailable)? {
                return Ok(Some(credential.name));
            }
        }
        Ok(None)
    }
}
