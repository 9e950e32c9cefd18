//! Runs the server on a listener, with a shutdown that completes the open requests.
//!
//! Invariants: the number of connections is bounded; a client that is too slow with the head of a
//! request or the TLS handshake is disconnected and does not delay others.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::listen::connections::{OpenConnection, OpenConnections};
use crate::listen::tls::Tls;
use crate::observe::warnings::Warnings;
use crate::{AppState, app};

/// Maximum duration of a TLS handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Maximum size of a request's head, in bytes.
const HEAD_MAX: usize = 64 * 1024;
/// Pause after a failed accept, such as when no file descriptors are left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// Maximum duration of requests that arrive during the shutdown.
const LATE_MAX: Duration = Duration::from_secs(1);
/// Interval of checks for changed certificate files.
const CERTIFICATE_EVERY: Duration = Duration::from_secs(5);

/// Address of the client that sent a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Serves requests until `shutdown`, then completes the open ones within `drain_max`.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    drain_max: Duration,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let warnings = Arc::new(AcceptWarnings { failed: Warnings::new(), closed: Warnings::new() });
    let host = Host { router: app(state.clone()), state: state.clone(), warnings };
    let connections = OpenConnections::new(&state.settings().limits);
    let open = GracefulShutdown::new();
    let certificates = refresh_certificate(state.settings().tls.clone());
    tokio::select! {
        () = host.accept_all(&listener, &connections, &open) => {}
        () = certificates => {}
        () = shutdown.cancelled() => {}
    }
    state.drain();
    // Requests are still answered during the drain: a load balancer has to see that this server is
    // not ready, and a worker that is refused a connection may give up.
    let late = GracefulShutdown::new();
    let drained = async {
        if tokio::time::timeout(drain_max, open.shutdown()).await.is_err() {
            tracing::warn!("requests were cut off");
        }
    };
    tokio::select! {
        () = host.accept_all(&listener, &connections, &late) => {}
        () = drained => {}
    }
    drop(listener);
    if tokio::time::timeout(LATE_MAX, late.shutdown()).await.is_err() {
        tracing::warn!("requests that came late were cut off");
    }
    Ok(())
}

/// The parts needed to serve a connection.
#[derive(Clone)]
struct Host {
    router: Router,
    state: AppState,
    warnings: Arc<AcceptWarnings>,
}

/// Rate-limited warnings about connections that are not served.
struct AcceptWarnings {
    failed: Warnings<()>,
    closed: Warnings<IpAddr>,
}

impl Host {
    async fn accept_all(
        &self,
        listener: &TcpListener,
        connections: &OpenConnections,
        open: &GracefulShutdown,
    ) {
        loop {
            let slot = connections.slot().await;
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    if let Some(left_out) = self.warnings.failed.admit(()) {
                        let error: &dyn std::error::Error = &error;
                        tracing::warn!(error, left_out, "a connection was not accepted");
                    }
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            };
            let Some(connection) = connections.open(slot, peer.ip()) else {
                if let Some(left_out) = self.warnings.closed.admit(peer.ip()) {
                    let max = self.state.settings().limits.connections_per_address_max;
                    let address = peer.ip();
                    tracing::warn!(%address, max, left_out, "too many connections of one address");
                }
                continue;
            };
            tokio::spawn(self.clone().answer(stream, peer, open.watcher(), connection));
        }
    }

    /// Serves the requests of one connection, which is counted until it ends.
    async fn answer(
        self,
        stream: TcpStream,
        peer: SocketAddr,
        watcher: Watcher,
        _connection: OpenConnection,
    ) {
        // Answers are written at once, so Nagle's algorithm would only add delay.
        let _without = stream.set_nodelay(true);
        let Some(tls) = &self.state.settings().tls else {
            return self.converse(stream, peer, watcher).await;
        };
        let agreed = TlsAcceptor::from(tls.config()).accept(stream);
        match tokio::time::timeout(HANDSHAKE_MAX, agreed).await {
            Ok(Ok(stream)) => self.converse(stream, peer, watcher).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
            Err(_late) => tracing::debug!(%peer, "handshake took too long"),
        }
    }

    async fn converse<S>(&self, stream: S, peer: SocketAddr, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(|request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer.ip()));
            self.router.clone().oneshot(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.state.settings().limits.head_wait)
            .max_buf_size(HEAD_MAX)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%peer, %error, "connection ended early");
        }
    }
}

/// Reloads the certificate whenever its files change.
async fn refresh_certificate(tls: Option<Arc<Tls>>) {
    let Some(tls) = tls else { return std::future::pending().await };
    loop {
        tokio::time::sleep(CERTIFICATE_EVERY).await;
        let refreshing = tls.clone();
        let refreshed = tokio::task::spawn_blocking(move || refreshing.refresh()).await;
        match refreshed.expect("reading a certificate does not panic") {
            Ok(true) => tracing::info!("certificate read again"),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "certificate unchanged");
            }
        }
    }
}
