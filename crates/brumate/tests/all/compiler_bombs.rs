//! Modules that a guest brings: compiling them stays within the limits of the run and counts for it, and nothing of it stays.

mod measure;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use brumate_engine::api::Machine as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{Ended, Event, Execute, Image, Limits, MachineSpec, Mount, Outcome, StopReason};
use brumate_engine::client::{EngineError, ExitReason, Sandbox, Session};
use brumate_module::gate;
use brumate_test_support::{cache_directory, count};

use self::measure::{MemoryWatch, confinement, own_memory_of};
use crate::support::bombs::{BOMBS, own_memory, own_table};
use crate::support::processes::{compilers, descendants, parent_of};
use crate::support::sessions::{cell, sandbox, say};
use crate::support::wheels::layer;

/// Time limit of a failing test. Not a measurement.
const PATIENCE: Duration = Duration::from_secs(120);

/// Memory limit of the runs, in bytes.
const MEMORY: u64 = 256 << 20;

/// CPU time limit of the runs.
const CPU: Duration = Duration::from_secs(20);

/// Makes a directory with these files. Machines have it at `/bombs`.
fn bombs(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        std::fs::write(directory.path().join(name), bytes).expect("the disk");
    }
    directory
}

async fn session_with(sandbox: &Sandbox, directory: &Path, limits: Limits, principal: &str) -> Session {
    let mounts = vec![Mount { host: directory.to_owned(), guest: "/bombs".to_owned(), read_only: true }];
    let principal = principal.into();
    sandbox.session(MachineSpec { limits, mounts, principal, ..MachineSpec::default() }).await.expect("a session")
}

fn limits() -> Limits {
    Limits { memory_bytes: MEMORY, cpu: CPU, wall: PATIENCE, ..Limits::default() }
}

/// Returns code that loads a file of `/bombs` and prints `loaded` or the error.
fn load(name: &str) -> String {
    format!(
        "import ctypes\ntry:\n    ctypes.CDLL('/bombs/{name}')\n    print('loaded')\nexcept OSError as error:\n    print(error)\n"
    )
}

