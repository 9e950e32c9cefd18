//! The header `Prefer` (RFC 7240), of which `wait` is understood.

use std::time::Duration;

use axum::http::HeaderMap;

/// The longest time that a request waits for the end of the execution it starts.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// Returns how long the client wants to wait, at most [`WAIT_MAX`]; `None` if it does not. As the
/// standard asks, a preference that cannot be read is ignored.
pub(crate) fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|value| value.split(','));
    preferences.find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        let is_wait = name.trim().eq_ignore_ascii_case("wait");
        let seconds = value.trim().trim_matches('"').parse().ok().filter(|_| is_wait)?;
        Some(Duration::from_secs(seconds).min(WAIT_MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[&str], expected: Option<u64>) {
        let values = headers.iter().map(|value| {
            (axum::http::HeaderName::from_static("prefer"), value.parse().expect("a header"))
        });
        let headers: HeaderMap = HeaderMap::from_iter(values);
        assert_eq!(preferred_wait(&headers), expected.map(Duration::from_secs), "{headers:?}");
    }

    #[test]
    fn a_wait_is_read_in_every_spelling_and_bounded() {
        check(&["wait=30"], Some(30));
        check(&["respond-async, Wait=5"], Some(5));
        check(&["respond-async", "wait = \"7\"; strict"], Some(7));
        check(&["wait=0"], Some(0));
        check(&["wait=86400"], Some(60));
    }

    #[test]
    fn a_preference_that_cannot_be_read_is_ignored() {
        check(&[], None);
        check(&["wait"], None);
        check(&["wait=-1", "wait=soon", "waits=3", "return=minimal"], None);
    }
}
