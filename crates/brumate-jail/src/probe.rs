//! Trying every wall from inside.
//!
//! For `doctor` and for tests: each probe does what an escaped guest would do, and passes when it is refused. Two
//! kinds. [`run`] is called in the finished jail and meets the outermost wall, mostly the filter. What lies behind
//! the filter is tried while the jail is being built ([`super::JailConfig::self_check`]), each wall before the next
//! one hides it; the results are in [`Report::checks`].

use std::io;

use rustix::process::{Resource, Rlimit};
use rustix::thread::SecureComputingMode;

use super::sys::{self, Side, SingleThreaded};
use super::{ProbeResult, Profile, Report, Wall, WallState};

mod attempts;
pub(super) mod stages;

/// Runs every probe that fits the profile. Creates and reaps child processes under [`Profile::Zygote`]; under
/// [`Profile::Compile`], which cannot fork, deadly calls are left to [`commit`].
///
/// `report` is what [`super::enter`] returned; probes of walls that are missing are run all the same and tell the
/// truth. `server` is the server's process id as seen from outside.
pub fn run(report: &Report, server: Option<i32>) -> Vec<ProbeResult> {
    let mut results: Vec<ProbeResult> = report.checks.clone();
    results.extend(report.walls.iter().map(wall_stands));
    results.extend(attempts::polite(server));
    results.extend(state(report));
    results.push(no_higher_limits());
    if report.profile == Profile::Zygote {
        results.extend(forbidden_names().map(dies));
    }
    results
}

/// The calls that kill, by name.
pub fn forbidden_names() -> impl Iterator<Item = &'static str> {
    attempts::forbidden().iter().map(|(name, _)| *name)
}

/// Makes the forbidden call `name` with nonsense arguments. Returns only if the filter let it through (with the
/// kernel's answer), or if there is no such name.
pub fn commit(name: &str) -> io::Result<i64> {
    let (_, call) = attempts::forbidden().iter().find(|(known, _)| *known == name).ok_or(io::ErrorKind::NotFound)?;
    attempts::nonsense(*call)
}

fn result(name: impl Into<String>, wall: Wall, passed: bool, detail: String) -> ProbeResult {
    ProbeResult { name: name.into(), wall, passed, detail }
}

fn wall_stands(entry: &super::WallReport) -> ProbeResult {
    let (passed, detail) = match &entry.state {
        WallState::Active => (true, entry.detail.clone()),
        WallState::Missing { reason } => (false, reason.clone()),
    };
    result("wall stands", entry.wall, passed, detail)
}

/// Makes a forbidden call in a copy of this process, which must not survive it.
fn dies(name: &'static str) -> ProbeResult {
    // The zygote's filter refuses threads, so a copy is consistent; where the filter is missing the probe fails anyway.
    let alone = SingleThreaded::inside_jail();
    let child = match sys::fork(&alone) {
        Ok(Side::Parent(child)) => child,
        Ok(Side::Child) => {
            let _ = commit(name);
            sys::exit_now(0)
        }
        Err(error) => return result(name, Wall::Seccomp, false, format!("fork: {error}")),
    };
    let ended = loop {
        match rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other,
        }
    };
    let (passed, detail) = match ended {
        Ok(Some((_, status))) if status.terminating_signal() == Some(libc::SIGSYS) => {
            (true, "killed by SIGSYS".to_owned())
        }
        Ok(Some((_, status))) => (false, format!("survived: {status:?}")),
        Ok(None) => (false, "not waited for".to_owned()),
        Err(errno) => (false, format!("wait: {errno}")),
    };
    result(name, Wall::Seccomp, passed, detail)
}

/// What can be read about this process.
fn state(report: &Report) -> Vec<ProbeResult> {
    let mut results = Vec::new();
    let mut check = |name: &str, wall, passed, detail: String| {
        results.push(result(name, wall, passed, detail));
    };
    let sets = rustix::thread::capabilities(None);
    let none = matches!(&sets, Ok(sets)
        if (sets.effective | sets.permitted | sets.inheritable).is_empty());
    check("no capabilities", Wall::Capabilities, none, format!("{sets:?}"));
    let privs = rustix::thread::no_new_privs();
    check("no_new_privs is set", Wall::NoNewPrivs, privs == Ok(true), format!("{privs:?}"));
    let mode = rustix::thread::secure_computing_mode();
    let filtered = mode == Ok(SecureComputingMode::Filter);
    check("seccomp filters", Wall::Seccomp, filtered, format!("{mode:?}"));
    let dumpable = rustix::process::dumpable_behavior();
    let closed = dumpable == Ok(rustix::process::DumpableBehavior::NotDumpable);
    check("not dumpable", Wall::NotDumpable, closed, format!("{dumpable:?}"));
    let variables = std::env::vars_os().count();
    check("no environment", Wall::Environment, variables == 0, format!("{variables} variables"));

    let highest = rustix::process::getrlimit(Resource::Nofile).maximum;
    let highest = highest.unwrap_or(1 << 16).min(1 << 16) as i32;
    let open: Vec<i32> = (0..highest).filter(|&fd| sys::is_open(fd)).collect();
    check(
        "only the expected descriptors",
        Wall::Descriptors,
        open == report.descriptors,
        format!("open {open:?}, expected {:?}", report.descriptors),
    );
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    check(
        "no process outside is visible",
        Wall::PidNamespace,
        // The first process has no parent here; all others descend from it.
        rustix::process::getpid().is_init() && parent == 0 || parent == 1,
        format!("parent {parent}"),
    );
    let core = rustix::process::getrlimit(Resource::Core);
    check("no core dumps", Wall::Rlimits, core.maximum == Some(0), format!("{core:?}"));
    results
}

/// No hard limit can be raised. Tried on each that the jail sets.
fn no_higher_limits() -> ProbeResult {
    let resources = [
        Resource::Core,
        Resource::Memlock,
        Resource::Msgqueue,
        Resource::Nice,
        Resource::Rtprio,
        Resource::Nofile,
        Resource::Fsize,
        Resource::Sigpending,
    ];
    let raised = resources.into_iter().find(|&resource| {
        let hard = rustix::process::getrlimit(resource).maximum;
        let higher = Rlimit { current: hard, maximum: hard.map(|hard| hard.saturating_add(1)) };
        // An unlimited one cannot be raised, but should not be there.
        hard.is_none() || rustix::process::setrlimit(resource, higher).is_ok()
    });
    let detail = format!("raised or unlimited: {raised:?}");
    result("no limit can be raised", Wall::Rlimits, raised.is_none(), detail)
}
