//! The proof that a worker holds a command, in bodies of requests and as a header.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use noetl_model::{Attempt, CommandId, ExecutionId, Held, LeaseSecret, WorkerId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The name of the header.
pub const LEASE_HEADER: &str = "x-noetl-lease";

/// A command, the worker that holds it, and the secret of the lease. As a header:
/// `EXECUTION.COMMAND.ATTEMPT.SECRET.WORKER`, the worker in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseProof {
    #[serde(flatten)]
    pub held: Held,
    pub worker: WorkerId,
    pub secret: LeaseSecret,
}

/// The error of parsing the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("`X-Noetl-Lease` is not EXECUTION.COMMAND.ATTEMPT.SECRET.WORKER")]
pub struct BadLeaseProof;

impl fmt::Display for LeaseProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Held { execution, command, attempt } = self.held;
        let worker = URL_SAFE_NO_PAD.encode(self.worker.as_str());
        let secret = self.secret.as_str();
        write!(f, "{}.{}.{}.{secret}.{worker}", execution.0, command.0, attempt.0)
    }
}

impl FromStr for LeaseProof {
    type Err = BadLeaseProof;

    fn from_str(text: &str) -> Result<Self, BadLeaseProof> {
        let parts: Vec<&str> = text.split('.').collect();
        let [execution, command, attempt, secret, worker] = parts[..] else {
            return Err(BadLeaseProof);
        };
        let worker = URL_SAFE_NO_PAD.decode(worker).map_err(|_| BadLeaseProof)?;
        let worker = String::from_utf8(worker).map_err(|_| BadLeaseProof)?;
        Ok(Self {
            held: Held {
                execution: ExecutionId(execution.parse().map_err(|_| BadLeaseProof)?),
                command: CommandId(command.parse().map_err(|_| BadLeaseProof)?),
                attempt: Attempt(attempt.parse().map_err(|_| BadLeaseProof)?),
            },
            worker: WorkerId::new(worker),
            secret: LeaseSecret::new(secret),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_any_worker_and_is_read_back() {
        let held = Held {
            execution: ExecutionId(380_248_615_345_483_776),
            command: CommandId(2),
            attempt: Attempt(3),
        };
        let worker = WorkerId::new("wörker.1 of\nthem");
        let header = LeaseProof { held, worker, secret: LeaseSecret::new("aB-_9") };
        let text = header.to_string();
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
        assert_eq!(text.parse(), Ok(header));
    }

    #[test]
    fn a_header_with_missing_or_wrong_parts_is_refused() {
        for text in ["", "1.2.3.s", "1.2.3.s.w.x", "a.2.3.s.dw", "1.2.3.s.=", "1.2.-3.s.dw"] {
            assert_eq!(text.parse::<LeaseProof>(), Err(BadLeaseProof), "{text}");
        }
    }
}
