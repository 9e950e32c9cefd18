//! `noetl catalog`: archive and restore, on the embedded database and on a server.

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;
use crate::server::Server;

fn sandbox() -> Sandbox {
    Sandbox::new().with("hello.yaml", HELLO)
}

/// Archives and restores a playbook on a database or a server.
#[track_caller]
fn check(sandbox: &Sandbox, place: &[&str]) {
    let on = |args: &[&str]| sandbox.noetl(&[args, place].concat());
    let listed = |more: &[&str]| {
        let list = sandbox.json(&[&["catalog", "list"], more, place, &["-o", "json"]].concat());
        list.as_array().expect("a list").iter().map(|it| it["path"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(on(&["register", "hello.yaml"]).code, Some(0));
    let archived = on(&["catalog", "archive", "tests/hello"]);
    assert_eq!(archived.code, Some(0), "{}", archived.stderr);
    assert!(archived.stdout.contains("noetl catalog restore tests/hello"), "{}", archived.stdout);
    assert_eq!((listed(&[]).len(), listed(&["--archived"])), (0, vec!["tests/hello".into()]));

    let refused = on(&["run", "tests/hello"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for word in ["playbook-archived", "noetl catalog restore tests/hello"] {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    let shown = on(&["catalog", "get", "tests/hello"]);
    assert!(shown.stdout.contains("kind: Playbook"), "an archived playbook is shown");

    let restored = on(&["catalog", "restore", "tests/hello"]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert!(restored.stdout.contains("tests/hello is active"), "{}", restored.stdout);
    assert_eq!((listed(&[]), listed(&["--archived"]).len()), (vec!["tests/hello".into()], 0));
    let missing = on(&["catalog", "archive", "tests/hell"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("tests/hell"), "{}", missing.stderr);
}

#[test]
fn a_playbook_is_archived_and_restored_on_the_embedded_database() {
    check(&sandbox(), &["--db", "own.db"]);
}

#[test]
fn a_playbook_is_archived_and_restored_on_a_server_in_the_same_words() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    check(&sandbox, &["--server", &server.url()]);
}
