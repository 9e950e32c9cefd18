//! The bodies of report requests: every report is serialized once.

use noetl_model::Report;

use crate::LeaseProof;

/// The most bytes in one request, so that the receiver need not hold many large reports at once. A
/// larger report is sent alone.
const BODY_BYTES_MAX: usize = 256 * 1024;

const OPENING: &[u8] = br#"{"reports":["#;
const PROOFS: &[u8] = br#"],"proofs":"#;
const CLOSING: &[u8] = b"}";

/// The JSON of a [`ReportCall`](crate::wire::ReportCall), without its proofs.
pub(super) struct ReportBody {
    bytes: Vec<u8>,
    /// The number of reports in it.
    pub(super) count: usize,
}

impl ReportBody {
    fn empty() -> Self {
        Self { bytes: OPENING.to_vec(), count: 0 }
    }

    /// Returns the whole body, with the proofs for the reports in it.
    pub(super) fn closed(mut self, proofs: &[LeaseProof]) -> Vec<u8> {
        self.bytes.extend_from_slice(PROOFS);
        serde_json::to_writer(&mut self.bytes, proofs).expect("proofs are JSON");
        self.bytes.extend_from_slice(CLOSING);
        self.bytes
    }
}

/// Serializes reports, in order, into bodies of at most [`BODY_BYTES_MAX`]; at least one body.
pub(super) fn report_bodies(reports: &[Report]) -> Vec<ReportBody> {
    let mut closed = Vec::new();
    let mut open = ReportBody::empty();
    for report in reports {
        let end = open.bytes.len();
        if open.count > 0 {
            open.bytes.push(b',');
        }
        serde_json::to_writer(&mut open.bytes, report).expect("a report is JSON");
        if open.count > 0 && open.bytes.len() - OPENING.len() > BODY_BYTES_MAX {
            let mut next = ReportBody::empty();
            next.bytes.extend_from_slice(&open.bytes[end + 1..]);
            open.bytes.truncate(end);
            closed.push(open);
            open = next;
        }
        open.count += 1;
    }
    closed.push(open);
    closed
}

#[cfg(test)]
mod tests {
    use noetl_model::{
        Attempt, CommandId, ExecutionId, Held, LeaseSecret, Logs, Outcome, WorkerId,
    };
    use serde_json::json;

    use super::*;
    use crate::wire::ReportCall;

    fn report(size: usize) -> Report {
        Report {
            execution: ExecutionId(1),
            command: CommandId(1),
            attempt: Attempt(1),
            worker: WorkerId::new("w"),
            outcome: Outcome::completed(json!("x".repeat(size))),
            logs: Logs::default(),
            next: None,
        }
    }

    #[test]
    fn small_reports_travel_together_and_large_ones_alone() {
        let check = |sizes: &[usize], expected: &[usize]| {
            let reports: Vec<Report> = sizes.iter().map(|size| report(*size)).collect();
            let bodies = report_bodies(&reports);
            let counts: Vec<usize> = bodies.iter().map(|body| body.count).collect();
            assert_eq!(counts, expected);
            let held = Held::from(&report(1));
            let proof =
                LeaseProof { held, worker: WorkerId::new("w"), secret: LeaseSecret::new("s") };
            let read = bodies.into_iter().flat_map(|body| {
                let bytes = body.closed(std::slice::from_ref(&proof));
                let call = serde_json::from_slice::<ReportCall>(&bytes).unwrap();
                assert_eq!(call.proofs, std::slice::from_ref(&proof));
                call.reports
            });
            assert_eq!(read.collect::<Vec<_>>(), reports);
        };
        check(&[], &[0]);
        check(&[1, 1, 1], &[3]);
        check(&[1, 500_000, 1, 1], &[1, 1, 2]);
        check(&[200_000, 200_000, 10_000], &[1, 2]);
    }
}
