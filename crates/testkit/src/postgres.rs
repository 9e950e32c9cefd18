//! PostgreSQL servers for tests: one shared by all concurrent test processes, or a private one for
//! a test that stops or changes it.
//!
//! The first user starts the server, on a socket in its own directory, and a watcher stops it a few
//! seconds after the last user has ended in any way. The data of the shared server is disposable,
//! so nothing is flushed to disk.

use std::env;
use std::fs::{self, File, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Proxy;

/// The settings of every server. The time zone differs clearly from UTC, and statistics change only
/// when a test says so.
const SETTINGS: &[&str] =
    &["autovacuum=off", "max_connections=400", "shared_buffers=64MB", "timezone=America/St_Johns"];

/// Settings that trade durability for speed.
const CARELESS: &[&str] = &["fsync=off", "full_page_writes=off"];

/// Stops the server once no process has held the file `users` for three seconds.
const WATCH: &str = r#"
cd "$1" || exit 1
while :; do
    idle=0
    while [ "$idle" -lt 3 ]; do
        sleep 1
        if flock --exclusive --nonblock users true; then idle=$((idle + 1)); else idle=0; fi
    done
    flock --exclusive --nonblock users sh -c '"$1" -D data -m immediate stop; rm -rf data' sh "$2" || continue
    [ "$3" = shared ] || rm -rf "$1"
    exit
done
"#;

/// A running server.
pub struct PostgresServer {
    directory: PathBuf,
    sharing: ServerUse,
    owner: ServerOwner,
    reach: ListenAddress,
    /// Settings that override [`SETTINGS`].
    settings: &'static [&'static str],
    /// The file with a shared lock, held while this value lives.
    _use: File,
}

/// The users of a server.
#[derive(Debug, Clone, Copy)]
enum ServerUse {
    Shared,
    Private,
}

/// The address of a server.
#[derive(Debug, Clone, Copy)]
enum ListenAddress {
    /// Only the socket in its directory.
    Socket,
    /// Also this local port.
    Port(u16),
}

impl PostgresServer {
    /// The superuser of the server, accepted without a password.
    pub const USER: &'static str = "noetl";

