//! Notebooks as files: `brumate exec` with a notebook, also with hostile ones.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs `brumate exec` with a notebook. Returns the exit status and both streams.
fn exec<S: AsRef<OsStr>>(file: &Path, options: impl IntoIterator<Item = S>) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    let cache = brumate_test_support::cache_directory();
    command.env_clear().env("BRUMATE_CACHE_DIR", cache).stdin(Stdio::null());
    let output = command.args(["exec", "--offline"]).arg(file).args(options).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Writes a notebook with these code cells to `a.ipynb`.
fn notebook(directory: &TempDir, cells: &[&str]) -> std::path::PathBuf {
    let cell = |(number, code): (usize, &&str)| json!({"cell_type": "code", "id": format!("c{number}"), "metadata": {}, "source": code, "outputs": [], "execution_count": null});
    let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
    write(directory, &json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string())
}

fn write(directory: &TempDir, text: &str) -> std::path::PathBuf {
    let file = directory.path().join("a.ipynb");
    std::fs::write(&file, text).unwrap();
    file
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn a_notebook_is_written_with_its_outputs_and_keeps_what_else_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let source = json!({
        "cells": [
            {"cell_type": "markdown", "metadata": {"m": 1}, "source": "# A"},
            {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": ["a = 1\n", "b = 2"]},
            {"cell_type": "code", "metadata": {"x": {"y": null}}, "source": "print(a, b)\na", "outputs": [{"output_type": "stream", "name": "stdout", "text": "old"}], "execution_count": 9},
            {"cell_type": "code", "metadata": {"tags": ["raises-exception"]}, "source": "1/0"},
            {"cell_type": "code", "metadata": {"tags": ["skip-execution"]}, "source": "print('skipped')"},
            {"cell_type": "code", "metadata": {}, "source": "import os\nopen('new.txt', 'w').write(os.environ['NAME'])"},
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}, "own": [1.5]},
        "nbformat": 4,
        "nbformat_minor": 2,
    });
    let file = write(&directory, &source.to_string());
    let files = directory.path().join("files");
    let options = [
        "-o".as_ref(),
        file.as_os_str(),
        "-p".as_ref(),
        "a".as_ref(),
        "7".as_ref(),
        "--env=NAME=ä\"".as_ref(),
        "--output-dir".as_ref(),
        files.as_os_str(),
    ];
    let (status, stdout, stderr) = exec(&file, options);
    assert_eq!((status, stdout.as_str()), (0, ""), "{stderr}");
    let written = read(&file);
    assert_eq!((&written["nbformat_minor"], &written["metadata"]["own"]), (&json!(5), &json!([1.5])));
    assert_eq!(written["metadata"]["kernelspec"], source["metadata"]["kernelspec"]);
    assert_eq!(written["metadata"]["language_info"]["name"], "python");
    let cells = written["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &cells[0]["metadata"]), (7, &json!({"m": 1})));
    assert_eq!(
        (&cells[2]["source"], &cells[2]["metadata"]["tags"]),
        (&json!(["# Parameters\n", "a = 7\n"]), &json!(["injected-parameters"]))
    );
    assert_eq!(cells[3]["metadata"]["x"], json!({"y": null}));
    assert_eq!(cells[3]["execution_count"], 3);
    assert_eq!(cells[3]["outputs"][0]["text"], json!(["7 2\n"]));
    assert_eq!(cells[3]["outputs"][1]["data"], json!({"text/plain": ["7"]}));
    assert_eq!(cells[4]["outputs"][0]["ename"], "ZeroDivisionError");
    assert_eq!((&cells[5]["outputs"], &cells[5]["execution_count"]), (&json!([]), &Value::Null));
    assert_eq!(std::fs::read_to_string(files.join("new.txt")).unwrap(), "ä\"");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "nothing stays beside it");
}

