//! The compiled programs, run by a small interpreter of the classic BPF they are made of.

use super::*;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;

fn errno(number: i32) -> u32 {
    0x0005_0000 | number as u32
}

/// `AUDIT_ARCH_*` of this architecture, and of its 32-bit sibling.
#[cfg(target_arch = "x86_64")]
const ARCHES: (u32, u32) = (0xc000_003e, 0x4000_0003);
#[cfg(target_arch = "aarch64")]
const ARCHES: (u32, u32) = (0xc000_00b7, 0x4000_0028);

/// `struct seccomp_data`: number, architecture, instruction pointer, arguments.
fn data(number: i64, arch: u32, args: [u64; 6]) -> [u8; 64] {
    let mut data = [0; 64];
    data[0..4].copy_from_slice(&(number as u32).to_ne_bytes());
    data[4..8].copy_from_slice(&arch.to_ne_bytes());
    for (index, arg) in args.iter().enumerate() {
        data[16 + index * 8..24 + index * 8].copy_from_slice(&arg.to_ne_bytes());
    }
    data
}

fn interpret(program: &BpfProgram, data: &[u8; 64]) -> u32 {
    let mut accumulator = 0_u32;
    let mut at = 0;
    loop {
        let instruction = &program[at];
        let k = instruction.k;
        let jump = |taken: bool| usize::from(if taken { instruction.jt } else { instruction.jf });
        at += 1;
        match instruction.code {
            0x20 => {
                let offset = k as usize;
                let word = data[offset..offset + 4].try_into().expect("a word");
                accumulator = u32::from_ne_bytes(word);
            }
            0x54 => accumulator &= k,
            0x05 => at += k as usize,
            0x15 => at += jump(accumulator == k),
            0x25 => at += jump(accumulator > k),
            0x35 => at += jump(accumulator >= k),
            0x06 => return k,
            code => panic!("instruction {code:#x}"),
        }
    }
}

/// What the kernel would do: every program is asked, the newest first, and the severest answer counts.
fn verdict_on(programs: &[BpfProgram], number: i64, arch: u32, args: [u64; 6]) -> u32 {
    let data = data(number, arch, args);
    let action = |answer: u32| (answer & 0xffff_0000) as i32;
    programs
        .iter()
        .rev()
        .map(|program| interpret(program, &data))
        .fold(ALLOW, |worst, answer| if action(answer) < action(worst) { answer } else { worst })
}

fn verdict(profile: Profile, number: i64, args: [u64; 6]) -> u32 {
    let programs = programs(profile).expect("programs");
    verdict_on(&programs, number, ARCHES.0, args)
}

const PROFILES: [Profile; 3] = [Profile::Zygote, Profile::Compile, Profile::Gateway];

#[test]
fn every_number_has_the_verdict_of_its_list() {
    for profile in PROFILES {
        let programs = programs(profile).expect("programs");
        let allowed = calls::allowed(profile);
        let denied = forbidden::denied();
        for number in 0..1024 {
            let verdict = verdict_on(&programs, number, ARCHES.0, [0; 6]);
            let plain = allowed.iter().any(|(call, when)| *call == number && when.is_empty());
            let polite = denied.iter().any(|(call, when)| *call == number && when.is_empty());
            let conditional = allowed.iter().any(|(call, _)| *call == number) && !plain;
            let own = profile == Profile::Gateway && calls::GATEWAY_SOCKETS.contains(&number);
            let deadly = !own && FORBIDDEN.iter().any(|(_, call)| *call == number);
            // No call is on two lists, but for the one that installs the lists.
            let lists = [plain || conditional, polite, deadly];
            let many = lists.iter().filter(|&&listed| listed).count() > 1;
            assert_eq!(many, number == libc::SYS_seccomp, "{number}");
            let expected = match () {
                () if deadly => KILL,
                () if plain => ALLOW,
                () if polite => errno(libc::EACCES),
                () if conditional => continue,
                () => errno(libc::ENOSYS),
            };
            assert_eq!(verdict, expected, "{profile:?}, call {number}");
        }
    }
}

#[test]
fn other_architectures_die() {
    for profile in PROFILES {
        let programs = programs(profile).expect("programs");
        for number in [0, 1, 20, 39, 60, 102, 359, 500] {
            for arch in [ARCHES.1, 0, u32::MAX] {
                assert_eq!(verdict_on(&programs, number, arch, [0; 6]), KILL);
            }
            let x32 = number | i64::from(X32_BIT);
            assert_eq!(verdict_on(&programs, x32, ARCHES.0, [0; 6]), KILL);
        }
        assert_eq!(verdict_on(&programs, -1, ARCHES.0, [0; 6]), KILL);
    }
}

