//! The values that the way of starting adds to a workload. A playbook reads them without declaring them.

/// The value that describes the instant of a scheduled start.
pub const SCHEDULE_KEY: &str = "schedule";
/// The values that a message adds to the fields of its data.
pub const MESSAGE_KEYS: &[&str] =
    &["message", "subscription", "source", "idempotency_key", "content_type"];
/// All of them.
pub const ADDED_KEYS: &[&str] =
    &[SCHEDULE_KEY, "message", "subscription", "source", "idempotency_key", "content_type"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_list_of_all() {
        let parts = std::iter::once(&SCHEDULE_KEY).chain(MESSAGE_KEYS);
        assert!(parts.eq(ADDED_KEYS));
    }
}
