//! Calls of native programs: threads, processes, files and local sockets, and no more. Data only.

use libc::c_long;

use super::calls::{self, Entry, Test, int, long, one_of};
use super::forbidden::PATHS;

/// Calls with any arguments, beside those of all profiles and those that take a path.
const PLAIN: &[c_long] = &[
    // Descriptors.
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_close_range,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_flock,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_signalfd4,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_pselect6,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    // Files.
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_fchdir,
    libc::SYS_renameat,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_sync_file_range,
    libc::SYS_umask,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    // Memory.
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_membarrier,
    libc::SYS_get_mempolicy,
    // Time and randomness.
    libc::SYS_times,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    // Signals.
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    // Processes and threads.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_futex,
    libc::SYS_get_robust_list,
    libc::SYS_getpgid,
    libc::SYS_setpgid,
    libc::SYS_getsid,
    libc::SYS_setsid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_prlimit64,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_getpriority,
    libc::SYS_setpriority,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getcpu,
    // Sockets that were made.
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_create,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_eventfd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getpgrp,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_alarm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
];

/// Flags of `clone` that make a namespace.
const NEW_NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Operations of `prctl` that native programs have in addition to [`calls::PRCTL`]. They concern the process alone.
const PRCTL: &[libc::c_int] = &[
    libc::PR_SET_NO_NEW_PRIVS,
    libc::PR_SET_DUMPABLE,
    libc::PR_SET_CHILD_SUBREAPER,
    libc::PR_GET_CHILD_SUBREAPER,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
    libc::PR_SET_THP_DISABLE,
    libc::PR_GET_THP_DISABLE,
];

/// The bits of a socket's type beside its flags.
const TYPE_BITS: u64 = 0xf;

/// Calls that native programs may make. Memory outside of processes and files is not to be had: `memfd_create`, System V shared
/// memory and message queues are missing, since no limit counts them.
pub(super) fn allowed(network: bool) -> Vec<Entry> {
    let mut list: Vec<Entry> = calls::PLAIN.iter().chain(PATHS).chain(PLAIN).map(|&call| (call, Vec::new())).collect();
    list.push((libc::SYS_clone, vec![vec![long(0, Test::Masked(NEW_NAMESPACES, 0))]]));
    list.push((libc::SYS_prctl, one_of(0, &[calls::PRCTL, PRCTL].concat())));
    // The programs that follow this one. The last one denies further programs.
    let filter = int(0, Test::Is(u64::from(libc::SECCOMP_SET_MODE_FILTER)));
    list.push((libc::SYS_seccomp, vec![vec![filter]]));
    let of_type = |family: libc::c_int, kind: libc::c_int| {
        vec![int(0, Test::Is(family as u64)), int(1, Test::Masked(TYPE_BITS, kind as u64))]
    };
    let mut sockets = vec![
        of_type(libc::AF_UNIX, libc::SOCK_STREAM),
        of_type(libc::AF_UNIX, libc::SOCK_DGRAM),
        of_type(libc::AF_UNIX, libc::SOCK_SEQPACKET),
    ];
    list.push((libc::SYS_socketpair, sockets.clone()));
    if network {
        for family in [libc::AF_INET, libc::AF_INET6] {
            sockets.extend([of_type(family, libc::SOCK_STREAM), of_type(family, libc::SOCK_DGRAM)]);
        }
        // Libraries list the interfaces before they bind a socket: libzmq ends the process if it cannot.
        let route = int(2, Test::Is(libc::NETLINK_ROUTE as u64));
        sockets.push([of_type(libc::AF_NETLINK, libc::SOCK_RAW), vec![route]].concat());
    }
    list.push((libc::SYS_socket, sockets));
    list
}

/// Calls whose refusal has a name (`EPERM`), so that programs say so: rights, namespaces, mounts, other processes' memory; and
/// characters typed into a terminal.
pub(super) fn denied() -> Vec<Entry> {
    let mut list: Vec<Entry> = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_mknodat,
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
        libc::SYS_setgroups,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_keyctl,
        libc::SYS_sethostname,
        libc::SYS_clock_settime,
        libc::SYS_settimeofday,
        libc::SYS_reboot,
        libc::SYS_open_by_handle_at,
        libc::SYS_seccomp,
    ]
    .into_iter()
    .map(|call| (call, Vec::new()))
    .collect();
    let commands = [libc::TIOCSTI as libc::c_int, libc::TIOCLINUX as libc::c_int];
    list.push((libc::SYS_ioctl, one_of(1, &commands)));
    list
}
