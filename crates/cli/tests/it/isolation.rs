//! Attacks of steps on the process that runs them, and on other steps.
//!
//! Each test runs a step that would succeed with an attack without isolation. The tests need a kernel
//! with landlock (Linux 5.13) and fail without it.

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, is_running};

const TOKEN: &str = "token-of-the-administrator";
const KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// Runs a playbook of one step with secrets in the environment of the process.
fn attack(sandbox: &Sandbox, tool: &str) -> Ended {
    attack_with(sandbox, tool, &[])
}

fn attack_with(sandbox: &Sandbox, tool: &str, variables: &[(&str, &str)]) -> Ended {
    let playbook = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: attack, path: tests/attack}}\n\
         workflow:\n  - step: start\n    tool:\n{tool}\n"
    );
    std::fs::write(sandbox.path("attack.yaml"), playbook).expect("the home is ours");
    let mut command = sandbox.command(&["run", "attack.yaml", "--output", "json"]);
    command.env("NOETL_API_TOKEN", TOKEN).env("NOETL_ENCRYPTION_KEY", KEY);
    command.env("NOETL_ISOLATION", "auto").envs(variables.iter().copied());
    Ended::from(command.output().expect("the binary runs"))
}

fn shell(command: &str) -> String {
    let lines = command.replace('\n', "\n        ");
    format!("      kind: shell\n      command: |\n        {lines}")
}

fn python(code: &str) -> String {
    let lines = code.replace('\n', "\n        ");
    format!("      kind: python\n      code: |\n        {lines}")
}

/// Writes a key file as noetl does: readable for its owner only.
fn write_key(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, KEY).expect("the home is ours");
    let owner_only = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, owner_only).expect("the file is ours");
}

#[track_caller]
fn check_no_secret(ended: &Ended) {
    let shown = format!("{}{}", ended.stdout, ended.stderr);
    for secret in [TOKEN, KEY] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// Returns the JSON that a command printed.
#[track_caller]
fn printed(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr))
}

/// Prints the environments of all processes that the step can see.
const ENVIRONMENTS: &str = "tr '\\0' '\\n' < /proc/$PPID/environ\ncat /proc/[0-9]*/environ | \
    tr '\\0' '\\n'\necho done";

#[test]
fn a_shell_step_cannot_read_the_environment_of_the_server() {
    let sandbox = Sandbox::new();
    let ended = attack(&sandbox, &shell(ENVIRONMENTS));
    assert!(ended.stdout.contains("done"), "the step itself works: {}", ended.stderr);
    check_no_secret(&ended);
}

#[test]
fn without_isolation_the_process_is_at_least_the_one_that_is_attacked() {
    let sandbox = Sandbox::new();
    let ended = attack_with(&sandbox, &shell(ENVIRONMENTS), &[("NOETL_ISOLATION", "off")]);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt as _;
        own.uid() == 0
    });
    // Only root can look into the process; this shows that the attack is real.
    assert_eq!(ended.stdout.contains(TOKEN), is_root, "{}", ended.stdout);
}

