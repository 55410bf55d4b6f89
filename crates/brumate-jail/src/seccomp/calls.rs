//! Which calls, with which arguments. Data only; [`super`] turns it into programs.

use libc::c_long;

use super::super::Profile;

/// What an argument must be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    /// Exactly this.
    Is(u64),
    /// This, in the bits of the mask.
    Masked(u64, u64),
}

/// A test of one argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    /// Index of the argument, 0 to 5.
    pub(super) argument: u8,
    /// Whether all 64 bits count; the kernel ignores the upper half of an `int`.
    pub(super) wide: bool,
    /// The test.
    pub(super) test: Test,
}

/// Conditions that must all hold.
pub(super) type Alternative = Vec<Condition>;

/// A call and the alternatives of which one must hold; none means "whatever the arguments".
pub(super) type Entry = (c_long, Vec<Alternative>);

pub(super) fn int(argument: u8, test: Test) -> Condition {
    Condition { argument, wide: false, test }
}

pub(super) fn long(argument: u8, test: Test) -> Condition {
    Condition { argument, wide: true, test }
}

/// The argument is one of these.
pub(super) fn one_of(argument: u8, values: &[libc::c_int]) -> Vec<Alternative> {
    values.iter().map(|&value| vec![int(argument, Test::Is(u64::from(value as u32)))]).collect()
}

/// The argument has no bit besides these.
fn only_bits(argument: u8, allowed: libc::c_int) -> Condition {
    let others = !u64::from(allowed as u32) & u64::from(u32::MAX);
    int(argument, Test::Masked(others, 0))
}

/// Calls that everyone needs and that cannot be misused through their arguments.
pub(super) const PLAIN: &[c_long] = &[
    // Given descriptors.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_fstat,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_ppoll,
    libc::SYS_shutdown,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    // Time and randomness.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    // Signals of this process.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Itself.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_capget,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

/// `sendmsg`, `recvmsg` and their kin take these and no others: out-of-band data and peeking have been holes in unix
/// sockets.
const MESSAGE_FLAGS: libc::c_int = libc::MSG_DONTWAIT
    | libc::MSG_NOSIGNAL
    | libc::MSG_TRUNC
    | libc::MSG_WAITALL
    | libc::MSG_EOR
    | libc::MSG_CMSG_CLOEXEC;

/// Advice about memory that concerns this process alone; merging pages with other processes (`MADV_MERGEABLE`) would
/// tell about theirs.
const ADVICE: &[libc::c_int] = &[
    libc::MADV_NORMAL,
    libc::MADV_RANDOM,
    libc::MADV_SEQUENTIAL,
    libc::MADV_WILLNEED,
    libc::MADV_DONTNEED,
    libc::MADV_FREE,
    libc::MADV_DONTFORK,
    libc::MADV_DOFORK,
    libc::MADV_HUGEPAGE,
    libc::MADV_NOHUGEPAGE,
    libc::MADV_DONTDUMP,
    libc::MADV_DODUMP,
    libc::MADV_POPULATE_WRITE,
    libc::MADV_WIPEONFORK,
    libc::MADV_KEEPONFORK,
    libc::MADV_COLD,
    libc::MADV_PAGEOUT,
    libc::MADV_POPULATE_READ,
    libc::MADV_POPULATE_WRITE,
];

/// `prctl` operations: names, and reading what the jail is like.
pub(super) const PRCTL: &[libc::c_int] = &[
    libc::PR_SET_PDEATHSIG,
    libc::PR_GET_PDEATHSIG,
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_VMA,
    libc::PR_GET_SECCOMP,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_DUMPABLE,
    libc::PR_CAPBSET_READ,
];

/// Futex operations without priority inheritance, whose bookkeeping in the kernel has been a hole more than once.
const FUTEX: &[libc::c_int] = &[
    libc::FUTEX_WAIT,
    libc::FUTEX_WAKE,
    libc::FUTEX_REQUEUE,
    libc::FUTEX_CMP_REQUEUE,
    libc::FUTEX_WAKE_OP,
    libc::FUTEX_WAIT_BITSET,
    libc::FUTEX_WAKE_BITSET,
];

/// Memory barriers between the threads of this process (`linux/membarrier.h`): query, and the private expedited ones.
const MEMBARRIER: &[libc::c_int] = &[0, 1 << 3, 1 << 4, 1 << 5, 1 << 6];

/// `clone` as `fork` uses it, and as machines do for forks that are the zygote's children: no memory shared, no new
/// namespace, SIGCHLD at the end.
const FORK_FLAGS: u64 =
    (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::CLONE_PARENT_SETTID | libc::CLONE_PARENT) as u64;

/// `clone` as threads use it; these must all be set.
const THREAD_FLAGS: u64 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID) as u64;

