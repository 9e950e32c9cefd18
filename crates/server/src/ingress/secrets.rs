//! Secrets of senders, cached briefly.
//!
//! Every read of a credential is written to the audit log; the cache keeps unverified senders from
//! causing a write per request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use zeroize::Zeroizing;

use super::SecretSource;

/// Maximum age of a cached secret; a change takes effect after that time.
const FRESH: Duration = Duration::from_secs(5);
/// Maximum number of cached secrets.
const KNOWN_MAX: usize = 1000;

/// A cache of secrets by name.
pub(crate) struct SenderSecrets {
    source: Arc<dyn SecretSource>,
    known: Mutex<BTreeMap<String, (Instant, Zeroizing<String>)>>,
}

impl SenderSecrets {
    pub(crate) fn new(source: Arc<dyn SecretSource>) -> Self {
        Self { source, known: Mutex::new(BTreeMap::new()) }
    }

    /// Returns the secret with a name; the error is the reason for the operator.
    pub(crate) async fn secret(&self, name: &str) -> Result<Zeroizing<String>, String> {
        let fresh = self.known().get(name).filter(|(at, _)| at.elapsed() < FRESH).cloned();
        if let Some((_, secret)) = fresh {
            return Ok(secret);
        }
        let secret = Zeroizing::new(self.source.secret(name).await?);
        if secret.is_empty() {
            return Err(format!("the credential `{name}` is empty, so that anybody would know it"));
        }
        let mut known = self.known();
        known.retain(|_, (at, _)| at.elapsed() < FRESH);
        if known.len() < KNOWN_MAX {
            known.insert(name.to_owned(), (Instant::now(), secret.clone()));
        }
        Ok(secret)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, (Instant, Zeroizing<String>)>> {
        self.known.lock().expect("nothing panics while it holds the secrets")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;

    use super::*;

    /// Counts the calls.
    #[derive(Default)]
    struct Counted(AtomicU32);

    #[async_trait]
    impl SecretSource for Counted {
        async fn secret(&self, name: &str) -> Result<String, String> {
            let looks = self.0.fetch_add(1, Ordering::Relaxed);
            if name == "empty" { Ok(String::new()) } else { Ok(format!("secret {looks}")) }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_looked_at_once_in_a_while_however_many_knock() {
        let secrets = SenderSecrets::new(Arc::new(Counted::default()));
        for _ in 0..100 {
            assert_eq!(secrets.secret("a").await.as_deref().map(String::as_str), Ok("secret 0"));
        }
        tokio::time::advance(FRESH).await;
        assert_eq!(secrets.secret("a").await.as_deref().map(String::as_str), Ok("secret 1"));
    }

    #[tokio::test]
    async fn an_empty_secret_is_none() {
        let secrets = SenderSecrets::new(Arc::new(Counted::default()));
        assert!(secrets.secret("empty").await.is_err());
    }
}
