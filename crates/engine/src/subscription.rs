//! The lifecycle of a subscription: the actions allowed in each state, and the events they cause.

use std::str::FromStr;

use noetl_model::{SubscriptionEvent, SubscriptionState};

/// An action on a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionAction {
    Activate,
    Pause,
    Resume,
    Drain,
    Deactivate,
}

impl SubscriptionAction {
    pub const ALL: &'static [SubscriptionAction] = &[
        SubscriptionAction::Activate,
        SubscriptionAction::Pause,
        SubscriptionAction::Resume,
        SubscriptionAction::Drain,
        SubscriptionAction::Deactivate,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            SubscriptionAction::Activate => "activate",
            SubscriptionAction::Pause => "pause",
            SubscriptionAction::Resume => "resume",
            SubscriptionAction::Drain => "drain",
            SubscriptionAction::Deactivate => "deactivate",
        }
    }

    fn event(self) -> SubscriptionEvent {
        match self {
            SubscriptionAction::Activate => SubscriptionEvent::Activated,
            SubscriptionAction::Pause => SubscriptionEvent::Paused,
            SubscriptionAction::Resume => SubscriptionEvent::Resumed,
            SubscriptionAction::Drain => SubscriptionEvent::Draining,
            SubscriptionAction::Deactivate => SubscriptionEvent::Deactivated,
        }
    }

    /// Returns the states in which the action is allowed.
    pub fn allowed_from(self) -> &'static [SubscriptionState] {
        use SubscriptionState::{Active, Deactivated, Draining, Paused, Registered};
        match self {
            SubscriptionAction::Activate => &[Registered, Paused, Deactivated, Active],
            SubscriptionAction::Pause => &[Active, Paused],
            SubscriptionAction::Resume => &[Paused, Active],
            SubscriptionAction::Drain => &[Active, Paused, Draining],
            SubscriptionAction::Deactivate => SubscriptionState::ALL,
        }
    }
}

/// The text names no action on a subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not activate, pause, resume, drain or deactivate")]
pub struct UnknownAction(String);

impl FromStr for SubscriptionAction {
    type Err = UnknownAction;

    fn from_str(word: &str) -> Result<Self, UnknownAction> {
        let known = SubscriptionAction::ALL.iter().find(|action| action.as_str() == word);
        known.copied().ok_or_else(|| UnknownAction(word.to_owned()))
    }
}

/// The action is not allowed in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot {} a subscription that is {state}: it must be {}", action.as_str(), listed(*action))]
pub struct IllegalTransition {
    pub state: SubscriptionState,
    pub action: SubscriptionAction,
}

fn listed(action: SubscriptionAction) -> String {
    let allowed: Vec<&str> = action.allowed_from().iter().map(|state| state.as_str()).collect();
    allowed.join(" or ")
}

/// Returns the event that an action causes; the event determines the new state.
pub fn transition(
    state: SubscriptionState,
    action: SubscriptionAction,
) -> Result<SubscriptionEvent, IllegalTransition> {
    if action.allowed_from().contains(&state) {
        Ok(action.event())
    } else {
        Err(IllegalTransition { state, action })
    }
}

/// True if a registration creates a new subscription, given the state of the path's newest one.
pub fn registers_anew(state: Option<SubscriptionState>) -> bool {
    match state {
        None | Some(SubscriptionState::Deactivated) => true,
        Some(
            SubscriptionState::Registered
            | SubscriptionState::Active
            | SubscriptionState::Paused
            | SubscriptionState::Draining,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_action_in_every_state() {
        let mut table = String::new();
        for state in SubscriptionState::ALL {
            for action in SubscriptionAction::ALL {
                let outcome = match transition(*state, *action) {
                    Ok(event) => format!("{} {}", event.as_str(), event.state()),
                    Err(_) => "-".to_owned(),
                };
                table += &format!("{:<12}{:<11}{outcome}\n", state.as_str(), action.as_str());
            }
        }
        expect![[r#"
            REGISTERED  activate   subscription.activated ACTIVE
            REGISTERED  pause      -
            REGISTERED  resume     -
            REGISTERED  drain      -
            REGISTERED  deactivate subscription.deactivated DEACTIVATED
            ACTIVE      activate   subscription.activated ACTIVE
            ACTIVE      pause      subscription.paused PAUSED
            ACTIVE      resume     subscription.resumed ACTIVE
            ACTIVE      drain      subscription.draining DRAINING
            ACTIVE      deactivate subscription.deactivated DEACTIVATED
            PAUSED      activate   subscription.activated ACTIVE
            PAUSED      pause      subscription.paused PAUSED
            PAUSED      resume     subscription.resumed ACTIVE
            PAUSED      drain      subscription.draining DRAINING
            PAUSED      deactivate subscription.deactivated DEACTIVATED
            DRAINING    activate   -
            DRAINING    pause      -
            DRAINING    resume     -
            DRAINING    drain      subscription.draining DRAINING
            DRAINING    deactivate subscription.deactivated DEACTIVATED
            DEACTIVATED activate   subscription.activated ACTIVE
            DEACTIVATED pause      -
            DEACTIVATED resume     -
            DEACTIVATED drain      -
            DEACTIVATED deactivate subscription.deactivated DEACTIVATED
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn a_refusal_says_what_is_and_what_would_have_to_be() {
        let refused = transition(SubscriptionState::Draining, SubscriptionAction::Pause);
        let said = refused.expect_err("it cannot").to_string();
        expect!["cannot pause a subscription that is DRAINING: it must be ACTIVE or PAUSED"]
            .assert_eq(&said);
    }

    #[test]
    fn only_a_path_without_a_live_subscription_gets_a_new_one() {
        let anew = SubscriptionState::ALL.iter().filter(|state| registers_anew(Some(**state)));
        assert_eq!(anew.collect::<Vec<_>>(), [&SubscriptionState::Deactivated]);
        assert!(registers_anew(None));
    }
}
