//! Workers get only the credentials that the document they work for names.
//!
//! Invariant: a name is checked before its secret is decrypted, and a refusal is in the audit log.

use std::collections::BTreeMap;

use noetl_control::LoadError;
use noetl_engine::{Execution, OpenHolder, lease_of};
use noetl_expr::{CommandFacts, CommandVariables, RenderedTool, ToolTemplate};
use noetl_model::{CatalogId, Cutoff, ExecutionId, Lease, Payload};
use noetl_playbook::{
    CheckedDocument, CredentialNames, Playbook, credential_names, parse_document,
};
use noetl_secrets::{SecretAccess, SecretOperation, SecretOutcome};
use noetl_store::{PAGE_MAX, StoreError, SubscriptionRow};
use serde_json::Value;

use crate::secret_lookup::{FoundSecret, SecretError, SecretLookup};

/// Maximum number of commands whose settings are rendered to find a name.
const COMMANDS_MAX: usize = 1000;

impl SecretLookup {
    /// Resolves an alias for a worker. The playbook of the execution in `access` has to name it, or
    /// the subscription with that id; without an id, any subscription.
    pub async fn find_named(
        &self,
        alias: &str,
        operation: SecretOperation,
        access: &SecretAccess,
    ) -> Result<FoundSecret, SecretError> {
        let named_by = match access.execution.filter(|execution| execution.0 != 0) {
            Some(execution) if self.is_named(alias, execution).await? => Some(execution),
            Some(_) => None,
            None => self.subscription_that_names(alias).await?,
        };
        if named_by.is_none() {
            self.vault().note(alias, operation, SecretOutcome::NotNamed, access).await?;
            return Err(SecretError::NotNamed(alias.to_owned()));
        }
        let access = SecretAccess { execution: named_by, ..access.clone() };
        self.find(alias, operation, &access).await
    }

    /// True if a playbook version names a credential or an entry of its keychain, as far as its text
    /// says.
    pub(crate) async fn is_named_in(
        &self,
        alias: &str,
        catalog_id: CatalogId,
    ) -> Result<bool, SecretError> {
        let Some(entry) = self.store().by_id(catalog_id).await? else { return Ok(false) };
        // A playbook registered by an older version may be invalid in this one.
        let Ok(checked) = noetl_playbook::parse(&entry.path, entry.content.as_bytes()) else {
            return Ok(false);
        };
        Ok(credential_names(&checked.playbook).exact.contains(alias))
    }

    async fn is_named(&self, alias: &str, execution: ExecutionId) -> Result<bool, SecretError> {
        let known = match self.control().known_state(execution).await {
            Err(LoadError::NotFound(_)) => {
                return Ok(match self.store().subscription(execution).await? {
                    Some(row) => self.subscription_names(&row).await?.exact.contains(alias),
                    None => false,
                });
            }
            known => known?,
        };
        let playbook = self.control().playbook_of(&known).await?;
        let names = credential_names(&playbook);
        if names.exact.contains(alias) {
            return Ok(true);
        }
        if names.templates.is_empty() {
            return Ok(false);
        }
        if self.is_rendered(alias, &known, &playbook).await {
            return Ok(true);
        }
        // Another server may have leased the command.
        let stored = self.control().state(execution, Cutoff::Latest).await?;
        Ok(known.seq() < stored.seq() && self.is_rendered(alias, &stored, &playbook).await)
    }

    /// True if the settings of a command that a worker holds contain the name once they are rendered.
    async fn is_rendered(&self, alias: &str, state: &Execution, playbook: &Playbook) -> bool {
        let open = state.open_commands().filter(|(_, _, holder)| match holder {
            OpenHolder::Worker(_) => true,
            OpenHolder::Nobody
            | OpenHolder::Child
            | OpenHolder::Callback
            | OpenHolder::Wait
            | OpenHolder::Blocked => false,
        });
        for (command, _, _) in open.take(COMMANDS_MAX) {
            let Some(lease) = lease_of(state, playbook, command) else { continue };
            if CredentialNames::of_settings(lease.tool, &lease.config).templates.is_empty() {
                continue;
            }
            let rendered = self.rendered_settings(&lease).await;
            let names = rendered.map(|RenderedTool { config, .. }| {
                CredentialNames::of_settings(lease.tool, &Value::Object(config))
            });
            if names.is_some_and(|names| names.exact.contains(alias)) {
                return true;
            }
        }
        false
    }

    /// Returns the settings of a command without secrets; `None` if they cannot be rendered, as the
    /// worker cannot either.
    pub(crate) async fn rendered_settings(&self, lease: &Lease) -> Option<RenderedTool> {
        let mut values = BTreeMap::new();
        for (name, payload) in &lease.bindings.0 {
            let value = match payload {
                Payload::Inline(value) => value.clone(),
                Payload::Ref(reference) => self.control().payload(reference.digest).await.ok()?,
            };
            values.insert(name.clone(), value);
        }
        let template = ToolTemplate::of_lease(lease).ok()?;
        let facts =
            CommandFacts::of_command(lease.execution, lease.command, &lease.step, lease.tool);
        let variables = CommandVariables { bindings: &values, facts: &facts };
        template.render_without_secrets(variables).ok()
    }

    async fn subscription_that_names(
        &self,
        alias: &str,
    ) -> Result<Option<ExecutionId>, SecretError> {
        let mut after = None;
        loop {
            let page = self.store().subscriptions(after, PAGE_MAX).await?;
            for row in &page {
                if self.subscription_names(row).await?.exact.contains(alias) {
                    return Ok(Some(row.id));
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => after = Some(last.id),
                Some(_) | None => return Ok(None),
            }
        }
    }

    async fn subscription_names(
        &self,
        row: &SubscriptionRow,
    ) -> Result<CredentialNames, StoreError> {
        let Some(entry) = self.store().by_id(row.catalog_id).await? else {
            return Ok(CredentialNames::default());
        };
        Ok(match parse_document(&entry.path, entry.content.as_bytes()) {
            Ok(CheckedDocument::Subscription(checked)) => {
                CredentialNames::of_subscription(&checked.subscription)
            }
            Ok(
                CheckedDocument::Playbook(_)
                | CheckedDocument::Schedule(_)
                | CheckedDocument::Notification(_),
            )
            | Err(_) => CredentialNames::default(),
        })
    }
}
