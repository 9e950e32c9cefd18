//! Reading the logs of forks: a fork stores only its own events and shares the earlier ones.

use noetl_model::{ExecutionId, ForkPoint, Recorded, Seq};

use crate::{READ_EVENTS_MAX, StoreError};

/// The maximum depth of forks of forks.
pub const FORKS_MAX: usize = 64;

/// The part of a page that comes from one execution's own log.
#[derive(Debug, Default)]
pub struct OwnEvents {
    /// The fork point, if the page also needs events of the origin.
    pub shared: Option<ForkPoint>,
    pub events: Vec<Recorded>,
    /// True if the page size limit cut the events off, so that more of them follow.
    pub is_cut: bool,
}

/// Reads at most `limit` events after `after`, in order, of a log that may share the past of other
/// executions. `own` reads the events that an execution stores itself.
pub async fn read_shared<F>(
    execution: ExecutionId,
    after: Seq,
    limit: usize,
    own: impl Fn(ExecutionId, Seq, usize) -> F,
) -> Result<Vec<Recorded>, StoreError>
where
    F: Future<Output = Result<OwnEvents, StoreError>>,
{
    let limit = limit.min(READ_EVENTS_MAX);
    let mut parts: Vec<(Vec<Recorded>, bool)> = Vec::new();
    let (mut execution, mut until) = (execution, None);
    loop {
        let OwnEvents { shared, mut events, is_cut } = own(execution, after, limit).await?;
        // Events of the origin after the fork point do not belong to the fork.
        events.retain(|recorded| until.is_none_or(|until| recorded.seq <= until));
        parts.push((events, is_cut));
        let Some(fork) = shared.filter(|_| parts.len() <= FORKS_MAX) else {
            break;
        };
        let last = until.map_or(fork.seq, |until: Seq| until.min(fork.seq));
        (execution, until) = (fork.execution, Some(last));
    }
    let mut page = Vec::new();
    for (events, is_cut) in parts.into_iter().rev() {
        page.extend(events);
        // The events that were cut off come before the events of the forks.
        if is_cut {
            break;
        }
    }
    page.truncate(limit);
    Ok(page)
}
