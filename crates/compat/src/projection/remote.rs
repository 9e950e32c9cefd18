//! Requests a replay from a server.

use std::time::Duration;

use noetl_api::{Client, ClientError, Method};
use noetl_model::{Cutoff, ExecutionId};

use super::{Projection, REPLAY_EVENTS_MAX, ReplayState};

/// Timeout for replaying an execution of a million events.
const REPLAY_WAIT: Duration = Duration::from_mins(10);

/// Requests a projection of an execution at a cutoff.
pub async fn replay_of_server(
    client: &Client,
    execution: ExecutionId,
    cutoff: Cutoff,
    projection: Projection,
) -> Result<ReplayState, ClientError> {
    let cutoff = match cutoff {
        Cutoff::Latest => String::new(),
        Cutoff::Seq(seq) => format!("&as_of_position={seq}"),
        Cutoff::Event(id) => format!("&as_of_event_id={id}"),
        Cutoff::Time(instant) => format!("&as_of_time={instant}"),
    };
    let path = format!(
        "api/replay/state?execution_id={execution}&projection={projection}&limit={REPLAY_EVENTS_MAX}{cutoff}",
    );
    client.ask(Method::GET, &path, None, REPLAY_WAIT).await
}
