//! The `noetl` binary as a process: a server or a worker.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use noetl_api::{Client, ClientError, ClientSettings};
use rustix::process::{Pid, Signal, kill_process};

use crate::machine::ProcessUsage;

/// The encryption key of measured servers, whose secrets are not kept.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// The time within which a started server has to answer.
const READY_MAX: Duration = Duration::from_secs(60);
/// The interval of readiness checks.
const READY_LOOK: Duration = Duration::from_millis(1);

/// A running process of the binary, killed when dropped.
pub(crate) struct NoetlProcess {
    child: Child,
    log: PathBuf,
}

/// Returns the measured binary: the one built together with this program.
pub(crate) fn binary() -> Result<PathBuf> {
    let own = std::env::current_exe().context("find this binary")?;
    let path = own.with_file_name("noetl");
    ensure!(path.exists(), "{} is missing; `cargo xtask bench` builds it", path.display());
    Ok(path)
}

impl NoetlProcess {
    /// Starts the binary with an empty environment; its log goes to a file in `home`.
    pub(crate) fn start(home: &Path, name: &str, args: &[&str]) -> Result<Self> {
        let log = home.join(format!("{name}.log"));
        let output = File::create(&log).with_context(|| format!("make {}", log.display()))?;
        let child = Command::new(binary()?)
            .args(args)
            .current_dir(home)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("NOETL_ENCRYPTION_KEY", KEY)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("start noetl")?;
        Ok(Self { child, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn usage(&self) -> Result<ProcessUsage> {
        ProcessUsage::of(self.pid())
    }

    /// Waits until the server answers that it is ready.
    pub(crate) async fn ready(&mut self, client: &Client) -> Result<()> {
        let begun = Instant::now();
        loop {
            match client.readiness().await.map(|it| it.is_ready) {
                Ok(true) => return Ok(()),
                Ok(false) | Err(ClientError::Unreachable { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if begun.elapsed() > READY_MAX || self.child.try_wait()?.is_some() {
                bail!("the server did not start: {}", self.said());
            }
            tokio::time::sleep(READY_LOOK).await;
        }
    }

    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Terminates the process and waits for its end.
    pub(crate) fn stop(mut self) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).context("ask noetl to end")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "noetl ended as {status}: {}", self.said());
        Ok(())
    }
}

impl Drop for NoetlProcess {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ended = self.child.kill();
        let _buried = self.child.wait();
    }
}

/// Returns an unused local address.
pub(crate) fn free_address() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("find a free port")?;
    Ok(listener.local_addr()?.to_string())
}

/// Returns a client of the server at an address.
pub(crate) fn client(address: &str) -> Result<Client> {
    let base = format!("http://{address}").parse()?;
    Ok(Client::new(ClientSettings { base, token: None, actor: None, ca: None })?)
}