#[test]
fn a_python_step_cannot_read_the_environment_or_the_memory_of_the_server() {
    let sandbox = Sandbox::new();
    let ended = attack(
        &sandbox,
        &python(
            "import glob, os\n\
             found = []\n\
             for path in glob.glob('/proc/[0-9]*/environ'):\n\
             \x20   try:\n\
             \x20       found.append(open(path, 'rb').read().decode(errors='replace'))\n\
             \x20   except OSError:\n\
             \x20       pass\n\
             opened = []\n\
             for pid in [name for name in os.listdir('/proc') if name.isdigit()]:\n\
             \x20   if int(pid) in (os.getpid(), 1):\n\
             \x20       continue\n\
             \x20   try:\n\
             \x20       open(f'/proc/{pid}/mem', 'rb').close()\n\
             \x20       opened.append(pid)\n\
             \x20   except OSError:\n\
             \x20       pass\n\
             result = {'found': found, 'opened': opened, 'done': True}",
        ),
    );
    assert!(ended.stdout.contains("\"done\""), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(find(&printed(&ended), "opened"), Some(&Value::Array(Vec::new())));
    check_no_secret(&ended);
}

/// Finds a key anywhere in a value.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(key).or_else(|| map.values().find_map(|it| find(it, key))),
        Value::Array(items) => items.iter().find_map(|it| find(it, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[test]
fn steps_cannot_read_the_database_the_key_and_the_settings() {
    let sandbox = Sandbox::new().with(".config/noetl/noetl.toml", "token = \"in-the-file\"\n");
    // A first run creates the database and its key.
    assert_eq!(attack(&sandbox, &shell("true")).code, Some(0));
    write_key(&sandbox.path(".local/share/noetl/noetl.db.key"));
    let command = "cd ~/.local/share/noetl && echo entered\n\
        grep -c . ~/.local/share/noetl/noetl.db && echo read\n\
        cat ~/.local/share/noetl/noetl.db.key && echo read\n\
        cat ~/.config/noetl/noetl.toml\n\
        echo x >> ~/.local/share/noetl/noetl.db && echo wrote\n\
        echo done";
    let ended = attack(&sandbox, &shell(command));
    assert!(ended.stdout.contains("done"), "{}", ended.stderr);
    check_no_secret(&ended);
    for word in ["entered", "read", "wrote", "in-the-file"] {
        let stdout = printed(&ended);
        let stdout = find(&stdout, "stdout").and_then(Value::as_str).unwrap_or_default();
        assert!(!stdout.contains(word), "{word}: {stdout}");
    }
    let copied = "import sqlite3, os\n\
        path = os.path.expanduser('~/.local/share/noetl/noetl.db')\n\
        result = {'tables': sqlite3.connect(path).execute('select name from sqlite_master').fetchall()}";
    assert_ne!(attack(&sandbox, &python(copied)).code, Some(0), "the database was opened");
}

#[test]
fn a_database_in_the_working_directory_is_hidden_and_the_directory_is_not() {
    let sandbox = Sandbox::new();
    let variables = [("NOETL_DB", "here.db")];
    assert_eq!(attack_with(&sandbox, &shell("true"), &variables).code, Some(0));
    write_key(&sandbox.path("here.db.key"));
    let command = "wc -c < here.db\nwc -c < here.db.key\necho kept > note.txt\ncat note.txt";
    let ended = attack_with(&sandbox, &shell(command), &variables);
    let ended = printed(&ended);
    let stdout = find(&ended, "stdout").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(stdout, "0\n0\nkept\n");
    assert!(sandbox.path("note.txt").exists());
}

#[test]
fn a_step_leaves_no_process_behind() {
    let sandbox = Sandbox::new();
    // A daemon: a session of its own, and a parent that has ended.
    let command = "setsid sh -c 'setsid sleep 4711 & sleep 4711' >/dev/null 2>&1 </dev/null &\n\
        sleep 0.2; pgrep -f 'sleep 471[1]' | head -1";
    let ended = attack(&sandbox, &shell(command));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let left = || std::process::Command::new("pgrep").args(["-f", "sleep 471[1]"]).output();
    crate::sandbox::eventually("no process is left", || {
        left().is_ok_and(|found| {
            let found = String::from_utf8_lossy(&found.stdout).into_owned();
            !found.split_whitespace().any(is_running)
        })
    });
}

#[test]
fn a_variable_of_a_step_does_not_reach_the_launcher() {
    let sandbox = Sandbox::new();
    let tool = format!("{}\n      env: {{LD_PRELOAD: /no/such/library.so}}", shell("echo done"));
    let ended = attack(&sandbox, &tool);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let stderr = find(&printed(&ended), "stderr").and_then(Value::as_str).map(str::to_owned);
    let complaints = stderr.unwrap_or_default().matches("LD_PRELOAD").count();
    // The dynamic linker of each program that the shell starts complains, the launcher's does not.
    assert!(complaints <= 1, "{complaints}");
}

#[test]
fn a_step_has_no_capabilities_and_limits() {
    let sandbox = Sandbox::new();
    let command = "grep CapEff /proc/self/status; ulimit -n; ulimit -c; unshare -U true || echo no";
    let ended = attack_with(&sandbox, &shell(command), &[("NOETL_STEP_OPEN_FILES", "77")]);
    let ended = printed(&ended);
    let stdout = find(&ended, "stdout").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(stdout, "CapEff:\t0000000000000000\n77\n0\nno\n");
}

#[test]
fn required_isolation_refuses_to_run_without_a_protection() {
    let sandbox = Sandbox::new();
    let variables = [("NOETL_ISOLATION", "required"), ("NOETL_ISOLATION_USER", "no-such-user")];
    let ended = attack_with(&sandbox, &shell("echo done"), &variables);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(ended.stderr.contains("no-such-user"), "{}", ended.stderr);
}

#[test]
fn the_sqlite_tool_cannot_open_the_files_of_the_server() {
    let sandbox = Sandbox::new();
    assert_eq!(attack(&sandbox, &shell("true")).code, Some(0));
    let database = sandbox.path(".local/share/noetl/noetl.db").display().to_string();
    let opened = format!(
        "      kind: sqlite\n      database: {database}\n      query: select name from sqlite_master"
    );
    let attached = format!(
        "      kind: sqlite\n      commands:\n        - attach '{database}' as s\n        \
         - select name from s.sqlite_master"
    );
    for tool in [opened, attached] {
        let ended = attack(&sandbox, &tool);
        assert_eq!(ended.code, Some(1), "{}", ended.stdout);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert!(shown.contains("belongs to the server"), "{shown}");
    }
}

#[test]
fn the_http_and_transfer_tools_cannot_open_the_files_of_the_server() {
    let sandbox = Sandbox::new();
    assert_eq!(attack(&sandbox, &shell("true")).code, Some(0));
    let data = sandbox.path(".local/share/noetl");
    std::fs::write(data.join("stolen.csv"), "a\n1\n").expect("it is ours");
    let data = data.display();
    let sent = format!(
        "      kind: http\n      method: POST\n      url: http://127.0.0.1:9/\n      \
         body_file: {data}/noetl.db"
    );
    let saved =
        format!("      kind: http\n      url: http://127.0.0.1:9/\n      save_to: {data}/planted");
    let copied = format!(
        "      kind: transfer\n      source: {{type: file, path: {data}/stolen.csv}}\n      \
         target: {{type: file, path: copy.csv}}"
    );
    let script = format!("      kind: python\n      script: {data}/stolen.csv");
    for tool in [sent, saved, copied, script] {
        let ended = attack(&sandbox, &tool);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(1), "{shown}");
        assert!(shown.contains("belongs to the server"), "{shown}");
    }
}

#[test]
fn tools_of_the_own_process_cannot_read_its_environment() {
    let sandbox = Sandbox::new();
    let sent = "      kind: http\n      method: POST\n      url: http://127.0.0.1:9/\n      \
                body_file: /proc/self/environ";
    let copied = "      kind: transfer\n      source: {type: file, path: /proc/self/environ, \
                  format: csv}\n      target: {type: file, path: copy.csv}";
    let script = "      kind: python\n      script: /proc/self/environ";
    for tool in [sent, copied, script] {
        let ended = attack(&sandbox, tool);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(1), "{shown}");
        assert!(shown.contains("is not open to steps"), "{shown}");
        check_no_secret(&ended);
    }
}

#[test]
fn a_file_of_the_server_that_appears_later_is_hidden() {
    let sandbox = Sandbox::new();
    let late = sandbox.path("late");
    let variables = [("NOETL_PAYLOAD_DIR", late.to_str().expect("a text"))];
    let command = "mkdir -p late && echo planted > late/payload; cat late/payload || echo hidden";
    let first = attack_with(&sandbox, &shell(command), &variables);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let ended = attack_with(&sandbox, &shell(command), &variables);
    let ended = printed(&ended);
    let stdout = find(&ended, "stdout").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(stdout, "hidden\n");
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn a_step_creates_no_namespace_by_any_system_call() {
    let sandbox = Sandbox::new();
    // CLONE_NEWUSER with SIGCHLD; clone3 with the same in a structure; `unshare` by its x32 number.
    let code = "import ctypes, errno, os, platform, struct\n\
        x86 = platform.machine() == 'x86_64'\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        def attempt(*arguments):\n\
        \x20   found = libc.syscall(*[ctypes.c_long(it) if isinstance(it, int) else it for it in arguments])\n\
        \x20   if found == 0 and arguments[0] != unshare_x32:\n\
        \x20       os._exit(0)\n\
        \x20   return 'done' if found >= 0 else errno.errorcode[ctypes.get_errno()]\n\
        unshare_x32 = 0x40000000 + 272\n\
        clone = 56 if x86 else 220\n\
        three = struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0)\n\
        result = {\n\
        \x20   'clone': attempt(clone, 0x10000000 | 17, 0, 0, 0, 0),\n\
        \x20   'clone3': attempt(435, ctypes.c_char_p(three), 64),\n\
        \x20   'x32': attempt(unshare_x32, 0x10000000) if x86 else 'EPERM',\n\
        \x20   'thread': __import__('threading').Thread(target=print).start() is None,\n\
        }";
    let ended = printed(&attack(&sandbox, &python(code)));
    for (call, expected) in [("clone", "EPERM"), ("clone3", "ENOSYS"), ("x32", "EPERM")] {
        assert_eq!(find(&ended, call).and_then(Value::as_str), Some(expected), "{call}: {ended}");
    }
    assert_eq!(find(&ended, "thread"), Some(&Value::Bool(true)));
}

/// Tries to create a file beside the modules of the interpreter; tells if a module is loaded before it
/// is imported.
const CHANGE_INTERPRETER: &str = "import errno, os, sys, sysconfig\n\
    def attempt(path, flags):\n\
    \x20   try:\n\
    \x20       os.close(os.open(path, os.O_WRONLY | flags, 0o600))\n\
    \x20       return 'wrote'\n\
    \x20   except OSError as error:\n\
    \x20       return errno.errorcode[error.errno]\n\
    place = sysconfig.get_path('stdlib')\n\
    loaded = 'sqlite3' in sys.modules\n\
    import sqlite3\n\
    result = {\n\
    \x20   'new': attempt(place + '/planted_by_a_test.py', os.O_CREAT),\n\
    \x20   'old': attempt(place + '/json/__init__.py', 0),\n\
    \x20   'loaded': loaded,\n\
    }";

#[test]
fn a_python_step_cannot_change_its_interpreter_whose_packages_stay_loaded() {
    let sandbox = Sandbox::new();
    let step = |name: &str, next: &str| {
        format!(
            "  - step: {name}\n    tool: {{kind: playbook, path: tests/change, input: {{}}, return_result: true}}\n{next}"
        )
    };
    let parent = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: all, path: tests/all}}\nworkflow:\n{}{}",
        step("start", "    next: [{step: again}]\n"),
        step("again", ""),
    );
    let child = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: change, path: tests/change}}\n\
         workflow:\n  - step: start\n    tool:\n{}\n",
        python(CHANGE_INTERPRETER)
    );
    std::fs::write(sandbox.path("parent.yaml"), parent).expect("the home is ours");
    std::fs::write(sandbox.path("child.yaml"), child).expect("the home is ours");
    let mut register = sandbox.command(&["register", "child.yaml"]);
    let registered = Ended::from(register.output().expect("the binary runs"));
    assert_eq!(registered.code, Some(0), "{}", registered.stderr);
    let mut command = sandbox.command(&["run", "parent.yaml", "--output", "json"]);
    // An interpreter in a directory above which nothing can be moved.
    command.env("NOETL_ISOLATION", "auto").env("NOETL_PYTHON", "/usr/bin/python3");
    let ended = Ended::from(command.output().expect("the binary runs"));
    let ended = printed(&ended);
    for attempt in ["new", "old"] {
        let found = find(&ended, attempt).and_then(Value::as_str);
        assert!(matches!(found, Some("EROFS" | "EACCES" | "EPERM")), "{attempt}: {ended}");
    }
    // The second execution finds the packages of the first.
    assert_eq!(find(&ended, "loaded"), Some(&Value::Bool(true)), "{ended}");
}

