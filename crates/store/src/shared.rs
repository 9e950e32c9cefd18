//! Logs that begin with another's: a fork has its own events only, and shares those before.

use noetl_model::{ExecutionId, ForkPoint, Recorded, Seq};

use crate::{READ_EVENTS_MAX, StoreError};

/// How many forks of forks a log may be behind the first execution.
pub const FORKS_MAX: usize = 64;

/// What one execution's own log has to say to a read.
#[derive(Debug, Default)]
pub struct OwnEvents {
    /// Up to where another execution's events come before these, if any of them were asked for.
    pub shared: Option<ForkPoint>,
    pub events: Vec<Recorded>,
    /// The events were too large for one page: more of them come after these.
    pub is_cut: bool,
}

/// Reads a log that may begin with another's: at most `limit` events after `after`, in order. `own`
/// reads what an execution has itself.
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
        // What an execution did after a fork had left it is not the fork's.
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
        // What is missing comes before whatever the forks did.
        if is_cut {
            break;
        }
    }
    page.truncate(limit);
    Ok(page)
}
