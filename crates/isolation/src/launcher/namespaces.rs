//! The namespaces of a program: users, mounts, processes, and inter-process communication.

use std::fs;
use std::io;
use std::path::Path;

use nix::sched::CloneFlags;
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};

use super::LaunchFailure;
use crate::spec::{LaunchSpec, Namespaces};

/// Moves this process into new namespaces. A process namespace begins with the next child.
pub(super) fn enter(namespaces: Namespaces) -> Result<(), LaunchFailure> {
    let mut flags = CloneFlags::empty();
    if namespaces.has_user() {
        flags |= CloneFlags::CLONE_NEWUSER;
    }
    if namespaces.has_mount() {
        flags |= CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    }
    if namespaces.has_process() {
        flags |= CloneFlags::CLONE_NEWPID;
    }
    if flags.is_empty() {
        return Ok(());
    }
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    nix::sched::unshare(flags)
        .map_err(|error| LaunchFailure::of("cannot create namespaces")(error.into()))?;
    if namespaces.has_user() {
        let (uid, gid) = (uid.as_raw(), gid.as_raw());
        let mapped = fs::write("/proc/self/setgroups", "deny")
            .and_then(|()| fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")))
            .and_then(|()| fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")));
        mapped.map_err(LaunchFailure::of("cannot map the user into a namespace"))?;
    }
    Ok(())
}

/// Covers the hidden paths and, in a process namespace, mounts a `/proc` that shows only it.
pub(super) fn arrange_mounts(spec: &LaunchSpec) -> Result<(), LaunchFailure> {
    let flags = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", flags)
        .map_err(|error| LaunchFailure::of("cannot make mounts private")(error.into()))?;
    let secure = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if spec.namespaces.has_process() {
        mount("proc", "/proc", "proc", secure, None)
            .map_err(|error| LaunchFailure::of("cannot mount /proc")(error.into()))?;
    }
    for path in &spec.read_only {
        // A directory that stays writable is found to be so by those who depend on it.
        let _writable = make_read_only(path);
    }
    for path in &spec.hidden {
        cover(path, secure)
            .map_err(LaunchFailure::of(&format!("cannot cover {}", path.display())))?;
    }
    Ok(())
}

/// Mounts a directory on itself, so that nothing in it can be changed and it cannot be moved.
fn make_read_only(path: &Path) -> io::Result<()> {
    mount_bind_recursive(path, path)?;
    // In a user namespace a remount must keep the restrictions of the mount.
    let found = statvfs(path)?.f_flag;
    let restrictions = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = restrictions.iter().filter(|(flag, _)| found.contains(*flag));
    let kept = kept.fold(MountFlags::empty(), |all, (_, flag)| all | *flag);
    Ok(mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | kept, "")?)
}

/// Covers a directory with an empty one that cannot be entered, a file with an empty one.
fn cover(path: &Path, flags: MountFlags) -> io::Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        // An absent or inaccessible path needs no cover.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        let options = c"mode=000,size=4k,nr_inodes=1";
        mount("tmpfs", path, "tmpfs", flags | MountFlags::RDONLY, options)?;
    } else {
        mount_bind("/dev/null", path)?;
    }
    Ok(())
}