/// The numbers of the kinds of steps that make temporary files.
const MANY_STEPS: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: many, path: tests/many}
workflow:
  - step: shells
    loop: {in: 100, iterator: it, spec: {mode: parallel, max_in_flight: 4}}
    tool: {kind: shell, command: 'true'}
    next: [{step: scripts}]
  - step: scripts
    loop: {in: 100, iterator: it, spec: {mode: parallel, max_in_flight: 4}}
    tool: {kind: script, interpreter: sh, code: 'exit 0'}
    next: [{step: pythons}]
  - step: pythons
    loop: {in: 100, iterator: it, spec: {mode: parallel, max_in_flight: 4}}
    tool: {kind: python, code: 'result = 1'}
";

#[test]
fn three_hundred_steps_leave_no_temporary_file() {
    for isolation in ["off", "auto"] {
        let sandbox = Sandbox::new().with("many.yaml", MANY_STEPS);
        let temporary = sandbox.path("temporary");
        std::fs::create_dir(&temporary).expect("the home is ours");
        let mut command = sandbox.command(&["run", "many.yaml", "--output", "json"]);
        command.env("NOETL_ISOLATION", isolation).env("TMPDIR", &temporary);
        let ended = Ended::from(command.output().expect("the binary runs"));
        assert_eq!(ended.code, Some(0), "{isolation}: {}{}", ended.stdout, ended.stderr);
        let left: Vec<_> = std::fs::read_dir(&temporary).expect("it is there").flatten().collect();
        assert!(left.is_empty(), "{isolation}: {left:?}");
    }
}

