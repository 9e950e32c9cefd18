//! Resource usage of processes, and a description of the machine.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::param::clock_ticks_per_second;

use crate::numbers::number;

/// The resource usage of a process at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessUsage {
    /// The CPU time of the process and its children.
    pub(crate) cpu: Duration,
    /// The resident memory, in bytes.
    pub(crate) resident: u64,
    /// The peak resident memory since the start or the last reset, in bytes.
    pub(crate) peak: u64,
    /// The bytes written to disks.
    pub(crate) written: u64,
}

impl ProcessUsage {
    /// Reads the usage of a process and its children.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let status = read(pid, "status")?;
        let written = read(pid, "io").map_or(Ok(0), |io| field(&io, "write_bytes:"))?;
        Ok(Self {
            cpu: cpu_of_tree(pid)?,
            resident: field(&status, "VmRSS:")? * 1024,
            peak: field(&status, "VmHWM:")? * 1024,
            written,
        })
    }
}

/// Resets the peak memory of a process to its current memory.
pub(crate) fn forget_peak(pid: u32) -> Result<()> {
    std::fs::write(of_process(pid, "clear_refs"), "5").context("forget the peak of a process")
}

fn of_process(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

fn read(pid: u32, name: &str) -> Result<String> {
    let path = of_process(pid, name);
    std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

/// Returns the first number after a name.
fn field(text: &str, name: &str) -> Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    Ok(word.with_context(|| format!("find {name}"))?.parse()?)
}

/// Returns the CPU time of a process and all its descendants, including ended ones.
pub(crate) fn cpu_of_tree(root: u32) -> Result<Duration> {
    let all: Vec<(u32, Stat)> = std::fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, Stat::of(pid)?)))
        .collect();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next).copied() {
        tree.extend(all.iter().filter(|(_, stat)| stat.parent == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    let ticks: u64 =
        all.iter().filter(|(pid, _)| tree.contains(pid)).map(|(_, stat)| stat.ticks).sum();
    Ok(Duration::from_secs_f64(number(ticks) / number(clock_ticks_per_second())))
}

/// The relevant fields of `/proc/PID/stat`.
struct Stat {
    parent: u32,
    /// The CPU ticks of the process and the children it has waited for.
    ticks: u64,
}

impl Stat {
    /// Returns `None` if the process has just ended.
    fn of(pid: u32) -> Option<Self> {
        let stat = read(pid, "stat").ok()?;
        // The process name may contain anything, so the fields are counted from its end.
        let (_, rest) = stat.rsplit_once(") ")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ticks = words.get(11..15)?.iter().map(|word| word.parse::<u64>().ok());
        Some(Self { parent: words.get(1)?.parse().ok()?, ticks: ticks.sum::<Option<u64>>()? })
    }
}

/// Describes the machine in one line.
pub(crate) fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = text("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let model = model.trim_start_matches([' ', '\t', ':']).trim();
    let memory = field(&text("/proc/meminfo"), "MemTotal:").unwrap_or_default() / (1024 * 1024);
    let kernel = text("/proc/sys/kernel/osrelease");
    format!("{cores} cores ({model}), {memory} GiB of memory, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_of_this_process_is_measured() {
        let usage = ProcessUsage::of(std::process::id()).expect("this process is one");
        assert!(usage.resident > 0 && usage.peak >= usage.resident, "{usage:?}");
    }

    #[test]
    fn a_field_is_the_number_after_its_name() {
        assert_eq!(field("a: 1\nVmRSS:\t  42 kB\n", "VmRSS:").expect("it is there"), 42);
        assert!(field("a: 1\n", "b:").is_err());
    }
}
