//! Protection of secrets, files and networks: credentials, redaction, the files that tools may open,
//! the policy for outgoing requests.

pub(crate) mod allowed_hosts;
pub(crate) mod credentials;
pub(crate) mod files;
pub(crate) mod outgoing;
pub(crate) mod redactor;
