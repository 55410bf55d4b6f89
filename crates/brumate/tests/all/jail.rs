//! The jail from outside: what the kernel says about the processes that run strangers' bytes.
//!
//! `brumate doctor` tries the walls from inside. A wall that this host does not have is passed over, and its name is printed;
//! what the kernel shows to root alone is passed over for others.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use brumate_engine::api::MachineSpec;
use brumate_engine::api::Session as _;
use brumate_engine::client::EngineError;

use crate::support::bombs::BOMBS;
use crate::support::processes::{compilers, descendants, parent_of};
use crate::support::sessions::{cell, sandbox, say};
use crate::support::wheels::layer;

/// A line of `/proc/PID/status`.
fn status(pid: i32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} of {pid}")).trim().to_owned()
}

/// The soft and the hard limit of a process.
fn limits(pid: i32, name: &str) -> (String, String) {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).expect("it lives");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} of {pid}"));
    let mut words = line.split_whitespace().map(str::to_owned);
    (words.next().expect("a limit"), words.next().expect("a limit"))
}

fn both(value: u64) -> (String, String) {
    (value.to_string(), value.to_string())
}

/// A descriptor of a process: where it leads, and whether it can write.
#[derive(Debug)]
struct Descriptor {
    number: i32,
    target: PathBuf,
    writes: bool,
    kind: fs::FileType,
}

fn descriptors(pid: i32) -> Vec<Descriptor> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("root may look");
    let descriptor = |path: PathBuf| {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
        let kind = fs::metadata(&path).ok()?.file_type();
        Some(Descriptor { number, target: fs::read_link(&path).ok()?, writes: flags & 3 != 0, kind })
    };
    entries.filter_map(|entry| descriptor(entry.ok()?.path())).collect()
}

/// The processes of a jail: its supervisor, which stays outside, and those within.
struct Jail {
    supervisor: i32,
    within: Vec<i32>,
}

