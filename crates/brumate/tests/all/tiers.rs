//! Modules that a run waits for are compiled to baseline code at first, and optimized afterwards.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use brumate_engine::api::{Image, MachineSpec};
use brumate_engine::bundle::INTERPRETER_KEY;
use brumate_engine::client::{Sandbox, SandboxConfig, StartMode, Tiers};
use brumate_test_support::cache_directory;
use rustix::fs::{FlockOperation, flock};

use crate::support::caches::files;
use crate::support::processes::zygotes;
use crate::support::sessions::{config, sandbox, say};

/// What bounds a failing test; no measurement.
const PATIENCE: Duration = Duration::from_secs(120);

/// A cell that uses a module in C.
const CELL: &str = "import markupsafe\nprint(markupsafe.escape('<'), markupsafe._escape_inner.__module__)";
const PRINTED: &str = "&lt; markupsafe._speedups\n";

/// Makes a cache that has compiled code of the interpreter, and nothing else.
fn cache_of_interpreter(root: &Path) -> PathBuf {
    let key = INTERPRETER_KEY.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let is_interpreter = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&key));
    let all = files(&cache_directory(), "cwasm", |_| true);
    let interpreter = all.iter().find(|path| is_interpreter(path)).expect("the shared cache has it");
    let modules = root.join(interpreter.parent().unwrap().strip_prefix(cache_directory()).expect("below it"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&modules).expect("a new directory");
    std::fs::copy(interpreter, modules.join(interpreter.file_name().unwrap())).expect("a copy");
    modules
}

fn names(modules: &Path) -> BTreeSet<PathBuf> {
    files(modules, "cwasm", |_| true).into_iter().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn baseline_code_is_replaced_by_optimized_code() {
    // Has the interpreter compiled, if nobody has done so before.
    drop(sandbox(0).await);
    let root = tempfile::tempdir().expect("a directory");
    let modules = cache_of_interpreter(root.path());
    let cache_dir = root.path().to_owned();
    let server =
        Sandbox::start(SandboxConfig { cache_dir, tiers: Tiers::Background, ..config(1) }).await.expect("a sandbox");

    // What is compiled ahead waits for this lock, the driver's own modules too; what a machine asks for does not.
    let lock = std::fs::File::open(modules.join("lock")).expect("it was made for the interpreter");
    flock(&lock, FlockOperation::LockExclusive).expect("locked");
    let before = names(&modules);
    let image = Image::of(["markupsafe"]);
    server.build_image(&image).await.expect("an image");
    let spec = || MachineSpec { image: image.clone(), ..MachineSpec::default() };
    let session = server.session(spec()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    let with_baseline = names(&modules);
    let baseline: Vec<_> = with_baseline.difference(&before).collect();
    assert_eq!(baseline.len(), 1, "{baseline:?}");
    let old_zygotes: BTreeSet<i32> = zygotes(std::process::id() as i32).into_iter().collect();

    drop(lock);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = names(&modules);
        let current: BTreeSet<i32> = zygotes(std::process::id() as i32).into_iter().collect();
        // The session keeps the jail of the replaced zygote alive.
        let replaced = !current.is_subset(&old_zygotes);
        if replaced && now.len() == with_baseline.len() && !now.contains(baseline[0]) {
            break;
        }
        assert!(Instant::now() < deadline, "{now:?}, zygotes {current:?} after {old_zygotes:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(say(&session, CELL).await, PRINTED);
    assert_eq!(say(&server.session(spec()).await.expect("another session"), CELL).await, PRINTED);
}

/// Names of the optimized modules that the shared cache has. Compiling is deterministic: a name has the checksum of the code.
fn optimized() -> BTreeSet<OsString> {
    names(&cache_directory()).iter().filter_map(|path| path.file_name().map(ToOwned::to_owned)).collect()
}

fn are_optimized(modules: &Path, optimized: &BTreeSet<OsString>) -> bool {
    names(modules).iter().all(|path| optimized.contains(path.file_name().unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deferred_modules_are_optimized_by_another_sandbox() {
    let session = sandbox(0).await.session(MachineSpec::default()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    let (root, optimized) = (tempfile::tempdir().expect("a directory"), optimized());
    let modules = cache_of_interpreter(root.path());
    let start = |tiers| {
        let cache_dir = root.path().to_owned();
        Sandbox::start(SandboxConfig { cache_dir, start: StartMode::Brief, tiers, ..config(0) })
    };
    let brief = start(Tiers::Deferred).await.expect("a sandbox");
    let session = brief.session(MachineSpec::default()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    assert!(brief.uses_baseline_code());
    drop((session, brief));
    assert!(!are_optimized(&modules, &optimized));
    let other = start(Tiers::Optimized).await.expect("a sandbox");
    other.optimize().await.expect("they compile");
    assert!(are_optimized(&modules, &optimized));
    let again = start(Tiers::Deferred).await.expect("a sandbox");
    let session = again.session(MachineSpec::default()).await.expect("a session");
    assert_eq!((say(&session, CELL).await.as_str(), again.uses_baseline_code()), (PRINTED, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_has_its_modules_optimized_by_another_process() {
    let session = sandbox(0).await.session(MachineSpec::default()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    let (root, optimized) = (tempfile::tempdir().expect("a directory"), optimized());
    let modules = cache_of_interpreter(root.path());
    let script = root.path().join("script.py");
    std::fs::write(&script, CELL).expect("a script");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    command.env_clear().args(["exec", "--offline", "--cache-dir"]).arg(root.path()).arg(script);
    let output = command.output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTED);
    let deadline = Instant::now() + PATIENCE;
    while names(&modules).len() < 3 || !are_optimized(&modules, &optimized) {
        assert!(Instant::now() < deadline, "{:?}", names(&modules));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_run_compiles_optimized_code_alone() {
    // Has both modules compiled, if nobody has done so before.
    let session = sandbox(0).await.session(MachineSpec::default()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    let root = tempfile::tempdir().expect("a directory");
    let modules = cache_of_interpreter(root.path());
    let cache_dir = root.path().to_owned();
    let brief =
        Sandbox::start(SandboxConfig { cache_dir, start: StartMode::Brief, ..config(0) }).await.expect("a sandbox");
    let session = brief.session(MachineSpec::default()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    drop((session, brief));
    assert!(are_optimized(&modules, &optimized()));
}
