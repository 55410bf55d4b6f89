//! Tests of a project, run by `brumate test` with the real pytest.

use std::path::{Path, PathBuf};

use crate::support::brumate;
use crate::support::wheels::wheel;

/// Names a directory like `site-packages` with pytest among others; `cargo xtask test` makes it.
const WHEELS: &str = "BRUMATE_TEST_WHEELS";
/// pytest, and its requirements that the bundle lacks: distributions and their modules.
const DISTRIBUTIONS: [(&str, &[&str]); 3] =
    [("pytest", &["pytest", "_pytest", "py.py"]), ("pluggy", &["pluggy"]), ("iniconfig", &["iniconfig"])];

/// The files below a directory, by their paths from `root`.
fn files(root: &Path, directory: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("__pycache__") {
            files(root, &path, found);
        } else if path.is_file() {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
}

/// Makes wheels of [`DISTRIBUTIONS`].
fn shelf(target: &Path) {
    let installed = PathBuf::from(std::env::var_os(WHEELS).unwrap_or_else(|| panic!("{WHEELS} is not set")));
    for (name, modules) in DISTRIBUTIONS {
        let prefix = format!("{name}-");
        let infos =
            std::fs::read_dir(&installed).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let info = infos.into_iter().find(|info| info.starts_with(&prefix) && info.ends_with(".dist-info")).unwrap();
        let version = info[prefix.len()..].strip_suffix(".dist-info").unwrap().to_owned();
        let mut found = Vec::new();
        for module in modules {
            let path = installed.join(module);
            if path.is_file() {
                found.push(((*module).to_owned(), std::fs::read(path).unwrap()));
            } else {
                files(&installed, &path, &mut found);
            }
        }
        let entry_points = installed.join(&info).join("entry_points.txt");
        if entry_points.is_file() {
            found.push((format!("{info}/entry_points.txt"), std::fs::read(entry_points).unwrap()));
        }
        let metadata = std::fs::read_to_string(installed.join(&info).join("METADATA")).unwrap();
        let requires: String =
            metadata.lines().filter(|line| line.starts_with("Requires-Dist")).map(|line| format!("{line}\n")).collect();
        let found: Vec<(&str, &[u8])> = found.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        std::fs::write(
            target.join(format!("{name}-{version}-py3-none-any.whl")),
            wheel(name, &version, &found, &requires),
        )
        .unwrap();
    }
    let helper = wheel("only_for_tests", "1.0", &[("only_for_tests.py", b"name = 'helper'\n")], "");
    std::fs::write(target.join("only_for_tests-1.0-py3-none-any.whl"), helper).unwrap();
}

/// A project whose own plugin, metadata and modules its tests use.
const PROJECT: [(&str, &str); 5] = [
    (
        "pyproject.toml",
        "[project]\nname = 'Small.Project'\nversion = '1.2.3'\ndependencies = ['six']\n\
         [project.entry-points.pytest11]\nsmall = 'small.plugin'\n\
         [dependency-groups]\ntest = ['only-for-tests>=1', {include-group = 'lint'}]\nlint = ['no-such-linter-anywhere==9']\n\
         hard = ['only-for-tests==7']\n",
    ),
    ("src/small/__init__.py", "def double(x):\n    return 2 * x\n"),
    ("src/small/plugin.py", "import pytest\n\n@pytest.fixture\ndef three():\n    return 3\n"),
    (
        "tests/test_small.py",
        "import importlib.metadata, os, pathlib, subprocess, sys\nimport six\nimport only_for_tests\nimport small\n\n\
         def test_double(three, tmp_path):\n    (tmp_path / 'x').write_text('x')\n    assert small.double(three) == 6\n\n\
         def test_installed():\n    assert importlib.metadata.version('small-project') == '1.2.3'\n    \
         assert small.__file__ == '/project/src/small/__init__.py'\n\n\
         def test_writes():\n    pathlib.Path('written.txt').write_text(os.environ['FROM_OUTSIDE'])\n",
    ),
    ("tests/test_failing.py", "import sys\n\ndef test_fails():\n    value = [1, 2]\n    assert value == [1, 3]\n"),
];

#[test]
fn a_projects_tests_run_with_pytest() {
    let scratch = tempfile::tempdir().unwrap();
    let (shelf_of, project) = (scratch.path().join("shelf"), scratch.path().join("project"));
    std::fs::create_dir(&shelf_of).unwrap();
    shelf(&shelf_of);
    for (name, text) in PROJECT {
        std::fs::create_dir_all(project.join(name).parent().unwrap()).unwrap();
        std::fs::write(project.join(name), text).unwrap();
    }
    let root = project.to_str().unwrap();
    let test = |options: &[&str], arguments: &[&str]| {
        let common = ["test", "--offline", "--find-links", shelf_of.to_str().unwrap(), "--env", "FROM_OUTSIDE=given"];
        brumate(&[&common, options, &[root, "--"], arguments].concat())
    };

    let results = scratch.path().join("results.xml");
    let (status, stdout, stderr) = test(&["--junit", results.to_str().unwrap()], &[]);
    assert_eq!(status, Some(1), "{stdout}{stderr}");
    assert!(stdout.contains("rootdir: /project") && stdout.contains("1 failed, 3 passed"), "{stdout}{stderr}");
    assert!(stdout.contains("At index 1 diff: 2 != 3"), "assertions are rewritten: {stdout}");
    let left_out = "brumate: left out: no-such-linter-anywhere==9 (group test): ";
    assert!(stderr.starts_with(left_out) && stderr.lines().count() == 1, "no word of lost files: {stderr}");
    let xml = std::fs::read_to_string(&results).unwrap();
    assert!(xml.contains("tests=\"4\"") && xml.contains("failures=\"1\""), "{xml}");
    assert!(!project.join("written.txt").exists(), "the tests had a copy");

    let (status, stdout, stderr) = test(&["--write"], &["tests/test_small.py", "-q"]);
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    assert_eq!(std::fs::read_to_string(project.join("written.txt")).unwrap(), "given");

    assert_eq!(test(&[], &["-q", "-k", "nothing_has_this_name"]).0, Some(5));
    assert_eq!(test(&[], &["--no-such-option"]).0, Some(4));
    let requirements = scratch.path().join("more.txt");
    std::fs::write(&requirements, "no-such-package-anywhere\n").unwrap();
    let (status, stdout, stderr) = test(&["-r", requirements.to_str().unwrap()], &[]);
    assert_eq!((status, stdout.as_str()), (Some(125), ""));
    assert!(stderr.contains("no-such-package-anywhere"), "{stderr}");
    let mount = format!("{}:/project/data", shelf_of.display());
    let (status, _, stderr) = test(&["--mount", &mount], &[]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("/project/data belongs to the project"), "{stderr}");
    let (status, _, stderr) = brumate(&["test", shelf_of.to_str().unwrap()]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("is no Python project") && stderr.contains("pyproject.toml"), "{stderr}");
}
