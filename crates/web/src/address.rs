//! Addresses of pages: paths and queries, encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that a value of a query keeps.
const QUERY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/').remove(b':');

/// Encodes a text for a path or a query; slashes stay.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, QUERY).to_string()
}

/// Returns an address with the parameters that have a value.
pub(crate) fn with_query(path: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> =
        given.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    match pairs.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", pairs.join("&")),
    }
}

/// Returns the address of the login that leads back to an address.
pub fn login_address(next: &str) -> String {
    with_query("/ui/login", &[("next", next)])
}

/// Returns an address of this server's pages that a request names; the first page for others, so
/// that a form cannot lead to another site.
pub(crate) fn own(address: &str) -> &str {
    let is_own = address.starts_with("/ui/") && address.bytes().all(|it| it.is_ascii_graphic());
    if is_own && !address.contains('\\') { address } else { "/ui/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_without_a_value_are_left_out() {
        assert_eq!(with_query("/ui/executions", &[("a", ""), ("b", "")]), "/ui/executions");
        assert_eq!(with_query("/a", &[("b", "x y"), ("c", "d&e")]), "/a?b=x%20y&c=d%26e");
    }

    #[test]
    fn a_form_leads_to_pages_of_this_server_only() {
        assert_eq!(own("/ui/executions?status=FAILED"), "/ui/executions?status=FAILED");
        for other in ["//evil.example", "https://evil.example/ui/", "", "/ui/\r\nx", "/api/docs"] {
            assert_eq!(own(other), "/ui/", "{other:?}");
        }
    }
}