async fn no_compiler_is_left() {
    let deadline = Instant::now() + PATIENCE;
    while !compilers().is_empty() {
        assert!(Instant::now() < deadline, "compilers are left: {:?}", compilers());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns the files of the cache of machine code.
fn cached() -> BTreeSet<std::path::PathBuf> {
    let modules = std::fs::read_dir(cache_directory().join("modules")).expect("a cache");
    let files = modules.flat_map(|modules| std::fs::read_dir(modules.expect("an entry").path()).expect("modules"));
    files.map(|file| file.expect("an entry").path()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bombs_stay_within_the_limits_of_their_run_and_leave_nothing() {
    let sandbox = sandbox(0).await;
    let before = cached();
    // In an ordinary run an eighth of what passes the gate, in the long tier all of it.
    let part = count(8, 1) as u32;
    let files: Vec<(&str, Vec<u8>)> = BOMBS.iter().map(|bomb| (bomb.name, (bomb.make)(bomb.largest / part))).collect();
    let directory = bombs(&files);
    for bomb in BOMBS {
        let session = session_with(&sandbox, directory.path(), limits(), "a").await;
        say(&session, "import ctypes").await;
        let watch = MemoryWatch::start();
        let (outcome, printed) = cell(&session, &load(bomb.name)).await;
        let (most, _) = watch.end();
        eprintln!("{}: {} MiB, {outcome:?}: {printed}", bomb.name, most >> 20);
        assert!(most <= MEMORY, "{}: {most} bytes", bomb.name);
        // It is compiled, or a limit of the run is named, or the run has ended at it.
        let named = ["loaded\n", "MiB of memory", "s of CPU time", "out of memory"];
        match outcome {
            Ok(outcome) => {
                let stopped = outcome.stopped == Some(StopReason::CpuLimit);
                assert!(stopped || named.iter().any(|text| printed.contains(text)), "{}: {printed}", bomb.name);
                assert!(outcome.cpu <= CPU + CPU / 10, "{}: {:?}", bomb.name, outcome.cpu);
            }
            Err(error) => {
                assert!(matches!(error, EngineError::RolledBack { reason: ExitReason::CpuLimit, .. }), "{error:?}")
            }
        }
        assert_eq!(say(&session, "print(1)").await, "1\n");
    }
    no_compiler_is_left().await;
    assert_eq!(cached(), before, "what a guest brings is not kept");
}

#[tokio::test]
async fn what_exceeds_a_bound_is_refused_by_name_before_a_compiler_sees_it() {
    let sandbox = sandbox(0).await;
    let mut files: Vec<(&str, Vec<u8>)> = BOMBS.iter().map(|bomb| (bomb.name, (bomb.make)(bomb.largest * 2))).collect();
    files.push(("memory", own_memory(11_200)));
    files.push(("table", own_table(10)));
    let directory = bombs(&files);
    let session = session_with(&sandbox, directory.path(), limits(), "a").await;
    let watch = MemoryWatch::start();
    for bomb in BOMBS {
        let printed = say(&session, &load(bomb.name)).await;
        let expected = format!("/bombs/{}: WebAssembly module too large: more than ", bomb.name);
        assert!(printed.starts_with(&expected) && printed.trim_end().ends_with(bomb.bound), "{printed}");
    }
    for (name, what) in [("memory", "a memory of its own"), ("table", "a table of its own")] {
        assert_eq!(say(&session, &load(name)).await, format!("/bombs/{name}: a side module may not have {what}\n"));
    }
    assert_eq!(watch.end().0, 0, "a compiler was started");
}

#[tokio::test]
async fn cpu_time_of_the_compiler_is_the_runs() {
    let sandbox = sandbox(0).await;
    let bomb = BOMBS.iter().find(|bomb| bomb.name == "locals in loops").expect("this bomb");
    // Small ones, each another file, so many that together they take longer than the run may.
    let small = (bomb.make)(bomb.largest / 4);
    let name = |number: u32| format!("{number}.so");
    let directory = tempfile::tempdir().expect("a directory");
    for number in 0..1000 {
        let bytes = [&small[..], &[0, 5, 4], format!("{number:04}").as_bytes()].concat();
        std::fs::write(directory.path().join(name(number)), bytes).expect("the disk");
    }
    let cpu = Duration::from_secs(3);
    let limits = Limits { cpu, ..limits() };
    let session = session_with(&sandbox, directory.path(), limits, "a").await;
    say(&session, "import ctypes").await;
    // One is told with the outcome.
    let (outcome, printed) = cell(&session, &load("0.so")).await;
    let first = outcome.expect("it compiles").cpu;
    assert_eq!(printed, "loaded\n");
    let (outcome, _) = cell(&session, "x = 1").await;
    assert!(outcome.expect("nothing to compile").cpu < first, "compiling takes more than a small cell");
    // All of them end as a loop would: interrupted at the limit.
    let code = "import ctypes\nfor number in range(1, 1000):\n    ctypes.CDLL(f'/bombs/{number}.so')\n";
    let (outcome, _) = cell(&session, code).await;
    match outcome {
        Ok(Outcome { stopped, ended, cpu: used, .. }) => {
            assert_eq!(stopped, Some(StopReason::CpuLimit), "{ended:?}");
            assert!(matches!(ended, Ended::Raised { .. }), "{ended:?}");
            // A compiler's limit has whole seconds, and ends may overlap with the grace time.
            assert!(used <= cpu + Duration::from_secs(1), "{used:?}");
            assert!(used >= cpu - Duration::from_secs(1), "{used:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compilers_of_guests_have_one_thread_and_share_one_processor() {
    let sandbox = sandbox(0).await;
    let bomb = BOMBS.iter().find(|bomb| bomb.name == "locals in loops").expect("this bomb");
    let bytes = (bomb.make)(bomb.largest);
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("large.so"), bytes).expect("the disk");
    let sessions = [
        session_with(&sandbox, directory.path(), limits(), "a").await,
        session_with(&sandbox, directory.path(), limits(), "b").await,
    ];
    let others = compilers();
    let code = load("large.so");
    let cells = async { tokio::join!(cell(&sessions[0], &code), cell(&sessions[1], &code)) };
    let (mut seen, mut watching) = (BTreeSet::new(), BTreeSet::new());
    let own = rustix::process::getpriority_process(None).expect("ours");
    tokio::pin!(cells);
    loop {
        tokio::select! {
            _ = &mut cells => break,
            () = tokio::time::sleep(Duration::from_millis(2)) => {
                for &pid in compilers().difference(&others) {
                    // A process that watches over a compiler is its parent, and does nothing else.
                    watching.extend(parent_of(pid));
                    seen.extend(confinement(pid).map(|confinement| (pid, confinement)));
                }
            }
        }
    }
    seen.retain(|(pid, _)| !watching.contains(pid));
    let processors: BTreeSet<&str> = seen.iter().map(|(_, (_, processors, _))| &processors[..]).collect();
    assert!(processors.len() == 1 && processors.iter().all(|one| one.parse::<u32>().is_ok()), "{seen:?}");
    assert!(seen.iter().all(|(_, (threads, _, nice))| threads == "1" && *nice > own.min(18)), "{own}: {seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_principals_modules_do_not_keep_anothers_waiting() {
    let sandbox = sandbox(0).await;
    let bomb = BOMBS.iter().find(|bomb| bomb.name == "locals in loops").expect("this bomb");
    let large = (bomb.make)(bomb.largest);
    let files: Vec<(String, Vec<u8>)> = (0..4)
        .map(|number| (format!("{number}.so"), [&large[..], &[0, 3, 2, b'x', number]].concat()))
        .chain([("small.so".to_owned(), (bomb.make)(2))])
        .collect();
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, bytes)| (&name[..], bytes.clone())).collect();
    let directory = bombs(&files);
    let long = Limits { cpu: PATIENCE, ..limits() };
    let mut hostile = Vec::new();
    for number in 0..4 {
        let session = session_with(&sandbox, directory.path(), long, "hostile").await;
        hostile.push(tokio::spawn(async move { cell(&session, &load(&format!("{number}.so"))).await }));
    }
    while compilers().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let other = session_with(&sandbox, directory.path(), limits(), "other").await;
    assert_eq!(say(&other, &load("small.so")).await, "loaded\n");
    let waiting = hostile.iter().filter(|task| !task.is_finished()).count();
    hostile.iter().for_each(tokio::task::JoinHandle::abort);
    // Without turns it would have come after all of them.
    assert!(waiting >= 2, "{waiting} of 4 are compiled or wait");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_guest_modules_and_compilers_is_one_account() {
    let sandbox = sandbox(0).await;
    let bomb = BOMBS.iter().find(|bomb| bomb.name == "a huge function").expect("this bomb");
    let large = (bomb.make)(bomb.largest / 4);
    let directory = tempfile::tempdir().expect("a directory");
    for number in 0..200 {
        // What a file has beyond its code is held as well.
        let padding = vec![number; 1 << 20];
        let mut bytes = large.clone();
        wasm_encoder::Section::append_to(
            &wasm_encoder::CustomSection { name: "x".into(), data: padding.into() },
            &mut bytes,
        );
        std::fs::write(directory.path().join(format!("{number}.so")), bytes).expect("the disk");
    }
    let limits = Limits { cpu: PATIENCE, ..limits() };
    // A machine and no session, which would have a copy of itself.
    let mounts = vec![Mount { host: directory.path().to_owned(), guest: "/bombs".to_owned(), read_only: true }];
    let mut machine =
        sandbox.machine(MachineSpec { limits, mounts, ..MachineSpec::default() }).await.expect("a machine");
    let rest: u64 = descendants().into_iter().map(own_memory_of).sum();
    let watch = MemoryWatch::start();
    let code = "
import ctypes
loaded = []
block = bytearray(100 << 20)
block[::4096] = b'x' * len(block[::4096])
try:
    for number in range(200):
        loaded.append(ctypes.CDLL(f'/bombs/{number}.so'))
except OSError as error:
    print('memory' in str(error), len(loaded) > 5)
try:
    more = bytearray(200 << 20)
    more[::4096] = b'x' * len(more[::4096])
except MemoryError:
    print('full')
";
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let outcome = machine.execute(Execute { code: code.to_owned(), ..Execute::default() }, sender).await;
    let mut printed = String::new();
    while let Some(event) = events.recv().await {
        if let Event::Stream { text, .. } = event {
            printed.push_str(&text);
        }
    }
    assert_eq!(printed, "True True\nfull\n", "{outcome:?}");
    let (_, all) = watch.end();
    let used = all.saturating_sub(rest);
    eprintln!("{} MiB beside the {} MiB that were there", used >> 20, rest >> 20);
    assert!(used <= MEMORY + MEMORY / 10, "{used} bytes of {MEMORY}");
    // What is little to compile is compiled within the least memory that a run can have.
    let least = Limits { memory_bytes: 64 << 20, ..limits };
    std::fs::write(directory.path().join("small.so"), (bomb.make)(2)).expect("the disk");
    let session = session_with(&sandbox, directory.path(), least, "a").await;
    assert_eq!(say(&session, &load("small.so")).await, "loaded\n");
}

#[tokio::test]
async fn a_session_wakes_with_its_own_modules_although_its_memory_is_full() {
    let sandbox = sandbox(0).await;
    let bomb = BOMBS.iter().find(|bomb| bomb.name == "many live values").expect("this bomb");
    let directory = bombs(&[("own.so", (bomb.make)(bomb.largest / 8))]);
    let limits = Limits { memory_bytes: 64 << 20, ..limits() };
    let session = session_with(&sandbox, directory.path(), limits, "a").await;
    let code = "
import ctypes
own = ctypes.CDLL('/bombs/own.so')
blocks = []
try:
    while True:
        blocks.append(bytearray(64 << 10))
except MemoryError:
    blocks.pop()
print(own.run())
";
    assert_eq!(say(&session, code).await, "0\n");
    let file = directory.path().join("asleep");
    session.write_to(&file).await.expect("it sleeps");
    drop(session);
    let mounts = vec![Mount { host: directory.path().to_owned(), guest: "/bombs".to_owned(), read_only: true }];
    let spec = MachineSpec { limits, mounts, ..MachineSpec::default() };
    let (resumed, _) = sandbox.resume_session(&file, spec).await.expect("it resumes");
    let (outcome, printed) = cell(&resumed, "print(own.run())").await;
    assert_eq!(printed, "0\n", "{outcome:?}");
    // What compiling has taken once more counts for the next cell, once.
    let first = outcome.expect("it ran").cpu;
    let second = cell(&resumed, "print(own.run())").await.0.expect("it ran").cpu;
    assert!(second < first, "{second:?} {first:?}");
}

#[tokio::test]
async fn the_builder_of_an_image_has_limits() {
    let sandbox = sandbox(0).await;
    let directory = tempfile::tempdir().expect("a directory");
    let greedy = "block = bytearray(1200 << 20)\n";
    let wheel = layer(directory.path(), "greedy", "1.0", &[("greedy.py", greedy.as_bytes())], "");
    let error =
        sandbox.build_image(&Image::of(["greedy"]).with_layers(vec![wheel])).await.expect_err("it takes too much");
    assert!(error.to_string().contains("MemoryError"), "{error}");
}

/// Returns the side modules of a directory of wheels: name of wheel and module, content.
fn modules_of(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut modules = Vec::new();
    for file in std::fs::read_dir(directory).expect("wheels") {
        let path = file.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "whl") {
            continue;
        }
        let mut archive = zip::ZipArchive::new(std::fs::File::open(&path).expect("a wheel")).expect("a wheel");
        for index in 0..archive.len() {
            let mut file = archive.by_index(index).expect("a file");
            let name = file.name().expect("a name").into_owned();
            if name.ends_with(".so") {
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut file, &mut bytes).expect("a file");
                modules.push((format!("{}: {name}", path.display()), bytes));
            }
        }
    }
    modules
}

#[test]
fn modules_of_known_wheels_pass_the_gate() {
    let modules = modules_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/wheels"));
    assert!(modules.len() > 100, "{} modules", modules.len());
    let mut refused = Vec::new();
    for (name, bytes) in &modules {
        gate::check(bytes, &gate::WHEEL).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Err(error) = gate::check(bytes, &gate::GUEST) {
            refused.push(format!("{name}: {error}"));
        }
    }
    // Most would also pass as a guest's own, so such bounds are no obstacle to ordinary modules.
    eprintln!("{} of {} exceed a guest's bounds:\n{}", refused.len(), modules.len(), refused.join("\n"));
    assert!(refused.len() * 20 < modules.len());
}