    /// Returns the server that all tests of this user share, starting it if needed.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        SERVER.get_or_init(|| {
            let owner = ServerOwner::of_this_process();
            let name = format!("noetl-test-postgres-{}", owner.uid);
            Self::join(
                env::temp_dir().join(name),
                ServerUse::Shared,
                owner,
                ListenAddress::Socket,
                &[],
            )
        })
    }

    /// Starts a private server with durable commits.
    pub fn private() -> Self {
        Self::private_reached(ListenAddress::Socket, &[])
    }

    /// Starts a private server with settings such as `autovacuum=on`, which override the defaults.
    pub fn private_with(settings: &'static [&'static str]) -> Self {
        Self::private_reached(ListenAddress::Socket, settings)
    }

    /// Starts a private server that listens on a port, for programs without socket support.
    pub fn private_on_a_port() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Self::private_reached(ListenAddress::Port(free.expect("there is a free port").port()), &[])
    }

    fn private_reached(reach: ListenAddress, settings: &'static [&'static str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("noetl-test-postgres-p{}-{number}", std::process::id());
        let directory = env::temp_dir().join(name);
        Self::join(directory, ServerUse::Private, ServerOwner::of_this_process(), reach, settings)
    }

    /// Returns the local port of the server.
    ///
    /// # Panics
    ///
    /// If the server only listens on its socket.
    pub fn port(&self) -> u16 {
        match self.reach {
            ListenAddress::Port(port) => port,
            ListenAddress::Socket => panic!("it is only reached through its socket"),
        }
    }

    /// Returns the id of the postmaster, the parent of all server processes.
    pub fn pid(&self) -> u32 {
        let text = fs::read_to_string(self.data().join("postmaster.pid"));
        let text = text.expect("a server that runs says so");
        let first = text.lines().next().expect("it begins with the process");
        first.trim().parse().expect("processes have numbers")
    }

    /// Returns the URL of a database on this server.
    pub fn url(&self, database: &str) -> String {
        let directory = self.directory.display();
        let user = Self::USER;
        let port = match self.reach {
            ListenAddress::Socket => String::new(),
            ListenAddress::Port(port) => format!("&port={port}"),
        };
        format!("postgres://{user}@localhost/{database}?host={directory}{port}")
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        let port = match self.reach {
            ListenAddress::Socket => 5432,
            ListenAddress::Port(port) => port,
        };
        self.directory.join(format!(".s.PGSQL.{port}"))
    }

    /// Returns the URL of a database on this server through a proxy.
    pub fn url_through(&self, proxy: &Proxy, database: &str) -> String {
        format!("postgres://{}@127.0.0.1:{}/{database}", Self::USER, proxy.port())
    }

    /// Stops the server without a clean shutdown, and starts it again.
    pub fn crash(&self) {
        self.end("immediate");
        self.start();
    }

    /// Stops the server like an operator, disconnecting all clients.
    pub fn stop(&self) {
        self.end("fast");
    }

    /// Pauses every process of the server: connections are accepted, but not answered.
    pub fn pause(&self) {
        let first = self.pid().to_string();
        run(Command::new("kill").args(["-STOP", &first]));
        // A paused postmaster starts no other processes.
        for process in children_of(&first) {
            // Some processes may have ended on their own.
            let _ended =
                Command::new("kill").args(["-STOP", &process]).stderr(Stdio::null()).status();
        }
    }

    /// Resumes every process after [`PostgresServer::pause`].
    pub fn unpause(&self) {
        let first = self.pid().to_string();
        let mut all = children_of(&first);
        all.push(first);
        for process in all {
            let _ended =
                Command::new("kill").args(["-CONT", &process]).stderr(Stdio::null()).status();
        }
    }

    /// Kills every process of the server at once, like a power loss.
    pub fn kill(&self) {
        let file = self.data().join("postmaster.pid");
        let text = fs::read_to_string(&file).expect("a server that runs says so");
        let first = text.lines().next().expect("it begins with the process").to_owned();
        // A paused postmaster starts no other processes.
        run(Command::new("kill").args(["-STOP", &first]));
        let mut all = children_of(&first);
        all.push(first);
        for process in &all {
            // Some processes may have ended on their own.
            let _ended =
                Command::new("kill").args(["-KILL", process]).stderr(Stdio::null()).status();
        }
        while all.iter().any(|process| stat_of(process).is_some_and(|(state, _)| state != "Z")) {
            std::thread::yield_now();
        }
        // The postmaster may remain as a zombie, whose process id would count as a running server.
        let lock = self.socket().with_added_extension("lock");
        for file in [file, lock] {
            fs::remove_file(&file).expect("a dead server's file can be removed");
        }
    }

    /// Starts the server again with its data.
    pub fn start_again(&self) {
        self.start();
    }

    fn end(&self, mode: &str) {
        let mut stop = self.owner.command(&programs().join("pg_ctl"));
        run(stop.arg("-D").arg(self.data()).args(["-w", "-m", mode, "stop"]));
    }

    /// Turns the server into a standby, which is read-only.
    pub fn become_standby(&self) {
        let signal = self.data().join("standby.signal");
        File::create(&signal).expect("a file can be made");
        self.owner.give(&signal);
        self.crash();
    }

    fn join(
        directory: PathBuf,
        sharing: ServerUse,
        owner: ServerOwner,
        reach: ListenAddress,
        settings: &'static [&'static str],
    ) -> Self {
        fs::create_dir_all(&directory).expect("a directory can be made");
        owner.give(&directory);
        let open = |name: &str| {
            let path = directory.join(name);
            let file = File::options().create(true).append(true).open(&path).expect("a file opens");
            owner.give(&path);
            file
        };
        let users = open("users");
        users.lock_shared().expect("a file can be locked");
        let starting = open("starting");
        starting.lock().expect("a file can be locked");
        let server = Self { directory, sharing, owner, reach, settings, _use: users };
        if UnixStream::connect(server.directory.join(".s.PGSQL.5432")).is_err() {
            server.make();
            server.start();
            server.watch();
        }
        server
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn make(&self) {
        let data = self.data();
        if data.exists() {
            fs::remove_dir_all(&data).expect("what is left of the last server can be removed");
        }
        let mut make = self.owner.command(&programs().join("initdb"));
        make.arg("-D").arg(&data).args([
            "--username",
            Self::USER,
            "--auth=trust",
            "--encoding=UTF8",
        ]);
        run(make.args(["--locale=C", "--no-sync", "--no-instructions"]));
    }

    fn start(&self) {
        let careless = match self.sharing {
            ServerUse::Shared => CARELESS,
            ServerUse::Private => &[],
        };
        let all = SETTINGS.iter().chain(careless).chain(self.settings);
        let settings: Vec<String> = all.map(|setting| format!("-c {setting}")).collect();
        let listening = match self.reach {
            ListenAddress::Socket => "-c listen_addresses=".to_owned(),
            ListenAddress::Port(port) => format!("-c listen_addresses=127.0.0.1 -p {port}"),
        };
        let settings = settings.join(" ");
        let options = format!("-k {} {listening} {settings}", self.directory.display());
        let mut start = self.owner.command(&programs().join("pg_ctl"));
        start.arg("-D").arg(self.data()).arg("-l").arg(self.data().join("log"));
        run(start.args(["-w", "-t", "60", "-o", &options, "start"]));
    }

    fn watch(&self) {
        let sharing = match self.sharing {
            ServerUse::Shared => "shared",
            ServerUse::Private => "private",
        };
        let mut watch = self.owner.command(Path::new("setsid"));
        watch.args(["--fork", "sh", "-c", WATCH, "sh"]).arg(&self.directory);
        run(watch.arg(programs().join("pg_ctl")).arg(sharing));
    }
}

