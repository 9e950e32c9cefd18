//! A server whose database does not answer or whose disk is full: clients and operators get the
//! cause within a time limit, and the server recovers by itself once the cause is gone.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use noetl_testkit::PostgresServer;
use serde_json::{Value, json};

use crate::playbooks::HELLO;
use crate::sandbox::{Sandbox, eventually};
use crate::server::{KEY, Server};

/// The longest accepted health check: one second, doubled for a busy machine.
const HEALTH_MAX: Duration = Duration::from_secs(2);
/// The longest accepted other request, with a store deadline of two seconds.
const REQUEST_MAX: Duration = Duration::from_secs(15);

/// A response of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
    pub(crate) took: Duration,
}

pub(crate) fn ask(server: &Server, method: &str, path: &str, body: &Value) -> Answer {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let (body, host) = (body.to_string(), &server.address);
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer {
        status: status.expect("an answer has a status"),
        head: head.to_ascii_lowercase(),
        body: serde_json::from_str(body).unwrap_or_else(|_| body.into()),
        took: begun.elapsed(),
    }
}

pub(crate) fn get(server: &Server, path: &str) -> Answer {
    ask(server, "GET", path, &Value::Null)
}

pub(crate) fn start(server: &Server, path: &str) -> Answer {
    ask(server, "POST", "/api/execute", &json!({ "path": path }))
}

pub(crate) fn register(server: &Server, content: &str) {
    let registered = ask(server, "POST", "/api/catalog/register", &json!({ "content": content }));
    assert_eq!(registered.status, 200, "{registered:?}");
}

pub(crate) fn await_completion(server: &Server, started: &Value) {
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    eventually("the execution completes", || {
        get(server, &format!("/api/executions/{id}/status")).body["status"] == "COMPLETED"
    });
}

/// Returns the cause that a check of `/readyz` reports.
pub(crate) fn cause<'a>(ready: &'a Answer, check: &str) -> &'a str {
    let checks = ready.body["checks"].as_array().expect("there are checks");
    let check = checks.iter().find(|it| it["name"] == check).expect("the check is there");
    check["cause"].as_str().unwrap_or_default()
}

#[test]
fn a_database_that_does_not_answer_holds_nobody_up() {
    let postgres = PostgresServer::private();
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["server", "--listen", "127.0.0.1:0"]);
    command
        .env("NOETL_ENCRYPTION_KEY", KEY)
        .env("DATABASE_URL", postgres.url("postgres"))
        .env("NOETL_STORE_TIMEOUT_SECONDS", "2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let server = Server::of(command.spawn().expect("the binary runs"));
    register(&server, HELLO);
    await_completion(&server, &start(&server, "tests/hello").body);
    postgres.pause();
    for _ in 0..2 {
        for path in ["/livez", "/health", "/metrics"] {
            let answer = get(&server, path);
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            assert!(answer.took < HEALTH_MAX, "{path}: {answer:?}");
        }
        for path in ["/readyz", "/api/health"] {
            let answer = get(&server, path);
            assert_eq!(answer.status, 503, "{path}: {answer:?}");
            assert!(answer.took < HEALTH_MAX, "{path}: {answer:?}");
        }
        for answer in [start(&server, "tests/hello"), get(&server, "/api/executions")] {
            assert_eq!(answer.status, 503, "{answer:?}");
            assert!(answer.head.contains("\r\nretry-after: "), "{answer:?}");
            assert!(answer.took < REQUEST_MAX, "{answer:?}");
        }
    }
    let away = get(&server, "/readyz");
    assert_eq!(cause(&away, "store"), "the database is out of reach", "{away:?}");
    postgres.unpause();
    eventually("the server is ready again", || get(&server, "/readyz").status == 200);
    await_completion(&server, &start(&server, "tests/hello").body);
    assert_eq!(server.process.end(), Some(0));
}

/// A file system of a few megabytes, unmounted when dropped.
pub(crate) struct SmallDisk(pub(crate) PathBuf);

impl SmallDisk {
    /// Mounts a small file system; prints the reason and returns `None` if that is impossible here.
    pub(crate) fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).expect("the home is ours");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs"]).arg(&at);
        let reason = match mount.output() {
            Ok(output) if output.status.success() => return Some(Self(at)),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => format!("mount does not run: {error}"),
        };
        let _unread = writeln!(io::stderr(), "skipped: {reason}");
        None
    }

    /// Fills all space that is left.
    pub(crate) fn fill(&self) {
        let mut filler = fs::File::create(self.0.join("filler")).expect("there is room for a name");
        for chunk in [64 * 1024, 4096, 1] {
            while filler.write_all(&vec![1; chunk]).is_ok() {}
        }
    }

    pub(crate) fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).expect("it is there");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A playbook with a step that waits until a file exists.
fn waiting(file: &Path) -> String {
    let file = file.display();
    format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata:\n  name: waiting\n  path: tests/waiting\n\
         workflow:\n  - step: start\n    tool:\n      kind: shell\n      \
         command: 'touch {file}.begun; while [ ! -e {file} ]; do sleep 0.05; done'\n"
    )
}

#[test]
fn a_full_disk_is_named_and_what_runs_goes_on_once_there_is_room() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(sandbox.path("disk")) else { return };
    let database = disk.0.join("noetl.db");
    let server = Server::new(&sandbox, &["--db", &database.display().to_string()]);
    let released = sandbox.path("released");
    register(&server, HELLO);
    register(&server, &waiting(&released));
    assert_eq!(get(&server, "/readyz").status, 200);
    let waiting = start(&server, "tests/waiting");
    eventually("the step runs", || sandbox.path("released.begun").exists());
    disk.fill();
    let mut refused = start(&server, "tests/hello");
    // The write-ahead log may have some space left.
    eventually("the disk is full", || {
        refused = start(&server, "tests/hello");
        refused.status != 200
    });
    assert_eq!(refused.status, 507, "{refused:?}");
    assert_eq!(refused.body["code"], "storage-full", "{refused:?}");
    assert!(refused.head.contains("\r\nretry-after: "), "{refused:?}");
    fs::write(&released, "").expect("the home is not full");
    let ready = get(&server, "/readyz");
    assert_eq!(ready.status, 503, "{ready:?}");
    let full = "the database cannot be written: the disk is full";
    assert_eq!(cause(&ready, "storage"), full, "{ready:?}");
    assert_eq!(get(&server, "/livez").status, 200);
    let doctor = sandbox.noetl(&["doctor", "--server", &server.url()]);
    assert!(doctor.stdout.contains(full), "{}", doctor.stdout);
    disk.make_room();
    eventually("the server is ready again", || get(&server, "/readyz").status == 200);
    await_completion(&server, &waiting.body);
    await_completion(&server, &start(&server, "tests/hello").body);
    assert_eq!(server.process.end(), Some(0));
}

#[test]
fn other_users_can_open_nothing_that_noetl_keeps() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let payloads = sandbox.path("payloads");
    let mut command = sandbox.command(&["run", "hello.yaml"]);
    command.env("NOETL_PAYLOAD_DIR", &payloads);
    assert!(command.status().expect("the binary runs").success());
    let mut left = vec![sandbox.path(".local/share/noetl"), payloads];
    let mut seen = 0;
    while let Some(path) = left.pop() {
        let metadata = fs::metadata(&path).expect("it is there");
        let mode = metadata.permissions().mode() & 0o777;
        let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{mode:o} {}", path.display());
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("it is ours");
            left.extend(entries.map(|entry| entry.expect("it is ours").path()));
        }
        seen += 1;
    }
    assert!(seen >= 4, "the directory, the database, its lock and the payloads: {seen}");
}
