//! Figures about the machine and this process from Linux's `/proc`; `None` on other systems.

use std::fs;

use serde::Serialize;
use utoipa::ToSchema;

/// Processor time, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Total time of all processors.
    pub(crate) total: u64,
    /// Time that was not idle.
    pub(crate) busy: u64,
    /// Time used by this process.
    pub(crate) own: u64,
}

/// Memory of the machine, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) available: u64,
}

/// Memory in KiB and number of threads of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) resident: u64,
    pub(crate) virtual_size: u64,
    pub(crate) threads: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Thread {
    pub(crate) thread_id: u64,
    pub(crate) name: String,
    pub(crate) is_alive: bool,
}

pub(crate) fn usage() -> Option<Usage> {
    usage_in(&fs::read_to_string("/proc/stat").ok()?, &fs::read_to_string("/proc/self/stat").ok()?)
}

fn usage_in(machine: &str, process: &str) -> Option<Usage> {
    let cpu = machine.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = cpu.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; the fields after these are part of user.
    let total: u64 = ticks.iter().take(8).sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    // The program's name may contain any character, so fields are counted after its closing `)`.
    let (_, fields) = process.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let own = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Usage { total, busy: total.checked_sub(idle)?, own })
}

pub(crate) fn memory() -> Option<Memory> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    Some(Memory { total: field(&text, "MemTotal")?, available: field(&text, "MemAvailable")? })
}

pub(crate) fn process() -> Option<Process> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    Some(Process {
        resident: field(&text, "VmRSS")?,
        virtual_size: field(&text, "VmSize")?,
        threads: field(&text, "Threads")?,
    })
}

/// Returns the number in a line `name:   number kB`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

pub(crate) fn threads() -> Vec<Thread> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let threads = tasks.filter_map(|task| {
        let task = task.ok()?;
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let thread_id = task.file_name().to_str()?.parse().ok()?;
        Some(Thread { thread_id, name: name.trim_end().to_owned(), is_alive: true })
    });
    threads.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_off_both_files_whatever_the_program_is_called() {
        let machine = "cpu  10 0 20 60 10 0 0 0 5 0\ncpu0 1 2 3 4\n";
        let process = "7 (a) b (c)) S 1 1 1 0 -1 0 0 0 0 0 12 3 0 0 20 0 4 0 100 0 0";
        let expected = Usage { total: 100, busy: 30, own: 15 };
        assert_eq!(usage_in(machine, process), Some(expected));
        assert_eq!(usage_in("", process), None);
        assert_eq!(usage_in(machine, "7 (x) S"), None);
    }

    #[test]
    fn a_field_is_the_number_behind_its_whole_name() {
        let text = "VmSizeMax:  1 kB\nVmSize:\t  2048 kB\n";
        assert_eq!(field(text, "VmSize"), Some(2048));
        assert_eq!(field(text, "VmRSS"), None);
    }
}
