//! Reading and writing cookies.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

use crate::state::Wire;

/// Returns the value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|it| it.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(found, value)| (found == name).then_some(value))
}

/// Returns the header that stores a cookie which only the server reads and which no other site can
/// send along. A lifetime of zero deletes it.
pub(crate) fn stored(name: &str, value: &str, lifetime: Duration, wire: Wire) -> HeaderValue {
    let secure = match wire {
        Wire::Plain => "",
        Wire::Encrypted => "; Secure",
    };
    let seconds = lifetime.as_secs();
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).expect("names and values of cookies are visible ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("ab=1; a=2"));
        headers.append(header::COOKIE, HeaderValue::from_static("c=3"));
        assert_eq!(cookie(&headers, "a"), Some("2"));
        assert_eq!(cookie(&headers, "c"), Some("3"));
        assert_eq!(cookie(&headers, "b"), None);
    }

    #[test]
    fn a_stored_cookie_is_for_the_server_alone() {
        let text = stored("a", "b", Duration::from_secs(1), Wire::Encrypted);
        assert_eq!(text, "a=b; Path=/; Max-Age=1; HttpOnly; SameSite=Strict; Secure");
    }
}
