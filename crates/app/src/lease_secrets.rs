//! Secrets of leases: a worker proves with one that it holds a command.
//!
//! A secret is an HMAC-SHA256 of the command, the attempt and the worker, with a key derived from the
//! encryption key. Nothing is stored: every server with the same key verifies it.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use noetl_api::LeaseProof;
use noetl_control::LoadError;
use noetl_engine::HolderStatus;
use noetl_model::{Held, Lease, LeaseSecret, TrailFact, TrailOutcome, WorkerId};
use noetl_secrets::{AccessLog as _, Vault};

use crate::app::App;
use crate::keyed_codes::KeyedCodes;

/// The purpose of the derived key.
const PURPOSE: &str = "noetl lease secrets v1";

/// The requirement that workers prove that they hold a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaseVerification {
    /// A secret is verified if there is one: existing workers have none.
    #[default]
    Optional,
    Required,
}

/// The reason why a request about a command is refused.
#[derive(Debug, thiserror::Error)]
pub enum LeaseRefusal {
    #[error("command {} of execution {} needs the secret of its lease", .0.command, .0.execution)]
    Missing(Held),
    #[error("this server requires secrets of leases, which existing workers do not have")]
    Unsupported,
    #[error(
        "the secret is not that of the lease of command {} of execution {}",
        .0.command, .0.execution
    )]
    Wrong(Held),
    #[error("the worker does not hold command {} of execution {} any more", .0.command, .0.execution)]
    NotHeld(Held),
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Computes and verifies secrets of leases.
pub(crate) struct LeaseSecrets(KeyedCodes);

impl LeaseSecrets {
    pub(crate) fn of(vault: &Vault) -> Self {
        Self(KeyedCodes::of(vault, PURPOSE))
    }

    pub(crate) fn issue(&self, held: Held, worker: &WorkerId) -> LeaseSecret {
        let code = with_parts(held, worker, |parts| self.0.code(parts));
        LeaseSecret::new(URL_SAFE_NO_PAD.encode(code))
    }

    /// True if the secret is that of a worker's lease.
    pub(crate) fn is_valid(&self, held: Held, worker: &WorkerId, secret: &LeaseSecret) -> bool {
        let Ok(given) = URL_SAFE_NO_PAD.decode(secret.as_str()) else { return false };
        with_parts(held, worker, |parts| self.0.is_valid(parts, &given))
    }
}

/// Calls `with` for the parts of a lease that its code is over.
fn with_parts<T>(held: Held, worker: &WorkerId, with: impl FnOnce(&[&[u8]]) -> T) -> T {
    let Held { execution, command, attempt } = held;
    with(&[
        &execution.0.to_be_bytes(),
        &command.0.to_be_bytes(),
        &attempt.0.to_be_bytes(),
        worker.as_str().as_bytes(),
    ])
}

impl App {
    /// Returns a lease with its secret, for its worker.
    pub(crate) fn with_lease_secret(&self, worker: &WorkerId, lease: Lease) -> Lease {
        let secret = Some(self.lease_secrets().issue(Held::from(&lease), worker));
        Lease { secret, ..lease }
    }

    /// Checks that the sender has the secrets of the leases that it acts on, each as the worker that is
    /// named with it.
    pub fn check_proofs<'a>(
        &self,
        held: impl IntoIterator<Item = (Held, Option<&'a WorkerId>)>,
        proofs: &[LeaseProof],
        verification: LeaseVerification,
    ) -> Result<(), LeaseRefusal> {
        let proofs: HashMap<Held, &LeaseProof> =
            proofs.iter().map(|proof| (proof.held, proof)).collect();
        for (held, worker) in held {
            let checked = match proofs.get(&held) {
                Some(LeaseProof { worker: by, secret, .. }) => {
                    let is_valid = worker.is_none_or(|worker| worker == by)
                        && self.lease_secrets().is_valid(held, by, secret);
                    if is_valid { Ok(()) } else { Err(LeaseRefusal::Wrong(held)) }
                }
                None => match verification {
                    LeaseVerification::Optional => Ok(()),
                    LeaseVerification::Required => Err(LeaseRefusal::Missing(held)),
                },
            };
            checked.inspect_err(|refusal| self.note_refusal(refusal, held, worker))?;
        }
        Ok(())
    }

