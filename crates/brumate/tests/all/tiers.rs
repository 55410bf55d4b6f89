//! Modules that a run waits for are compiled to baseline code at first, and optimized afterwards.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brumate_engine::api::{Image, MachineSpec};
use brumate_engine::client::{Sandbox, SandboxConfig};
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

/// Makes a cache that has compiled code of the interpreter, the largest module, and nothing else.
fn cache_of_interpreter(root: &Path) -> PathBuf {
    let all = files(&cache_directory(), "cwasm", |_| true);
    let interpreter = all.iter().max_by_key(|path| path.metadata().map_or(0, |metadata| metadata.len()));
    let interpreter = interpreter.expect("the shared cache has it");
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
    let server = Sandbox::start(SandboxConfig { cache_dir, tiered: true, ..config(1) }).await.expect("a sandbox");

    // What is compiled ahead waits for this lock, the driver's own modules too; what a machine asks for does not.
    let lock = std::fs::File::open(modules.join("lock")).expect("it was made for the interpreter");
    flock(&lock, FlockOperation::LockExclusive).expect("locked");
    let before = names(&modules);
    let image = Image::of(["markupsafe"]);
    server.warm(&image).await.expect("an image");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_run_compiles_optimized_code_alone() {
    // Has both modules compiled, if nobody has done so before.
    let session = sandbox(0).await.session(MachineSpec::default()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    let root = tempfile::tempdir().expect("a directory");
    let modules = cache_of_interpreter(root.path());
    let cache_dir = root.path().to_owned();
    let brief = Sandbox::start(SandboxConfig { cache_dir, brief: true, ..config(0) }).await.expect("a sandbox");
    let session = brief.session(MachineSpec::default()).await.expect("a session");
    assert_eq!(say(&session, CELL).await, PRINTED);
    drop((session, brief));
    let shared: BTreeSet<_> =
        names(&cache_directory()).iter().filter_map(|path| path.file_name().map(ToOwned::to_owned)).collect();
    for path in names(&modules) {
        // Compiling is deterministic: the name has the checksum of the code.
        assert!(shared.contains(path.file_name().unwrap()), "{path:?}");
    }
}
