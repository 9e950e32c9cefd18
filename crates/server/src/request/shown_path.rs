//! Paths as logs, spans and the audit log show them.

/// The prefix of the pages that a link of an approval opens. Who knows a link may decide.
const LINKS: &str = "/ui/decide/";

/// Returns a path without the secret in it, if it has one.
pub(crate) fn shown_path(path: &str) -> &str {
    match path.strip_prefix(LINKS) {
        Some(link) if !link.is_empty() => "/ui/decide/…",
        Some(_) | None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_of_an_approval_is_not_shown() {
        assert_eq!(shown_path("/ui/decide/abc.def"), "/ui/decide/…");
        for path in ["/ui/decide/", "/ui/decided/x", "/api/executions/1"] {
            assert_eq!(shown_path(path), path);
        }
    }
}
