//! A PostgreSQL server for tests: one for all test processes that run at the same time, or one for a
//! test that does something to it.
//!
//! It is started by whoever comes first, on a socket in a directory of its own, and ended by a watcher
//! a few seconds after the last user is gone, however that one ended. The data of the one that is
//! shared is not worth keeping, so nothing is flushed to the disk.

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

/// How the server runs. The time zone is one that nobody can mistake for UTC, and statistics change
/// only when a test says so.
const SETTINGS: &[&str] =
    &["autovacuum=off", "max_connections=400", "shared_buffers=64MB", "timezone=America/St_Johns"];

/// What makes a server fast that nobody will miss.
const CARELESS: &[&str] = &["fsync=off", "full_page_writes=off"];

/// Ends the server once nobody has held the file `users` for three seconds on end.
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
    sharing: Sharing,
    owner: Owner,
    reach: Reach,
    /// What it is told beside [`SETTINGS`], and above them.
    settings: &'static [&'static str],
    /// Locked, shared with other users, for as long as this value lives.
    _use: File,
}

/// Who uses a server.
#[derive(Debug, Clone, Copy)]
enum Sharing {
    Shared,
    Private,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy)]
enum Reach {
    /// Only through the socket in its directory.
    Socket,
    /// Also at this port of this machine.
    Port(u16),
}

impl PostgresServer {
    /// The superuser of the server, let in without a password.
    pub const USER: &'static str = "noetl";

