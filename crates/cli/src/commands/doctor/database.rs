//! Checks of the database: that it can be read, and its executions.

use std::path::Path;
use std::time::Duration;

use noetl_model::{ExecutionStatus, Summary, Timestamp};
use noetl_store::{Clock as _, ExecutionFilter, Executions as _, Page, StoreError, SystemClock};
use noetl_store_sqlite::{OpenError, SqliteStore};

use super::machine::bytes;
use super::{DoctorCheck, chain};
use crate::config::Config;

/// The most executions counted.
const COUNT_MAX: usize = 500;
/// Time without running work after which an execution counts as stalled.
const STALL: Duration = Duration::from_secs(30);
/// The most a stored event may be ahead of the clock.
const AHEAD: Duration = Duration::from_secs(5);

pub(super) async fn checks(config: &Config, db: &Path) -> Vec<DoctorCheck> {
    let shown = config.short(db);
    let store = match SqliteStore::open_read_only(db).await {
        Ok(store) => store,
        Err(error) => return vec![unopened(&shown, &error)],
    };
    let size = std::fs::metadata(db).map(|file| bytes(file.len())).unwrap_or_default();
    let now = SystemClock.now();
    match contents(&store, now).await {
        Ok(found) => {
            let opened = DoctorCheck::ok("database", format!("{shown} can be read, {size}"));
            std::iter::once(opened).chain(found).collect()
        }
        Err(error) => {
            let found = format!("{shown} cannot be read: {}", chain(&error));
            vec![DoctorCheck::fail(
                "database",
                found,
                "restore it from a copy, or name another with --db",
            )]
        }
    }
}

fn unopened(shown: &str, error: &OpenError) -> DoctorCheck {
    match error {
        OpenError::Missing { .. } => {
            DoctorCheck::ok("database", format!("none yet; the first run creates {shown}"))
        }
        OpenError::Older { .. } => {
            let found = format!("{shown} is of an older version");
            DoctorCheck::warn("database", found, "the next run migrates it")
        }
        OpenError::Interrupted { .. } => {
            let found = format!("a change of {shown} was interrupted");
            DoctorCheck::warn("database", found, "the next run undoes it")
        }
        OpenError::RestoreInterrupted { .. } => {
            DoctorCheck::fail("database", error.to_string(), "repeat `noetl db restore DIR`")
        }
        OpenError::Newer { .. } => {
            DoctorCheck::fail("database", error.to_string(), "use that version")
        }
        OpenError::InUse { .. }
        | OpenError::NotOurs { .. }
        | OpenError::Lock { .. }
        | OpenError::Make { .. }
        | OpenError::Connect { .. }
        | OpenError::Migrate { .. } => {
            DoctorCheck::fail("database", chain(error), "name another with --db PATH or NOETL_DB")
        }
    }
}

async fn contents(store: &SqliteStore, now: Timestamp) -> Result<Vec<DoctorCheck>, StoreError> {
    let page = Page { before: None, limit: COUNT_MAX };
    let running = ExecutionFilter { status: Some(ExecutionStatus::Running), ..Default::default() };
    let unfinished = store.list(&running, page).await?.len();
    let latest = store.list(&ExecutionFilter::default(), Page { limit: 1, ..page }).await?;
    let before =
        Timestamp::from_micros(now.as_micros() - i64::try_from(STALL.as_micros()).unwrap_or(0));
    let stalled = store.stalled(before, COUNT_MAX).await?.len();
    let damage = store.damage().await?;
    Ok(vec![whole(damage), order(latest.first(), now), open(unfinished), stuck(stalled)])
}

fn whole(damage: Option<String>) -> DoctorCheck {
    match damage {
        None => DoctorCheck::ok("integrity", "no page is damaged"),
        Some(damage) => {
            let help = "restore the database from a copy, and look at the disk";
            DoctorCheck::fail("integrity", damage, help)
        }
    }
}

/// Checks that the latest execution is not ahead of the clock.
fn order(latest: Option<&Summary>, now: Timestamp) -> DoctorCheck {
    let Some(latest) = latest else { return DoctorCheck::ok("executions", "none yet") };
    let at = latest.ended_at.unwrap_or(latest.started_at);
    if at.since(now) > AHEAD {
        return DoctorCheck::warn(
            "executions",
            format!("the latest is from {at}, which is later than the clock of this machine"),
            "look at the clock of this machine",
        );
    }
    DoctorCheck::ok("executions", format!("the latest is from {at}"))
}

fn open(unfinished: usize) -> DoctorCheck {
    match unfinished {
        0 => DoctorCheck::ok("unfinished", "none"),
        count => DoctorCheck::warn(
            "unfinished",
            format!("{count}"),
            "`noetl resume` continues those that no other process runs",
        ),
    }
}

fn stuck(stalled: usize) -> DoctorCheck {
    match stalled {
        0 => DoctorCheck::ok("stalled", "none"),
        count => DoctorCheck::fail(
            "stalled",
            format!("{count} have no open command, timer or child, so they cannot proceed"),
            "`noetl resume` tries to continue them; `noetl executions cancel ID` ends one",
        ),
    }
}