/// Calls that make and connect sockets. They kill in every other jail.
pub(super) const GATEWAY_SOCKETS: [c_long; 4] =
    [libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect, libc::SYS_bind];

/// Calls of a gateway, for streams and datagrams of the Internet protocols and for pairs of Unix sockets.
fn gateway() -> Vec<Entry> {
    // The flags `SOCK_NONBLOCK` and `SOCK_CLOEXEC` are beside the type.
    let flags = (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as u64;
    let type_is = |kind: libc::c_int| int(1, Test::Masked(!flags & u64::from(u32::MAX), kind as u64));
    let of = |family: libc::c_int, kind| vec![int(0, Test::Is(family as u64)), type_is(kind)];
    let inet = [libc::AF_INET, libc::AF_INET6];
    let kinds = [libc::SOCK_STREAM, libc::SOCK_DGRAM];
    let made = inet.iter().flat_map(|&family| kinds.map(|kind| of(family, kind))).collect();
    let option =
        |level: libc::c_int, name: libc::c_int| vec![int(1, Test::Is(level as u64)), int(2, Test::Is(name as u64))];
    vec![
        (libc::SYS_socket, made),
        (libc::SYS_socketpair, vec![of(libc::AF_UNIX, libc::SOCK_STREAM)]),
        (libc::SYS_connect, Vec::new()),
        // Landlock lets no socket of TCP have a port.
        (libc::SYS_bind, Vec::new()),
        (libc::SYS_getsockname, Vec::new()),
        (libc::SYS_getpeername, Vec::new()),
        // Datagrams to name servers.
        (libc::SYS_sendto, vec![vec![only_bits(3, MESSAGE_FLAGS)]]),
        (
            libc::SYS_setsockopt,
            vec![option(libc::IPPROTO_TCP, libc::TCP_NODELAY), option(libc::SOL_SOCKET, libc::SO_REUSEADDR)],
        ),
        (libc::SYS_epoll_create1, Vec::new()),
        (libc::SYS_epoll_ctl, Vec::new()),
        (libc::SYS_epoll_pwait, Vec::new()),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_epoll_wait, Vec::new()),
        (libc::SYS_eventfd2, Vec::new()),
    ]
}