    /// The server that all tests of this user share; started if it does not run.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        SERVER.get_or_init(|| {
            let owner = Owner::of_this_process();
            let name = format!("noetl-test-postgres-{}", owner.uid);
            Self::join(env::temp_dir().join(name), Sharing::Shared, owner, Reach::Socket, &[])
        })
    }

    /// A server of one's own, which keeps what it has acknowledged.
    pub fn private() -> Self {
        Self::private_reached(Reach::Socket, &[])
    }

    /// A server of one's own with settings such as `autovacuum=on`, which win over the usual ones.
    pub fn private_with(settings: &'static [&'static str]) -> Self {
        Self::private_reached(Reach::Socket, settings)
    }

    /// A server of one's own that is reached at a port, for programs that know no sockets.
    pub fn private_on_a_port() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Self::private_reached(Reach::Port(free.expect("there is a free port").port()), &[])
    }

    fn private_reached(reach: Reach, settings: &'static [&'static str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("noetl-test-postgres-p{}-{number}", std::process::id());
        let directory = env::temp_dir().join(name);
        Self::join(directory, Sharing::Private, Owner::of_this_process(), reach, settings)
    }

    /// The port it has on this machine.
    ///
    /// # Panics
    ///
    /// If it is only reached through its socket.
    pub fn port(&self) -> u16 {
        match self.reach {
            Reach::Port(port) => port,
            Reach::Socket => panic!("it is only reached through its socket"),
        }
    }

    /// Its first process, whose children are all the others.
    pub fn pid(&self) -> u32 {
        let text = fs::read_to_string(self.data().join("postmaster.pid"));
        let text = text.expect("a server that runs says so");
        let first = text.lines().next().expect("it begins with the process");
        first.trim().parse().expect("processes have numbers")
    }

    /// Where a database of this server is found.
    pub fn url(&self, database: &str) -> String {
        let directory = self.directory.display();
        let user = Self::USER;
        let port = match self.reach {
            Reach::Socket => String::new(),
            Reach::Port(port) => format!("&port={port}"),
        };
        format!("postgres://{user}@localhost/{database}?host={directory}{port}")
    }

    /// The socket it listens on.
    pub fn socket(&self) -> PathBuf {
        let port = match self.reach {
            Reach::Socket => 5432,
            Reach::Port(port) => port,
        };
        self.directory.join(format!(".s.PGSQL.{port}"))
    }

    /// Where a database of this server is found through a proxy.
    pub fn url_through(&self, proxy: &Proxy, database: &str) -> String {
        format!("postgres://{}@127.0.0.1:{}/{database}", Self::USER, proxy.port())
    }

    /// Ends the server without a chance to tidy up, and starts it again.
    pub fn crash(&self) {
        self.end("immediate");
        self.start();
    }

    /// Ends the server as an operator would, whoever is connected.
    pub fn stop(&self) {
        self.end("fast");
    }

    /// Stops every process of the server where it is: connections are accepted, and nothing is answered.
    pub fn pause(&self) {
        let first = self.pid().to_string();
        run(Command::new("kill").args(["-STOP", &first]));
        // Stopped, it starts no others.
        for process in children_of(&first) {
            // Some may have ended by themselves.
            let _ended =
                Command::new("kill").args(["-STOP", &process]).stderr(Stdio::null()).status();
        }
    }

    /// Lets every process go on after [`PostgresServer::pause`].
    pub fn unpause(&self) {
        let first = self.pid().to_string();
        let mut all = children_of(&first);
        all.push(first);
        for process in all {
            let _ended =
                Command::new("kill").args(["-CONT", &process]).stderr(Stdio::null()).status();
        }
    }

    /// Kills every process of the server at once, as a loss of power would.
    pub fn kill(&self) {
        let file = self.data().join("postmaster.pid");
        let text = fs::read_to_string(&file).expect("a server that runs says so");
        let first = text.lines().next().expect("it begins with the process").to_owned();
        // Stopped, it starts no others.
        run(Command::new("kill").args(["-STOP", &first]));
        let mut all = children_of(&first);
        all.push(first);
        for process in &all {
            // Some may have ended by themselves.
            let _ended =
                Command::new("kill").args(["-KILL", process]).stderr(Stdio::null()).status();
        }
        while all.iter().any(|process| stat_of(process).is_some_and(|(state, _)| state != "Z")) {
            std::thread::yield_now();
        }
        // Nobody may have buried the first process, and its number would pass for a server that runs.
        let lock = self.socket().with_added_extension("lock");
        for file in [file, lock] {
            fs::remove_file(&file).expect("a dead server's file can be removed");
        }
    }

    /// Starts the server where it was before, with what it has kept.
    pub fn start_again(&self) {
        self.start();
    }

    fn end(&self, mode: &str) {
        let mut stop = self.owner.command(&programs().join("pg_ctl"));
        run(stop.arg("-D").arg(self.data()).args(["-w", "-m", mode, "stop"]));
    }

    /// Turns the server into a standby: it can be read and not written to.
    pub fn become_standby(&self) {
        let signal = self.data().join("standby.signal");
        File::create(&signal).expect("a file can be made");
        self.owner.give(&signal);
        self.crash();
    }

    fn join(
        directory: PathBuf,
        sharing: Sharing,
        owner: Owner,
        reach: Reach,
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
            Sharing::Shared => CARELESS,
            Sharing::Private => &[],
        };
        let all = SETTINGS.iter().chain(careless).chain(self.settings);
        let settings: Vec<String> = all.map(|setting| format!("-c {setting}")).collect();
        let listening = match self.reach {
            Reach::Socket => "-c listen_addresses=".to_owned(),
            Reach::Port(port) => format!("-c listen_addresses=127.0.0.1 -p {port}"),
        };
        let settings = settings.join(" ");
        let options = format!("-k {} {listening} {settings}", self.directory.display());
        let mut start = self.owner.command(&programs().join("pg_ctl"));
        start.arg("-D").arg(self.data()).arg("-l").arg(self.data().join("log"));
        run(start.args(["-w", "-t", "60", "-o", &options, "start"]));
    }

    fn watch(&self) {
        let sharing = match self.sharing {
            Sharing::Shared => "shared",
            Sharing::Private => "private",
        };
        let mut watch = self.owner.command(Path::new("setsid"));
        watch.args(["--fork", "sh", "-c", WATCH, "sh"]).arg(&self.directory);
        run(watch.arg(programs().join("pg_ctl")).arg(sharing));
    }
}

/// The state of a process and its parent.
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

/// Runs a command that may leave a process behind, so it gets none of our streams.
fn run(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// Where the server's programs are. Debian keeps those of each version off the path.
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

/// Whose the server is: this process's user, or, since it refuses to run as root, somebody else.
struct Owner {
    uid: u32,
    gid: u32,
    /// Whether that is somebody else.
    other: bool,
}

impl Owner {
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

    /// A command that runs as the owner.
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
