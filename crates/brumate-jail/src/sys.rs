//! The few calls of the jail that Rust cannot check, each behind a safe function.

#![expect(unsafe_code, reason = "makes system calls that rustix does not offer")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Which side of a [`fork`] the caller is on.
pub(super) enum Side {
    /// The caller; the child has this id.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Forks. Refused unless this process has a single thread: in a threaded process the child could inherit a lock
/// (such as the allocator's) that is never released.
pub(super) fn fork(_alone: &SingleThreaded) -> io::Result<Side> {
    // SAFETY: `SingleThreaded` proves that no other thread exists, so the child's memory is consistent and it may go on
    // running any code.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => {
            Pid::from_raw(pid).map(Side::Parent).ok_or_else(|| io::Error::other("fork returned a negative process id"))
        }
    }
}

/// Proof that this process has one thread. It stays true as long as no thread is started: the jail starts none, and the
/// zygote's filter refuses it.
#[derive(Debug)]
pub(super) struct SingleThreaded(());

impl SingleThreaded {
    /// Counts the threads; the error holds their number.
    pub(super) fn prove() -> Result<Self, usize> {
        // Without /proc nothing can be counted; the kernel then still knows: unsharing CLONE_THREAD succeeds, without
        // effect, in a single-threaded process only.
        let threads = match std::fs::read_dir("/proc/self/task") {
            Ok(tasks) => tasks.count(),
            // SAFETY: CLONE_THREAD has no effect when the call succeeds.
            Err(_) => match unsafe { libc::unshare(libc::CLONE_THREAD) } {
                0 => 1,
                _ => 0,
            },
        };
        if threads == 1 { Ok(SingleThreaded(())) } else { Err(threads) }
    }

    /// For a process jailed as a zygote: it had one thread when it entered, and the filter lets it start none.
    pub(super) fn inside_jail() -> Self {
        SingleThreaded(())
    }
}

/// Leaves namespaces.
pub(super) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    let flags = flags - UnshareFlags::FILES;
    // SAFETY: the descriptor table, the one thing whose separation is unsound, is never separated.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Closes every descriptor from `first` to `last`, both included.
