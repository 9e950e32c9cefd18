//! The system calls that programs may not use: inspection of other processes, namespaces and
//! mounts, kernel modules, and interfaces with a long history of faults.
//!
//! Several filters apply; the kernel uses the strictest result.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

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
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_open_by_handle_at,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
];

/// The flags of `clone` that create a namespace.
const NAMESPACE_FLAGS: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The requests of `ioctl` that type into the terminal of another program.
const TYPING: &[u64] = &[0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

/// Refuses the forbidden system calls from now on.
pub(super) fn restrict() -> Result<(), String> {
    let mut filters = filters().map_err(|error| error.to_string())?;
    filters.extend(other_numbers());
    filters
        .iter()
        .try_for_each(|it| seccompiler::apply_filter(it).map_err(|error| error.to_string()))
}

fn filters() -> Result<Vec<BpfProgram>, BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    refused
        .insert(libc::SYS_clone, NAMESPACE_FLAGS.iter().map(flag_rule).collect::<Result<_, _>>()?);
    refused.insert(libc::SYS_ioctl, TYPING.iter().map(request_rule).collect::<Result<_, _>>()?);
    // The flags of `clone3` are in memory, where no filter can see them. Programs that are told that
    // it does not exist use `clone`.
    let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![filter(refused, libc::EPERM)?, filter(missing, libc::ENOSYS)?])
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<BpfProgram, BackendError> {
    let refused = SeccompAction::Errno(u32::try_from(error).expect("it is positive"));
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

/// Matches a call whose first argument has a flag.
fn flag_rule(flag: &i32) -> Result<SeccompRule, BackendError> {
    let flag = u64::from(flag.cast_unsigned());
    let has_flag = SeccompCmpOp::MaskedEq(flag);
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, has_flag, flag)?])
}

/// Matches a call whose second argument is a request; the kernel reads 32 bits of it.
fn request_rule(request: &u64) -> Result<SeccompRule, BackendError> {
    let is_request = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request)?;
    SeccompRule::new(vec![is_request])
}

/// Returns the filter for the second set of numbers that x86-64 has for its system calls (x32); the
/// other filters do not know them.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> Option<BpfProgram> {
    /// The bit that the numbers of x32 have.
    const X32_BIT: u32 = 0x4000_0000;
    const LOAD: u16 = 0x20;
    const JUMP_IF_NOT_LESS: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let refused = u32::from(SeccompAction::Errno(u32::try_from(libc::EPERM).expect("positive")));
    let allowed = u32::from(SeccompAction::Allow);
    let step = |code, jt, k| seccompiler::sock_filter { code, jt, jf: 0, k };
    // The number is the first word of the data that the kernel passes.
    Some(vec![
        step(LOAD, 0, 0),
        step(JUMP_IF_NOT_LESS, 1, X32_BIT),
        step(RETURN, 0, allowed),
        step(RETURN, 0, refused),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbers() -> Option<BpfProgram> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_for_this_processor() {
        assert!(filters().unwrap().iter().all(|it| !it.is_empty()));
    }

    #[test]
    fn a_thread_with_the_filters_creates_no_namespace_and_goes_on() {
        let outcome = std::thread::spawn(|| {
            restrict().unwrap();
            let unshared = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER);
            let child = std::process::Command::new("true").status();
            (unshared, child.is_ok_and(|it| it.success()))
        });
        assert_eq!(outcome.join().unwrap(), (Err(nix::errno::Errno::EPERM), true));
    }
}
