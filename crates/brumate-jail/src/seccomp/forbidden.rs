//! Calls by name: refused politely, or deadly.

use libc::c_long;

use super::calls::{Entry, Test, long};

/// Calls that take a path, refused with `EACCES`: libraries look for `/etc/localtime`, control groups, `/proc/self` and
/// the like on their own account.
pub(super) const PATHS: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_statfs,
    libc::SYS_truncate,
    libc::SYS_chdir,
    libc::SYS_getcwd,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_getxattr,
    libc::SYS_setxattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
];

macro_rules! named {
    ($($(#[$when:meta])* $call:ident),* $(,)?) => {
        &[$($(#[$when])* (stringify!($call), libc::$call)),*]
    };
}

/// Calls that kill: no library makes them in a process like this, so the process is under the control of an attacker.
/// With their names, for probes and `doctor`.
pub(in super::super) const FORBIDDEN: &[(&str, c_long)] = named![
    // New programs.
    SYS_execve,
    SYS_execveat,
    // Sockets of any family.
    SYS_socket,
    SYS_socketpair,
    SYS_bind,
    SYS_connect,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    // Other processes' memory and descriptors.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_kcmp,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    // Namespaces, mounts, roots.
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    // Who it is.
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
    SYS_setsid,
    SYS_setpgid,
    // Further filters: a foreign compiler in the kernel.
    SYS_seccomp,
    // Large parts of the kernel that have been holes.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_setup,
    SYS_io_submit,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_fanotify_init,
    SYS_inotify_init1,
    SYS_memfd_secret,
    SYS_splice,
    SYS_vmsplice,
    SYS_tee,
    SYS_remap_file_pages,
    SYS_mbind,
    SYS_set_mempolicy,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_semget,
    SYS_semtimedop,
    SYS_mq_open,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_mknodat,
    SYS_personality,
    // The machine.
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    SYS_vfork,
];

/// Refused with `EACCES`: what libraries try and can do without. (Most are outside the allow-list anyway; this gives
/// the refusal its name.)
pub(super) fn denied() -> Vec<Entry> {
    let mut list: Vec<Entry> = PATHS.iter().map(|&call| (call, Vec::new())).collect();
    list.push((libc::SYS_kill, Vec::new()));
    list.push((libc::SYS_tkill, Vec::new()));
    let code = long(2, Test::Masked(libc::PROT_EXEC as u64, libc::PROT_EXEC as u64));
    let shared = long(3, Test::Masked(0x1, libc::MAP_SHARED as u64));
    list.push((libc::SYS_mmap, vec![vec![code], vec![shared]]));
    let writable_code = (libc::PROT_WRITE | libc::PROT_EXEC) as u64;
    list.push((libc::SYS_mprotect, vec![vec![long(2, Test::Masked(writable_code, writable_code))]]));
    list
}