#[test]
fn without_a_file_outputs_are_printed_and_the_first_error_ends_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let file =
        notebook(&directory, &["print('a')\n'value'", "import sys; print('b', file=sys.stderr)", "1/0", "print('c')"]);
    let before = std::fs::read(&file).unwrap();
    let (status, stdout, stderr) = exec(&file, [""; 0]);
    assert_eq!((status, stdout.as_str()), (1, "a\n'value'\n"));
    assert!(stderr.contains("b\n") && stderr.contains("\nZeroDivisionError: division by zero\n"), "{stderr}");
    assert!(
        !stderr.contains('\u{1b}')
            && stderr.ends_with("brumate: cell 3 of 4 failed: ZeroDivisionError: division by zero\n"),
        "{stderr}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // The file has what ran, also when a cell failed.
    let out = directory.path().join("out.ipynb");
    let (status, _, stderr) = exec(&file, ["-o".as_ref(), out.as_os_str()]);
    assert!(status == 1 && stderr.contains("Traceback (most recent call last)"), "{stderr}");
    let cells = read(&out)["cells"].clone();
    assert_eq!(
        (&cells[2]["outputs"][0]["ename"], &cells[3]["execution_count"]),
        (&json!("ZeroDivisionError"), &Value::Null)
    );
    let (status, stdout, _) = exec(&file, ["--allow-errors", "-o", "-"]);
    let cells = serde_json::from_str::<Value>(&stdout).unwrap()["cells"].clone();
    assert_eq!((status, &cells[3]["outputs"][0]["text"]), (0, &json!(["c\n"])));
}

#[test]
fn limits_and_ends_of_the_interpreter_are_failures_of_their_cells() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.ipynb");
    let file = notebook(&directory, &["x = 1", "while True: pass"]);
    let (status, _, stderr) = exec(&file, ["--timeout=500ms".as_ref(), "-o".as_ref(), out.as_os_str()]);
    assert!(status == 124 && stderr.contains("cell 2 of 2 failed: KeyboardInterrupt"), "{status} {stderr}");
    let outputs = read(&out)["cells"][1]["outputs"].to_string();
    assert!(outputs.contains("KeyboardInterrupt") && outputs.contains("0.5 s"), "{outputs}");
    let file = notebook(&directory, &["import os; os._exit(3)"]);
    let (status, _, stderr) = exec(&file, ["-o".as_ref(), out.as_os_str()]);
    assert!(status == 1 && stderr.contains("cell 1 of 1 failed: SandboxError"), "{status} {stderr}");
    assert_eq!(read(&out)["cells"][0]["outputs"][0]["ename"], "SandboxError");
}

