//! `cargo xtask faults`: the fault runs that take too long for the gate, one command each.
//!
//! Each run is a test that the gate also makes, at its full size: `NOETL_FAULTS=full`.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cargo::{self, cargo, succeeds};
use crate::provision;
use crate::tidy::{CATALOGUE, TestedState, entries};

/// A run of a fault at full size.
pub(crate) struct FaultRun {
    pub(crate) name: &'static str,
    /// The time it takes on two processors, in minutes.
    pub(crate) minutes: u32,
    pub(crate) package: &'static str,
    /// The name of the test, or a module of tests, which ends with `::`.
    pub(crate) test: &'static str,
    pub(crate) what: &'static str,
}

/// Every run, in the order of the list.
pub(crate) const RUNS: &[FaultRun] = &[
    FaultRun {
        name: "power",
        minutes: 60,
        package: "noetl-faults",
        test: "nothing_acknowledged_is_lost_whenever_the_power_fails",
        what: "5,000 power losses of the embedded store and the payload directory",
    },
    FaultRun {
        name: "damage",
        minutes: 8,
        package: "noetl-faults",
        test: "a_bit_that_flips_and_a_log_that_is_cut_are_found_or_harmless",
        what: "3,000 databases with a flipped bit or a write-ahead log that is cut",
    },
    FaultRun {
        name: "disk",
        minutes: 20,
        package: "noetl-faults",
        test: "a_call_that_fails_loses_nothing_acknowledged",
        what: "EIO and ENOSPC at 300 calls of the embedded store",
    },
    FaultRun {
        name: "timers",
        minutes: 12,
        package: "noetl-faults",
        test: "timers_of_one_second_are_never_early_and_all_fire_soon",
        what: "20,000 timers that are due in the same second",
    },
    FaultRun {
        name: "clocks",
        minutes: 2,
        package: "noetl-cli",
        test: "clocks_that_differ_jump_and_stand_still_change_nothing",
        what: "40 executions on servers and workers whose clocks jump and stand still",
    },
    FaultRun {
        name: "orders",
        minutes: 20,
        package: "noetl-control",
        test: "interleavings::",
        what: "20,000 orders of concurrent calls: mailbox, hand-over, group commit, children",
    },
    FaultRun {
        name: "fuzz",
        minutes: 4,
        package: "noetl-faults",
        test: "fuzz::",
        what: "a minute each for documents, templates, stored events and cron expressions",
    },
    FaultRun {
        name: "kills",
        minutes: 3,
        package: "noetl-cli",
        test: "executions_that_are_killed_again_and_again_all_end_right_and_once",
        what: "200 executions, 100 kills of the embedded process",
    },
    FaultRun {
        name: "servers",
        minutes: 4,
        package: "noetl-cli",
        test: "servers_that_are_killed_in_turn_lose_and_repeat_nothing",
        what: "200 executions, two servers killed every 4 seconds",
    },
    FaultRun {
        name: "limit",
        minutes: 12,
        package: "noetl-cli",
        test: "a_limit_is_never_exceeded_while_three_servers_are_killed_in_turn",
        what: "10,000 executions with a limit of 5, three servers killed every 10 seconds",
    },
    FaultRun {
        name: "everything",
        minutes: 4,
        package: "noetl-cli",
        test: "servers_workers_and_broker_that_are_killed_together_lose_nothing",
        what: "200 executions, servers, workers and NATS killed together every 4 seconds",
    },
    FaultRun {
        name: "workers",
        minutes: 4,
        package: "noetl-cli",
        test: "workers_that_are_killed_or_stopped_beyond_their_leases_lose_nothing",
        what: "200 executions, a worker killed every 4 seconds, one stopped beyond its lease",
    },
    FaultRun {
        name: "partition",
        minutes: 3,
        package: "noetl-cli",
        test: "a_worker_that_is_separated_from_its_server_goes_on_when_it_is_back",
        what: "a worker without its server for a minute, longer than its leases",
    },
    FaultRun {
        name: "load",
        minutes: 45,
        package: "noetl-cli",
        test: "load::",
        what: "10 loops of 1,000 items, 1,000 outputs of a megabyte, 8 minutes without workers",
    },
    FaultRun {
        name: "streams",
        minutes: 2,
        package: "noetl-cli",
        test: "listeners_whose_streams_are_cut_again_and_again_see_every_event_once_and_in_order",
        what: "200 listeners whose connections are cut every 300 ms",
    },
    FaultRun {
        name: "database",
        minutes: 4,
        package: "noetl-cli",
        test: "a_database_that_is_restarted_and_killed_loses_nothing",
        what: "200 executions, PostgreSQL restarted and killed",
    },
    FaultRun {
        name: "broker",
        minutes: 4,
        package: "noetl-cli",
        test: "without_nats_executions_continue_and_messages_are_sent_later",
        what: "200 executions, a minute without NATS",
    },
];

