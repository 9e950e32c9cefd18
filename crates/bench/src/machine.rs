//! What this process has used of the machine.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};

/// The process at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) at: Instant,
    /// The time its threads have spent computing.
    pub(crate) cpu: Duration,
    /// The memory it holds, in bytes.
    pub(crate) resident: u64,
}

impl Usage {
    pub(crate) fn now() -> Result<Self> {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = Duration::try_from(cpu).context("read the time spent computing")?;
        Ok(Self { at: Instant::now(), cpu, resident: resident()? })
    }
}

fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("read the memory in use")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: u64 = kibibytes.context("find the memory in use")?.parse()?;
    Ok(kibibytes * 1024)
}
