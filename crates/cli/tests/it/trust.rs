//! A project's `noetl.toml` runs no program, reaches no server and gets no token until the user
//! trusts it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use expect_test::expect;

use crate::sandbox::{Ended, Sandbox};

const PYTHON: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: snake}
workflow:
  - step: start
    tool: {kind: python, code: 'result = 1'}
";

/// A project in `work` that sets its own program as Python; the program leaves a file when it runs.
fn project() -> Sandbox {
    let sandbox = Sandbox::new()
        .with("work/noetl.toml", "[tools]\npython = \"./evil\"\n")
        .with("work/evil", "#!/bin/sh\ntouch ran\nexec python3 \"$@\"\n")
        .with("work/snake.yaml", PYTHON);
    let made =
        std::process::Command::new("chmod").arg("+x").arg(sandbox.path("work/evil")).status();
    assert!(made.expect("chmod runs").success());
    sandbox
}

/// Runs a command in `work`.
fn at_work(sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = sandbox.command(args);
    command.current_dir(sandbox.path("work")).envs(variables.iter().copied());
    Ended::from(command.output().expect("the binary runs"))
}

#[test]
fn a_program_of_a_project_runs_only_once_the_file_is_trusted_as_it_is() {
    let sandbox = project();
    let has_run = || sandbox.path("work/ran").exists();
    let doctor = at_work(&sandbox, &["doctor"], &[]);
    assert!(doctor.stdout.contains("noetl.toml sets tools.python"), "{}", doctor.stdout);
    let refused = at_work(&sandbox, &["run", "snake.yaml", "-q"], &[]);
    assert_eq!(refused.code, Some(2));
    expect![[r#"
        error: HOME/work/noetl.toml sets tools.python, but you have not trusted it
         help: read the file, then run `noetl config trust`; or use another with --config FILE
    "#]]
    .assert_eq(&sandbox.normal(&refused.stderr));
    assert!(!has_run(), "an untrusted program has run");

    let trusted = at_work(&sandbox, &["config", "trust"], &[]);
    assert_eq!(
        sandbox.normal(&trusted.stderr),
        "HOME/work/noetl.toml is trusted and sets tools.python\n"
    );
    let ended = at_work(&sandbox, &["run", "snake.yaml", "-q"], &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(has_run());

    std::fs::remove_file(sandbox.path("work/ran")).expect("it is there");
    let sandbox = sandbox.with("work/noetl.toml", "[tools]\npython = \"./evil\" # newer\n");
    let changed = at_work(&sandbox, &["run", "snake.yaml", "-q"], &[]);
    assert!(changed.stderr.contains("it has changed since you trusted it"), "{}", changed.stderr);
    assert_eq!(at_work(&sandbox, &["config", "trust"], &[]).code, Some(0));
    assert_eq!(at_work(&sandbox, &["config", "trust", "--revoke"], &[]).code, Some(0));
    let revoked = at_work(&sandbox, &["run", "snake.yaml", "-q"], &[]);
    assert!(revoked.stderr.contains("you have not trusted it"), "{}", revoked.stderr);
    assert!(!sandbox.path("work/ran").exists());
}

#[test]
fn a_list_of_trusted_files_in_the_project_itself_counts_for_nothing() {
    let sandbox = project();
    let content = std::fs::read_to_string(sandbox.path("work/noetl.toml")).expect("text");
    let digest: String = {
        use sha2::Digest as _;
        sha2::Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let path = sandbox.path("work/noetl.toml").canonicalize().expect("it is there");
    let line = format!("{digest}  {}\n", path.display());
    let sandbox = sandbox.with("work/.config/noetl/trusted", &line);
    let mut command = sandbox.command(&["run", "snake.yaml", "-q"]);
    command.current_dir(sandbox.path("work")).env_remove("HOME");
    let refused = Ended::from(command.output().expect("the binary runs"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(!sandbox.path("work/ran").exists());
}

/// A server that records the heads of requests and answers nothing useful.
fn listening() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let heard = Arc::new(Mutex::new(String::new()));
    let hears = heard.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
            let lines = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
            let head: Vec<String> = lines.collect();
            hears.lock().expect("no panic").push_str(&head.join("\n"));
            let _gone = stream.write_all(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (url, heard)
}

#[test]
fn a_token_is_not_shown_to_a_server_that_a_project_names() {
    let (url, heard) = listening();
    let heard = || heard.lock().expect("no panic").clone();
    let sandbox = Sandbox::new().with("work/noetl.toml", &format!("server.url = \"{url}\"\n"));
    let token = ("NOETL_API_TOKEN", "hunter2");
    let list = ["executions", "list"];
    let refused = at_work(&sandbox, &list, &[token]);
    assert_eq!((refused.code, heard().as_str()), (Some(2), ""), "{}", refused.stderr);

    assert_eq!(at_work(&sandbox, &["config", "trust"], &[]).code, Some(0));
    let refused = at_work(&sandbox, &list, &[token]);
    assert_eq!((refused.code, heard().as_str()), (Some(2), ""), "{}", refused.stderr);
    assert!(refused.stderr.contains("a project file names that server"), "{}", refused.stderr);
    assert!(refused.stderr.contains("NOETL_API_TOKEN_ORIGIN="), "{}", refused.stderr);

    // Without a token there is nothing to protect, so the request is sent.
    at_work(&sandbox, &list, &[]);
    assert!(heard().contains("GET /api/native/executions"), "{}", heard());
    assert!(!heard().contains("hunter2"), "{}", heard());
    at_work(&sandbox, &list, &[token, ("NOETL_API_TOKEN_ORIGIN", &url)]);
    assert!(heard().contains("Bearer hunter2"), "{}", heard());
}
