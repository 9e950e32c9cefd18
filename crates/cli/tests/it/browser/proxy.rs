//! A connection to a server that can be cut.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Forwards connections to a server, except while it is cut.
pub(super) struct Proxy {
    address: SocketAddr,
    connections: Arc<Connections>,
}

#[derive(Default)]
struct Connections {
    is_cut: AtomicBool,
    has_ended: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub(super) fn new(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(Connections::default());
        let (shared, server) = (connections.clone(), server.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                if !shared.is_cut.load(Ordering::SeqCst)
                    && let Ok(server) = TcpStream::connect(&server)
                {
                    shared.join(&client, &server);
                }
            }
        });
        Self { address, connections }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Drops all connections and refuses new ones.
    pub(super) fn cut(&self) {
        self.connections.is_cut.store(true, Ordering::SeqCst);
        for stream in self.connections.open.lock().expect("no thread panics").drain(..) {
            let _was_open = stream.shutdown(Shutdown::Both);
        }
    }

    /// Accepts connections again.
    pub(super) fn restore(&self) {
        self.connections.is_cut.store(false, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.connections.has_ended.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes the thread that accepts connections.
        let _woken = TcpStream::connect(self.address);
    }
}

impl Connections {
    /// Copies the bytes of a client to a server and back.
    fn join(&self, client: &TcpStream, server: &TcpStream) {
        let clone = |stream: &TcpStream| stream.try_clone().expect("a stream");
        self.open.lock().expect("no thread panics").extend([clone(client), clone(server)]);
        for (from, to) in [(clone(client), clone(server)), (clone(server), clone(client))] {
            thread::spawn(move || copy(from, to));
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => {
                if to.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
        }
    }
    let _was_open = to.shutdown(Shutdown::Both);
}
