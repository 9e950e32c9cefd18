//! The system calls that programs may not use: inspection of other processes, namespaces and
//! mounts, kernel modules, and interfaces with a long history of faults.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

const FORBIDDEN: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_open_by_handle_at,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
];

/// Refuses the forbidden system calls with `EPERM` from now on.
pub(super) fn restrict() -> Result<(), String> {
    let filter = filter().map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&filter).map_err(|error| error.to_string())
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<i64, _> = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(u32::try_from(libc::EPERM).expect("it is positive"));
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_for_this_processor() {
        assert!(!filter().unwrap().is_empty());
    }
}
