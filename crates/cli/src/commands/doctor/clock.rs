//! Compares the clocks of this machine, a server and the database.

use std::time::Duration;

use noetl_control::Skew;
use noetl_model::Timestamp;
use noetl_store_postgres::{ClusterSettings, DatabaseTime, read_clocks};
use serde_json::Value;

use super::{DoctorCheck, chain};
use crate::config::Config;
use crate::wiring::server_parts::machine_time;

/// Timeout for reading the time of the databases.
const READ_MAX: Duration = Duration::from_secs(10);
const HELP: &str =
    "synchronize both machines with NTP; timers and event times use the database's clock";

/// Compares this machine's clock with that of every configured PostgreSQL database.
pub(super) async fn of_databases(config: &Config) -> Vec<DoctorCheck> {
    if !config.names_postgres() {
        return Vec::new();
    }
    let settings = match ClusterSettings::from_env(|name| config.variable(name)) {
        Ok(settings) => settings,
        Err(error) => return vec![unread(chain(&error))],
    };
    match tokio::time::timeout(READ_MAX, read_clocks(settings)).await {
        Ok(Ok(times)) => times.iter().map(|time| of_database(time, machine_time())).collect(),
        Ok(Err(error)) => vec![unread(chain(&error))],
        Err(_) => vec![unread(format!("no answer in {} s", READ_MAX.as_secs()))],
    }
}

fn unread(reason: String) -> DoctorCheck {
    let found = format!("PostgreSQL does not tell the time: {reason}");
    DoctorCheck::warn(
        "database clock",
        found,
        "look at the database, and at the settings that name it",
    )
}

fn of_database(time: &DatabaseTime, machine: Timestamp) -> DoctorCheck {
    let skew = Skew::between(machine, time.now);
    let place = format!("that of PostgreSQL at {}:{}", time.host, time.port);
    compared("database clock", "this machine's clock", &place, skew)
}

/// Reports the clock skew of a server's machine, as measured by the server.
pub(super) fn of_server(health: &Value) -> Option<DoctorCheck> {
    let seconds = health["clock_skew_seconds"].as_f64()?;
    let duration = Duration::try_from_secs_f64(seconds.abs()).ok()?;
    let skew = if seconds < 0.0 { Skew::Behind(duration) } else { Skew::Ahead(duration) };
    Some(compared("clock", "the clock of the server's machine", "the database's", skew))
}

fn compared(name: &'static str, whose: &str, other: &str, skew: Skew) -> DoctorCheck {
    let seconds = skew.duration().as_secs_f64();
    let side = match skew {
        Skew::Ahead(_) => "ahead of",
        Skew::Behind(_) => "behind",
    };
    let found = format!("{whose} is {seconds:.3} s {side} {other}");
    if skew.is_large() {
        DoctorCheck::warn(name, found, HELP)
    } else {
        DoctorCheck::ok(name, found)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::doctor::CheckStatus;

    #[track_caller]
    fn check(seconds: f64, verdict: CheckStatus, found: &str) {
        let check = of_server(&json!({ "clock_skew_seconds": seconds })).expect("it is measured");
        assert_eq!((check.verdict, check.found.as_str()), (verdict, found));
    }

    #[test]
    fn a_server_two_hours_ahead_of_its_database_is_warned_of() {
        let found = "the clock of the server's machine is 7200.000 s ahead of the database's";
        check(7200.0, CheckStatus::Warn, found);
        let found = "the clock of the server's machine is 0.250 s behind the database's";
        check(-0.25, CheckStatus::Ok, found);
    }

    #[test]
    fn a_skew_that_is_not_measured_is_not_shown() {
        assert!(of_server(&json!({ "clock_skew_seconds": null })).is_none());
    }

    #[test]
    fn this_machine_is_compared_with_each_database() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let time = DatabaseTime { host: "db1".into(), port: 5432, now };
        let check = of_database(&time, now.after(Duration::from_secs(3)));
        assert_eq!(check.verdict, CheckStatus::Warn);
        let found = "this machine's clock is 3.000 s ahead of that of PostgreSQL at db1:5432";
        assert_eq!(check.found, found);
    }
}
