//! Processes that fetch the same wheels at once, and are killed meanwhile: the cache stays valid.

#[path = "../../src/wheel/tests/builder.rs"]
#[expect(dead_code, reason = "shared with the tests of wheels")]
mod builder;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use brumate_packages::cache::{Cache, CacheError, CacheSettings, DerivedKind, FetchError, Sha256Hash};
use brumate_packages::wheel::WheelFileName;
use builder::{Entry, FILE_NAME, Wheel};
use sha2::{Digest, Sha256};

const PROCESSES: usize = 8;
const WHEELS: u8 = 12;
/// Variable that names the directory to a process of the test.
const DIRECTORY: &str = "BRUMATE_TEST_CACHE_PROCESSES";
const KIND: DerivedKind = DerivedKind::new("reversed", 1);

fn wheel(seed: u8) -> Vec<u8> {
    let content: Vec<u8> =
        (0..200_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed).collect();
    Wheel::new(vec![Entry::stored("demo/data.bin", &content)]).build()
}

fn cache(directory: &Path) -> Cache {
    Cache::open(&directory.join("cache"), CacheSettings::default()).unwrap()
}

fn name() -> WheelFileName {
    FILE_NAME.parse().unwrap()
}

/// Records a download (`d`) or a derivation (`m`) of a wheel by one byte, which processes can append at once.
fn note(directory: &Path, seed: u8, what: &str) {
    let path = directory.join(format!("{what}{seed}"));
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(b"x").unwrap();
}

fn noted(directory: &Path, seed: u8, what: &str) -> u64 {
    std::fs::metadata(directory.join(format!("{what}{seed}"))).map_or(0, |metadata| metadata.len())
}

/// Fetches every wheel and its derived file, each process starting at another one.
fn fetch_all(directory: &Path, first: u8) {
    let cache = cache(directory);
    for index in 0..WHEELS {
        let seed = (first + index) % WHEELS;
        let bytes = wheel(seed);
        let hash = Sha256Hash(Sha256::digest(&bytes).into());
        let fetched: Result<_, FetchError<CacheError>> = cache.fetch(&hash, &name(), |fill| {
            bytes.chunks(16 << 10).try_for_each(|chunk| fill.write(chunk))?;
            note(directory, seed, "d");
            Ok(())
        });
        let fetched = fetched.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fetched.read().unwrap(), bytes);
        let derived = cache.derive(&hash, &KIND, |output| {
            let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
            reversed.chunks(16 << 10).try_for_each(|chunk| output.write_all(chunk))?;
            note(directory, seed, "m");
            Ok::<_, std::io::Error>(())
        });
        assert_eq!(derived.unwrap().size(), bytes.len() as u64);
    }
}

/// Process of the tests below; not a test of its own.
#[test]
#[ignore = "started by the other tests"]
fn process() {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).expect("started by another test"));
    let first = std::process::id() % u32::from(WHEELS);
    fetch_all(&directory, first as u8);
}

fn start(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cache_processes::process", "--ignored", "--quiet"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Checks that everything is there and complete, and nothing else.
fn check(directory: &Path) {
    let cache = cache(directory);
    for seed in 0..WHEELS {
        let bytes = wheel(seed);
        let hash = Sha256Hash(Sha256::digest(&bytes).into());
        let wheel = cache.get(&hash, &name()).unwrap().expect("it was fetched");
        wheel.check().unwrap();
        assert_eq!(wheel.read().unwrap(), bytes);
        assert_eq!(wheel.files().unwrap().len(), 4);
        let derived = cache.get_derived(&hash, &KIND).unwrap().expect("it was made");
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut derived.file(), &mut content).unwrap();
        assert!(content.iter().rev().eq(&bytes));
    }
    // The next download sweeps; this one is refused afterwards.
    let mut fill = cache.writer_without_hash(&name()).unwrap();
    fill.write(b"x").unwrap();
    fill.finish().unwrap_err();
    let root = directory.join("cache").join("packages-1");
    for empty in ["tmp", "locks"] {
        let left: Vec<_> = std::fs::read_dir(root.join(empty)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn eight_processes_download_each_wheel_once() {
    let directory = tempfile::tempdir().unwrap();
    let processes: Vec<Child> = (0..PROCESSES).map(|_| start(directory.path())).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    for seed in 0..WHEELS {
        assert_eq!((noted(directory.path(), seed, "d"), noted(directory.path(), seed, "m")), (1, 1), "wheel {seed}");
    }
    check(directory.path());
}

#[test]
fn processes_killed_at_any_instant_leave_a_sound_cache() {
    let directory = tempfile::tempdir().unwrap();
    let mut state = 0x9e37_79b9_u64;
    let mut random = move |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut processes: Vec<Child> = (0..PROCESSES).map(|_| start(directory.path())).collect();
    for round in 0..60 {
        std::thread::sleep(Duration::from_millis(random(40)));
        let victim = random(PROCESSES as u64) as usize;
        processes[victim].kill().unwrap();
        processes[victim].wait().unwrap();
        processes[victim] = start(directory.path());
        // Makes sure that there is always something to fetch.
        if round % 5 == 4 {
            let bytes = wheel(random(u64::from(WHEELS)) as u8);
            let hash = Sha256Hash(Sha256::digest(&bytes).into());
            if let Some(wheel) = cache(directory.path()).get(&hash, &name()).unwrap() {
                wheel.check().unwrap();
                let _ = std::fs::remove_file(wheel.path());
            }
        }
    }
    for mut process in processes {
        assert!(process.wait().unwrap().success(), "a process that was not killed succeeds");
    }
    fetch_all(directory.path(), 0);
    check(directory.path());
}
