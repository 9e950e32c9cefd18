//! Failed messages for playbooks with secret inputs: stored sealed with the vault's key.
//!
//! Invariant: headers, attributes and body of such a message are stored in no other form.

use noetl_model::{Arrival, Bytes, ExecutionId, SealedMark};
use noetl_playbook::{Controls, DispatchTarget, Subscription};
use noetl_secrets::Vault;
use noetl_store::{FailedMessage, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Intake;

/// The text in place of the body of a sealed message.
const MASK: &str = "[REDACTED]";

/// The parts of a message that are sealed.
#[derive(Serialize, Deserialize)]
struct SealedParts {
    headers: Map<String, Value>,
    attributes: Map<String, Value>,
    body: Bytes,
}

impl Intake {
    /// Stores a failed message, sealed if a playbook that it may start has secret inputs.
    pub(super) async fn keep_failed(
        &self,
        rules: &Subscription,
        failed: FailedMessage,
    ) -> Result<(), StoreError> {
        let FailedMessage { subscription, arrival, .. } = failed;
        let arrival = match self.may_hold_secrets(rules).await {
            true => sealed(&self.vault, subscription, arrival),
            false => arrival,
        };
        self.records.put_failed_message(&FailedMessage { arrival, ..failed }).await
    }

    async fn may_hold_secrets(&self, rules: &Subscription) -> bool {
        for path in playbooks_of(rules) {
            // While the catalog cannot be read, the playbook may have secret inputs.
            if self.control.has_secret_inputs(path).await.unwrap_or(true) {
                return true;
            }
        }
        false
    }

    /// Returns a stored message as it arrived; fails with the reason.
    pub(super) fn opened(
        &self,
        subscription: ExecutionId,
        arrival: &Arrival,
    ) -> Result<Arrival, String> {
        let Some(mark) = mark_of(arrival) else { return Ok(arrival.clone()) };
        let mark =
            SealedMark { execution: subscription, ..SealedMark::of(&mark).ok_or("damaged")? };
        let mark = SealedMark { name: &arrival.once, ..mark };
        let opened = self.vault.open_input(mark).map_err(|error| error.to_string())?;
        let parts: SealedParts =
            serde_json::from_value(opened).map_err(|error| error.to_string())?;
        let SealedParts { headers, attributes, body } = parts;
        Ok(Arrival { headers, attributes, body, ..arrival.clone() })
    }
}

/// Returns the paths of the playbooks that messages may start.
fn playbooks_of(rules: &Subscription) -> impl Iterator<Item = &str> {
    let named = match &rules.dispatch.target {
        DispatchTarget::Playbook(path) => Some(path.as_str()),
        DispatchTarget::Signal(_) => None,
    };
    let chosen = rules.headers.directives.iter().filter_map(|it| match &it.controls {
        Controls::Playbook { allowed } => Some(allowed),
        Controls::Pool { .. }
        | Controls::Priority { .. }
        | Controls::IdempotencyKey
        | Controls::ContentType
        | Controls::SchemaHint => None,
    });
    named.into_iter().chain(chosen.flatten().map(String::as_str))
}

fn sealed(vault: &Vault, subscription: ExecutionId, arrival: Arrival) -> Arrival {
    let Arrival { id, once, headers, attributes, metadata, body } = arrival;
    let parts = json!(SealedParts { headers, attributes, body });
    let mark = vault.seal_input(subscription, &once, &parts).to_string();
    let (headers, attributes) = (Map::new(), Map::new());
    Arrival { id, once, headers, attributes, metadata, body: Bytes(mark.into_bytes()) }
}

/// Returns the mark that the body of a sealed message is.
fn mark_of(arrival: &Arrival) -> Option<Value> {
    let body: Value = serde_json::from_slice(&arrival.body.0).ok()?;
    SealedMark::of(&body).is_some().then_some(body)
}

/// Returns a stored message for readers: the body of a sealed one is masked.
pub(super) fn shown(arrival: Arrival) -> Arrival {
    match mark_of(&arrival) {
        Some(_) => Arrival { body: Bytes(MASK.as_bytes().to_vec()), ..arrival },
        None => arrival,
    }
}
