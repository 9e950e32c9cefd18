//! The user and the capabilities of a program.

use std::io;

use rustix::process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use crate::settings::StepUser;

/// Changes this process to a user without supplementary groups.
pub(super) fn become_user(user: StepUser) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    // The change of the user has made the process undumpable; its files in /proc belong to it again.
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Removes all capabilities, also those that a program of root would get.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // A kernel without the capability, or a process that has none and can gain none.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    let is_root = rustix::process::geteuid().is_root();
    let remaining = CapabilitySet::all().iter().find(|&capability| {
        rustix::thread::capability_is_in_bounding_set(capability).unwrap_or(false)
    });
    match remaining {
        // Root would get the capability back with the next program.
        Some(_) if is_root => Err(io::Error::other("the bounding set cannot be emptied")),
        Some(_) | None => Ok(()),
    }
}
