//! TLS settings of an HTTP client: trusted certificates and client certificate.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Trusted certificates and client certificate. The default trusts the machine's certificates and
/// presents none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// Certificates in PEM to trust instead of the machine's.
    pub ca: Option<PathBuf>,
    /// Client certificate, for servers that ask for one.
    pub identity: Option<ClientIdentity>,
}

/// A client certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// The error of loading certificates.
#[derive(Debug, Error)]
pub enum ClientTlsError {
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} cannot be used", path.display())]
    Unusable {
        path: PathBuf,
        #[source]
        source: reqwest::Error,
    },
}

impl ClientTls {
    /// Adds the certificates to an HTTP client under construction.
    pub fn apply(
        &self,
        mut builder: reqwest::ClientBuilder,
    ) -> Result<reqwest::ClientBuilder, ClientTlsError> {
        if let Some(path) = &self.ca {
            let trusted = reqwest::Certificate::from_pem_bundle(&read(path)?);
            let trusted = trusted.map_err(|source| unusable(path, source))?;
            builder = builder.tls_certs_only(trusted);
        }
        if let Some(ClientIdentity { cert, key }) = &self.identity {
            let pem = [read(cert)?, read(key)?].join(&b'\n');
            let identity = reqwest::Identity::from_pem(&pem);
            builder = builder.identity(identity.map_err(|source| unusable(cert, source))?);
        }
        Ok(builder)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ClientTlsError> {
    std::fs::read(path)
        .map_err(|source| ClientTlsError::Unreadable { path: path.to_owned(), source })
}

fn unusable(path: &Path, source: reqwest::Error) -> ClientTlsError {
    ClientTlsError::Unusable { path: path.to_owned(), source }
}
