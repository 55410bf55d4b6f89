//! The sandbox computes what native Python computes: random programs over numpy and pandas, compared as text.
//!
//! The long tier (`BRUMATE_TEST_LONG`) has ten times as many programs, and others of the seed in `BRUMATE_TEST_SEED`.
//! `tests/compat/same_numbers/differences.toml` lists what differs, and why.

use std::path::{Path, PathBuf};
use std::process::Command;

use brumate_test_support::{cache_directory, count, seed};

/// Names a native CPython with the bundle's versions of numpy and pandas; `cargo xtask test` makes it.
const NATIVE: &str = "BRUMATE_TEST_PYTHON_NUMBERS";

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/same_numbers")
}

fn native() -> PathBuf {
    let Some(python) = std::env::var_os(NATIVE) else {
        panic!("{NATIVE} is not set: it names a Python with numpy and pandas; `cargo xtask test` sets it");
    };
    python.into()
}

/// Runs `compare.py` with the binary that `brumate` names. Returns whether it found nothing, and what it printed.
fn compare(brumate: &Path, seed: u64, expressions: u64, programs: u64) -> (bool, String) {
    let mut command = Command::new(native());
    command.env_clear().env("BRUMATE_CACHE_DIR", cache_directory()).env("PYTHONDONTWRITEBYTECODE", "1");
    command.arg(scripts().join("compare.py")).arg("--brumate").arg(brumate).arg("--python").arg(native());
    command.args(["--seed", &seed.to_string()]);
    command.args(["--expressions", &expressions.to_string(), "--programs", &programs.to_string()]);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn no_difference_but_the_listed(seed: u64) {
    let (expressions, programs) = (count(500, 5000), count(30, 300));
    let (success, text) = compare(Path::new(env!("CARGO_BIN_EXE_brumate")), seed, expressions, programs);
    // One more asks for the versions.
    assert!(success && text.contains(&format!("{} cases", expressions + programs + 1)), "{text}");
}

#[test]
#[ignore = "an unseen seed may find a difference that nobody has listed yet: the long tier"]
fn programs_of_this_seed_give_what_they_give_natively() {
    no_difference_but_the_listed(seed());
}

#[test]
fn programs_of_the_first_seed_give_what_they_give_natively() {
    no_difference_but_the_listed(1);
}

/// A sandbox that is native Python, but for one case.
#[test]
fn one_difference_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("brumate");
    let python = native();
    let code = format!(
        "#!{}
import json, subprocess, sys
*_, script, cases = sys.argv
mounted = sys.argv[sys.argv.index('--mount') + 1].split(':')[0]
done = subprocess.run([sys.executable, '-I', script, cases.replace('/cases', mounted)], stdout=subprocess.PIPE, check=True)
outcomes = json.loads(done.stdout)
outcomes[3] += ' and more'
print(json.dumps(outcomes))
",
        python.to_str().unwrap()
    );
    std::fs::write(&other, code).unwrap();
    std::fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (success, text) = compare(&other, 1, 20, 2);
    assert!(!success && text.matches("\nnatively:\n").count() == 1, "{text}");
    assert!(
        text.contains(" and more\n") && text.ends_with("23 cases, 22 the same, 0 differ as listed, 1 otherwise\n"),
        "{text}"
    );
}
