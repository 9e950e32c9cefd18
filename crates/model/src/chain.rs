//! The hash chain of a log: each event holds the digest of the event before it, so that changing
//! one event invalidates all later digests.
//!
//! A digest covers the previous digest, the event's seq, id and time, and its content in canonical
//! form. The digest before the first event is derived from the execution's id.

use sha2::{Digest as _, Sha256};

use crate::{Digest, ExecutionId, Recorded, canonical};

/// Prefix of the hashed bytes of an event; another algorithm gets another prefix.
const EVENT_MARK: &[u8] = b"noetl event 1\n";
const EXECUTION_MARK: &[u8] = b"noetl execution 1\n";

impl Digest {
    /// The digest before the first event of an execution whose log has no digests.
    pub const UNKNOWN: Digest = Digest::from_bytes([0; 32]);

    /// Returns the digest that the first event of an execution follows.
    pub fn before(execution: ExecutionId) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(EXECUTION_MARK);
        hasher.update(execution.0.to_be_bytes());
        Self::from_bytes(hasher.finalize().into())
    }
}

impl Recorded {
    /// Returns the digest of this event, given the digest of the event before it.
    pub fn digest_after(&self, before: &Digest) -> Digest {
        let mut hasher = Sha256::new();
        hasher.update(EVENT_MARK);
        hasher.update(before.as_bytes());
        hasher.update(self.seq.0.to_be_bytes());
        hasher.update(self.event_id.0.to_be_bytes());
        hasher.update(self.at.as_micros().to_be_bytes());
        hasher.update(canonical(&self.event));
        Digest::from_bytes(hasher.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Event, EventId, Seq, Timestamp};

    fn noted() -> Recorded {
        let body = json!({ "b": 1, "a": 0.1 });
        let event = Event::Reported { name: "note".into(), step: None, body };
        let at = Timestamp::from_millis(1000);
        Recorded { seq: Seq(2), event_id: EventId(7), at, event, prev: None }
    }

    #[test]
    fn a_digest_is_the_same_for_ever() {
        let before = Digest::before(ExecutionId(42));
        expect_test::expect!["0fc10a558de2e39cfd2adf8199341c1c868e7cd7437761ee56522f186a9cedc5"]
            .assert_eq(&noted().digest_after(&before).to_string());
    }

    #[test]
    fn a_digest_survives_the_stored_form_of_its_event() {
        let before = Digest::before(ExecutionId(42));
        let text = serde_json::to_string(&noted()).unwrap();
        let read: Recorded = serde_json::from_str(&text).unwrap();
        assert_eq!(read.digest_after(&before), noted().digest_after(&before));
    }

    #[test]
    fn every_field_of_an_event_is_in_its_digest() {
        let before = Digest::before(ExecutionId(42));
        let digest = noted().digest_after(&before);
        let event = Event::Reported { name: "other".into(), step: None, body: json!(null) };
        let changed = [
            Recorded { seq: Seq(3), ..noted() },
            Recorded { event_id: EventId(8), ..noted() },
            Recorded { at: Timestamp::from_millis(1001), ..noted() },
            Recorded { event, ..noted() },
        ];
        assert!(changed.iter().all(|other| other.digest_after(&before) != digest));
        assert_ne!(noted().digest_after(&Digest::before(ExecutionId(43))), digest);
    }
}
