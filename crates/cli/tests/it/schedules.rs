//! Schedules: the commands, their documentation page, and several servers on one database.
//!
//! `NOETL_SCHEDULES=full` runs two servers with fifty schedules for two minutes.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use noetl_model::{Event, Payload, Seq, Timestamp};
use noetl_store::{EventLog as _, ExecutionFilter, Executions as _, PAGE_MAX, Page};
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_testkit::PostgresServer;
use serde_json::{Value, json};

use crate::playbooks::HELLO;
use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

fn root(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(file).expect("the file is there")
}

/// Returns the first fenced block of a kind.
fn block<'p>(page: &'p str, kind: &str) -> &'p str {
    let (_, block) = page.split_once(&format!("```{kind}\n")).expect("there is a block");
    block.split_once("```").expect("a block ends").0
}

#[test]
fn the_page_shows_what_its_example_does() {
    let page = root("docs/schedules.md");
    let sandbox = Sandbox::new().with("nightly.yaml", block(&page, "yaml"));
    assert_eq!(sandbox.noetl(&["register", "nightly.yaml"]).code, Some(0));
    let (_, asked) = page.split_once("noetl schedule next").expect("it is asked for");
    let (asked, _) = asked.split_once('\n').expect("a line ends");
    let args: Vec<&str> =
        ["schedule", "next"].into_iter().chain(asked.split_whitespace()).collect();
    assert_eq!(sandbox.noetl(&args).stdout, block(&page, "text"));
}

const HOURLY: &str = "\
apiVersion: noetl.io/v1
kind: Schedule
metadata: {name: hourly, path: schedules/hourly}
spec: {every: 1h, dispatch: {playbook: tests/hello}}
";

/// Follows a schedule from registration to its end, on a database or a server.
#[track_caller]
fn check(sandbox: &Sandbox, place: &[&str]) {
    let on = |args: &[&str]| sandbox.noetl(&[args, place].concat());
    let json = |args: &[&str]| sandbox.json(&[args, place, &["-o", "json"]].concat());
    assert_eq!(on(&["register", "hello.yaml", "hourly.yaml"]).code, Some(0));
    let listed = json(&["schedule", "list"]);
    assert_eq!(listed[0]["timing"], "every 1h");
    assert_eq!(listed[0]["state"], "ACTIVE");
    let paused = json(&["schedule", "pause", "schedules/hourly"]);
    assert_eq!((&paused["state"], &paused["next_at"]), (&json!("PAUSED"), &Value::Null));
    let resumed = json(&["schedule", "resume", "schedules/hourly"]);
    assert_eq!(resumed["state"], "ACTIVE");
    let next = on(&["schedule", "next", "schedules/hourly", "--after", "2027-01-01T00:30:00Z"]);
    assert!(
        next.stdout.starts_with("2027-01-01T01:00:00Z\n2027-01-01T02:00:00Z\n"),
        "{}",
        next.stdout
    );

    let range = ["--from", "2026-01-01T00:00:00Z", "--until", "2026-01-01T02:00:00Z"];
    let backfill = |more: &[&str]| {
        json(&[&["schedule", "backfill", "schedules/hourly"], &range[..], more].concat())["instants"]
            .clone()
    };
    let listed = backfill(&["--dry-run"]);
    assert_eq!(listed[0]["execution_id"], Value::Null);
    let started = |instants: &Value| {
        instants.as_array().expect("a list").iter().filter(|it| it["started"] == true).count()
    };
    assert_eq!(started(&backfill(&[])), 3);
    assert_eq!(started(&backfill(&[])), 0, "each instant has its execution");
    assert_eq!(json(&["executions", "list"]).as_array().map(Vec::len), Some(3));

    let told = json(&["schedule", "get", "schedules/hourly"]);
    let tags = ["backfilled", "backfilled", "resumed", "paused", "registered"];
    let events = told["events"].as_array().expect("events").iter();
    let found: Vec<_> = events.map(|it| it["event_type"].as_str().expect("a type")).collect();
    assert_eq!(found, tags.map(|tag| format!("schedule.{tag}")));
    let shown = on(&["schedule", "get", "schedules/hourly"]);
    assert!(shown.stdout.contains("schedule.paused"), "{}", shown.stdout);

    let missing = on(&["schedule", "pause", "schedules/hourl"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("did you mean schedules/hourly?"), "{}", missing.stderr);
    let ahead = on(&[
        "schedule",
        "backfill",
        "schedules/hourly",
        "--from",
        "2999-01-01T00:00:00Z",
        "--until",
        "2999-01-02T00:00:00Z",
    ]);
    assert_eq!(ahead.code, Some(2), "{}", ahead.stderr);
    assert!(ahead.stderr.contains("is in the future"), "{}", ahead.stderr);
}

fn sandbox() -> Sandbox {
    Sandbox::new().with("hello.yaml", HELLO).with("hourly.yaml", HOURLY)
}

#[test]
fn schedules_are_managed_on_the_embedded_database() {
    check(&sandbox(), &["--db", "own.db"]);
}

#[test]
fn schedules_are_managed_on_a_server_by_the_same_commands() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db", "--no-worker"]);
    check(&sandbox, &["--server", &server.url()]);
}

