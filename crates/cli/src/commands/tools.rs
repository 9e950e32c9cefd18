//! `noetl tools`: installs libraries that tools need, with the system's package tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use noetl_private_files as private_files;
use sha2::{Digest as _, Sha512};
use tokio::process::Command;

use crate::args::{Installable, ToolsInstallArgs};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

/// A package that contains a library.
struct Package {
    name: &'static str,
    version: &'static str,
    /// The digest of the package's file, in the form the package tool prints it.
    sha512: &'static str,
    library: &'static str,
}

/// The DuckDB packages, for platforms on which they were tested.
const DUCKDB: &[(&str, &str, Package)] = &[(
    "linux",
    "x86_64",
    Package {
        name: "@duckdb/node-bindings-linux-x64",
        version: "1.5.6-r.1",
        sha512: "IXcrZJE6kEqM0Z4wwdVnGBHX/frOS33VPNAwDXQ/Q+Fs84b058Qe94chrCCIcNJlG8Y3UHIUU4eBeCQxW5mN1Q==",
        library: "libduckdb.so",
    },
)];

pub(crate) async fn install(
    args: &ToolsInstallArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let Installable::Duckdb = args.what;
    let (os, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let known =
        DUCKDB.iter().find(|(its_os, its_machine, _)| (*its_os, *its_machine) == (os, machine));
    let Some((_, _, package)) = known else {
        let error = anyhow::anyhow!("there is no checked package of DuckDB for {os} on {machine}");
        let help = "install DuckDB's library yourself and set NOETL_DUCKDB_LIBRARY to its file";
        return Err(Failure::bad_input(error).help(help));
    };
    let place = noetl_tools::library_place(|name| config.variable(name))
        .context("neither XDG_CACHE_HOME nor HOME says where to put it")
        .map_err(Failure::bad_input)?;
    let file = place.join(package.library);
    if file.is_file() && !args.force {
        terminal
            .say(format!("{} is there already; --force installs it again", config.short(&file)));
        return Ok(Exit::Completed);
    }
    terminal.say(format!("fetching {} {}", package.name, package.version));
    fetch(package, &place).await.map_err(|error| {
        let help = "npm and tar must be on the path, and npm must reach its registry; or set NOETL_DUCKDB_LIBRARY";
        Failure::broken(error).help(help)
    })?;
    terminal.say(format!("installed {}", config.short(&file)));
    Ok(Exit::Completed)
}

/// Downloads a package, verifies it, and installs its library atomically.
async fn fetch(package: &Package, place: &Path) -> Result<()> {
    private_files::create_directory(place)
        .with_context(|| format!("cannot make {}", place.display()))?;
    let work = Scratch::below(place)?;
    let wanted = format!("{}@{}", package.name, package.version);
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(&work.0).arg(&wanted);
    run(pack, "npm").await?;
    let packed = only_file(&work.0)?;
    let bytes = fs::read(&packed).context("cannot read the package")?;
    if STANDARD.encode(Sha512::digest(&bytes)) != package.sha512 {
        bail!("{wanted} is not the package that was checked: its digest differs");
    }
    let mut unpack = Command::new("tar");
    let member = format!("package/{}", package.library);
    unpack.arg("-xzf").arg(&packed).arg("-C").arg(&work.0).arg(&member);
    run(unpack, "tar").await?;
    let target = place.join(package.library);
    fs::rename(work.0.join(member), &target)
        .with_context(|| format!("cannot put it at {}", target.display()))
}

async fn run(mut command: Command, name: &str) -> Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let ended = command.output().await.with_context(|| format!("cannot run {name}"))?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        bail!("{name} failed: {}", said.lines().last().unwrap_or("it says nothing"));
    }
    Ok(())
}

fn only_file(directory: &Path) -> Result<PathBuf> {
    let mut entries = fs::read_dir(directory).context("cannot look for the package")?;
    let entry = entries.next().context("npm left no package")?;
    Ok(entry.context("cannot look for the package")?.path())
}

/// A directory that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn below(place: &Path) -> Result<Self> {
        let path = place.join(format!("installing-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, path = %self.0.display(), "cannot remove a temporary directory");
        }
    }
}