/// Returns the state of a process and its parent.
fn stat_of(process: &str) -> Option<(String, String)> {
    let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut words = after_name.split(' ').map(str::to_owned);
    words.next().zip(words.next())
}

fn children_of(parent: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("there are processes").flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| stat_of(name).is_some_and(|(_, its)| its == parent)).collect()
}

/// Runs a command without inherited streams, because it may leave a process behind.
fn run(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// Returns the directory of the server's programs. Debian keeps the programs of each version
/// outside `PATH`.
fn programs() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = Path::new("/usr/lib/postgresql")
        .read_dir()
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    places.sort();
    places.reverse();
    places.extend(env::split_paths(&path));
    places
        .into_iter()
        .find(|place| place.join("initdb").is_file() && place.join("pg_ctl").is_file())
        .expect("PostgreSQL is installed: `cargo xtask test` does it")
}

/// The owner of the server: the user of this process or, since PostgreSQL refuses to run as root,
/// another one.
struct ServerOwner {
    uid: u32,
    gid: u32,
    /// True if the owner is not the user of this process.
    other: bool,
}

impl ServerOwner {
    fn of_this_process() -> Self {
        let own = fs::metadata("/proc/self").expect("a process knows itself");
        if own.uid() != 0 {
            return Self { uid: own.uid(), gid: own.gid(), other: false };
        }
        let users = fs::read_to_string("/etc/passwd").expect("there are users");
        let find = |name: &str| {
            let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut ids = line.split(':').skip(2).map(str::parse);
            Some(Self { uid: ids.next()?.ok()?, gid: ids.next()?.ok()?, other: true })
        };
        find("postgres").or_else(|| find("nobody")).expect("there is a user without privileges")
    }

    fn give(&self, path: &Path) {
        if self.other {
            chown(path, Some(self.uid), Some(self.gid)).expect("root can give files away");
            if path.is_dir() {
                fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it is ours");
            }
        }
    }

    /// Returns a command that runs as the owner.
    fn command(&self, program: &Path) -> Command {
        if !self.other {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={}", self.uid)).arg(format!("--regid={}", self.gid));
        command.args(["--clear-groups", "--"]).arg(program).current_dir("/");
        command
    }
}
