//! Tests that the SQL views in the original's column shape show what the API shows, on every
//! database.

use noetl_compat::name_of;
use noetl_model::EventTag;
use noetl_testkit::PostgresServer;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};

use super::stores::Backing;
use super::*;

const LOOP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: loop, path: tests/loop}
workflow:
  - step: start
    loop: {in: [a, b], iterator: it, spec: {mode: parallel}}
    tool: {kind: noop}
";

/// The names of the views, as a statement of a test spells them: `VIEW(event)`.
const VIEWS: [&str; 4] = ["event", "execution", "command", "outbox"];
/// The view that the others take public names from.
const NAMES: &str = "event_name";

/// A direct connection to each database of a server.
enum Readers {
    Sqlite(SqliteConnection),
    Postgres(Vec<PgConnection>),
}

impl Readers {
    async fn of(backing: &Backing) -> Self {
        match backing {
            Backing::Sqlite(directory) => {
                let files = std::fs::read_dir(directory.path()).expect("a directory");
                let path = files
                    .map(|file| file.expect("a file").path())
                    .find(|path| path.extension().is_some_and(|it| it == "db"));
                let url = format!("sqlite://{}", path.expect("a database").display());
                Self::Sqlite(SqliteConnection::connect(&url).await.expect("a database"))
            }
            Backing::Postgres { databases, .. } => {
                let mut connections = Vec::new();
                for name in databases {
                    let url = PostgresServer::shared().url(name);
                    connections.push(PgConnection::connect(&url).await.expect("a database"));
                }
                Self::Postgres(connections)
            }
        }
    }

    /// Returns the texts that a query selects, from all databases.
    async fn lines(&mut self, query: &str) -> Vec<String> {
        match self {
            Self::Sqlite(connection) => {
                let query = named(query, "noetl_compat_");
                let found = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(connection).await;
                found.expect("rows")
            }
            Self::Postgres(connections) => {
                let mut lines = Vec::new();
                for connection in connections {
                    let query = named(query, "noetl_compat.");
                    let found =
                        sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(connection).await;
                    lines.extend(found.expect("rows"));
                }
                lines
            }
        }
    }

    /// Runs a statement on the first database; true if it was refused.
    async fn is_refused(&mut self, statement: &str) -> bool {
        match self {
            Self::Sqlite(connection) => {
                let statement = named(statement, "noetl_compat_");
                connection.execute(AssertSqlSafe(statement)).await.is_err()
            }
            Self::Postgres(connections) => {
                let statement = named(statement, "noetl_compat.");
                connections[0].execute(AssertSqlSafe(statement)).await.is_err()
            }
        }
    }
}

fn named(statement: &str, prefix: &str) -> String {
    VIEWS.iter().chain([&NAMES]).fold(statement.to_owned(), |text, view| {
        text.replace(&format!("VIEW({view})"), &format!("{prefix}{view}"))
    })
}

async fn check(backing: Backing) {
    let server = backing.idle_server().await;
    server.register(HELLO).await;
    server.register(LOOP).await;
    let ended = server.start("tests/hello").await;
    server.work().await;
    server.work().await;
    let looped = server.start("tests/loop").await;
    server.work().await;
    let waiting = server.start("tests/hello").await;
    let fact = json!({ "execution_id": waiting, "name": "step_completed", "step": "start",
        "status": "FAILED", "payload": { "text": "a\u{0}b" } });
    assert_eq!(server.post("/api/events", fact).await.status, 200);
    let mut readers = Readers::of(&backing).await;
    names_are_those_of_the_api(&mut readers).await;

    for id in [&ended, &looped, &waiting] {
        let shown = readers
            .lines(&format!(
                "SELECT event_type || ' ' || coalesce(node_name, '-') || ' ' || status
                 FROM VIEW(event) WHERE execution_id = {id} ORDER BY stream_version"
            ))
            .await;
        let story = server.story(id).await;
        assert_eq!(shown, story.lines().collect::<Vec<_>>());
    }
    let executions = "SELECT path || ' ' || status || ' ' || last_event_type
        FROM VIEW(execution) ORDER BY execution_id";
    let mut shown = readers.lines(executions).await;
    shown.sort_unstable();
    assert_eq!(
        shown,
        [
            "tests/hello COMPLETED playbook.completed",
            "tests/hello RUNNING step_completed",
            "tests/loop RUNNING iteration.completed",
        ]
    );
    commands_are_shown(&mut readers, &ended, &waiting).await;
    let subjects = "SELECT subject FROM VIEW(outbox) WHERE status = 'PENDING' ORDER BY outbox_id";
    let shown = readers.lines(subjects).await;
    assert!(shown.contains(&format!("noetl.commands.shared.{waiting}")), "{shown:?}");
    for view in VIEWS {
        let sum: i64 = readers
            .lines(&format!("SELECT CAST(count(*) AS text) FROM VIEW({view})"))
            .await
            .iter()
            .map(|count| count.parse::<i64>().expect("a number"))
            .sum();
        assert!(sum > 0, "{view} shows rows");
        assert!(readers.is_refused(&format!("DELETE FROM VIEW({view})")).await, "{view}");
        let change = format!("UPDATE VIEW({view}) SET execution_id = 1");
        assert!(readers.is_refused(&change).await, "{view}");
    }
}

/// Compares the names and statuses in the views with those of every kind of event.
async fn names_are_those_of_the_api(readers: &mut Readers) {
    let names = "SELECT event_type || ' ' || name || ' ' || status FROM VIEW(event_name)";
    let shown: BTreeSet<String> = readers.lines(names).await.into_iter().collect();
    let expected = EventTag::ALL.iter().map(|tag| {
        let (name, status) = name_of(*tag);
        format!("{} {name} {status}", tag.as_str())
    });
    assert_eq!(shown, expected.collect::<BTreeSet<_>>(), "a migration adds the name");
}

async fn commands_are_shown(readers: &mut Readers, ended: &str, waiting: &str) {
    for (id, expected) in [
        (ended, vec!["start python COMPLETED w 1", "second noop COMPLETED w 1"]),
        (waiting, vec!["start python PENDING - 1"]),
    ] {
        let shown = readers
            .lines(&format!(
                "SELECT step_name || ' ' || tool_kind || ' ' || status || ' '
                    || coalesce(worker_id, '-') || ' ' || attempt
                 FROM VIEW(command) WHERE execution_id = {id} ORDER BY command_id"
            ))
            .await;
        assert_eq!(shown, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_views_show_what_the_api_shows_on_sqlite() {
    check(Backing::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_views_show_what_the_api_shows_on_postgresql() {
    check(Backing::postgres(1).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_views_show_what_the_api_shows_on_three_shards() {
    check(Backing::postgres(3).await).await;
}
