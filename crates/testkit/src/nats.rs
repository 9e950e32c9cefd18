//! A NATS server for one test: on a port of its own, with JetStream in a directory that goes with it.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use async_nats::jetstream::stream;
use tempfile::TempDir;

/// How long a server may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A NATS server, killed when dropped.
pub struct NatsServer {
    directory: TempDir,
    credentials: Option<(String, String)>,
    /// Given by the system at the first start; the same ever after.
    address: SocketAddr,
    running: Option<Child>,
}

impl NatsServer {
    /// A server that lets everybody in.
    pub fn start() -> Self {
        Self::start_for(None)
    }

    /// A server that lets only this user in.
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

    /// Where it listens, without credentials.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Makes sure that there is a bucket for keys.
    ///
    /// Made as the stream it is: what the client asks first to make one, servers before 2.11 do not
    /// answer in a form it understands.
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

    /// Ends it as a crash would; what is on disk stays.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().expect("a child of ours can be killed");
            running.wait().expect("a killed child ends");
        }
    }

    /// Starts it where it was before, with what is on disk.
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

    /// Loses everything it has kept.
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

/// Reads the log to its end, so that the server never waits for a reader, and answers as soon as it
/// says where it is ready.
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
                // Nobody waits any more if it took too long.
                let _late = found.send(address.ok_or_else(|| seen.clone()));
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        let _late = found.send(Err(seen));
    };
    // Ends with the server.
    drop(thread::spawn(reader));
    match ready.recv_timeout(READY_WITHIN) {
        Ok(Ok(address)) => address,
        Ok(Err(log)) => panic!("nats-server did not start:\n{log}"),
        Err(_) => panic!("nats-server was not ready within {READY_WITHIN:?}"),
    }
}
