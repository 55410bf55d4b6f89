//! Packages that scripts import repeatedly: the third script is forked from an interpreter that has imported them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brumate_test_support::cache_directory;

use crate::support::caches::{copy, files};

/// What bounds a failing test; no measurement.
const PATIENCE: Duration = Duration::from_secs(120);

const SCRIPT: &str =
    "import sys\nprint('tabulate' in sys.modules)\nimport tabulate\nprint(tabulate.tabulate([[1]], tablefmt='plain'))";

/// Runs the script; returns what it printed.
fn run(cache: &Path, options: &[&str]) -> String {
    let script = cache.join("script.py");
    std::fs::write(&script, SCRIPT).expect("a script");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    command.env_clear().args(["exec", "--offline", "--cache-dir"]).arg(cache).args(options).arg(script);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn what_is_imported_twice_is_there_the_third_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let cache = directory.path().join("cache");
    // Has the interpreter compiled, if nobody has done so before.
    let mut first = Command::new(env!("CARGO_BIN_EXE_brumate"));
    first.args(["exec", "--cache-dir"]).arg(cache_directory()).arg("-").stdin(Stdio::null());
    assert!(first.status().expect("it runs").success());
    copy(&cache_directory(), &cache);
    let images = || files(&cache, "image", |_| true).len();

    for _ in 0..3 {
        assert_eq!(run(&cache, &["--no-learned-images"]), "False\n1\n");
    }
    assert!(!cache.join("imports.json").exists());
    let before = images();
    assert_eq!(run(&cache, &[]), "False\n1\n");
    assert_eq!(run(&cache, &[]), "False\n1\n");
    // Another process builds the image, and notes it when it has done so.
    let deadline = Instant::now() + PATIENCE;
    let built = || std::fs::read_to_string(cache.join("imports.json")).is_ok_and(|text| text.contains("Built"));
    while !built() {
        assert!(Instant::now() < deadline, "no image was built");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(images(), before + 1);
    assert_eq!(run(&cache, &[]), "True\n1\n");
    // One that is gone is missed by nobody.
    let newest =
        files(&cache, "image", |_| true).into_iter().max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    std::fs::remove_file(newest.expect("an image")).expect("ours");
    assert_eq!(run(&cache, &[]), "False\n1\n");
}
