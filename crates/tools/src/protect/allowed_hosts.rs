//! The hosts that a credential may be sent to.

use noetl_model::{ErrorKind, HOSTS_FIELD, HostPattern, ToolError};
use serde_json::{Map, Value};
use url::Url;

/// The hosts of the credentials in a request; every host without such a credential.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AllowedHosts(Option<Vec<HostPattern>>);

impl AllowedHosts {
    /// Returns the hosts that the fields of a credential name. A list that cannot be read allows none.
    pub(crate) fn of(fields: &Map<String, Value>) -> Self {
        let hosts = fields.get(HOSTS_FIELD);
        Self(hosts.map(|hosts| serde_json::from_value(hosts.clone()).unwrap_or_default()))
    }

    /// Takes the hosts out of the fields of a credential.
    pub(crate) fn take(fields: &mut Map<String, Value>) -> Self {
        let hosts = Self::of(fields);
        fields.shift_remove(HOSTS_FIELD);
        hosts
    }

    /// True if the credential may be sent to certain hosts only.
    pub(crate) fn are_limited(&self) -> bool {
        self.0.is_some()
    }

    /// Checks a host that the credential would be sent to. The credential is not sent to a host of
    /// this machine that is the directory of a socket unless it may be sent anywhere.
    pub(crate) fn check(&self, host: &str, port: u16) -> Result<(), ToolError> {
        match &self.0 {
            Some(hosts) if !hosts.iter().any(|allowed| allowed.permits(host, port)) => {
                let message = format!(
                    "the credential may not be sent to {host}:{port}; its policy names the hosts"
                );
                Err(ToolError::new(ErrorKind::Policy, message))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks the host of a URL.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), ToolError> {
        let host = url.host_str().unwrap_or_default();
        self.check(host, url.port_or_known_default().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hosts(fields: Value) -> AllowedHosts {
        AllowedHosts::of(fields.as_object().expect("a map"))
    }

    #[test]
    fn a_credential_with_hosts_is_sent_to_no_others() {
        let any = hosts(json!({ "token": "t" }));
        assert!(!any.are_limited());
        assert_eq!(any.check("evil.example", 80), Ok(()));
        let few = hosts(json!({ "token": "t", "_hosts": ["*.example.org", "[::1]:5432"] }));
        assert_eq!(few.check_url(&"https://api.example.org/x".parse().unwrap()), Ok(()));
        assert_eq!(few.check_url(&"http://[::1]:5432/".parse().unwrap()), Ok(()));
        for url in ["https://example.org", "https://api.example.org.evil", "http://[::1]/"] {
            let error = few.check_url(&url.parse().unwrap()).expect_err(url);
            assert_eq!(error.kind, ErrorKind::Policy, "{url}");
        }
        let unreadable = hosts(json!({ "_hosts": "api.example.org" }));
        assert!(unreadable.check("api.example.org", 443).is_err());
    }
}
