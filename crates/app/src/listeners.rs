//! Finds the subscription for a path; lookups are cached briefly.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_control::{Control, SubscriptionError};
use noetl_playbook::{IngressEndpoint, MessageDelivery, Subscription};
use noetl_store::{PAGE_MAX, Store, SubscriptionRow};
use tokio::time::Instant;

use crate::app::App;

/// Maximum age of a cached lookup.
const FRESH: Duration = Duration::from_secs(2);
/// Maximum number of subscriptions that are considered.
const SUBSCRIPTIONS_MAX: usize = 10_000;

/// A subscription that messages are posted to.
#[derive(Debug, Clone)]
pub struct Listener {
    /// The subscription's path in the catalog.
    pub path: String,
    pub subscription: Arc<Subscription>,
    pub ingress: IngressEndpoint,
}

type ByPath = Arc<BTreeMap<String, Listener>>;

/// Listeners by the path that messages are posted to.
#[derive(Default)]
pub(crate) struct Listeners {
    known: Mutex<Option<(Instant, ByPath)>>,
}

impl Listeners {
    /// Returns the listener at a path of this server.
    async fn at(
        &self,
        path: &str,
        control: &Control,
        store: &dyn Store,
    ) -> Result<Option<Listener>, SubscriptionError> {
        let known = self.look(control, store).await?;
        Ok(known.get(path.trim_end_matches('/')).cloned())
    }

    /// Returns the listener with a name, for gateways; the first by path if there are several.
    async fn named(
        &self,
        name: &str,
        control: &Control,
        store: &dyn Store,
    ) -> Result<Option<Listener>, SubscriptionError> {
        let known = self.look(control, store).await?;
        Ok(known.values().find(|listener| listener.ingress.listener() == name).cloned())
    }

    async fn look(
        &self,
        control: &Control,
        store: &dyn Store,
    ) -> Result<ByPath, SubscriptionError> {
        let known = self.known().clone();
        if let Some((_, known)) = known.filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(known);
        }
        let found = Arc::new(find(control, store).await?);
        *self.known() = Some((Instant::now(), Arc::clone(&found)));
        Ok(found)
    }

    fn known(&self) -> MutexGuard<'_, Option<(Instant, ByPath)>> {
        self.known.lock().expect("nothing panics while it holds the listeners")
    }
}

async fn find(
    control: &Control,
    store: &dyn Store,
) -> Result<BTreeMap<String, Listener>, SubscriptionError> {
    let mut rows: Vec<SubscriptionRow> = Vec::new();
    loop {
        let page = store.subscriptions(rows.last().map(|row| row.id), PAGE_MAX).await?;
        let is_last = page.len() < PAGE_MAX;
        rows.extend(page);
        if is_last || rows.len() >= SUBSCRIPTIONS_MAX {
            break;
        }
    }
    let mut paths: Vec<String> = rows.into_iter().map(|row| row.path).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut found = BTreeMap::new();
    for path in paths {
        let subscription = match control.subscription_document(&path).await {
            Ok(subscription) => subscription,
            Err(SubscriptionError::Store(error)) => return Err(error.into()),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, path, "no listener");
                continue;
            }
        };
        if let MessageDelivery::Push(ingress) = &subscription.delivery {
            let key = ingress.path.trim_end_matches('/').to_owned();
            let ingress = ingress.clone();
            found.entry(key).or_insert(Listener { path, subscription, ingress });
        }
    }
    Ok(found)
}

impl App {
    /// Returns the subscription that takes the messages posted to a path of this server.
    pub async fn listener_at(&self, path: &str) -> Result<Option<Listener>, SubscriptionError> {
        self.listeners().at(path, self.control(), self.store()).await
    }

    /// Returns the listener with a name, for gateways; the first by path if there are several.
    pub async fn listener_named(&self, name: &str) -> Result<Option<Listener>, SubscriptionError> {
        self.listeners().named(name, self.control(), self.store()).await
    }
}