#[test]
fn clone_forks_or_threads_and_nothing_else() {
    let fork = (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD) as u64;
    // glibc's and musl's flags for a thread.
    let threads = [0x3d_0f00_u64, 0x7d_0f00];
    let call = |profile, flags| verdict(profile, libc::SYS_clone, [flags, 0, 0, 0, 0, 0]);
    for (profile, good, bad) in [
        (Profile::Zygote, vec![fork, libc::SIGCHLD as u64], threads.to_vec()),
        (Profile::Compile, threads.to_vec(), vec![fork, 0]),
    ] {
        for flags in good {
            assert_eq!(call(profile, flags), ALLOW, "{profile:?} {flags:#x}");
            for bit in [
                libc::CLONE_NEWUSER,
                libc::CLONE_NEWNS,
                libc::CLONE_NEWPID,
                libc::CLONE_NEWNET,
                libc::CLONE_NEWIPC,
                libc::CLONE_NEWUTS,
                libc::CLONE_NEWCGROUP,
                libc::CLONE_PTRACE,
                libc::CLONE_VFORK,
                libc::CLONE_PIDFD,
            ] {
                assert_ne!(call(profile, flags | u64::from(bit as u32)), ALLOW, "{bit:#x}");
            }
            // Machines fork siblings, compilers nothing.
            let sibling = call(profile, flags | libc::CLONE_PARENT as u64);
            assert_eq!(sibling == ALLOW, profile == Profile::Zygote);
            // The upper half counts, too.
            assert_ne!(call(profile, flags | 1 << 33), ALLOW);
        }
        for flags in bad {
            assert_ne!(call(profile, flags), ALLOW, "{profile:?} {flags:#x}");
        }
    }
}

#[test]
fn memory_is_private_and_never_writable_code() {
    let private = libc::MAP_PRIVATE as u64;
    let fixed = private | (libc::MAP_FIXED | libc::MAP_NORESERVE) as u64;
    let shared = libc::MAP_SHARED as u64;
    let validated = libc::MAP_SHARED_VALIDATE as u64;
    let (refused, absent) = (errno(libc::EACCES), errno(libc::ENOSYS));
    for (prot, flags, expected) in [
        (0, private, ALLOW),
        (3, private, ALLOW),
        (1, fixed, ALLOW),
        (5, private, refused),
        (7, private, refused),
        (4, fixed, refused),
        (3, shared, refused),
        (3, validated, refused),
        (3, 0, absent),
    ] {
        let args = [0, 4096, prot, flags, 0, 0];
        let found = verdict(Profile::Zygote, libc::SYS_mmap, args);
        assert_eq!(found, expected, "prot {prot}, flags {flags:#x}");
    }
    for (prot, expected) in [(0, ALLOW), (1, ALLOW), (3, ALLOW), (5, ALLOW), (6, refused), (7, refused), (4, absent)] {
        let found = verdict(Profile::Zygote, libc::SYS_mprotect, [0, 4096, prot, 0, 0, 0]);
        assert_eq!(found, expected, "prot {prot}");
    }
}

/// Each conditional call with arguments that pass and arguments that do not.
#[test]
fn arguments_decide() {
    let at = |index: usize, value: i64| {
        let mut args = [0; 6];
        args[index] = value as u64;
        args
    };
    let futex = i64::from(libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let peek = i64::from(libc::MSG_PEEK);
    let cloexec = i64::from(libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    let oob = i64::from(libc::MSG_OOB);
    let timeout = {
        let mut args = at(1, i64::from(libc::SOL_SOCKET));
        args[2] = libc::SO_RCVTIMEO as u64;
        args
    };
    let cases = [
        (libc::SYS_futex, at(1, futex), at(1, i64::from(libc::FUTEX_LOCK_PI))),
        (libc::SYS_futex, at(1, 1), at(1, i64::from(libc::FUTEX_WAIT_REQUEUE_PI))),
        (libc::SYS_sendmsg, at(2, cloexec), at(2, oob)),
        (libc::SYS_recvmsg, at(2, cloexec), at(2, peek)),
        (libc::SYS_recvfrom, at(3, cloexec), at(3, cloexec | peek)),
        (libc::SYS_sendto, at(3, cloexec), at(4, 1 << 40)),
        (libc::SYS_setsockopt, timeout, at(1, i64::from(libc::SOL_SOCKET))),
        (libc::SYS_fcntl, at(1, i64::from(libc::F_DUPFD_CLOEXEC)), at(1, i64::from(libc::F_SETOWN))),
        (libc::SYS_ioctl, at(1, libc::FIONBIO as i64), at(1, libc::TIOCSTI as i64)),
        (libc::SYS_prlimit64, at(1, 7), at(0, 1)),
        (libc::SYS_prctl, at(0, i64::from(libc::PR_SET_NAME)), at(0, i64::from(libc::PR_SET_MM))),
        (libc::SYS_prctl, at(0, i64::from(libc::PR_SET_VMA)), at(0, i64::from(libc::PR_SET_SECCOMP))),
        (libc::SYS_madvise, at(2, i64::from(libc::MADV_DONTNEED)), at(2, i64::from(libc::MADV_HWPOISON))),
        (libc::SYS_membarrier, at(0, 1 << 5), at(0, 1)),
        (libc::SYS_close_range, at(2, 4), at(2, 2)),
        (libc::SYS_statx, at(2, i64::from(libc::AT_EMPTY_PATH)), at(2, 0)),
    ];
    for profile in [Profile::Zygote, Profile::Compile] {
        for (call, good, bad) in cases {
            assert_eq!(verdict(profile, call, good), ALLOW, "call {call} {good:?}");
            assert_eq!(verdict(profile, call, bad), errno(libc::ENOSYS), "call {call} {bad:?}");
        }
    }
}

#[test]
fn a_gateway_connects_and_nothing_else() {
    let socket = |family: libc::c_int, kind: libc::c_int| {
        verdict(Profile::Gateway, libc::SYS_socket, [family as u64, kind as u64, 0, 0, 0, 0])
    };
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC]
        {
            assert_eq!(socket(family, kind), ALLOW, "{family} {kind}");
        }
        assert_eq!(socket(family, libc::SOCK_RAW), errno(libc::ENOSYS));
    }
    for family in [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG] {
        assert_eq!(socket(family, libc::SOCK_STREAM), errno(libc::ENOSYS), "{family}");
    }
    for call in [libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4, libc::SYS_execve, libc::SYS_ptrace] {
        assert_eq!(verdict(Profile::Gateway, call, [0; 6]), KILL, "{call}");
    }
    for call in [libc::SYS_openat, libc::SYS_statfs, libc::SYS_unlinkat] {
        assert_eq!(verdict(Profile::Gateway, call, [0; 6]), errno(libc::EACCES), "{call}");
    }
    for call in [libc::SYS_clone, libc::SYS_wait4, libc::SYS_memfd_create] {
        assert_eq!(verdict(Profile::Gateway, call, [0; 6]), errno(libc::ENOSYS), "{call}");
    }
    // Machines and compilers die when they try.
    for profile in [Profile::Zygote, Profile::Compile] {
        for call in calls::GATEWAY_SOCKETS {
            assert_eq!(verdict(profile, call, [0; 6]), KILL, "{profile:?} {call}");
        }
    }
}

