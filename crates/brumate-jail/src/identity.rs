//! The identity of the jailed process: its user id on the host, its capabilities.

use std::fs;

use rustix::process::{DumpableBehavior, Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{JailError, Report, Wall};

/// First of the user ids that jails started by root take. The range up to 2^31 - 2 is left unused by distributions,
/// systemd and container engines alike.
const FIRST_HOST_ID: u32 = 0x7000_0000;

/// Process ids are below 2^22 on Linux, so that each live jail gets an id of its own.
const HOST_ID_SPREAD: u32 = 1 << 22;

/// Where only part of the ids exist (a container with a user namespace): how far below the highest one to go, clear of
/// `nobody`, and over how many to spread.
const MAPPED_GAP: u32 = 8192;
const MAPPED_SPREAD: u32 = 4096;

/// Highest capability asked for; the kernel says where its own end.
const LAST_CAPABILITY: u32 = 63;

/// Takes a user and group id that no other process of the host has, keeping the capabilities for building the other
/// walls. Only root can. Returns what to report.
#[expect(clippy::disallowed_methods, reason = "the kernel's file is short")]
pub(super) fn take_own_host_id(wanted: Option<u32>) -> Result<String, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can give the jail a user id of its own".into());
    }
    let pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
    let id = match wanted {
        Some(id) => id,
        None => choose_id(
            &fs::read_to_string("/proc/self/uid_map").unwrap_or_default(),
            &fs::read_to_string("/proc/self/gid_map").unwrap_or_default(),
            pid,
        )
        .ok_or("too few user ids are mapped into this container")?,
    };
    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
    let step = |what: &'static str| move |errno: rustix::io::Errno| format!("{what}: {errno}");
    rustix::thread::set_keep_capabilities(true).map_err(step("keeping capabilities"))?;
    rustix::thread::set_thread_groups(&[]).map_err(step("dropping supplementary groups"))?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(step("changing the group id"))?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(step("changing the user id"))?;
    // The change cleared the effective set and made /proc/self root's.
    let mut sets = rustix::thread::capabilities(None).map_err(step("reading capabilities"))?;
    sets.effective = sets.permitted;
    rustix::thread::set_capabilities(None, sets).map_err(step("raising capabilities"))?;
    make_dumpable(true).map_err(step("making /proc/self its own"))?;
    Ok(format!("host user id {id}"))
}

/// The first id of the jail's range, or one that the container's maps contain.
fn choose_id(uid_map: &str, gid_map: &str, pid: u32) -> Option<u32> {
    let wanted = FIRST_HOST_ID + pid % HOST_ID_SPREAD;
    let end = |map: &str, id: u32| {
        map.lines()
            .filter_map(|line| {
                let mut fields = line.split_ascii_whitespace();
                let first: u64 = fields.next()?.parse().ok()?;
                let count: u64 = fields.nth(1)?.parse().ok()?;
                Some((first, first + count))
            })
            .find(|&(first, end)| (first..end).contains(&u64::from(id)))
            .map(|(_, end)| end)
    };
    if end(uid_map, wanted).is_some() && end(gid_map, wanted).is_some() {
        return Some(wanted);
    }
    // Id 0 is always mapped for a root; go to the top of its range.
    let top = end(uid_map, 0)?.min(end(gid_map, 0)?);
    let id = u32::try_from(top).ok()?.checked_sub(MAPPED_GAP)? + pid % MAPPED_SPREAD;
    (id >= MAPPED_GAP).then_some(id)
}

/// Sets whether other processes of this user may look into this one.
pub(super) fn make_dumpable(yes: bool) -> rustix::io::Result<()> {
    rustix::process::set_dumpable_behavior(if yes { DumpableBehavior::Dumpable } else { DumpableBehavior::NotDumpable })
}

/// Whether the kernel lets this process use `capability` now.
pub(super) fn has(capability: CapabilitySet) -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}

/// Empties the bounding set, the ambient set and the three classic sets, and reads back what is left.
pub(super) fn drop_capabilities(report: &mut Report) {
    let mut refused = None;
    for bit in 0..=LAST_CAPABILITY {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        // EINVAL: the kernel has no such capability, nor any higher one.
        let Ok(bound) = rustix::thread::capability_is_in_bounding_set(capability) else {
            break;
        };
        if bound && let Err(errno) = rustix::thread::remove_capability_from_bounding_set(capability) {
            refused = Some(format!("capability {bit} stays in the bounding set: {errno}"));
        }
    }
    match refused {
        None => report.active(Wall::BoundingSet, "empty"),
        Some(reason) => report.missing(Wall::BoundingSet, reason),
    }
    // EINVAL before Linux 4.3 only; the read-back below decides.
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    let _ = rustix::thread::set_capabilities(None, none);
    match rustix::thread::capabilities(None) {
        Ok(left) if left == none => report.active(Wall::Capabilities, "none left"),
        Ok(left) => report.missing(Wall::Capabilities, format!("left over: {left:?}")),
        Err(errno) => report.missing(Wall::Capabilities, format!("cannot be read: {errno}")),
    }
}

/// Sets `no_new_privs`.
pub(super) fn no_new_privs(report: &mut Report) -> Result<(), JailError> {
    rustix::thread::set_no_new_privs(true).map_err(JailError::os("setting no_new_privs"))?;
    report.active(Wall::NoNewPrivs, "");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "         0          0 4294967295\n";
    const CONTAINER: &str = "0 100000 65536\n";

    #[test]
    fn each_process_its_own_id() {
        let a = choose_id(WHOLE, WHOLE, 4711).expect("all ids are mapped");
        let b = choose_id(WHOLE, WHOLE, 4712).expect("all ids are mapped");
        assert_ne!(a, b);
        assert!((FIRST_HOST_ID..FIRST_HOST_ID + HOST_ID_SPREAD).contains(&a));
    }

    #[test]
    fn stays_inside_a_containers_map() {
        let id = choose_id(CONTAINER, CONTAINER, 4_194_303).expect("65536 ids are enough");
        assert!((MAPPED_GAP..65_534).contains(&id), "{id}");
        // Both maps count.
        assert_eq!(choose_id(WHOLE, CONTAINER, 7), choose_id(CONTAINER, WHOLE, 7));
    }

    #[test]
    fn too_few_ids() {
        assert_eq!(choose_id("0 1000 1\n", "0 1000 1\n", 7), None);
        assert_eq!(choose_id("", "", 7), None);
        assert_eq!(choose_id("x y z\n", "0 0 9", 7), None);
    }
}