/// Runs the named faults, or lists all of them.
pub(crate) fn run(names: &[String]) -> Result<()> {
    if names.is_empty() || names.iter().any(|name| name == "--help" || name == "-h") {
        return list();
    }
    let chosen = chosen(names)?;
    provision::programs()?;
    let mut failed = Vec::new();
    for run in chosen {
        eprintln!("{}: {} (about {} min)", run.name, run.what, run.minutes);
        if let Err(error) = cargo::run(&mut command(run)) {
            eprintln!("error: {error:#}");
            failed.push(run.name);
        }
    }
    if !failed.is_empty() {
        bail!("not passed: {}", failed.join(", "));
    }
    Ok(())
}

/// Returns the runs with the given names; `all` means every run.
fn chosen(names: &[String]) -> Result<Vec<&'static FaultRun>> {
    if names.iter().any(|name| name == "all") {
        return Ok(RUNS.iter().collect());
    }
    let find = |name: &String| {
        let found = RUNS.iter().find(|run| run.name == name.as_str());
        found.with_context(|| {
            format!("no such fault run: `{name}`; `cargo xtask faults` lists them")
        })
    };
    names.iter().map(find).collect()
}

fn command(run: &FaultRun) -> Command {
    let mut command = cargo();
    if succeeds(cargo().args(["nextest", "--version"])) {
        let end = if run.test.ends_with("::") { "" } else { "$" };
        let filter = format!("test(/(^|::){}{end}/)", run.test);
        command.args(["nextest", "run", "--config-file", "xtask/nextest.toml"]);
        command.args(["--profile", "faults", "--package", run.package, "--no-capture", "-E"]);
        command.arg(filter);
    } else {
        command.args(["test", "--package", run.package, "--", "--nocapture"]);
        command.arg(run.test);
    }
    command.env("NOETL_FAULTS", "full");
    command
}

fn list() -> Result<()> {
    println!("Usage: cargo xtask faults NAME… | all\n");
    for run in RUNS {
        println!("  {:<12} {:>3} min  {}", run.name, run.minutes, run.what);
    }
    println!(
        "  {:<12} {:>3} min  every run above",
        "all",
        RUNS.iter().map(|run| run.minutes).sum::<u32>()
    );
    let page = std::fs::read_to_string(cargo::root().join(CATALOGUE));
    let page = page.with_context(|| format!("read {CATALOGUE}"))?;
    let count = |state| entries(&page).filter(|entry| entry.state == Some(state)).count();
    println!(
        "\nThe catalogue ({CATALOGUE}): {} entries are tested, {} partly, {} are open.",
        count(TestedState::Yes),
        count(TestedState::Partly),
        count(TestedState::Open)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_chosen_by_name() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            chosen(&names).map(|runs| runs.iter().map(|run| run.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["broker", "kills"]).expect("they exist"), ["broker", "kills"]);
        assert_eq!(names(&["all"]).expect("it exists").len(), RUNS.len());
        let unknown = names(&["thunder"]).expect_err("there is none").to_string();
        assert!(unknown.contains("`thunder`"), "{unknown}");
    }

    #[test]
    fn names_of_runs_are_unique() {
        let names: std::collections::BTreeSet<&str> = RUNS.iter().map(|run| run.name).collect();
        assert_eq!(names.len(), RUNS.len());
    }
}
