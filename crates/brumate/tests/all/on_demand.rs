//! Modules whose packages come when code imports them, in `exec`; from a directory of wheels, without a network.

use std::path::Path;

use crate::support::brumate;
use crate::support::wheels::wheel;

/// Writes wheels whose modules have other names than their projects.
fn shelf(directory: &Path) {
    let project = |name: &str, files: &[(&str, &[u8])], more: &str| {
        let bytes = wheel(name, "1.0", files, more);
        std::fs::write(directory.join(format!("{name}-1.0-py3-none-any.whl")), bytes).unwrap();
    };
    project("acme_color", &[("acolor/__init__.py", b"name = 'colour'\n")], "");
    project("acme_shape", &[("ashape.py", b"name = 'shape'\n")], "");
    project("plainname", &[("plainname.py", b"name = 'plain'\n")], "");
    project("wrongname", &[("otherwise.py", b"")], "");
    let library = b"def draw():\n    import ashape\n    return ashape.name\n\
                    def undeclared():\n    import acolor\n\
                    def tried():\n    try:\n        import plainname\n    except ImportError:\n        return 'without'\n";
    let extras = "Provides-Extra: drawing\nRequires-Dist: acme-shape>=1; extra == 'drawing'\n\
                  Provides-Extra: more\nRequires-Dist: plainname; extra == 'more'\n";
    project("alibrary", &[("alibrary.py", library)], extras);
}

fn exec(options: &[&str], code: &str) -> (Option<i32>, String, String) {
    let scratch = tempfile::tempdir().unwrap();
    let (wheels, script) = (scratch.path().join("wheels"), scratch.path().join("script.py"));
    std::fs::create_dir(&wheels).unwrap();
    shelf(&wheels);
    std::fs::write(&script, code).unwrap();
    let start = ["exec", "--offline", "--find-links", wheels.to_str().unwrap()];
    brumate(&[&start[..], options, &[script.to_str().unwrap()]].concat())
}

#[test]
fn code_gets_the_modules_that_it_imports_when_it_imports_them() {
    let code = "import importlib\n\
                try:\n    import acolor\nexcept ImportError:\n    acolor = None\n\
                print(acolor.name, importlib.import_module('a' + 'shape').name, __import__('plain' + 'name').name)\n";
    assert_eq!(exec(&[], code), (Some(0), "colour shape plain\n".to_owned(), String::new()));
    // What the text itself imports is there before it runs.
    let code = "import acolor, sys\nprint(acolor.__file__)\n";
    assert_eq!(exec(&[], code).1, "/usr/lib/python3.14/dist-packages/acolor/__init__.py\n");
}

#[test]
fn a_library_gets_what_its_extras_declare_and_it_needs() {
    let code = "import alibrary\nprint(alibrary.draw(), alibrary.tried())\nalibrary.undeclared()\n";
    let (status, stdout, stderr) = exec(&[], code);
    assert_eq!((status, stdout.as_str()), (Some(1), "shape without\n"), "{stderr}");
    assert!(stderr.contains("ModuleNotFoundError: No module named 'acolor'"), "{stderr}");
}

#[test]
fn what_cannot_be_had_is_said_with_the_way_out() {
    let code = "for name in ('nowhere_at_all', 'wrongname'):\n    try:\n        __import__(name)\n    except ImportError as error:\n\
                \x20       print(repr(error))\nimport nowhere_at_all\n";
    let (status, stdout, stderr) = exec(&[], code);
    let errors = "ModuleNotFoundError(\"No module named 'nowhere_at_all'\")\nModuleNotFoundError(\"No module named 'wrongname'\")\n";
    assert_eq!((status, stdout.as_str()), (Some(1), errors), "{stderr}");
    for part in ["`nowhere-at-all` is not in the cache", "the network is off", "# dependencies = [\"NAME\"]"] {
        assert!(stderr.contains(part), "{part:?} is missing in {stderr}");
    }
    assert!(!stderr.contains("conda"), "{stderr}");
}

#[test]
fn the_operator_says_which_modules_are_looked_for() {
    let code = "for name in ('acolor', 'plainname', 'unheard_of'):\n    try:\n        print(__import__(name).name)\n    \
                except ImportError as error:\n        print(error)\nimport unheard_of\n";
    let (_, stdout, stderr) = exec(&["--infer", "known"], code);
    assert_eq!(stdout, "colour\nplain\nNo module named 'unheard_of'\n");
    assert!(stderr.contains("no package is known that provides the module `unheard_of`"), "{stderr}");
    let (_, stdout, stderr) = exec(&["--infer", "none"], code);
    assert_eq!(stdout, "No module named 'acolor'\nNo module named 'plainname'\nNo module named 'unheard_of'\n");
    assert!(stderr.contains("--infer none"), "{stderr}");
}
