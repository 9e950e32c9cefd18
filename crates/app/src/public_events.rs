//! Pages of public events.

use std::collections::VecDeque;

use noetl_api::PublicEvent;
use noetl_compat::Teller;
use noetl_control::LoadError;
use noetl_model::{ExecutionId, Seq};
use noetl_store::{READ_BYTES_MAX, json_len};

use crate::app::App;

/// Maximum number of earlier events read for the names of runs and commands.
const LOOK_BACK_MAX: u64 = 1000;

/// Creates a converter that knows the names in the events just before `after`.
pub(crate) async fn teller_at(
    app: &App,
    execution: ExecutionId,
    after: Seq,
) -> Result<Teller, LoadError> {
    let mut teller = Teller::new(execution);
    let mut learned = Seq(after.0.saturating_sub(LOOK_BACK_MAX));
    while learned < after {
        let left = usize::try_from(after.0 - learned.0).unwrap_or(usize::MAX);
        let earlier = app.events(execution, learned, left).await?;
        let Some(last) = earlier.last() else { break };
        learned = last.seq;
        earlier.iter().for_each(|recorded| teller.learn(recorded));
    }
    Ok(teller)
}

/// A public event and the length of its JSON.
pub(crate) struct ToldEvent {
    pub(crate) event: PublicEvent,
    pub(crate) len: usize,
}

/// Selects the events to keep if a page exceeds `READ_BYTES_MAX` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Oldest,
    Newest,
    /// Keep all of them, for a caller that needs the exact page.
    All,
}

/// Converts at most `limit` events after `after`, in order; keeps at least one.
pub(crate) async fn events_after(
    app: &App,
    execution: ExecutionId,
    after: Seq,
    limit: usize,
    keep: Keep,
) -> Result<Vec<ToldEvent>, LoadError> {
    let mut teller = teller_at(app, execution, after).await?;
    let mut told: VecDeque<ToldEvent> = VecDeque::new();
    let (mut last, mut left, mut bytes) = (after, limit, 0);
    while left > 0 {
        let page = app.events(execution, last, left).await?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        left -= page.len();
        for recorded in &page {
            let event = teller.tell(recorded);
            let len = json_len(&event);
            bytes += len;
            told.push_back(ToldEvent { event, len });
            match keep {
                Keep::Oldest if bytes >= READ_BYTES_MAX => return Ok(told.into()),
                Keep::Newest => {
                    while bytes > READ_BYTES_MAX && told.len() > 1 {
                        bytes -= told.pop_front().map_or(0, |oldest| oldest.len);
                    }
                }
                Keep::Oldest | Keep::All => {}
            }
        }
    }
    Ok(told.into())
}

impl App {
    /// Creates a converter of an execution's events after `after` to their public form.
    pub async fn teller_at(&self, execution: ExecutionId, after: Seq) -> Result<Teller, LoadError> {
        teller_at(self, execution, after).await
    }
}
