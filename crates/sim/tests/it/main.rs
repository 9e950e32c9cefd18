//! Runs of many worlds. `SIM_SEEDS=n` runs more of them, `SIM_SEED=n` a single one.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use noetl_sim::{PlantedBug, Violation, WorldCounts, run, run_with_bug};

/// The number of worlds in every test run.
const SEEDS: u64 = 500;
/// The number of worlds within which a planted bug must be found.
const PLANTED_SEEDS: u64 = 50;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

fn seeds() -> RangeInclusive<u64> {
    match number("SIM_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("SIM_SEEDS").unwrap_or(SEEDS),
    }
}

/// Runs the seeds on all processors, in order, until the first violation.
fn live_through(seeds: RangeInclusive<u64>) -> Result<Vec<WorldCounts>, Violation> {
    let next = AtomicU64::new(*seeds.start());
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let live = || {
        let mut tallies = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > *seeds.end() {
                return Ok(tallies);
            }
            tallies.push(run(seed).inspect_err(|_| next.store(u64::MAX / 2, Ordering::Relaxed))?);
        }
    };
    thread::scope(|scope| {
        let lives: Vec<_> = (0..threads).map(|_| scope.spawn(live)).collect();
        let mut tallies = Vec::new();
        for life in lives {
            tallies.extend(life.join().expect("a world does not panic")?);
        }
        Ok(tallies)
    })
}

#[test]
fn every_execution_has_one_right_end_under_faults() {
    let tallies = live_through(seeds()).unwrap_or_else(|violation| panic!("{violation}"));
    if number("SIM_SEED").is_some() {
        println!("{tallies:#?}");
        return;
    }
    let sum = |of: fn(&WorldCounts) -> u64| tallies.iter().map(of).sum::<u64>();
    let seen = [
        ("executions", sum(|tally| tally.executions)),
        ("results compared", sum(|tally| tally.compared)),
        ("commands taken over", sum(|tally| tally.takeovers)),
        ("late reports", sum(|tally| tally.superseded)),
        ("commands parked", sum(|tally| tally.parked)),
        ("callbacks", sum(|tally| tally.called_back)),
        ("signals", sum(|tally| tally.signals)),
        ("commands lost", sum(|tally| tally.lost)),
        ("deaths of servers", sum(|tally| tally.deaths)),
        ("forks", sum(|tally| tally.forks)),
        ("grants", sum(|tally| tally.grants)),
        ("commands that began at a rate", sum(|tally| tally.rated)),
        ("shared signals", sum(|tally| tally.shared)),
        ("outputs reused", sum(|tally| tally.reuses)),
        ("pauses of the pool", sum(|tally| tally.pool_pauses)),
        ("pauses", sum(|tally| tally.pauses)),
        ("restores of the store", sum(|tally| tally.restored)),
        ("losses noticed", sum(|tally| tally.losses)),
    ];
    println!("{seen:?}");
    for (what, count) in seen {
        assert!(count > 0, "no {what}: these worlds are too quiet");
    }
}

/// The rules find every bug that is planted into the store, and so would find the same bug of a server.
#[test]
fn every_planted_bug_is_found_within_fifty_seeds() {
    let found = |bug| (1..=PLANTED_SEEDS).find_map(|seed| run_with_bug(seed, bug).err());
    thread::scope(|scope| {
        let searches: Vec<_> =
            PlantedBug::ALL.iter().map(|bug| (bug, scope.spawn(move || found(*bug)))).collect();
        for (bug, search) in searches {
            let violation = search.join().expect("a world does not panic");
            let violation = violation.unwrap_or_else(|| panic!("{bug:?} is not found"));
            let first = violation.problem.lines().next().unwrap_or_default();
            println!("{bug:?}: seed {}: {first}", violation.seed);
        }
    });
}

#[test]
fn a_seed_is_a_whole_world() {
    for seed in [3, 14, 159, 2653] {
        let (first, second) = (run(seed).unwrap(), run(seed).unwrap());
        assert_eq!(first, second, "seed {seed}");
    }
}