/// What a profile may call.
pub(super) fn allowed(profile: Profile) -> Vec<Entry> {
    let mut list: Vec<Entry> = PLAIN.iter().map(|&call| (call, Vec::new())).collect();
    let mut when = |call, alternatives: Vec<Alternative>| list.push((call, alternatives));

    // Private mappings only; never executable from the start, so that code must have been mapped readable first.
    let private = long(3, Test::Masked(0xf, libc::MAP_PRIVATE as u64));
    let not_code = long(2, Test::Masked(libc::PROT_EXEC as u64, 0));
    when(libc::SYS_mmap, vec![vec![private, not_code]]);
    // Readable and executable, or anything that is not executable.
    let code = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    when(libc::SYS_mprotect, vec![vec![not_code], vec![long(2, Test::Is(code))]]);
    when(libc::SYS_madvise, one_of(2, ADVICE));
    when(libc::SYS_membarrier, one_of(0, MEMBARRIER));

    let flags_at = |argument| vec![vec![only_bits(argument, MESSAGE_FLAGS)]];
    when(libc::SYS_sendmsg, flags_at(2));
    when(libc::SYS_recvmsg, flags_at(2));
    when(libc::SYS_recvfrom, flags_at(3));
    // No address: a descriptor reaches its own peer only.
    when(libc::SYS_sendto, vec![vec![only_bits(3, MESSAGE_FLAGS), long(4, Test::Is(0))]]);
    let socket = int(1, Test::Is(libc::SOL_SOCKET as u64));
    let option = |name: libc::c_int| vec![socket, int(2, Test::Is(name as u64))];
    when(libc::SYS_setsockopt, vec![option(libc::SO_RCVTIMEO), option(libc::SO_SNDTIMEO)]);
    when(libc::SYS_getsockopt, vec![option(libc::SO_ERROR), option(libc::SO_TYPE)]);
    when(
        libc::SYS_fcntl,
        one_of(1, &[libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL]),
    );
    when(
        libc::SYS_ioctl,
        one_of(
            1,
            &[
                libc::FIONBIO as libc::c_int,
                libc::FIONREAD as libc::c_int,
                libc::FIOCLEX as libc::c_int,
                libc::FIONCLEX as libc::c_int,
            ],
        ),
    );
    // Not CLOSE_RANGE_UNSHARE.
    when(libc::SYS_close_range, one_of(2, &[0, libc::CLOSE_RANGE_CLOEXEC as libc::c_int]));
    // Of a descriptor. The path beside AT_EMPTY_PATH cannot be seen from here; the empty root takes care of it.
    let empty_path = libc::AT_EMPTY_PATH as u64;
    when(libc::SYS_newfstatat, vec![vec![int(3, Test::Masked(empty_path, empty_path))]]);
    when(libc::SYS_statx, vec![vec![int(2, Test::Masked(empty_path, empty_path))]]);

    when(libc::SYS_prlimit64, one_of(0, &[0]));
    when(libc::SYS_prctl, one_of(0, PRCTL));
    let modifiers = (libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) as u64;
    let operation = |&op: &libc::c_int| {
        let mask = !modifiers & u64::from(u32::MAX);
        vec![int(1, Test::Masked(mask, op as u64))]
    };
    when(libc::SYS_futex, FUTEX.iter().map(operation).collect());
    // The programs that follow this one; `seccompiler` sets no_new_privs each time.
    let filter = int(0, Test::Is(u64::from(libc::SECCOMP_SET_MODE_FILTER)));
    when(libc::SYS_seccomp, vec![vec![filter, long(1, Test::Is(0))]]);
    when(libc::SYS_prctl, one_of(0, &[libc::PR_SET_NO_NEW_PRIVS]));

    match profile {
        Profile::Zygote => {
            let fork = Test::Masked(!FORK_FLAGS, libc::SIGCHLD as u64);
            when(libc::SYS_clone, vec![vec![long(0, fork)]]);
            when(libc::SYS_wait4, Vec::new());
            when(libc::SYS_waitid, Vec::new());
            when(libc::SYS_setitimer, Vec::new());
        }
        Profile::Compile => {
            // What `abort` needs. Not for machines: they could end each other.
            when(libc::SYS_tgkill, one_of(2, &[libc::SIGABRT]));
            // musl adds the ignored CLONE_DETACHED.
            let thread = Test::Masked(!(libc::CLONE_DETACHED as u64), THREAD_FLAGS);
            when(libc::SYS_clone, vec![vec![long(0, thread)]]);
        }
        Profile::Gateway => list.extend(gateway()),
        Profile::Native => {}
    }
    list
}

/// What the supervisor needs: to wait, to poll, to kill.
pub(super) fn supervisor() -> Vec<Entry> {
    [
        libc::SYS_ppoll,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        libc::SYS_wait4,
        libc::SYS_waitid,
        libc::SYS_kill,
        libc::SYS_getpid,
        libc::SYS_getppid,
        libc::SYS_clock_gettime,
        libc::SYS_close,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_restart_syscall,
        libc::SYS_sigaltstack,
        libc::SYS_exit_group,
        // The second of its programs.
        libc::SYS_prctl,
        libc::SYS_seccomp,
    ]
    .into_iter()
    .map(|call| (call, Vec::new()))
    .collect()
}
