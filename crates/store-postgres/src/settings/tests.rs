//! Tests of valid and invalid environment variables.

use expect_test::{Expect, expect};

use super::*;

fn settings(variables: &[(&str, &str)]) -> Result<ClusterSettings, SettingsError> {
    ClusterSettings::from_env(|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn shown(options: &PgConnectOptions) -> String {
    let host = options.get_host();
    let database = options.get_database().unwrap_or("-");
    format!("{}@{host}:{}/{database}", options.get_username(), options.get_port())
}

fn check(variables: &[(&str, &str)], expected: Expect) {
    let actual = match settings(variables) {
        Ok(settings) => {
            let mut lines: Vec<String> = settings.shards.iter().map(shown).collect();
            lines.extend(
                settings.cluster.iter().map(|cluster| format!("cluster {}", shown(cluster))),
            );
            lines.join("\n")
        }
        Err(error) => format!("error: {error}"),
    };
    expected.assert_eq(&actual);
}

#[test]
fn without_settings_the_database_is_local() {
    check(&[], expect!["noetl@localhost:5432/noetl"]);
}

#[test]
fn one_database_by_its_parts() {
    check(
        &[
            ("POSTGRES_HOST", "db"),
            ("POSTGRES_PORT", "5433"),
            ("POSTGRES_USER", "u"),
            ("POSTGRES_PASSWORD", "p"),
            ("POSTGRES_DATABASE", "d"),
        ],
        expect!["u@db:5433/d"],
    );
}

#[test]
fn a_url_wins_over_parts() {
    check(
        &[("POSTGRES_HOST", "db"), ("DATABASE_URL", "postgres://u:p@other:1234/d?sslmode=require")],
        expect!["u@other:1234/d"],
    );
}

#[test]
fn shards_win_over_a_url_and_keep_their_order() {
    check(
        &[
            ("DATABASE_URL", "postgres://u:p@other/d"),
            (
                "NOETL_SHARDS",
                "host=b;port=5433;user=u;password=p=q;database=d, host=a;dbname=e;, postgresql://v@c/f",
            ),
            ("NOETL_CLUSTER_DSN", "host=cluster"),
        ],
        expect![[r#"
            u@b:5433/d
            noetl@a:5432/e
            v@c:5432/f
            cluster noetl@cluster:5432/noetl"#]],
    );
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let empty = [("NOETL_SHARDS", " "), ("NOETL_CLUSTER_DSN", ""), ("DATABASE_URL", "")];
    check(&empty, expect!["noetl@localhost:5432/noetl"]);
}

#[test]
fn an_unknown_key_is_an_error() {
    let shards = "host=a,hots=b";
    check(
        &[("NOETL_SHARDS", shards)],
        expect!["error: entry 2 of NOETL_SHARDS has the unknown key `hots`"],
    );
}

#[test]
fn a_key_that_is_there_twice_is_an_error() {
    let shards = "host=a;database=x;dbname=y";
    check(
        &[("NOETL_SHARDS", shards)],
        expect!["error: entry 1 of NOETL_SHARDS has the key `database` twice"],
    );
}

#[test]
fn a_part_that_is_no_pair_is_an_error_that_does_not_repeat_it() {
    let shards = "host=a;password=s;cret";
    check(
        &[("NOETL_SHARDS", shards)],
        expect!["error: entry 1 of NOETL_SHARDS has a part that is not key=value"],
    );
}

#[test]
fn a_shard_without_a_host_is_an_error() {
    check(&[("NOETL_SHARDS", "port=1")], expect!["error: entry 1 of NOETL_SHARDS names no host"]);
    check(&[("NOETL_SHARDS", "host=a,")], expect!["error: entry 2 of NOETL_SHARDS is empty"]);
}

#[test]
fn a_port_out_of_range_is_an_error() {
    let port = expect![
        "error: entry 1 of NOETL_CLUSTER_DSN has a port that is not a number from 1 to 65535"
    ];
    check(&[("NOETL_CLUSTER_DSN", "host=a;port=0")], port);
    check(
        &[("POSTGRES_PORT", "65536")],
        expect!["error: POSTGRES_PORT is not a number from 1 to 65535"],
    );
}

#[test]
fn one_database_twice_is_an_error() {
    let shards = "host=a,host=b,host=a;user=other";
    check(
        &[("NOETL_SHARDS", shards)],
        expect!["error: entry 3 of NOETL_SHARDS is the same database as entry 1"],
    );
}

#[test]
fn sockets_in_different_directories_are_different_databases() {
    let shards = "postgres://a@localhost/n?host=/one,postgres://a@localhost/n?host=/two";
    let read = |name: &str| (name == "NOETL_SHARDS").then(|| shards.to_owned());
    assert_eq!(ClusterSettings::from_env(read).unwrap().shards.len(), 2);
}

#[test]
fn a_url_of_something_else_is_an_error_that_does_not_repeat_it() {
    check(
        &[("DATABASE_URL", "mysql://root:secret@db/x")],
        expect!["error: DATABASE_URL is not a PostgreSQL URL"],
    );
    check(
        &[("NOETL_SHARDS", "http://a")],
        expect!["error: entry 1 of NOETL_SHARDS is not a PostgreSQL URL"],
    );
}

#[test]
fn too_many_shards_are_an_error() {
    let shards: Vec<String> = (0..=SHARDS_MAX).map(|index| format!("host=h{index}")).collect();
    check(
        &[("NOETL_SHARDS", &shards.join(","))],
        expect!["error: NOETL_SHARDS lists more than 1024 databases"],
    );
}

#[test]
fn the_pool_is_as_the_environment_says() {
    let pool = |variables| settings(variables).map(|settings| settings.pool);
    assert_eq!(pool(&[]), Ok(PoolSettings::default()));
    let said = pool(&[
        ("POSTGRES_MAX_CONNECTIONS", "20"),
        ("POSTGRES_MIN_CONNECTIONS", "0"),
        ("POSTGRES_ACQUIRE_TIMEOUT", "5"),
        ("NOETL_STORE_TIMEOUT_SECONDS", "7"),
        ("NOETL_PG_STATEMENT_CACHE_CAPACITY", "0"),
    ]);
    let expected = PoolSettings {
        connections_max: 20,
        connections_min: 0,
        acquire_timeout: Duration::from_secs(5),
        deadline: Duration::from_secs(7),
        statement_cache: 0,
    };
    assert_eq!(said, Ok(expected));
    let few = pool(&[("POSTGRES_MAX_CONNECTIONS", "1")]).unwrap_err();
    assert_eq!(few.to_string(), "POSTGRES_MAX_CONNECTIONS is not at least 2");
}