    /// Checks that the sender of a proof holds the command.
    pub async fn check_holder(&self, proof: &LeaseProof) -> Result<(), LeaseRefusal> {
        let LeaseProof { held, worker, secret } = proof;
        let checked = match self.lease_secrets().is_valid(*held, worker, secret) {
            true => self.check_held(*held, worker).await,
            false => Err(LeaseRefusal::Wrong(*held)),
        };
        checked.inspect_err(|refusal| self.note_refusal(refusal, *held, Some(worker)))
    }

    async fn check_held(&self, held: Held, by: &WorkerId) -> Result<(), LeaseRefusal> {
        let status = self.control().holder_status(held.execution, held.command, Some(by)).await;
        match status {
            Ok(
                HolderStatus::Worker { worker, attempt, .. }
                | HolderStatus::Callback { worker, attempt },
            ) if worker == *by && attempt == held.attempt => Ok(()),
            Ok(_) | Err(LoadError::NotFound(_)) => Err(LeaseRefusal::NotHeld(held)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the requirement of secrets of leases.
    pub fn lease_verification(&self) -> LeaseVerification {
        self.settings().lease_verification
    }

    /// Checks that workers without secrets of leases may be used.
    pub fn check_existing_workers(&self) -> Result<(), LeaseRefusal> {
        match self.settings().lease_verification {
            LeaseVerification::Optional => Ok(()),
            LeaseVerification::Required => Err(LeaseRefusal::Unsupported),
        }
    }

    fn note_refusal(&self, refusal: &LeaseRefusal, held: Held, worker: Option<&WorkerId>) {
        self.audit_writer().note_access(TrailFact {
            at: self.now(),
            actor: None,
            action: "lease.use".to_owned(),
            subject: Some(format!("execution {}, command {}", held.execution, held.command)),
            source: worker.map(|worker| format!("worker {worker}")),
            outcome: TrailOutcome::Refused,
            detail: Some(refusal.to_string()),
        });
    }
}

#[cfg(test)]
mod tests {
    use noetl_model::{Attempt, CommandId, ExecutionId};

    use super::*;

    fn keyed(keys: &[&str]) -> LeaseSecrets {
        let mut keys = keys.iter().map(|key| key.as_bytes());
        let current = keys.next().expect("a current key");
        LeaseSecrets(KeyedCodes::with_keys(current, keys))
    }

    #[test]
    fn a_secret_is_valid_for_one_lease_of_one_worker() {
        let secrets = keyed(&["key"]);
        let held = Held { execution: ExecutionId(1), command: CommandId(2), attempt: Attempt(3) };
        let worker = WorkerId::new("w");
        let secret = secrets.issue(held, &worker);
        assert!(secrets.is_valid(held, &worker, &secret));
        assert!(!secrets.is_valid(held, &WorkerId::new("w2"), &secret));
        for other in [
            Held { execution: ExecutionId(2), ..held },
            Held { command: CommandId(1), ..held },
            Held { attempt: Attempt(4), ..held },
        ] {
            assert!(!secrets.is_valid(other, &worker, &secret), "{other:?}");
        }
        for wrong in ["", "AAAA", "not base64!", &secret.as_str()[1..]] {
            assert!(!secrets.is_valid(held, &worker, &LeaseSecret::new(wrong)), "{wrong}");
        }
    }

    #[test]
    fn a_secret_stays_valid_while_its_key_is_an_earlier_one() {
        let held = Held { execution: ExecutionId(1), command: CommandId(2), attempt: Attempt(3) };
        let worker = WorkerId::new("w");
        let secret = keyed(&["old"]).issue(held, &worker);
        assert!(keyed(&["new", "old"]).is_valid(held, &worker, &secret));
        assert!(!keyed(&["new"]).is_valid(held, &worker, &secret));
    }
}
