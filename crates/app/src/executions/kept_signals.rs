//! The signals that were sent by correlation key and that no step has taken.

use noetl_api::AnyId;
use noetl_api::wire::{KeptSignalList, KeptSignalView};
use noetl_engine::signal_index_key;
use noetl_model::{SignalKey, SignalName};
use noetl_store::{SignalState, StoreError, StoredSignal};

use crate::app::App;

/// The number of signals on a page unless a request says otherwise.
const KEPT_PAGE: usize = 50;
/// The largest number of signals on a page.
const KEPT_PAGE_MAX: usize = 100;
/// The largest number of pages of the store that are read for one filtered page.
const READ_PAGES_MAX: usize = 20;
/// The longest body that a list contains, as JSON.
const BODY_SHOWN_MAX: usize = 4096;

/// The choice of kept signals for a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptSignalFilter {
    pub name: Option<SignalName>,
    pub key: Option<SignalKey>,
    /// The number of the last signal of the page before.
    pub after: Option<i64>,
    pub limit: Option<usize>,
}

/// The reason why a kept signal is not dropped.
#[derive(Debug, thiserror::Error)]
pub enum DropSignalError {
    #[error("there is no kept signal {0}")]
    Unknown(i64),
    #[error("signal {0} cannot be dropped: a step takes it, or has taken it")]
    Taken(i64),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Lists a page of the signals that no step has taken, in the order of their numbers.
    pub async fn kept_signals(
        &self,
        filter: &KeptSignalFilter,
    ) -> Result<KeptSignalList, StoreError> {
        let limit = filter.limit.unwrap_or(KEPT_PAGE).clamp(1, KEPT_PAGE_MAX);
        let mut after = filter.after.unwrap_or(i64::MIN);
        let mut signals: Vec<KeptSignalView> = Vec::new();
        for _ in 0..READ_PAGES_MAX {
            let page = self.kept_page(filter, after).await?;
            let is_last = page.len() < KEPT_PAGE_MAX;
            for stored in page {
                if signals.len() == limit {
                    return Ok(KeptSignalList { signals, next: Some(AnyId(after)) });
                }
                after = stored.id;
                if filter.names(&stored) {
                    signals.push(view_of(stored));
                }
            }
            if is_last {
                return Ok(KeptSignalList { signals, next: None });
            }
        }
        Ok(KeptSignalList { signals, next: Some(AnyId(after)) })
    }

    async fn kept_page(
        &self,
        filter: &KeptSignalFilter,
        after: i64,
    ) -> Result<Vec<StoredSignal>, StoreError> {
        match (&filter.name, &filter.key) {
            (Some(name), Some(key)) => {
                let key = signal_index_key(name, Some(key));
                self.store().undelivered_signals(&key, after, KEPT_PAGE_MAX).await
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => {
                self.store().open_signals(after, KEPT_PAGE_MAX).await
            }
        }
    }

    /// Drops a signal that no step has taken.
    pub async fn drop_signal(&self, id: i64) -> Result<(), DropSignalError> {
        if self.store().drop_signal(id).await? {
            return Ok(());
        }
        match self.store().find_signal(id).await? {
            Some(_) => Err(DropSignalError::Taken(id)),
            None => Err(DropSignalError::Unknown(id)),
        }
    }
}

impl KeptSignalFilter {
    fn names(&self, stored: &StoredSignal) -> bool {
        self.name.as_ref().is_none_or(|name| *name == stored.signal.name)
            && self.key.as_ref().is_none_or(|key| *key == stored.signal.key)
    }
}

fn view_of(stored: StoredSignal) -> KeptSignalView {
    let StoredSignal { id, signal, state, expires_at, index_key: _, once: _ } = stored;
    let size = signal.body.to_string().len();
    let status = match state {
        SignalState::Kept => "kept",
        SignalState::Assigned(_) | SignalState::Delivered(_) => "delivering",
    };
    KeptSignalView {
        signal_id: AnyId(id),
        name: signal.name.to_string(),
        key: signal.key.to_string(),
        status: status.to_owned(),
        body: (size <= BODY_SHOWN_MAX).then_some(signal.body),
        body_bytes: size as u64,
        sender: signal.sender,
        actor: signal.actor.map(String::from),
        received_at: signal.received_at,
        expires_at,
    }
}
