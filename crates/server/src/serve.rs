//! From a listener to a server that ends without losing a request.

use std::io;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{AppState, app};

/// How long requests under way may take once the server is told to end.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Answers requests until `shutdown`, then finishes those under way.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let drain = state.clone();
    let ending = shutdown.clone();
    let served = axum::serve(listener, app(state)).with_graceful_shutdown(async move {
        ending.cancelled().await;
        drain.drain();
    });
    tokio::select! {
        served = served => served,
        () = async { shutdown.cancelled().await; tokio::time::sleep(DRAIN_MAX).await } => {
            tracing::warn!("requests were cut off");
            Ok(())
        }
    }
}
