//! Times in the spelling of existing clients.

use noetl_model::Timestamp;

/// Returns a time in RFC 3339 with the offset `+00:00`. Parsers such as Python's `fromisoformat`
/// before 3.11 do not read the `Z` of [`Timestamp`].
pub fn time_with_offset(at: Timestamp) -> String {
    let text = at.to_string();
    match text.strip_suffix('Z') {
        Some(local) => format!("{local}+00:00"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_spelled_out_and_the_time_is_the_same() {
        let at = Timestamp::from_millis(1_800_000_000_123);
        let text = time_with_offset(at);
        assert_eq!(text, "2027-01-15T08:00:00.123000+00:00");
        assert_eq!(text.parse(), Ok(at));
    }
}
