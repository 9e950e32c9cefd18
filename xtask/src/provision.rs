//! Installs the programs that tests and the gate need besides Rust.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, root, run, succeeds};

/// A program that some tests call.
struct Program {
    name: &'static str,
    /// The Debian package with the program.
    package: &'static str,
    why: &'static str,
    /// The crate whose tests call the program. If the crate does not exist, the program is not
    /// needed.
    needed_by: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "python3",
        package: "python3",
        why: "python steps run in it",
        needed_by: "crates/tools",
    },
    Program {
        name: "postgres",
        package: "postgresql",
        why: "the PostgreSQL store is tested on a real one",
        needed_by: "crates/store-postgres",
    },
    Program {
        name: "nats-server",
        package: "nats-server",
        why: "the NATS bus is tested on a real one",
        needed_by: "crates/bus-nats",
    },
    Program {
        name: "chromedriver",
        package: "chromium-driver",
        why: "pages are tested in a real browser",
        needed_by: "crates/web",
    },
    Program {
        name: "chromium",
        package: "chromium",
        why: "pages are tested in a real browser",
        needed_by: "crates/web",
    },
    Program {
        name: "strace",
        package: "strace",
        why: "writes and flushes are recorded by it, and let fail",
        needed_by: "crates/faults",
    },
    Program {
        name: "faketime",
        package: "faketime",
        why: "processes get wrong clocks from its library",
        needed_by: "crates/faults",
    },
    Program {
        name: "npm",
        package: "npm",
        why: "the checker of accessibility is fetched by it",
        needed_by: "crates/web",
    },
];

/// Installs the missing programs that tests call; fails if that needs privileges this user lacks.
pub(crate) fn programs() -> Result<()> {
    let search = search_path();
    let missing =
        missing(PROGRAMS, |program| is_in(&search, program), |path| root().join(path).exists());
    if missing.is_empty() {
        return Ok(());
    }
    for program in &missing {
        eprintln!("missing: {} ({})", program.name, program.why);
    }
    let packages: Vec<&str> = missing.iter().map(|program| program.package).collect();
    let Some(mut prefix) = privileges() else {
        bail!("install them first: apt-get install {}", packages.join(" "));
    };
    prefix.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    let apt = |args: &[&str]| {
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).args(args);
        run(&mut command)
    };
    apt(&["update", "--quiet"])?;
    apt(&[&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat())
}

/// Installs the missing toolchain components that `cargo xtask ci` calls.
pub(crate) fn components() -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(cargo::cargo().args([subcommand, "--version"])) {
            run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

/// The version of cargo-deny that reads `deny.toml`.
const CARGO_DENY_VERSION: &str = "0.20.2";

/// Returns the path of cargo-deny in the user's cache; builds it from the package registry if this
/// version is not there.
pub(crate) fn cargo_deny() -> Result<PathBuf> {
    let cache = cargo::cache_directory().context("no HOME and no XDG_CACHE_HOME: no cache")?;
    let tools = cache.join("tools");
    let program = tools.join("bin/cargo-deny");
    let printed = Command::new(&program).arg("--version").output();
    if printed.is_ok_and(|it| it.stdout.trim_ascii().ends_with(CARGO_DENY_VERSION.as_bytes())) {
        return Ok(program);
    }
    let mut install = cargo::cargo();
    // Without a target directory, cargo builds in a temporary one and removes it.
    install.env_remove("CARGO_TARGET_DIR");
    install.args(["install", "--locked", "--debug", "--version", CARGO_DENY_VERSION, "--root"]);
    run(install.arg(&tools).arg("cargo-deny"))?;
    Ok(program)
}

fn missing(
    programs: &[Program],
    is_there: impl Fn(&str) -> bool,
    exists: impl Fn(&str) -> bool,
) -> Vec<&Program> {
    programs.iter().filter(|it| exists(it.needed_by) && !is_there(it.name)).collect()
}

/// Returns the prefix for a command that installs packages; `None` if this user cannot install any.
fn privileges() -> Option<Vec<&'static str>> {
    if !is_in(&search_path(), "apt-get") {
        return None;
    }
    let user = Command::new("id").arg("-u").output().ok()?;
    if user.stdout.trim_ascii() == b"0" {
        return Some(Vec::new());
    }
    succeeds(Command::new("sudo").args(["--non-interactive", "true"]))
        .then(|| vec!["sudo", "--non-interactive"])
}

fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = env::split_paths(&path).collect();
    // Debian keeps the server programs of each PostgreSQL version off the path.
    if let Ok(versions) = Path::new("/usr/lib/postgresql").read_dir() {
        directories.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    directories
}

fn is_in(directories: &[PathBuf], program: &str) -> bool {
    directories.iter().any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &[Program] =
        &[Program { name: "p", package: "p-dev", why: "a test", needed_by: "crates/x" }];

    #[test]
    fn a_program_is_missing_where_its_crate_exists_and_it_does_not() {
        assert_eq!(missing(ONE, |_| false, |_| true).len(), 1);
        assert_eq!(missing(ONE, |_| true, |_| true).len(), 0);
        assert_eq!(missing(ONE, |_| false, |_| false).len(), 0);
    }

    #[test]
    fn a_program_is_found_on_the_path() {
        assert!(is_in(&search_path(), "sh"));
        assert!(!is_in(&search_path(), "no-such-program"));
    }
}
