//! The state of the path to the stream: open once the stream is known to exist, until the first
//! error.
//!
//! While the link is not open, only the monitor waits for NATS; other calls fail at once.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_nats::{Client, Event};
use noetl_bus::{Bus as _, Hint, LocalBus};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::stream;

/// The interval of stream checks while the link is not open.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkState {
    /// There is no connection.
    Cut,
    /// There is a connection; the stream has not been checked yet.
    Unchecked,
    Open,
}

#[derive(Debug)]
pub(crate) struct Link {
    state: watch::Sender<LinkState>,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(LinkState::Cut) }
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.state.borrow() == LinkState::Open
    }

    /// Waits until the connection is lost.
    pub(crate) async fn cut(&self) {
        let mut state = self.state.subscribe();
        state.wait_for(|state| *state == LinkState::Cut).await.expect("the link holds the sender");
    }

    /// Reports an error, so that the monitor checks the stream again.
    pub(crate) fn mark_suspect(&self) {
        self.change(LinkState::Open, LinkState::Unchecked);
    }

    /// Applies a connection event of the client.
    pub(crate) fn apply_event(&self, event: &Event) {
        match event {
            Event::Connected => self.change(LinkState::Cut, LinkState::Unchecked),
            Event::Disconnected | Event::Closed => drop(self.state.send_replace(LinkState::Cut)),
            Event::LameDuckMode
            | Event::Draining
            | Event::SlowConsumer(_)
            | Event::ServerError(_)
            | Event::ClientError(_) => {}
        }
    }

    fn change(&self, from: LinkState, to: LinkState) {
        self.state.send_if_modified(|state| {
            let changes = *state == from;
            if changes {
                *state = to;
            }
            changes
        });
    }
}

/// The background task that opens the link whenever possible.
pub(crate) struct LinkMonitor {
    pub(crate) link: Arc<Link>,
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    pub(crate) stream: String,
    pub(crate) hints: LocalBus,
}

impl LinkMonitor {
    /// Maintains the link while this future is polled.
    pub(crate) async fn run(self) {
        let mut is_logged = false;
        let mut state = self.link.state.subscribe();
        loop {
            // Without a connection, the client would queue the request.
            if self.client.connection_state() == State::Connected {
                // The client's connection events are not reliable.
                self.link.change(LinkState::Cut, LinkState::Unchecked);
                match stream::ensure(&self.jetstream, &self.stream).await {
                    Ok(()) => {
                        is_logged = false;
                        self.open(&mut state).await;
                        continue;
                    }
                    Err(error) => {
                        self.log_problem(&error, is_logged);
                        is_logged = true;
                    }
                }
            }
            // The stream is checked again even if no state change arrives.
            let _unchanged = timeout(POLL_INTERVAL, state.changed()).await;
        }
    }

    /// Opens the link, unless it was cut in the meantime, and waits until it closes.
    async fn open(&self, state: &mut watch::Receiver<LinkState>) {
        self.link.change(LinkState::Unchecked, LinkState::Open);
        if self.link.is_open() {
            tracing::info!(stream = self.stream, "notifications go to NATS");
            // Hints of other servers may have been missed.
            self.hints.publish(Hint::LookAgain).await;
        }
        let shut = state.wait_for(|state| *state != LinkState::Open).await;
        drop(shut.expect("the link holds the sender"));
    }

    /// Logs a problem as a warning once, and its repetitions at debug level.
    fn log_problem(&self, error: &stream::StreamError, again: bool) {
        let error: &dyn std::error::Error = error;
        if again {
            tracing::debug!(error, stream = self.stream, "the stream is not ready");
        } else {
            tracing::warn!(error, stream = self.stream, "the stream is not ready");
        }
    }
}
