//! A NATS server for one test: on its own port, with JetStream in a temporary directory.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use async_nats::jetstream::stream;
use tempfile::TempDir;

/// The time within which a server has to be ready.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A NATS server, killed when dropped.
pub struct NatsServer {
    directory: TempDir,
    credentials: Option<(String, String)>,
    /// The address that the system assigned at the first start, kept across restarts.
    address: SocketAddr,
    running: Option<Child>,
}

impl NatsServer {
    /// Starts a server without authentication.
    pub fn start() -> Self {
        Self::start_for(None)
    }

    /// Starts a server that accepts only this user.
    pub fn start_with_password(user: &str, password: &str) -> Self {
        Self::start_for(Some((user.to_owned(), password.to_owned())))
    }

    fn start_for(credentials: Option<(String, String)>) -> Self {
        let directory = TempDir::with_prefix("noetl-nats-").expect("a temporary directory");
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = Self { directory, credentials, address: any_port, running: None };
        server.start_again();
        server
    }

    /// Returns the URL of the server, without credentials.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Creates a key-value bucket if it is missing.
    ///
    /// The bucket is created as its underlying stream, because servers before 2.11 answer the
    /// client's bucket request in a form that the client does not understand.
    pub async fn make_bucket(&self, name: &str) {
        let client = async_nats::connect(self.url()).await.expect("it runs");
        let config = stream::Config {
            name: format!("KV_{name}"),
            subjects: vec![format!("$KV.{name}.>")],
            max_messages_per_subject: 1,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            discard: stream::DiscardPolicy::New,
            ..stream::Config::default()
        };
        async_nats::jetstream::new(client).get_or_create_stream(config).await.expect("it has room");
    }

    /// Kills the server, like a crash; the files stay.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().expect("a child of ours can be killed");
            running.wait().expect("a killed child ends");
        }
    }

    /// Starts the server at the same address, with the files on disk.
    pub fn start_again(&mut self) {
        assert!(self.running.is_none(), "it runs already");
        let mut command = Command::new("nats-server");
        // -1 asks for any free port.
        let port = match self.address.port() {
            0 => "-1".to_owned(),
            port => port.to_string(),
        };
        command.args(["--addr", "127.0.0.1", "--port", &port, "--jetstream"]);
        command.arg("--store_dir").arg(self.directory.path());
        if let Some((user, password)) = &self.credentials {
            command.args(["--user", user, "--pass", password]);
        }
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = spawned.spawn().unwrap_or_else(|error| {
            panic!("nats-server cannot be started ({error}); apt-get install nats-server")
        });
        let log = child.stderr.take().expect("it is piped");
        self.running = Some(child);
        self.address = ready_at(log);
    }

    /// Deletes everything the server has stored.
    pub fn wipe(&mut self) {
        assert!(self.running.is_none(), "kill it first");
        self.directory = TempDir::with_prefix("noetl-nats-").expect("a temporary directory");
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads the log to its end, so that the server never blocks on it, and returns the address as soon
/// as the server is ready.
fn ready_at(log: ChildStderr) -> SocketAddr {
    let (found, ready) = mpsc::channel();
    let reader = move || {
        let mut address = None;
        let mut seen = String::new();
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            if let Some((_, text)) = line.split_once("Listening for client connections on ") {
                address = text.trim().parse().ok();
            }
            if line.contains("Server is ready") {
                // The receiver is gone if the start took too long.
                let _late = found.send(address.ok_or_else(|| seen.clone()));
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        let _late = found.send(Err(seen));
    };
    // The thread ends with the server.
    drop(thread::spawn(reader));
    match ready.recv_timeout(READY_WITHIN) {
        Ok(Ok(address)) => address,
        Ok(Err(log)) => panic!("nats-server did not start:\n{log}"),
        Err(_) => panic!("nats-server was not ready within {READY_WITHIN:?}"),
    }
}
