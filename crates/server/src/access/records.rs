//! Authorization of requests for records: secrets are for workers and administrators.

use axum::http::Method;

use super::Scope;

/// Returns the scopes of which a request for a record needs one; `None` for other requests.
pub(super) fn needed(method: &Method, path: &str, query: &str) -> Option<&'static [Scope]> {
    let is_read = [Method::GET, Method::HEAD].contains(method);
    let below = |prefix: &str| path.strip_prefix(prefix);
    if below("/api/result/").is_some() {
        return Some(if is_read { &[Scope::Work, Scope::Read] } else { &[Scope::Work] });
    }
    if below("/api/keychain/catalog/").is_some() && is_read {
        return Some(&[Scope::Work, Scope::Read]);
    }
    if below("/api/keychain/").is_some() {
        return Some(&[Scope::Work]);
    }
    if below("/api/vars/").is_some() {
        return Some(if is_read {
            &[Scope::Work, Scope::Read]
        } else {
            &[Scope::Work, Scope::Run]
        });
    }
    if path == "/api/credentials" || below("/api/credentials/").is_some() {
        // A query on a single credential may ask for its secret, in several spellings.
        let is_one = path != "/api/credentials";
        let is_secret = path.ends_with("/sealed") || is_one && !query.is_empty();
        return Some(match is_read {
            true if is_secret => &[Scope::Work],
            true => &[Scope::Read],
            false => &[Scope::Admin],
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, path: &str, expected: &[Scope]) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        assert_eq!(needed(&method, path, query), Some(expected), "{method} {path}");
    }

    #[test]
    fn secrets_are_for_workers_and_their_names_for_readers() {
        check(Method::GET, "/api/credentials", &[Scope::Read]);
        check(Method::GET, "/api/credentials/pg", &[Scope::Read]);
        check(Method::GET, "/api/credentials/pg?include_data=true", &[Scope::Work]);
        check(Method::GET, "/api/credentials/pg?x=1&include%5Fdata=true", &[Scope::Work]);
        check(Method::GET, "/api/credentials?type=bearer", &[Scope::Read]);
        check(Method::GET, "/api/credentials/pg/sealed", &[Scope::Work]);
        check(Method::GET, "/api/keychain/1/token", &[Scope::Work]);
    }

    #[test]
    fn changing_secrets_is_for_administrators() {
        check(Method::POST, "/api/credentials", &[Scope::Admin]);
        check(Method::DELETE, "/api/credentials/pg", &[Scope::Admin]);
    }

    #[test]
    fn results_and_variables_are_for_workers() {
        check(Method::PUT, "/api/result/1", &[Scope::Work]);
        check(Method::POST, "/api/vars/1", &[Scope::Work, Scope::Run]);
    }

    #[test]
    fn anything_else_is_not_about_records() {
        assert_eq!(needed(&Method::GET, "/api/executions", ""), None);
        assert_eq!(needed(&Method::GET, "/api/credentialsx", ""), None);
    }
}
