//! Protection of secrets and networks: credentials, redaction, the policy for outgoing requests.

pub(crate) mod credentials;
pub(crate) mod outgoing;
pub(crate) mod redactor;
