//! Runs cargo and other commands.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Returns the repository's root. Taken from the environment of this call: checkouts share a build
/// directory, so this program may have been built in another checkout.
pub(crate) fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    here.parent().map(Path::to_path_buf).expect("xtask lies below the root")
}

/// Returns a cargo command that builds outside the checkout unless `CARGO_TARGET_DIR` says
/// otherwise.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command.env("CARGO_TARGET_DIR", target_directory());
    // Build scripts depend on these variables: if set, they would run again after each direct call.
    for (name, _) in env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the directory into which [`cargo`] builds.
pub(crate) fn target_directory() -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR").map(|directory| root().join(directory));
    let usual = || cache_directory().map(|cache| cache.join("target"));
    chosen.or_else(usual).unwrap_or_else(|| root().join("target"))
}

/// Returns the directory of this project in the user's cache; `None` if the user has no home.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let of = |name: &str| env::var_os(name).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")))?;
    Some(cache.join("noetl"))
}

/// Runs a command to its end; fails with its command line if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = describe(command);
    eprintln!("+ {shown}");
    let status = command.status().with_context(|| format!("start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// True if a command runs and succeeds. Shows none of its output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
