//! The audit trail: a numbered list of changes and of accesses to secrets, in which every entry holds
//! the digest of the entry before it.
//!
//! Invariant: the digest of an entry covers all its fields and the digest of the previous entry, so a
//! change of one entry invalidates all later digests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{Digest, Timestamp};

/// Prefix of the hashed bytes of an entry; another algorithm gets another prefix.
const TRAIL_MARK: &[u8] = b"noetl audit 1\n";

/// The result of an audited request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrailOutcome {
    Done,
    /// The sender was not permitted, or the request was invalid.
    Refused,
    Failed,
}

/// The error of parsing an outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no outcome; the outcomes are done, refused and failed")]
pub struct UnknownTrailOutcome(pub String);

impl TrailOutcome {
    pub const ALL: &'static [TrailOutcome] =
        &[TrailOutcome::Done, TrailOutcome::Refused, TrailOutcome::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            TrailOutcome::Done => "done",
            TrailOutcome::Refused => "refused",
            TrailOutcome::Failed => "failed",
        }
    }
}

impl fmt::Display for TrailOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TrailOutcome {
    type Err = UnknownTrailOutcome;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = TrailOutcome::ALL.iter().find(|it| it.as_str() == word);
        known.copied().ok_or_else(|| UnknownTrailOutcome(word.to_owned()))
    }
}

/// One change, or one access to a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailFact {
    pub at: Timestamp,
    /// The name of the sender's token, or the name that the sender states.
    pub actor: Option<String>,
    /// The request, such as `POST /api/execute` or `secret.read`.
    pub action: String,
    /// The object of the action, such as a path or a name.
    pub subject: Option<String>,
    /// The address of the sender.
    pub source: Option<String>,
    pub outcome: TrailOutcome,
    /// The status of the answer, or the reason of a refusal.
    pub detail: Option<String>,
}

/// A fact with its place in the trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailEntry {
    /// 1, 2, 3, … without gaps.
    pub number: u64,
    pub fact: TrailFact,
    pub digest: Digest,
}

/// The place of an entry: its number and its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailPlace {
    pub number: u64,
    pub digest: Digest,
}

impl TrailPlace {
    /// The place before the first entry.
    pub const START: TrailPlace = TrailPlace { number: 0, digest: Digest::UNKNOWN };

    /// Returns the entry that follows this place.
    pub fn followed_by(&self, fact: TrailFact) -> TrailEntry {
        let number = self.number + 1;
        TrailEntry { number, digest: digest_of(&self.digest, number, &fact), fact }
    }
}

/// The first fault of a trail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrailFault {
    #[error("entry {expected} of the audit log is missing; entry {found} follows")]
    Missing { expected: u64, found: u64 },
    #[error("entry {0} of the audit log, or the entry before it, was changed")]
    Changed(u64),
    #[error("the audit log ends at entry {found}; entries up to {expected} were written")]
    CutOff { expected: u64, found: u64 },
}

impl TrailEntry {
    pub fn place(&self) -> TrailPlace {
        TrailPlace { number: self.number, digest: self.digest }
    }

    /// Checks that the entry follows a place. Returns its own place.
    pub fn check_after(&self, before: &TrailPlace) -> Result<TrailPlace, TrailFault> {
        let expected = before.number + 1;
        if self.number != expected {
            return Err(TrailFault::Missing { expected, found: self.number });
        }
        match digest_of(&before.digest, self.number, &self.fact) == self.digest {
            true => Ok(self.place()),
            false => Err(TrailFault::Changed(self.number)),
        }
    }
}

fn digest_of(before: &Digest, number: u64, fact: &TrailFact) -> Digest {
    let TrailFact { at, actor, action, subject, source, outcome, detail } = fact;
    let mut hasher = Sha256::new();
    hasher.update(TRAIL_MARK);
    hasher.update(before.as_bytes());
    hasher.update(number.to_be_bytes());
    hasher.update(at.as_micros().to_be_bytes());
    let fields = [actor.as_deref(), Some(action), subject.as_deref(), source.as_deref()];
    let rest = [Some(outcome.as_str()), detail.as_deref()];
    for field in fields.into_iter().chain(rest) {
        // The length first, so that no text can move from one field to the next.
        let length = field.map_or(u64::MAX, |text| text.len() as u64);
        hasher.update(length.to_be_bytes());
        hasher.update(field.unwrap_or_default());
    }
    Digest::from_bytes(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(action: &str) -> TrailFact {
        TrailFact {
            at: Timestamp::from_millis(1000),
            actor: Some("ada".into()),
            action: action.into(),
            subject: None,
            source: Some("10.0.0.1".into()),
            outcome: TrailOutcome::Done,
            detail: None,
        }
    }

    fn trail(actions: &[&str]) -> Vec<TrailEntry> {
        let mut place = TrailPlace::START;
        let follow = |action: &&str| {
            let entry = place.followed_by(fact(action));
            place = entry.place();
            entry
        };
        actions.iter().map(follow).collect()
    }

    fn checked(trail: &[TrailEntry]) -> Result<TrailPlace, TrailFault> {
        trail.iter().try_fold(TrailPlace::START, |place, entry| entry.check_after(&place))
    }

    #[test]
    fn an_untouched_trail_is_sound() {
        let trail = trail(&["a", "b", "c"]);
        assert_eq!(checked(&trail), Ok(trail[2].place()));
    }

    #[test]
    fn the_first_changed_or_missing_entry_is_found() {
        let whole = trail(&["a", "b", "c"]);
        let changed = |change: fn(&mut TrailFact)| {
            let mut trail = whole.clone();
            change(&mut trail[1].fact);
            checked(&trail)
        };
        assert_eq!(changed(|fact| fact.actor = None), Err(TrailFault::Changed(2)));
        assert_eq!(
            changed(|fact| fact.outcome = TrailOutcome::Failed),
            Err(TrailFault::Changed(2))
        );
        assert_eq!(changed(|fact| fact.subject = Some(String::new())), Err(TrailFault::Changed(2)));
        let (action, source) = ("a10.0.0.1".to_owned(), None);
        let moved = TrailFact { action, source, ..whole[0].fact.clone() };
        let moved = TrailEntry { fact: moved, ..whole[0].clone() };
        assert_eq!(checked(&[moved]), Err(TrailFault::Changed(1)));
        let without = [whole[0].clone(), whole[2].clone()];
        assert_eq!(checked(&without), Err(TrailFault::Missing { expected: 2, found: 3 }));
        // A rewritten entry has a digest that fits, but the next one does not.
        let mut rewritten = whole.clone();
        rewritten[1] = whole[0].place().followed_by(fact("other"));
        assert_eq!(checked(&rewritten), Err(TrailFault::Changed(3)));
    }

    #[test]
    fn a_digest_is_the_same_for_ever() {
        expect_test::expect!["c6a8f723cace1940f88933803d116879c1f70cbfe1cdac1fe8156e3b9f008ee0"]
            .assert_eq(&trail(&["a"])[0].digest.to_string());
    }
}
