//! TLS: certificates from files, reloaded when they change, and client certificates.
//!
//! Invariant: a server that has a certificate never runs without one; unusable files are reported,
//! and the previous certificate stays.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;

/// Paths of the certificate files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and its chain, in PEM.
    pub cert: PathBuf,
    pub key: PathBuf,
    /// Authority of client certificates; without it, clients need none.
    pub client_ca: Option<PathBuf>,
}

/// The error of loading certificates.
#[derive(Debug, Error)]
pub enum TlsError {
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("{} has no certificate", .0.display())]
    NoCertificate(PathBuf),
    #[error("the certificate and its key cannot be used together")]
    Unusable(#[source] rustls::Error),
    #[error("the certificates in {} cannot be used as an authority for client certificates", path.display())]
    ClientCa {
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The certificate of a server.
pub struct Tls {
    files: TlsFiles,
    used: Mutex<Used>,
}

#[derive(Clone)]
struct Used {
    changed: Vec<Option<SystemTime>>,
    config: Arc<ServerConfig>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let used = Used { changed: changed(&files), config: Arc::new(config(&files)?) };
        Ok(Self { files, used: Mutex::new(used) })
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.used.lock().expect("nothing panics while it holds the certificate").config.clone()
    }

    /// Reloads the files if one has changed; returns true if so.
    pub(crate) fn refresh(&self) -> Result<bool, TlsError> {
        let changed = changed(&self.files);
        let mut used = self.used.lock().expect("nothing panics while it holds the certificate");
        if used.changed == changed {
            return Ok(false);
        }
        // Set before loading, so that unusable files are not loaded again until they change.
        used.changed = changed;
        used.config = Arc::new(config(&self.files)?);
        Ok(true)
    }
}

fn changed(files: &TlsFiles) -> Vec<Option<SystemTime>> {
    let TlsFiles { cert, key, client_ca } = files;
    let paths = [Some(cert), Some(key), client_ca.as_ref()].into_iter().flatten();
    paths.map(|path| fs::metadata(path).and_then(|it| it.modified()).ok()).collect()
}

fn config(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let refused = |source: Box<dyn std::error::Error + Send + Sync>| TlsError::ClientCa {
                path: path.clone(),
                source,
            };
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| refused(error.into()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                .build()
                .map_err(|error| refused(error.into()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|source| TlsError::Unreadable { path: files.key.clone(), source })?;
    let mut config =
        builder.with_single_cert(certificates(&files.cert)?, key).map_err(TlsError::Unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |source| TlsError::Unreadable { path: path.to_owned(), source };
    let found = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(unreadable)?;
    if found.is_empty() {
        return Err(TlsError::NoCertificate(path.to_owned()));
    }
    Ok(found)
}
