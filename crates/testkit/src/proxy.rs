//! A proxy between a client and a server that behaves like a bad network: silent in one or both
//! directions, slow, or with connections that are lost or reset.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A proxy from a local port to a server. It ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    network: watch::Sender<NetworkState>,
    accepting: AbortHandle,
}

/// The address of the server.
#[derive(Debug, Clone)]
enum ProxyTarget {
    Socket(PathBuf),
    Address(SocketAddr),
}

/// The direction of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    ToServer,
    ToClient,
}

/// The state of the network.
#[derive(Debug, Clone, Copy, Default)]
struct NetworkState {
    is_silent: bool,
    /// True if only the answers of the server do not pass.
    is_mute: bool,
    /// The time by which everything is late, in each direction.
    delay: Duration,
    /// The number of losses; connections opened before the last loss stay silent for ever.
    losses: u64,
    /// The number of resets; connections opened before the last one are closed.
    resets: u64,
}

impl NetworkState {
    fn passes(&self, flow: Flow, opened: &Self) -> bool {
        let is_mute = match flow {
            Flow::ToServer => false,
            Flow::ToClient => self.is_mute,
        };
        let is_there = self.losses == opened.losses && self.resets == opened.resets;
        is_there && !self.is_silent && !is_mute
    }
}

impl Proxy {
    /// Starts a proxy on a free port that forwards everything to a socket.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn to(socket: &Path) -> Self {
        Self::before(ProxyTarget::Socket(socket.to_owned())).await
    }

    /// Starts a proxy on a free port that forwards everything to an address.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn to_address(address: SocketAddr) -> Self {
        Self::before(ProxyTarget::Address(address)).await
    }

    async fn before(target: ProxyTarget) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it listens");
        let network = watch::Sender::new(NetworkState::default());
        let states = network.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                drop(tokio::spawn(connect(client, target.clone(), states.subscribe())));
            }
        });
        Self { address, network, accepting: accepting.abort_handle() }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Stops forwarding. Connections are still accepted.
    pub fn silence(&self) {
        self.network.send_modify(|network| network.is_silent = true);
    }

    /// Stops forwarding what the server sends.
    pub fn mute(&self) {
        self.network.send_modify(|network| network.is_mute = true);
    }

    /// Forwards everything by this much later.
    pub fn delay(&self, delay: Duration) {
        self.network.send_modify(|network| network.delay = delay);
    }

    /// Resumes forwarding without delay, including the bytes that were held back.
    pub fn resume(&self) {
        self.network.send_modify(|network| {
            *network = NetworkState {
                losses: network.losses,
                resets: network.resets,
                ..NetworkState::default()
            };
        });
    }

    /// Stops forwarding on the existing connections for ever; new ones work.
    pub fn lose_connections(&self) {
        self.network.send_modify(|network| network.losses += 1);
    }

    /// Closes the existing connections, at both ends; new ones work.
    pub fn reset_connections(&self) {
        self.network.send_modify(|network| network.resets += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connect(client: TcpStream, target: ProxyTarget, network: watch::Receiver<NetworkState>) {
    match target {
        ProxyTarget::Socket(socket) => {
            let Ok(server) = UnixStream::connect(socket).await else { return };
            let (from, to) = server.into_split();
            pass_both(client, (from, to), network).await;
        }
        ProxyTarget::Address(address) => {
            let Ok(server) = TcpStream::connect(address).await else { return };
            let (from, to) = server.into_split();
            pass_both(client, (from, to), network).await;
        }
    }
}

async fn pass_both(
    client: TcpStream,
    (from_server, to_server): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    network: watch::Receiver<NetworkState>,
) {
    let opened = *network.borrow();
    let mut resets = network.clone();
    let (from_client, to_client) = client.into_split();
    let passing = async {
        tokio::join!(
            pass_on(from_client, to_server, (Flow::ToServer, opened), network.clone()),
            pass_on(from_server, to_client, (Flow::ToClient, opened), network.clone()),
        )
    };
    tokio::select! {
        _ = passing => {}
        _ = resets.wait_for(|state| state.resets != opened.resets) => {}
    }
}

async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    (flow, opened): (Flow, NetworkState),
    mut network: watch::Receiver<NetworkState>,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let delay = network.borrow().delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        // The proxy was dropped.
        let is_gone = network.wait_for(|state| state.passes(flow, &opened)).await.is_err();
        if is_gone || to.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
    let _closed = to.shutdown().await;
}