pub(super) fn close_range(first: RawFd, last: u32) -> io::Result<()> {
    // SAFETY: plain numbers. Called before the process owns any descriptor besides those it was told to keep
    // (`enter`'s contract), so no owner loses one.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes one descriptor; one that is not open is no error.
pub(super) fn close(fd: RawFd) {
    // SAFETY: as for `close_range`.
    unsafe { libc::close(fd) };
}

/// Whether `fd` is open.
pub(super) fn is_open(fd: RawFd) -> bool {
    // SAFETY: F_GETFD takes no pointer and changes nothing.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

/// Borrows a descriptor by number for one call; `None` when it is not open.
pub(super) fn with_fd<T>(fd: RawFd, call: impl FnOnce(BorrowedFd<'_>) -> T) -> Option<T> {
    // SAFETY: it is open now and the borrow ends with this call; the process is single-threaded or leaves its inherited
    // descriptors open for good.
    is_open(fd).then(|| call(unsafe { BorrowedFd::borrow_raw(fd) }))
}

/// Overwrites the environment, names and values, where the kernel put it, and forgets it. Returns how many variables
/// there were.
pub(super) fn scrub_environment(_alone: &SingleThreaded) -> usize {
    let mut count = 0;
    // SAFETY: `environ` is null or a null-terminated array of C strings in writable memory (the kernel's or libc's), and
    // no other thread reads it meanwhile. `clearenv` only drops the array.
    unsafe {
        unsafe extern "C" {
            static mut environ: *mut *mut libc::c_char;
        }
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = *entry;
            std::ptr::write_bytes(text, 0, libc::strlen(text));
            count += 1;
            entry = entry.add(1);
        }
        libc::clearenv();
    }
    count
}

/// A descriptor that refers to the process at the other end of a unix socket, whatever becomes of its number. Linux 6.5.
pub(super) fn peer_pidfd(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    /// `SO_PEERPIDFD`, the same on every architecture served here.
    const SO_PEERPIDFD: libc::c_int = 77;
    let fd: libc::c_int = socket_option(socket, SO_PEERPIDFD, -1)?;
    // SAFETY: the kernel just made this descriptor for us.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The process at the other end of a unix socket; `None` also when it cannot be named from here.
pub(super) fn peer_pid(socket: BorrowedFd<'_>) -> Option<Pid> {
    let nobody = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let peer = socket_option(socket, libc::SO_PEERCRED, nobody)?;
    (peer.pid > 0).then(|| Pid::from_raw(peer.pid)).flatten()
}

/// Reads a socket option of plain numbers. Private to this file: `T` must be valid whatever its bytes.
fn socket_option<T: Copy>(socket: BorrowedFd<'_>, name: libc::c_int, mut value: T) -> Option<T> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: value and length point to live variables of the announced size, and `T` is one of the two above.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut length)
    };
    (status == 0 && length as usize == size_of::<T>()).then_some(value)
}

/// Gives `signal` its default action.
pub(super) fn reset_signal(signal: libc::c_int) {
    // SAFETY: SIG_DFL runs no code of ours.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Ends this process at once, without destructors or exit handlers: a forked copy must not run those of the original.
pub(super) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit only ends the process.
    unsafe { libc::_exit(status) }
}

/// Sets one of the process's interval timers. `which` is `ITIMER_PROF` or `ITIMER_REAL`.
pub(super) fn set_interval_timer(which: libc::c_int, value: libc::itimerval) -> io::Result<()> {
    // SAFETY: `value` lives through the call; the old value is not asked for. (The constant's C type differs between
    // libcs, hence the inferred cast.)
    match unsafe { libc::setitimer(which as _, &raw const value, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// An argument of an attempted system call: nothing through which the kernel could write.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arg {
    /// A number, or a pointer that is never followed because it is null or invalid.
    Number(i64),
    /// A readable C string.
    Text(&'static CStr),
}

/// Attempts a system call and returns what the kernel answered. A clone that succeeds ends in the copy.
///
/// # Safety
///
/// Were the call permitted, it must not change this process's memory, descriptors or flow of control.
pub(super) unsafe fn attempt(number: libc::c_long, args: &[Arg]) -> io::Result<i64> {
    let mut raw = [0 as libc::c_long; 6];
    for (slot, arg) in raw.iter_mut().zip(args) {
        *slot = match arg {
            Arg::Number(value) => *value as libc::c_long,
            Arg::Text(text) => text.as_ptr() as libc::c_long,
        };
    }
    let [a, b, c, d, e, f] = raw;
    // SAFETY: the caller's promise.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer == 0 && makes_process(number) {
        exit_now(0);
    }
    match answer {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

fn makes_process(number: libc::c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_vfork {
        return true;
    }
    number == libc::SYS_clone
}

/// Makes all mounts of a detached tree read-only, without devices and set-user-id programs. Linux 5.12.
pub(super) fn make_read_only(tree: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is an empty C string, and the attributes live through the call, which only reads them.
    let status = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Switches the loopback interface of this network namespace on.
pub(super) fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *slot = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: `request` lives through the call and is of the type that this request reads.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Puts Landlock's rules on this process, for good. It must have `no_new_privs`.
pub(super) fn restrict_to(rules: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain numbers.
    match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Executes a program in the place of this process. Returns the exit status for one that cannot be executed.
pub(super) fn execute(arguments: &[std::ffi::CString], variables: &[std::ffi::CString]) -> i32 {
    let pointers = |texts: &[std::ffi::CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, variables) = (pointers(arguments), pointers(variables));
    if !arguments[0].is_null() {
        // SAFETY: both lists end with a null pointer, and their texts outlive the call.
        unsafe { libc::execve(arguments[0], arguments.as_ptr(), variables.as_ptr()) };
    }
    127
}