#[test]
fn a_proxy_of_the_environment_gets_no_request() {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    proxy.set_nonblocking(true).expect("a socket");
    let target = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = target.local_addr().expect("it is bound");
    let served = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = target.accept().expect("a request");
        let mut request = [0; 4096];
        let count = stream.read(&mut request).expect("a request");
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
        String::from_utf8_lossy(&request[..count]).into_owned()
    });
    let sandbox = Sandbox::new();
    let url = format!("http://{}", proxy.local_addr().expect("it is bound"));
    let variables: Vec<(&str, &str)> =
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]
            .map(|name| (name, &*url))
            .to_vec();
    let tool = format!("      kind: http\n      url: http://{address}/direct");
    let ended = attack_with(&sandbox, &tool, &variables);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(served.join().expect("it was asked").starts_with("GET /direct "));
    let asked = proxy.accept().map_err(|error| error.kind());
    assert_eq!(asked.map(|_| ()), Err(std::io::ErrorKind::WouldBlock));
}

#[test]
fn a_server_whose_steps_run_as_root_warns_of_it() {
    use std::os::unix::fs::MetadataExt as _;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["server", "--listen", "127.0.0.1:0"]);
    let log = std::fs::File::create(sandbox.path("log")).expect("the home is ours");
    command.stderr(log).env("RUST_LOG", "warn,noetl=info");
    let _process = crate::server::Process(command.spawn().expect("the binary runs"));
    let logged = || std::fs::read_to_string(sandbox.path("log")).unwrap_or_default();
    crate::sandbox::eventually("the server listens", || logged().contains("listening on"));
    assert_eq!(logged().contains("steps run as root"), is_root, "{}", logged());
}
