//! Directories of wheels: collected by `brumate bundle build`, read by `--find-links` and `--index`, compiled by `warmup --all`.

use std::path::Path;
use std::process::Command;

use crate::support::brumate;
use crate::support::modules::{sharing, using};
use crate::support::wheels::wheel;

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A directory with `upper`, which requires `lower`, in two versions, and `alone`, with native modules.
fn shelf(directory: &Path) {
    let module = |name: &str, version: &str, more: &str| {
        let code = format!("__version__ = {version:?}\n");
        let bytes = wheel(name, version, &[(&format!("{name}.py"), code.as_bytes())], more);
        std::fs::write(directory.join(format!("{name}-{version}-py3-none-any.whl")), bytes).unwrap();
    };
    module("bundled_upper", "1.0", "Requires-Dist: bundled-lower<2\nRequires-Dist: six\nRequires-Python: >=3.9\n");
    module("bundled_lower", "1.5", "");
    module("bundled_lower", "2.0", "");
    let (shared, near) = (sharing(), using(&["libshared.so"], &["$ORIGIN/.libs"]));
    let files: [(&str, &[u8]); 3] = [
        (
            "bundled_alone/__init__.py",
            b"import ctypes, os\nnear = ctypes.CDLL(os.path.dirname(__file__) + '/near.so')\n",
        ),
        ("bundled_alone/.libs/libshared.so", &shared),
        ("bundled_alone/near.so", &near),
    ];
    let bytes = wheel("bundled_alone", "3.0", &files, "");
    std::fs::write(directory.join("bundled_alone-3.0-py3-none-any.whl"), bytes).unwrap();
}

#[test]
fn a_directory_is_built_and_used_without_a_network() {
    let scratch = tempfile::tempdir().unwrap();
    let (source, target) = (scratch.path().join("source"), scratch.path().join("carried"));
    std::fs::create_dir(&source).unwrap();
    shelf(&source);
    // What is asked for and what that needs; what the binary has itself is left out.
    let arguments = ["bundle", "build", shown(&target), "bundled-upper", "--offline", "--find-links", shown(&source)];
    assert_eq!(brumate(&arguments), (Some(0), format!("{}: 2 wheels\n", shown(&target)), String::new()));
    let lower = std::fs::read_to_string(target.join("simple/bundled-lower/index.html")).unwrap();
    assert!(lower.contains("../../bundled_lower-1.5-py3-none-any.whl#sha256="), "{lower}");
    let upper = std::fs::read_to_string(target.join("simple/bundled-upper/index.json")).unwrap();
    assert!(upper.contains("\"requires-python\":\">=3.9\""), "{upper}");
    let sums = Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&target).status();
    assert!(sums.unwrap().success());

    // Everything of a directory, beside what is there.
    let arguments = ["bundle", "build", shown(&target), "--all", "--offline", "--find-links", shown(&source)];
    assert_eq!(brumate(&arguments), (Some(0), format!("{}: 4 wheels\n", shown(&target)), String::new()));

    let script = scratch.path().join("script.py");
    let code = "import bundled_upper, bundled_lower, six\nfrom bundled_alone import near\n\
                print(bundled_upper.__version__, bundled_lower.__version__, near.add(2, 3), near.count())\n";
    std::fs::write(&script, code).unwrap();
    let deps = "bundled-upper,bundled-alone";
    let index = format!("file://{}/simple/", shown(&target));
    for place in [["--find-links", shown(&target)], ["--index", &index]] {
        let arguments = [&["exec", "--offline", "--deps", deps][..], &place[..], &[shown(&script)]].concat();
        assert_eq!(brumate(&arguments), (Some(0), "1.0 1.5 5 1\n".to_owned(), String::new()), "{place:?}");
    }

    // Compiled ahead, all of it; and an image of what is given at start, which a script is forked from.
    let arguments = ["warmup", "--all", "--offline", "--find-links", shown(&target), "--deps", deps];
    let (status, stdout, stderr) = brumate(&arguments);
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    assert!(stdout.contains(" and 3 wheels of --find-links are compiled"), "{stdout}");
    std::fs::write(&script, format!("import sys\nprint('bundled_alone' in sys.modules)\n{code}")).unwrap();
    let arguments = ["exec", "--offline", "--deps", deps, "--find-links", shown(&target), shown(&script)];
    assert_eq!(brumate(&arguments), (Some(0), "True\n1.0 1.5 5 1\n".to_owned(), String::new()));
}

#[test]
fn what_is_not_whole_is_not_collected() {
    let scratch = tempfile::tempdir().unwrap();
    let (source, target) = (scratch.path().join("source"), scratch.path().join("carried"));
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("broken-1-py3-none-any.whl"), b"nothing").unwrap();
    let arguments = ["bundle", "build", shown(&target), "--all", "--offline", "--find-links", shown(&source)];
    let (status, stdout, stderr) = brumate(&arguments);
    assert_eq!((status, &stdout[..]), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("`broken-1-py3-none-any.whl` is refused"), "{stderr}");
    let (status, _, stderr) = brumate(&["bundle", "build", shown(&target)]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("name requirements, or use `--all` with `--find-links`"), "{stderr}");
    let (status, _, stderr) =
        brumate(&["bundle", "build", shown(&target), "no-such-project", "--offline", "--find-links", shown(&source)]);
    assert_eq!(status, Some(1));
    assert!(stderr.contains("no-such-project"), "{stderr}");
}
