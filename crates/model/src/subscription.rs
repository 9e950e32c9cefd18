//! The events of a subscription and the state that results from them.

use std::fmt;
use std::str::FromStr;

/// The state of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubscriptionState {
    /// Registered; the puller has not started.
    Registered,
    Active,
    /// No messages are accepted until the subscription is resumed.
    Paused,
    /// Accepted messages are finished; no new ones are accepted.
    Draining,
    Deactivated,
}

impl SubscriptionState {
    pub const ALL: &'static [SubscriptionState] = &[
        SubscriptionState::Registered,
        SubscriptionState::Active,
        SubscriptionState::Paused,
        SubscriptionState::Draining,
        SubscriptionState::Deactivated,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            SubscriptionState::Registered => "REGISTERED",
            SubscriptionState::Active => "ACTIVE",
            SubscriptionState::Paused => "PAUSED",
            SubscriptionState::Draining => "DRAINING",
            SubscriptionState::Deactivated => "DEACTIVATED",
        }
    }

    /// True if messages may start executions.
    pub fn takes_messages(self) -> bool {
        match self {
            SubscriptionState::Registered | SubscriptionState::Active => true,
            SubscriptionState::Paused
            | SubscriptionState::Draining
            | SubscriptionState::Deactivated => false,
        }
    }
}

impl fmt::Display for SubscriptionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An event of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubscriptionEvent {
    Registered,
    Activated,
    Paused,
    Resumed,
    Draining,
    Deactivated,
}

impl SubscriptionEvent {
    pub const ALL: &'static [SubscriptionEvent] = &[
        SubscriptionEvent::Registered,
        SubscriptionEvent::Activated,
        SubscriptionEvent::Paused,
        SubscriptionEvent::Resumed,
        SubscriptionEvent::Draining,
        SubscriptionEvent::Deactivated,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            SubscriptionEvent::Registered => "subscription.registered",
            SubscriptionEvent::Activated => "subscription.activated",
            SubscriptionEvent::Paused => "subscription.paused",
            SubscriptionEvent::Resumed => "subscription.resumed",
            SubscriptionEvent::Draining => "subscription.draining",
            SubscriptionEvent::Deactivated => "subscription.deactivated",
        }
    }

    /// Returns the state of a subscription after this event.
    pub fn state(self) -> SubscriptionState {
        match self {
            SubscriptionEvent::Registered => SubscriptionState::Registered,
            SubscriptionEvent::Activated | SubscriptionEvent::Resumed => SubscriptionState::Active,
            SubscriptionEvent::Paused => SubscriptionState::Paused,
            SubscriptionEvent::Draining => SubscriptionState::Draining,
            SubscriptionEvent::Deactivated => SubscriptionState::Deactivated,
        }
    }
}

/// The text names no event of a subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an event of a subscription")]
pub struct UnknownSubscriptionEvent(String);

impl FromStr for SubscriptionEvent {
    type Err = UnknownSubscriptionEvent;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = SubscriptionEvent::ALL.iter().find(|event| event.as_str() == word);
        known.copied().ok_or_else(|| UnknownSubscriptionEvent(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_as_they_are_written() {
        for event in SubscriptionEvent::ALL {
            assert_eq!(event.as_str().parse(), Ok(*event));
        }
        assert!("subscription.lost".parse::<SubscriptionEvent>().is_err());
    }
}
