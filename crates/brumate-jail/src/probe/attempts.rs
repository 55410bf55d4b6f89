//! System calls made in order to be refused.

#![expect(unsafe_code, reason = "attempts system calls that must fail")]

use std::io;

use libc::c_long;

use super::super::seccomp::FORBIDDEN;
use super::super::sys::Arg::{self, Number, Text};
use super::super::sys::attempt;
use super::super::{ProbeResult, Wall};
use super::result;

/// A call that is to be answered with an error, and its arguments.
struct Attempt {
    name: &'static str,
    call: c_long,
    args: Vec<Arg>,
    errno: i32,
}

pub(super) fn forbidden() -> &'static [(&'static str, c_long)] {
    FORBIDDEN
}

/// Makes a forbidden call with arguments that mean nothing: no valid pointer, descriptor, process or flag.
pub(super) fn nonsense(call: c_long) -> io::Result<i64> {
    // SAFETY: every pointer is invalid (the kernel would answer EFAULT), every descriptor and id is -1. The forbidden
    // calls are those of `FORBIDDEN` only, none of which unmaps or changes memory for such arguments.
    unsafe { attempt(call, &[Number(-1); 6]) }
}

/// Makes every call that is refused with an error.
pub(super) fn polite(server: Option<i32>) -> Vec<ProbeResult> {
    table(server)
        .into_iter()
        .map(|entry| {
            // SAFETY: the table below: paths are opened and not kept, mappings are new ones, process ids get signal 0,
            // everything else is null, -1 or a plain number.
            let answer = unsafe { attempt(entry.call, &entry.args) };
            let passed = matches!(&answer, Err(error) if error.raw_os_error() == Some(entry.errno));
            result(entry.name, Wall::Seccomp, passed, format!("{answer:?}"))
        })
        .collect()
}

fn table(server: Option<i32>) -> Vec<Attempt> {
    let mut table = Vec::new();
    let mut add = |name, call, args: &[Arg], errno| {
        table.push(Attempt { name, call, args: args.to_vec(), errno });
    };
    let number = |value: libc::c_int| Number(i64::from(value));
    let (denied, absent) = (libc::EACCES, libc::ENOSYS);
    let here = number(libc::AT_FDCWD);
    for (name, path) in [
        ("open /etc/passwd", c"/etc/passwd"),
        ("open /", c"/"),
        ("open /proc/self/maps", c"/proc/self/maps"),
        ("open /proc/1/environ", c"/proc/1/environ"),
        ("open /dev/null", c"/dev/null"),
    ] {
        add(name, libc::SYS_openat, &[here, Text(path), number(libc::O_RDONLY)], denied);
    }
    let create = number(libc::O_CREAT | libc::O_WRONLY);
    add("create /x", libc::SYS_openat, &[here, Text(c"/x"), create, Number(0o600)], denied);
    add("mkdir /x", libc::SYS_mkdirat, &[here, Text(c"/x"), Number(0o700)], denied);
    add("unlink /etc/passwd-", libc::SYS_unlinkat, &[here, Text(c"/x")], denied);
    add("readlink /proc/self/exe", libc::SYS_readlinkat, &[here, Text(c"/proc/self/exe")], denied);

    for (name, pid) in [("signal everyone", -1), ("signal process 1", 1), ("signal process 2", 2)] {
        add(name, libc::SYS_kill, &[number(pid), Number(0)], denied);
    }
    if let Some(pid) = server {
        add("signal the server", libc::SYS_kill, &[number(pid), Number(0)], denied);
        add("read the server's limits", libc::SYS_prlimit64, &[number(pid), Number(0)], absent);
    }
    add("signal a thread", libc::SYS_tkill, &[Number(1), Number(0)], denied);
    add("interrupt a thread", libc::SYS_tgkill, &[Number(1), Number(1), Number(0)], absent);

    let chld = libc::SIGCHLD;
    for (name, flags) in [
        ("fork into a user namespace", libc::CLONE_NEWUSER),
        ("fork into a mount namespace", libc::CLONE_NEWNS),
        ("fork into a network namespace", libc::CLONE_NEWNET),
        ("fork with a traced child", libc::CLONE_PTRACE),
    ] {
        add(name, libc::SYS_clone, &[number(flags | chld), Number(0)], absent);
    }
    add("clone3", libc::SYS_clone3, &[Number(0), Number(0)], absent);

    let page = Number(4096);
    let anonymous = number(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let shared = number(libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    let (rw, rwx) = (libc::PROT_READ | libc::PROT_WRITE, 7);
    let map = |prot: libc::c_int, flags| [Number(0), page, number(prot), flags, Number(-1), Number(0)];
    add("map writable code", libc::SYS_mmap, &map(rwx, anonymous), denied);
    add("map code", libc::SYS_mmap, &map(libc::PROT_EXEC, anonymous), denied);
    add("map shared memory", libc::SYS_mmap, &map(rw, shared), denied);
    let lowest = [Number(0), page, number(rwx)];
    add("make memory writable code", libc::SYS_mprotect, &lowest, denied);
    add("memfd_create", libc::SYS_memfd_create, &[Text(c"x"), Number(0)], absent);
    let merge = number(libc::MADV_MERGEABLE);
    add("merge pages", libc::SYS_madvise, &[Number(0), Number(0), merge], absent);

    let oob = number(libc::MSG_OOB);
    let peek = number(libc::MSG_PEEK);
    let none = Number(-1);
    add("send out of band", libc::SYS_sendmsg, &[none, Number(0), oob], absent);
    add("peek at a message", libc::SYS_recvmsg, &[none, Number(0), peek], absent);
    let address = [none, Number(0), Number(0), Number(0), none, Number(0)];
    add("send to an address", libc::SYS_sendto, &address, absent);
    add("own a descriptor's signals", libc::SYS_fcntl, &[none, number(libc::F_SETOWN)], absent);
    add("fake terminal input", libc::SYS_ioctl, &[none, Number(libc::TIOCSTI as i64)], absent);
    add("lock with inheritance", libc::SYS_futex, &[Number(0), number(libc::FUTEX_LOCK_PI)], absent);
    add("become dumpable", libc::SYS_prctl, &[number(libc::PR_SET_DUMPABLE), Number(1)], absent);
    add("make a timer", libc::SYS_timer_create, &[Number(0), Number(0), Number(0)], absent);
    add("raise the priority", libc::SYS_setpriority, &[Number(0), Number(0), Number(-1)], absent);
    add("read the host's name", libc::SYS_uname, &[Number(0)], absent);
    add("read the host's memory", libc::SYS_sysinfo, &[Number(0)], absent);
    add("stat /etc/passwd", libc::SYS_newfstatat, &[here, Text(c"/etc/passwd"), Number(0)], absent);
    table
}
