//! Authorization of requests for records: secrets are for workers and administrators.

use axum::http::Method;

use noetl_model::Permission;

/// Returns the permissions of which a request for a record needs one; `None` for other requests.
pub(super) fn needed(method: &Method, path: &str, query: &str) -> Option<&'static [Permission]> {
    let is_read = [Method::GET, Method::HEAD].contains(method);
    let below = |prefix: &str| path.strip_prefix(prefix);
    if below("/api/result/").is_some() {
        return Some(if is_read {
            &[Permission::Work, Permission::Read]
        } else {
            &[Permission::Work]
        });
    }
    if below("/api/keychain/catalog/").is_some() && is_read {
        return Some(&[Permission::Work, Permission::Read]);
    }
    if below("/api/keychain/").is_some() {
        return Some(&[Permission::Work]);
    }
    if below("/api/vars/").is_some() {
        return Some(if is_read {
            &[Permission::Work, Permission::Read]
        } else {
            &[Permission::Work, Permission::Operate]
        });
    }
    if path == "/api/credentials" || below("/api/credentials/").is_some() {
        // A query on a single credential may ask for its secret, in several spellings.
        let is_one = path != "/api/credentials";
        let is_secret = path.ends_with("/sealed") || is_one && !query.is_empty();
        return Some(match is_read {
            true if is_secret => &[Permission::Work],
            true => &[Permission::Read],
            false => &[Permission::Administer],
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, path: &str, expected: &[Permission]) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        assert_eq!(needed(&method, path, query), Some(expected), "{method} {path}");
    }

    #[test]
    fn secrets_are_for_workers_and_their_names_for_readers() {
        check(Method::GET, "/api/credentials", &[Permission::Read]);
        check(Method::GET, "/api/credentials/pg", &[Permission::Read]);
        check(Method::GET, "/api/credentials/pg?include_data=true", &[Permission::Work]);
        check(Method::GET, "/api/credentials/pg?x=1&include%5Fdata=true", &[Permission::Work]);
        check(Method::GET, "/api/credentials?type=bearer", &[Permission::Read]);
        check(Method::GET, "/api/credentials/pg/sealed", &[Permission::Work]);
        check(Method::GET, "/api/keychain/1/token", &[Permission::Work]);
    }

    #[test]
    fn changing_secrets_is_for_administrators() {
        check(Method::POST, "/api/credentials", &[Permission::Administer]);
        check(Method::DELETE, "/api/credentials/pg", &[Permission::Administer]);
    }

    #[test]
    fn results_and_variables_are_for_workers() {
        check(Method::PUT, "/api/result/1", &[Permission::Work]);
        check(Method::POST, "/api/vars/1", &[Permission::Work, Permission::Operate]);
    }

    #[test]
    fn anything_else_is_not_about_records() {
        assert_eq!(needed(&Method::GET, "/api/executions", ""), None);
        assert_eq!(needed(&Method::GET, "/api/credentialsx", ""), None);
    }
}
