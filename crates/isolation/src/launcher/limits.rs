//! The resource limits of a program.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::settings::StepLimits;

/// The process numbers below this one are used only once in a process namespace.
const PIDS_RESERVED: u64 = 300;

/// Turns off core dumps, which would hold the memory of a step in a file.
pub(super) fn without_core_dumps() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // A lower limit is always allowed.
    let _allowed = setrlimit(Resource::Core, none);
}

/// Sets the limits for this process and its children.
pub(super) fn apply(limits: StepLimits, has_own_processes: bool) -> Result<(), String> {
    let set = [
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Data, limits.memory_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_bytes),
    ];
    for (resource, limit) in set {
        let Some(limit) = limit else { continue };
        let current = getrlimit(resource);
        let limit = current.maximum.map_or(limit, |maximum| maximum.min(limit));
        let new = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(resource, new).map_err(|error| format!("{resource:?}: {error}"))?;
    }
    if let Some(processes) = limits.processes.filter(|_| has_own_processes) {
        // The kernel exempts root from the limit of processes, but not from the largest process
        // number of a namespace. Kernels before 6.14 have no such number per namespace.
        let highest = (processes + PIDS_RESERVED).to_string();
        let _older_kernel = fs::write("/proc/sys/kernel/pid_max", highest);
    }
    Ok(())
}
