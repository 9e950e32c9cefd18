//! Checks of the machine: clock, files, disk space, programs.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use noetl_model::Timestamp;
use noetl_private_files as private_files;
use noetl_store::{Clock as _, SystemClock, WRITE_CHECK_LEN};
use tokio::process::Command;

use super::DoctorCheck;
use crate::config::Config;
use crate::wiring::isolation;

/// Free disk space below which a warning is shown.
const FREE_BYTES_WANTED: u64 = 1024 * 1024 * 1024;
/// Free disk space below which the check fails.
const FREE_BYTES_NEEDED: u64 = 32 * 1024 * 1024;
/// The wanted limit of open files: steps, connections and files need descriptors.
const FILES_WANTED: u64 = 1024;
/// Timeout for a program to print its version.
const VERSION_WAIT: Duration = Duration::from_secs(10);
/// The earliest plausible time of a clock: 2026-01-01T00:00:00Z.
const EARLIEST: Timestamp = Timestamp::from_millis(1_767_225_600_000);

pub(super) async fn checks(config: &Config, db: &Path) -> Vec<DoctorCheck> {
    let directory = db.parent().filter(|path| !path.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    vec![
        clock(SystemClock.now()),
        files(),
        data_directory(config, directory),
        disk(directory),
        shell().await,
        python(config).await,
        isolation(config, db),
    ]
}

fn clock(now: Timestamp) -> DoctorCheck {
    if now < EARLIEST {
        return DoctorCheck::fail("clock", format!("it is {now}"), "set the clock of this machine");
    }
    DoctorCheck::ok("clock", now.to_string())
}

fn files() -> DoctorCheck {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match limit {
        Some(limit) if limit < FILES_WANTED => DoctorCheck::warn(
            "open files",
            format!("at most {limit}"),
            format!("raise the limit: ulimit -n {FILES_WANTED}"),
        ),
        Some(limit) => DoctorCheck::ok("open files", format!("at most {limit}")),
        None => DoctorCheck::ok("open files", "no limit"),
    }
}

/// Checks that files can be written in the directory of the database.
fn data_directory(config: &Config, directory: &Path) -> DoctorCheck {
    let shown = config.short(directory);
    let probe = directory.join(format!(".noetl-doctor-{}", std::process::id()));
    let written = private_files::create_directory(directory).and_then(|()| {
        // On a full disk a file can be created but not written.
        let written = std::fs::write(&probe, [0; WRITE_CHECK_LEN])
            .and_then(|()| File::open(&probe)?.sync_all());
        written.and(std::fs::remove_file(&probe))
    });
    match written {
        Ok(()) => DoctorCheck::ok("data directory", format!("{shown} can be written to")),
        Err(error) => DoctorCheck::fail(
            "data directory",
            format!("{shown} cannot be written to: {error}"),
            "name a database elsewhere with --db PATH or NOETL_DB",
        ),
    }
}

fn disk(directory: &Path) -> DoctorCheck {
    let free = match rustix::fs::statvfs(directory) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            let found = format!("free space is not known: {}", io::Error::from(error));
            return DoctorCheck::warn(
                "disk",
                found,
                "make the directory, or name another with --db",
            );
        }
    };
    let found = format!("{} free", bytes(free));
    let help = "make room, or name a database on another disk with --db PATH";
    match free {
        free if free < FREE_BYTES_NEEDED => DoctorCheck::fail("disk", found, help),
        free if free < FREE_BYTES_WANTED => DoctorCheck::warn("disk", found, help),
        _ => DoctorCheck::ok("disk", found),
    }
}

async fn shell() -> DoctorCheck {
    match first_line("sh", &["-c", "command -v sh"]).await {
        Ok(path) => DoctorCheck::ok("shell", path),
        Err(error) => {
            DoctorCheck::warn("shell", format!("sh does not run: {error}"), "shell steps will fail")
        }
    }
}

async fn python(config: &Config) -> DoctorCheck {
    let name = config.python();
    match first_line(name, &["--version"]).await {
        Ok(version) => DoctorCheck::ok("python", format!("{version} ({name})")),
        Err(error) => DoctorCheck::warn(
            "python",
            format!("{name} does not run: {error}"),
            "python steps will fail; install Python 3, or set NOETL_PYTHON to an interpreter",
        ),
    }
}

/// Checks which protections steps run with.
fn isolation(config: &Config, db: &Path) -> DoctorCheck {
    let isolation = match isolation::probe(config, Some(db)) {
        Ok(isolation) => isolation,
        Err(error) => return DoctorCheck::fail("isolation", error.to_string(), error.help()),
    };
    let (mode, active) = (isolation.mode().as_str(), isolation.report().active_text());
    let found = if active.is_empty() { mode.to_owned() } else { format!("{mode}: {active}") };
    let inactive = isolation.report().inactive();
    let inactive: Vec<String> =
        inactive.map(|(protection, reason)| format!("{protection} ({reason})")).collect();
    match inactive.is_empty() {
        true => DoctorCheck::ok("isolation", found),
        false => {
            DoctorCheck::warn("isolation", found, format!("not active: {}", inactive.join("; ")))
        }
    }
}

/// Returns the first line of a program's output.
async fn first_line(program: &str, args: &[&str]) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(VERSION_WAIT, command.output())
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    if !output.status.success() {
        return Err(io::Error::other(output.status.to_string()));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.lines().next().unwrap_or_default().trim().to_owned())
}

/// Formats a size: `1.5 GiB`.
pub(super) fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut shown = format!("{count} bytes");
    let mut divisor = 1u64;
    for unit in units {
        divisor *= 1024;
        if count < divisor {
            break;
        }
        let tenths = u128::from(count) * 10 / u128::from(divisor);
        shown = format!("{}.{} {unit}", tenths / 10, tenths % 10);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::CheckStatus;

    #[test]
    fn sizes_are_in_the_largest_unit_that_fits() {
        assert_eq!(bytes(900), "900 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 * 1024 * 1024 * 1024), "3.0 GiB");
    }

    #[test]
    fn a_clock_that_has_lost_its_battery_fails() {
        assert_eq!(clock(Timestamp::from_millis(0)).verdict, CheckStatus::Fail);
        assert_eq!(clock(EARLIEST).verdict, CheckStatus::Ok);
    }

    #[tokio::test]
    async fn an_interpreter_that_is_not_there_is_a_warning_with_a_way_out() {
        let config = Config::of(&[("NOETL_PYTHON", "/no/such/python")]);
        let check = python(&config).await;
        assert_eq!(check.verdict, CheckStatus::Warn);
        assert!(check.found.contains("/no/such/python"));
        assert!(check.help.is_some_and(|help| help.contains("NOETL_PYTHON")));
    }
}
