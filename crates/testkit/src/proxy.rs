//! A proxy between a client and a server that can go silent: it accepts bytes and does not forward
//! them, as when a server is paused or a router drops packets.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A proxy from a local port to a socket. It ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    network: watch::Sender<NetworkState>,
    accepting: AbortHandle,
}

/// The state of the network.
#[derive(Debug, Clone, Copy)]
struct NetworkState {
    is_silent: bool,
    /// The number of losses; connections opened before the last loss stay silent for ever.
    losses: u64,
}

impl Proxy {
    /// Starts a proxy on a free port that forwards everything.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn to(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it listens");
        let network = watch::Sender::new(NetworkState { is_silent: false, losses: 0 });
        let (socket, states) = (socket.to_owned(), network.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                drop(tokio::spawn(connect(client, socket.clone(), states.subscribe())));
            }
        });
        Self { address, network, accepting: accepting.abort_handle() }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Stops forwarding. Connections are still accepted.
    pub fn silence(&self) {
        self.network.send_modify(|network| network.is_silent = true);
    }

    /// Resumes forwarding, including the bytes that were held back.
    pub fn resume(&self) {
        self.network.send_modify(|network| network.is_silent = false);
    }

    /// Stops forwarding on the existing connections for ever; new ones work.
    pub fn lose_connections(&self) {
        self.network.send_modify(|network| network.losses += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connect(client: TcpStream, socket: PathBuf, network: watch::Receiver<NetworkState>) {
    let Ok(server) = UnixStream::connect(socket).await else { return };
    let losses = network.borrow().losses;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(
        pass_on(from_client, to_server, network.clone(), losses),
        pass_on(from_server, to_client, network, losses),
    );
}

async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut network: watch::Receiver<NetworkState>,
    losses: u64,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let passes = |state: &NetworkState| !state.is_silent && state.losses == losses;
        // The proxy was dropped.
        let is_gone = network.wait_for(passes).await.is_err();
        if is_gone || to.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
    let _closed = to.shutdown().await;
}