/// The one jail that is not among the processes `before`.
fn jail(before: &BTreeSet<i32>) -> Jail {
    let own = std::process::id() as i32;
    let new: Vec<i32> = descendants().difference(before).copied().collect();
    let wardens: Vec<i32> = new.iter().copied().filter(|&pid| parent_of(pid) == Some(own)).collect();
    let &[supervisor] = &wardens[..] else { panic!("one jail: {wardens:?}") };
    let within: Vec<i32> = new.into_iter().filter(|&pid| pid != supervisor).collect();
    assert!(within.len() >= 3, "the first process, a zygote and a machine: {within:?}");
    Jail { supervisor, within }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_guests_has_no_rights_and_limits_that_it_cannot_raise() {
    let before = descendants();
    let sandbox = sandbox(0).await;
    let missing = sandbox.missing_walls().await.expect("a zygote");
    eprintln!("missing: {missing:?}");
    let has = |wall: &str| !missing.iter().any(|text| text.starts_with(wall));
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    say(&session, "x = 1").await;
    let Jail { supervisor, within } = jail(&before);
    let sets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
    for &pid in within.iter().chain([&supervisor]) {
        assert_eq!(status(pid, "NoNewPrivs"), "1", "{pid}");
        assert_eq!(status(pid, "Seccomp"), "2", "{pid}: a filter");
        for set in sets {
            assert!(status(pid, set).bytes().all(|digit| digit == b'0'), "{pid}: {set}");
        }
        assert_eq!(limits(pid, "Max core file size"), both(0));
    }
    for &pid in &within {
        assert_eq!(limits(pid, "Max file size"), both(8 << 30));
        let (soft, hard) = limits(pid, "Max open files");
        assert_eq!(soft, hard, "open files");
        assert!(hard.parse::<u64>().is_ok_and(|most| most <= 1 << 16), "{hard}");
        assert_eq!(limits(pid, "Max locked memory"), both(0));
        assert_eq!(limits(pid, "Max msgqueue size"), both(0));
        assert_eq!(limits(pid, "Max pending signals"), both(256));
        if has("ProcessLimit") {
            let (soft, hard) = limits(pid, "Max processes");
            assert_eq!(soft, hard, "processes");
            assert!(hard.parse::<u64>().is_ok(), "{hard}");
        }
        if has("OomScore") {
            assert_eq!(fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).expect("it lives").trim(), "1000");
        }
        if has("PidNamespace") {
            assert_eq!(status(pid, "NSpid").split_whitespace().count(), 2, "{pid}");
        }
    }
    // A machine's own: it is kept from honest code by the kernel, and can be lifted by a machine that was taken over.
    let machine = *within.last().expect("the newest");
    assert!(limits(machine, "Max data size").0.parse::<u64>().is_ok_and(|most| most < 4 << 30));
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let namespaces = [
        ("MountNamespace", "mnt"),
        ("PidNamespace", "pid"),
        ("NetNamespace", "net"),
        ("IpcNamespace", "ipc"),
        ("UtsNamespace", "uts"),
        ("CgroupNamespace", "cgroup"),
    ];
    for &pid in &within {
        for (wall, name) in namespaces.into_iter().filter(|(wall, _)| has(wall)) {
            let of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{name}")).expect("it lives");
            assert_ne!(of(&pid.to_string()), of("self"), "{wall}");
        }
        if has("Identity") {
            let ids: BTreeSet<String> = status(pid, "Uid").split_whitespace().map(str::to_owned).collect();
            assert!(ids.len() == 1 && !ids.contains("0"), "{ids:?}");
            assert_eq!(status(pid, "Groups"), "");
        }
        if has("EmptyRoot") {
            let root = fs::read_dir(format!("/proc/{pid}/root/"));
            assert!(root.is_err() || root.is_ok_and(|entries| entries.count() == 0), "the root of {pid} is empty");
        }
        // Nothing of the server's. Its allocator's settings are no secret, and glibc keeps them where it found them.
        let environment = fs::read(format!("/proc/{pid}/environ")).expect("it lives");
        let left = environment.split(|&byte| byte == 0).filter(|variable| !variable.is_empty());
        for variable in left {
            let of_glibc = variable.starts_with(b"GLIBC_TUNABLES=") || variable.starts_with(b"glibc.malloc.");
            assert!(of_glibc, "{}", String::from_utf8_lossy(variable));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_hold_what_was_given_to_them_and_nothing_to_write_to_but_their_wills() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let before = descendants();
    let sandbox = sandbox(0).await;
    let layers = vec![layer(here, "held", "1.0", &[("held.py", b"x = 7\n")], "")];
    let session = sandbox.session(MachineSpec { layers, ..MachineSpec::default() }).await.expect("a session");
    let file = here.join("session");
    session.enable_crash_recovery(&file).await.expect("a will");
    say(&session, "import held").await;
    let Jail { supervisor, within } = jail(&before);
    for pid in std::iter::once(supervisor).chain(within.iter().copied()) {
        assert_eq!(fs::read_link(format!("/proc/{pid}/exe")).ok(), program(), "nothing else is run");
    }
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let machine = *within.last().expect("the newest");
    let held = descriptors(machine);
    let wills: BTreeSet<PathBuf> = ["will-0", "will-1"].map(|ending| file.with_extension(ending)).into_iter().collect();
    let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
    for descriptor in &held {
        let Descriptor { number, target, writes, kind } = descriptor;
        if *number < 3 {
            assert_eq!(target, Path::new("/dev/null"), "{descriptor:?}");
        } else if kind.is_file() && is_on_disk(target) {
            if *writes {
                written.insert(target.clone())
            } else {
                read.insert(target.clone())
            };
        } else {
            assert!(kind.is_socket() || !kind.is_dir() && !kind.is_block_device(), "{descriptor:?}");
        }
    }
    // A machine, or the checkpoint beside it, writes one of the two; neither the header nor anything else.
    for pid in &within {
        let writes = descriptors(*pid).into_iter().filter(|one| one.writes && one.kind.is_file());
        written.extend(writes.map(|one| one.target).filter(|target| is_on_disk(target)));
    }
    assert_eq!(written, wills, "{held:?}");
    let maps = fs::read_to_string(format!("/proc/{machine}/maps")).expect("it lives");
    let wheel: Vec<&str> = maps.lines().filter(|line| line.contains("held-1.0-py3-none-any.whl")).collect();
    assert!(!wheel.is_empty() && wheel.iter().all(|line| line.contains(" r--")), "{wheel:?}");
    assert!(!read.contains(&file.with_extension("will")), "{read:?}");
    let others = read.iter().filter(|path| !path.starts_with(here));
    for path in others {
        let allowed = path.starts_with("/proc") || path.extension().is_some_and(|end| end == "cwasm" || end == "image");
        assert!(allowed, "{path:?}");
    }
}

/// Whether a descriptor's target is a file on disk, and not one in memory.
fn is_on_disk(target: &Path) -> bool {
    !target.to_string_lossy().starts_with("/memfd:")
}

fn program() -> Option<PathBuf> {
    fs::canonicalize(env!("CARGO_BIN_EXE_brumate")).ok()
}

/// The compilers that this process itself has started.
fn own_compilers() -> BTreeSet<i32> {
    let own = std::process::id() as i32;
    compilers().into_iter().filter(|&pid| parent_of(pid) == Some(own)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_compiled_a_wheels_module_is_used_for_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(0).await;
    sandbox.session(MachineSpec::default()).await.expect("a session");
    // Those that have seen nothing but the bundle may stay.
    let bundles = own_compilers();
    let moment = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_nanos();
    // Modules that take a while, so that each process is seen; none of them is in the cache.
    let bomb = BOMBS.iter().find(|bomb| bomb.name == "locals in loops").expect("this bomb");
    let slow = (bomb.make)(bomb.largest / 2);
    let files: Vec<(String, Vec<u8>)> = (0..4)
        .map(|number| {
            let name = format!("{moment}_{number}");
            let length = u8::try_from(name.len()).expect("a short name");
            let bytes = [&slow[..], &[0, length + 1, length], name.as_bytes()].concat();
            (format!("made/_m{number}.cpython-314-wasm32-emscripten.so"), bytes)
        })
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (&path[..], &bytes[..])).collect();
    let made = vec![layer(directory.path(), "made", "1.0", &files, "")];
    let (mut seen, preparing) = (BTreeSet::new(), sandbox.compile_layers(&made));
    tokio::pin!(preparing);
    loop {
        tokio::select! {
            done = &mut preparing => break done.expect("a wheel"),
            () = tokio::time::sleep(std::time::Duration::from_millis(1)) => seen.extend(own_compilers()),
        }
    }
    let seen: BTreeSet<i32> = seen.difference(&bundles).copied().collect();
    assert!(seen.len() >= 4, "one for each of the four modules: {seen:?}");
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    while own_compilers().intersection(&seen).next().is_some() {
        assert!(tokio::time::Instant::now() < deadline, "some are left: {seen:?}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// A hibernated session whose payload was changed, with a trailer that fits.
fn forged(whole: &[u8], change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let header = 4 + u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
    let end = bytes.len() - 32;
    let (front, trailer) = bytes.split_at_mut(end);
    change(&mut front[header..]);
    trailer[24..28].copy_from_slice(&crc32fast::hash(&front[header..]).to_le_bytes());
    let check = crc32fast::hash(&trailer[..28]);
    trailer[28..].copy_from_slice(&check.to_le_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_session_with_a_right_checksum_harms_its_own_machine_only() {
    let sandbox = sandbox(0).await;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("session");
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    say(&session, "x = 1").await;
    session.write_to(&file).await.expect("it sleeps");
    let whole = fs::read(&file).expect("what was written");
    assert_eq!(forged(&whole, |_| ()), whole, "the trailer is where this test thinks");
    let (mut refused, mut ended) = (0, 0);
    for round in 0..brumate_test_support::count(24, 500) {
        let bytes = forged(&whole, |payload| match round % 3 {
            0 => payload.fill(0xff),
            1 => payload[..64].iter_mut().for_each(|byte| *byte = random_byte(&mut random_of(round))),
            _ => {
                let mut random = random_of(round);
                for _ in 0..1 + random.below(8) {
                    let at = random.index(payload.len());
                    payload[at] = random_byte(&mut random);
                }
            }
        });
        fs::write(&file, &bytes).expect("written");
        match sandbox.resume_session(&file, MachineSpec::default()).await {
            // What a machine has read of it; the server itself would say that it is damaged.
            Err(error) => {
                assert!(!error.to_string().contains("the sleeping session is damaged"), "{error}");
                refused += 1;
            }
            Ok((resumed, _)) => {
                let (outcome, _) = cell(&resumed, "x").await;
                ended += usize::from(matches!(
                    outcome,
                    Err(EngineError::MachineExited { .. } | EngineError::RolledBack { .. })
                ));
            }
        }
        assert_eq!(say(&session, "print(x)").await, "1\n", "its neighbour lives");
    }
    eprintln!("{refused} refused, {ended} ended");
    assert!(refused > 0);
}

fn random_of(round: u64) -> brumate_test_support::Random {
    brumate_test_support::Random::part(brumate_test_support::seed(), round)
}

fn random_byte(random: &mut brumate_test_support::Random) -> u8 {
    random.below(256) as u8
}
