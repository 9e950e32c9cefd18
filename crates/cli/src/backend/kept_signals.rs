//! Signals that no step has taken, here or on a server.

use async_trait::async_trait;
use noetl_api::wire::KeptSignalList;
use noetl_app::{DropSignalError, KeptSignalFilter};

use super::local::Session;
use super::remote::Remote;
use super::url::segment;
use crate::show::failure::Failure;

/// The operations on signals that no step has taken.
#[async_trait]
pub(crate) trait KeptSignals {
    /// Lists a page of the signals that no step has taken, in the order of their numbers.
    async fn kept_signals(&self, filter: &KeptSignalFilter) -> Result<KeptSignalList, Failure>;

    async fn drop_signal(&self, id: i64) -> Result<(), Failure>;
}

#[async_trait]
impl KeptSignals for Session {
    async fn kept_signals(&self, filter: &KeptSignalFilter) -> Result<KeptSignalList, Failure> {
        self.app().kept_signals(filter).await.map_err(Failure::broken)
    }

    async fn drop_signal(&self, id: i64) -> Result<(), Failure> {
        self.app().drop_signal(id).await.map_err(|error| match error {
            DropSignalError::Unknown(_) | DropSignalError::Taken(_) => Failure::bad_input(error),
            DropSignalError::Store(_) => Failure::broken(error),
        })
    }
}

#[async_trait]
impl KeptSignals for Remote {
    async fn kept_signals(&self, filter: &KeptSignalFilter) -> Result<KeptSignalList, Failure> {
        let KeptSignalFilter { name, key, after, limit } = filter;
        let pairs = [
            ("name", name.as_ref().map(ToString::to_string)),
            ("key", key.as_ref().map(ToString::to_string)),
            ("after", after.map(|after| after.to_string())),
            ("limit", limit.map(|limit| limit.to_string())),
        ];
        let given = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let query: Vec<String> =
            given.map(|(name, value)| format!("{name}={}", segment(&value))).collect();
        self.get(&format!("api/kept-signals?{}", query.join("&"))).await
    }

    async fn drop_signal(&self, id: i64) -> Result<(), Failure> {
        self.delete(&format!("api/kept-signals/{id}")).await
    }
}