#[test]
fn what_cannot_be_run_is_refused_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let deep = ["{\"nbformat\": 4, \"metadata\": ", &"[".repeat(1 << 20), &"]".repeat(1 << 20), "}"].concat();
    for (text, part) in [
        ("", "is no notebook"),
        ("print(1)", "is no notebook"),
        (&deep, "recursion limit"),
        (r#"{"nbformat": 3, "worksheets": []}"#, "`jupyter nbconvert --to notebook FILE`"),
        (r#"{"nbformat": 4, "cells": [[]]}"#, "cell 1: it is no object"),
        (r#"{"nbformat": 4, "cells": [], "metadata": {"kernelspec": {"language": "R"}}}"#, "a notebook in R"),
    ] {
        let (status, stdout, stderr) = exec(&write(&directory, text), [""; 0]);
        assert_eq!((status, stdout.as_str()), (2, ""), "{text:.50}: {stderr}");
        assert!(stderr.contains(part), "{text:.50}: {stderr}");
    }
    let file = notebook(&directory, &[]);
    for (options, part) in [
        (&["-p", "a b", "1"][..], "`a b` is no name of a Python variable"),
        (&["-y", "[1]"], "mapping of names to values"),
        (&["-f", "/no/such/file"], "/no/such/file cannot be read"),
        (&["-o", "/no/such/directory/a.ipynb"], "there is no directory /no/such/directory"),
        (&["-o", "/"], "it is a directory"),
        (&["more.py"], "takes no arguments such as `more.py`: set its parameters with `-p NAME VALUE`"),
    ] {
        let (status, _, stderr) = exec(&file, options);
        assert!(status == 2 && stderr.contains(part), "{options:?}: {status} {stderr}");
    }
    std::fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    let (status, _, stderr) = exec(&file, [""; 0]);
    assert!(status == 2 && stderr.contains("it is larger than"), "{stderr}");
    let script = directory.path().join("a.py");
    std::fs::write(&script, "").unwrap();
    let (status, _, stderr) = exec(Path::new("--allow-errors"), [script.as_os_str()]);
    assert!(status == 2 && stderr.contains("`--allow-errors` is an option for notebooks"), "{stderr}");
}

/// Outputs that no honest code makes.
const HOSTILE: [&str; 6] = [
    "from IPython.display import display\ndisplay({'text/plain': 1, 'text/html': {'a': [None]}, 'x/y': b'z', 3: 4}, raw=True)",
    "print('\\ud800', flush=True)\ndisplay({'text/plain': '\\udfff'}, raw=True)\n'\\ud800'",
    "deep = 1\nfor _ in range(5000): deep = [deep]\ndisplay({'application/json': deep}, raw=True, metadata={'x': deep})",
    "for _ in range(3): display({'text/plain': 'x' * (8 << 20)}, raw=True, display_id='same')",
    "display({'text/plain': 'y' * (12 << 20)}, raw=True, display_id='same', update=True)",
    "from _brumate import channel\nfor text in ('', 'x', '[]', '{', '\"', '{\"data\": 1}', '{\"data\": {}, \"transient\": []}'):\n    channel.send('display_data', text, text, [])",
];

#[test]
fn hostile_outputs_make_a_valid_file_of_bounded_size() {
    let directory = tempfile::tempdir().unwrap();
    let file = notebook(&directory, &HOSTILE);
    let (status, _, stderr) =
        exec(&file, ["--allow-errors".as_ref(), "--active-output".as_ref(), "-o".as_ref(), file.as_os_str()]);
    assert_eq!(status, 0, "{stderr}");
    assert!(std::fs::metadata(&file).unwrap().len() < 64 << 20);
    validate(&file);
}

/// Checks a file with nbformat.
fn validate(file: &Path) {
    let code = "import sys, nbformat; nbformat.validate(nbformat.read(sys.argv[1], 4))";
    python(&["-W".as_ref(), "error".as_ref(), "-c".as_ref(), code.as_ref(), file.as_os_str()]);
}

/// Runs Python with Jupyter's packages in `tests/python/jupyter`.
fn python(arguments: &[&OsStr]) {
    let python = std::env::var("BRUMATE_TEST_PYTHON_JUPYTER").expect("`cargo xtask test` sets it");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command.env("HOME", home.path()).env("BRUMATE_CACHE_DIR", brumate_test_support::cache_directory());
    command.env("BRUMATE_BINARY", env!("CARGO_BIN_EXE_brumate")).env("BRUMATE_DATA_DIR", home.path().join("data"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", root.join("python/src"));
    let output = command.args(arguments).current_dir(root.join("tests/python/jupyter")).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// Outputs are those of nbclient with ipykernel.
#[test]
fn outputs_are_nbclients() {
    let brumate = env!("CARGO_BIN_EXE_brumate");
    let notebooks = ["--only", "display_updates", "--only", "text"];
    let line = [&["exec_notebooks.py", "--kernel", "python3"], &notebooks[..], &[brumate]].concat();
    python(&line.into_iter().map(OsStr::new).collect::<Vec<_>>());
}

#[test]
fn cells_of_other_notebooks_run_in_the_sandbox() {
    python(&["sandbox_magic.py".as_ref()]);
}