#[test]
fn nobody_signals_anybody() {
    let signal = |profile, signal: libc::c_int| {
        let args = [1, 1, signal as u64, 0, 0, 0];
        verdict(profile, libc::SYS_tgkill, args)
    };
    assert_eq!(signal(Profile::Zygote, libc::SIGABRT), errno(libc::ENOSYS));
    assert_eq!(signal(Profile::Zygote, libc::SIGKILL), errno(libc::ENOSYS));
    // Alone in its jail.
    assert_eq!(signal(Profile::Compile, libc::SIGABRT), ALLOW);
    assert_eq!(signal(Profile::Compile, libc::SIGKILL), errno(libc::ENOSYS));
}

#[test]
fn native_programs_may_not_leave() {
    for network in [false, true] {
        let programs = native_programs(network).expect("programs");
        let ask = |number, args: [u64; 6]| verdict_on(&programs, number, ARCHES.0, args);
        let call = |number, first: u64, second: u64| ask(number, [first, second, 0, 0, 0, 0]);
        for number in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_kill, libc::SYS_mmap] {
            assert_eq!(call(number, 0, 0), ALLOW, "{number}");
        }
        let refused = [
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_mount,
            libc::SYS_ptrace,
            libc::SYS_process_vm_writev,
            libc::SYS_pidfd_getfd,
            libc::SYS_setresuid,
            libc::SYS_bpf,
            libc::SYS_seccomp,
        ];
        for number in refused {
            assert_eq!(call(number, 1, 0), errno(libc::EPERM), "{number}");
        }
        let missing =
            [libc::SYS_io_uring_setup, libc::SYS_memfd_create, libc::SYS_shmget, libc::SYS_clone3, libc::SYS_splice];
        for number in missing {
            assert_eq!(call(number, 0, 0), errno(libc::ENOSYS), "{number}");
        }
        assert_eq!(call(libc::SYS_clone, libc::SIGCHLD as u64, 0), ALLOW);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID] {
            assert_eq!(call(libc::SYS_clone, (libc::SIGCHLD | flag) as u64, 0), errno(libc::ENOSYS), "{flag:#x}");
        }
        let internet = if network { ALLOW } else { errno(libc::ENOSYS) };
        for (family, kind, expected) in [
            (libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, ALLOW),
            (libc::AF_INET, libc::SOCK_STREAM, internet),
            (libc::AF_INET6, libc::SOCK_DGRAM, internet),
            (libc::AF_INET, libc::SOCK_RAW, errno(libc::ENOSYS)),
            (libc::AF_NETLINK, libc::SOCK_RAW, internet),
            (libc::AF_PACKET, libc::SOCK_RAW, errno(libc::ENOSYS)),
            (libc::AF_VSOCK, libc::SOCK_STREAM, errno(libc::ENOSYS)),
            (libc::AF_ALG, libc::SOCK_SEQPACKET, errno(libc::ENOSYS)),
        ] {
            assert_eq!(call(libc::SYS_socket, family as u64, kind as u64), expected, "{family} {kind}");
        }
        assert_eq!(call(libc::SYS_ioctl, 0, libc::TIOCSTI), errno(libc::EPERM));
        assert_eq!(verdict_on(&programs, 0, ARCHES.1, [0; 6]), KILL);
        assert_eq!(verdict_on(&programs, i64::from(X32_BIT), ARCHES.0, [0; 6]), KILL);
    }
}