#[test]
fn a_schedule_is_validated_like_a_playbook() {
    let broken = HOURLY.replace("every: 1h", "cron: '61 * * * *', timezone: Europe/Berln");
    let example = root("examples/schedules/nightly.yaml");
    let sandbox = Sandbox::new().with("nightly.yaml", &example).with("broken.yaml", &broken);
    assert_eq!(sandbox.noetl(&["validate", "nightly.yaml"]).code, Some(0));
    let refused = sandbox.noetl(&["validate", "broken.yaml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    for said in ["`61` is no minute from 0 to 59", "there is no time zone `Europe/Berln`"] {
        assert!(refused.stdout.contains(said), "{}", refused.stdout);
    }
}

#[test]
fn a_server_starts_what_is_due_and_its_worker_runs_it() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let sandbox = sandbox.with("often.yaml", &HOURLY.replace("every: 1h", "every: 1s"));
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    let url = server.url();
    assert_eq!(
        sandbox.noetl(&["register", "hello.yaml", "often.yaml", "--server", &url]).code,
        Some(0)
    );
    eventually("an instant has come and its execution has ended", || {
        let list = server.call("GET", "/api/executions", &Value::Null).to_string();
        list.contains("COMPLETED")
    });
    assert_eq!(server.process.end(), Some(0));
}

/// The number of schedules, and the duration of each third of the test.
#[derive(Debug, Clone, Copy)]
struct Size {
    schedules: usize,
    third: Duration,
}

impl Size {
    fn chosen() -> Self {
        if std::env::var_os("NOETL_SCHEDULES").is_some_and(|size| size == "full") {
            Self { schedules: 50, third: Duration::from_secs(40) }
        } else {
            Self { schedules: 5, third: Duration::from_secs(3) }
        }
    }
}

#[test]
fn two_servers_of_which_one_is_killed_fire_each_instant_once() {
    let size = Size::chosen();
    let postgres = PostgresServer::private();
    let database = postgres.url("postgres");
    let shared = ["--no-worker", "--database", &database];
    let sandbox = Sandbox::new();
    let (doomed, survivor) = (Server::new(&sandbox, &shared), Server::new(&sandbox, &shared));
    let register = |content: String| {
        let answer = survivor.call("POST", "/api/catalog/register", &json!({ "content": content }));
        assert!(answer["catalog_id"].is_string() || answer["catalog_id"].is_number(), "{answer}");
    };
    register(HELLO.to_owned());
    for number in 0..size.schedules {
        let each = HOURLY.replace("hourly", &format!("each-{number}"));
        register(each.replace("every: 1h", "every: 1s, catch_up: all"));
    }
    thread::sleep(size.third);
    drop(doomed);
    let killed = Instant::now();
    thread::sleep(size.third);
    let third = Server::new(&sandbox, &shared);
    thread::sleep(size.third);
    for number in 0..size.schedules {
        let path = format!("schedules/each-{number}");
        survivor.call("POST", "/api/schedules/pause", &json!({ "path": path }));
    }
    println!("{size:?}: {:?} after the kill all are paused", killed.elapsed());
    for server in [third, survivor] {
        assert_eq!(server.process.end(), Some(0));
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let fired = runtime.block_on(fired(&database));
    assert_eq!(fired.len(), size.schedules, "every schedule has fired");
    let mut latest = Duration::ZERO;
    let mut count = 0;
    for (path, instants) in fired {
        let seconds: Vec<i64> =
            instants.iter().map(|(instant, _)| instant.as_millis() / 1000).collect();
        let (first, last) = (seconds[0], seconds[seconds.len() - 1]);
        assert_eq!(seconds, (first..=last).collect::<Vec<_>>(), "{path}: each instant once");
        let expected = (size.third * 3).as_secs();
        assert!(seconds.len() as u64 + 2 >= expected, "{path} fired {} times", seconds.len());
        let late = instants.iter().map(|(instant, started)| started.since(*instant)).max();
        latest = latest.max(late.unwrap_or_default());
        count += seconds.len();
    }
    println!(
        "{count} instants of {} schedules, each fired once, at most {latest:?} late",
        size.schedules
    );
}

/// Returns the instants of each schedule in order, each with the start time of its execution.
pub(crate) async fn fired(database: &str) -> BTreeMap<String, Vec<(Timestamp, Timestamp)>> {
    let settings =
        ClusterSettings::from_env(|name| (name == "DATABASE_URL").then(|| database.to_owned()));
    let settings = settings.expect("the settings are right");
    let store = Shards::connect(settings, TimeSource::Database).await.expect("the database opens");
    let mut found: BTreeMap<String, Vec<(Timestamp, Timestamp)>> = BTreeMap::new();
    let mut before = None;
    loop {
        let page = Page { before, limit: PAGE_MAX };
        let listed = store.list(&ExecutionFilter::default(), page).await.expect("a list");
        for summary in &listed {
            let events = store.read(summary.execution, Seq::ZERO, 1).await.expect("its start");
            let Event::ExecutionStarted { workload: Payload::Inline(workload), .. } =
                &events[0].event
            else {
                panic!("{:?}", events[0]);
            };
            let schedule = &workload["schedule"];
            let Some(path) = schedule["path"].as_str() else { continue };
            let instant = schedule["instant"].as_str().expect("a text").parse();
            let instant = instant.expect("an instant");
            found.entry(path.to_owned()).or_default().push((instant, summary.started_at));
        }
        let Some(last) = listed.last() else { break };
        before = Some(last.execution);
    }
    found.values_mut().for_each(|instants| instants.sort_unstable());
    found
}
