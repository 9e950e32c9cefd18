//! Background loops: timers, outbox, limits, lost workers, schedules and subscriptions.

pub(crate) mod limits;
pub(crate) mod relay;
pub(crate) mod reminders;
pub(crate) mod schedules;
pub(crate) mod subscriptions;
pub(crate) mod sweep;
pub(crate) mod timers;
