//! Tests of `replay`, `replay --diff` and `executions timeline`.

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;

fn ran() -> Sandbox {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    assert_eq!(sandbox.noetl(&["run", "hello.yaml", "-q"]).code, Some(0));
    sandbox
}

#[test]
fn an_execution_is_shown_as_it_was_at_an_event() {
    let sandbox = ran();
    let now = sandbox.json(&["replay", "last", "-o", "json"]);
    assert_eq!(now["execution"]["status"], "COMPLETED");
    let commands = now["commands"].as_object().unwrap();
    assert!(commands.values().all(|command| command["status"] == "COMPLETED"), "{commands:?}");
    let then = sandbox.json(&["replay", "last", "--at-event", "3", "-o", "json"]);
    assert_eq!(
        (&then["execution"]["status"], &then["event_count"]),
        (&"RUNNING".into(), &3.into())
    );
    assert_ne!(then["checksum"], now["checksum"]);
    let before = ["replay", "last", "--at-time", "2020-01-01T00:00:00Z", "-o", "json"];
    assert_eq!(sandbox.json(&before)["event_count"], 0);
    let text = sandbox.noetl(&["replay", "last"]).stdout;
    assert!(text.contains("COMPLETED") && text.contains("checksum"), "{text}");
}

#[test]
fn a_replay_is_the_same_in_every_locale_and_time_zone() {
    let sandbox = ran();
    let shown = |locale: &str, zone: &str| {
        let mut command = sandbox.command(&["replay", "last", "-o", "json"]);
        let output = command.env("LC_ALL", locale).env("LANG", locale).env("TZ", zone).output();
        let output = output.expect("the binary runs");
        assert!(output.status.success(), "{locale} {zone}");
        String::from_utf8(output.stdout).expect("text")
    };
    let here = shown("C", "UTC");
    assert!(here.contains("checksum"), "{here}");
    for (locale, zone) in [
        ("tr_TR.UTF-8", "Asia/Kathmandu"),
        ("de_DE.UTF-8", "America/St_Johns"),
        ("POSIX", "nowhere"),
    ] {
        assert_eq!(shown(locale, zone), here, "{locale} {zone}");
    }
}

#[test]
fn a_projection_shows_its_own_part_only() {
    let shown = ran().json(&["replay", "last", "--projection", "loop", "-o", "json"]);
    assert_eq!(shown["commands"], serde_json::json!({}));
    let unknown = Sandbox::new().noetl(&["replay", "last", "--projection", "nonsense"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("a projection is one of execution, stage"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn two_moments_and_two_executions_are_compared() {
    let sandbox = ran();
    let changes = sandbox.noetl(&["replay", "last", "--diff", "2..latest"]).stdout;
    assert!(changes.contains("~ status: \"RUNNING\" -> \"COMPLETED\""), "{changes}");
    let same = sandbox.noetl(&["replay", "last", "--diff", "latest..latest"]).stdout;
    assert_eq!(same, "no difference\n");
    let patch = sandbox.json(&["replay", "last", "--diff", "..2", "-o", "json"]);
    assert!(!patch["patch"].as_array().unwrap().is_empty());
    let first =
        sandbox.json(&["executions", "get", "last", "-o", "json"])["execution_id"].to_string();
    let first = first.trim_matches('"').to_owned();
    assert_eq!(sandbox.noetl(&["run", "hello.yaml", "-q", "--set", "name=Ada"]).code, Some(0));
    let against = sandbox.noetl(&["replay", &first, "--against", "last"]).stdout;
    assert!(against.contains("Ada"), "{against}");
}

#[test]
fn a_timeline_is_drawn_with_its_critical_path() {
    let drawn = ran().noetl(&["executions", "timeline", "last"]).stdout;
    assert!(drawn.contains("critical path (*)  start → "), "{drawn}");
    assert!(drawn.contains('█'), "{drawn}");
    assert!(drawn.contains("running"), "{drawn}");
}
