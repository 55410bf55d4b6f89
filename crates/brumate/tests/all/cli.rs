//! The command line of the binary.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};

use crate::support;

/// Returns the binary with a clean environment and the shared cache of the tests.
fn brumate<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    let cache = brumate_test_support::cache_directory();
    command.env_clear().env("BRUMATE_CACHE_DIR", cache).args(arguments).stdin(Stdio::null());
    command
}

fn output(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Runs `code` with `brumate exec -`.
fn exec(options: &[&str], code: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut child = brumate(["exec"])
        .args(options)
        .arg("-")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    for (arguments, part) in [
        (vec![], "Usage: brumate"),
        (vec!["serve"], "unrecognized subcommand 'serve'"),
        (vec!["streamable-http", "--path", "mcp"], "`--path` must be a path such as `/mcp`"),
        (vec!["stdio", "--port", "3001"], "`--port` is not an option of `stdio`; it belongs to streamable-http,"),
        (vec!["--tools", "all", "exec", "x.py"], "`--tools` is not an option of `exec`"),
        (vec!["exec", "--mount", "/tmp:/lib", "-"], "/lib belongs to the interpreter"),
        (vec!["--tools", "everything", "stdio"], "invalid value 'everything' for '--tools <TOOLS>'"),
        (vec!["--tools", "interpreter", "stdio"], "name one with `--data-dir`"),
        (vec!["sessions", "list"], "name one with `--data-dir`"),
        (vec!["stdio", "--timeout", "soon"], "`soon` is not a duration"),
        (vec!["stdio", "--memory", "1MiB"], "`--memory` must be from 64 MiB to 4 GiB"),
        (vec!["exec", "no/such/file.py"], "cannot read no/such/file.py"),
        (vec!["exec", "--mount", "/nowhere:/x", "-"], "cannot use /nowhere"),
    ] {
        let (status, stdout, stderr) = output(brumate(&arguments));
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
}

#[test]
fn variables_count_as_flags_do() {
    let mut command = brumate(["stdio"]);
    command.env("BRUMATE_TIMEOUT", "never");
    let (status, _, stderr) = output(command);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("`never` is not a duration"), "{stderr}");
    let mut command = brumate(["stdio"]);
    command.env("BRUMATE_LOG", "=[");
    assert_eq!(output(command).0, Some(2));
}

#[test]
fn version_and_help_go_to_standard_output() {
    let version = format!("brumate {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(output(brumate(["--version"])), (Some(0), version, String::new()));
    let (status, help, _) = output(brumate(["--help"]));
    assert_eq!(status, Some(0));
    for part in ["stdio", "streamable-http", "sse", "exec", "COMMAND --help", "124"] {
        assert!(help.contains(part), "{part} is missing in {help}");
    }
    let (status, help, _) = output(brumate(["exec", "--help"]));
    assert_eq!(status, Some(0));
    for part in ["--mount", "--output-dir", "--timeout", "BRUMATE_TIMEOUT", "--cpu-timeout", "124"] {
        assert!(help.contains(part), "{part} is missing in {help}");
    }
    assert!(help.find("--mount") < help.find("--deps"), "its own options come first: {help}");
    assert!(!help.contains("--port"), "{help}");
}

#[test]
fn the_example_is_the_documented_text() {
    let (status, stdout, stderr) = output(brumate(["example"]));
    assert_eq!(
        stdout,
        "<status>success</status>\n<dependencies>[\"numpy\"]</dependencies>\n<output>\n[1 2 3]\n</output>\n\
         <return_value>\n[\n  1,\n  2,\n  3\n]\n</return_value>\n",
        "{stderr}"
    );
    assert_eq!(status, Some(0));
}

#[test]
fn warmup_and_doctor_say_that_it_works() {
    let (status, stdout, stderr) = output(brumate(["warmup"]));
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.starts_with("Ready: "), "{stdout}");
    let (_, stdout, stderr) = output(brumate(["doctor", "--json"]));
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
    // Walls depend on the host; everything else must hold.
    let failed: Vec<_> =
        report["checks"].as_array().unwrap().iter().filter(|check| check["state"] == "failed").collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn scripts_get_their_arguments_and_give_their_output() {
    let code = "import sys\nprint(sys.argv)\nprint('oops', file=sys.stderr)\n7";
    assert_eq!(
        exec(&[], code, &["one", "--two", "-v"]),
        (Some(0), "['-', 'one', '--two', '-v']\n".to_owned(), "oops\n".to_owned())
    );
}

#[test]
fn scripts_read_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("upper.py");
    std::fs::write(&script, "import sys\nprint(input().upper() + sys.stdin.read().upper(), end='')").unwrap();
    let mut child: Child =
        brumate([OsStr::new("exec"), script.as_os_str()]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a\nb\nc\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "AB\nC\n");
}

#[test]
fn output_is_live() {
    let code = "import sys\nprint('ready', flush=True)\nwhile True: pass\n";
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("loop.py");
    std::fs::write(&script, code).unwrap();
    let mut child =
        brumate([OsStr::new("exec"), script.as_os_str()]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    // The script never ends by itself, so a line that came is a line that came while it ran.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_interrupt_reaches_the_script() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("patient.py");
    let code =
        "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(3600)\nfinally:\n    print('tidied up')\n";
    std::fs::write(&script, code).unwrap();
    let mut child = brumate([OsStr::new("exec"), script.as_os_str()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    stdout.read_line(&mut text).unwrap();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(text, "ready\ntidied up\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8(output.stderr).unwrap().contains("KeyboardInterrupt"));
}

#[test]
fn exit_statuses_are_those_of_python_and_of_the_shell() {
    for (options, code, status, part) in [
        (vec![], "", 0, ""),
        (vec![], "raise SystemExit(42)", 42, ""),
        (vec![], "import sys\nsys.exit('a message')", 1, "a message\n"),
        (vec![], "import os\nos._exit(7)", 7, ""),
        (vec![], "1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        (vec!["--timeout", "500ms"], "import time\ntime.sleep(60)", 124, "--timeout"),
        (vec!["--cpu-timeout", "500ms"], "while True: pass", 124, "--cpu-timeout"),
        (
            vec!["--only-bundled", "--deps", "no-such-package"],
            "",
            1,
            "`only-bundled` is set, and it is not in the bundle",
        ),
        (vec![], "import no_such_module", 1, "ModuleNotFoundError"),
    ] {
        let (found, stdout, stderr) = exec(&options, code, &[]);
        assert_eq!((found, stdout.as_str()), (Some(status), ""), "{code}: {stderr}");
        assert!(stderr.contains(part), "{code}: {stderr}");
    }
}

#[test]
fn a_script_that_kills_itself_is_told() {
    for (signal, name, status) in [(9, "SIGKILL", 137), (15, "SIGTERM", 143)] {
        let (code, output, errors) = exec(&[], &format!("import os; os.kill(os.getpid(), {signal})"), &[]);
        let text = format!("The code exited with status {status}, as a process that {name} ended.\n");
        assert_eq!((code, output.as_str(), errors), (Some(status), "", text));
    }
}

#[test]
fn scripts_end_with_the_status_of_a_process() {
    for (code, status, part) in [
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
        ("import os; os.abort()", 134, "aborted"),
        ("import sys; sys.exit(256)", 0, ""),
        ("import sys; sys.exit(-1)", 255, ""),
        ("import sys; sys.exit('text')", 1, "text\n"),
    ] {
        let (found, stdout, stderr) = exec(&[], code, &[]);
        assert_eq!((found, stdout.as_str()), (Some(status), ""), "{code}: {stderr}");
        assert!(stderr.contains(part) && stderr.is_empty() == part.is_empty(), "{code}: {stderr}");
    }
}

#[test]
fn a_script_says_why_it_ends_before_its_exit_functions_run() {
    let exit = "import atexit, sys\natexit.register(print, 'bye', file=sys.stderr)\n";
    for (options, end, status, first) in [
        (vec![], "1/0", 1, "ZeroDivisionError: division by zero\nbye\n"),
        (vec![], "sys.exit('why')", 1, "why\nbye\n"),
        (vec![], "raise KeyboardInterrupt", 130, "KeyboardInterrupt\nbye\n"),
        // A text for which there was no room in stderr is not lost.
        (vec!["--output-limit", "10KB"], "print('x' * 20_000, file=sys.stderr)\n1/0", 1, "division by zero\n"),
        // CPython overflows its stack here as well.
        (vec![], DEEP, 139, "RecursionError: "),
    ] {
        let (found, stdout, stderr) = exec(&options, &format!("{exit}{end}"), &[]);
        assert_eq!((found, stdout.as_str()), (Some(status), ""), "{end}: {stderr}");
        assert_eq!(stderr.matches(first).count(), 1, "{end}: {stderr}");
    }
}

/// Fails, and its objects cannot be freed.
const DEEP: &str = "
import numpy
value = numpy.array(0, dtype=object)
for _ in range(100_000):
    outer = numpy.empty((), dtype=object)
    outer[()] = value
    value = outer
repr(value)
";

#[test]
fn a_script_lies_where_its_directory_is_granted() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("requests.py"), "# coding: latin-1\nname = '\u{e9}'").unwrap();
    let code = b"# coding: latin-1\nimport inspect, os, sys\nos.chdir('/')\nimport requests\n\
                 def f(): return '\xe9'\nprint(ascii((f(), requests.name, __file__, sys.path[0], sys.argv, sys.orig_argv)))\n\
                 print(inspect.getsource(f) == \"def f(): return '\\xe9'\\n\", open(__file__, 'rb').read()[:8])\n1/0\n";
    let script = inner.join("tool.py");
    std::fs::write(&script, code).unwrap();
    let mount = format!("{}:/data:ro", directory.path().to_str().unwrap());
    let (status, stdout, stderr) = output(brumate(["exec", "--mount", &mount, script.to_str().unwrap(), "-x"]));
    assert_eq!(
        stdout,
        "('\\xe9', '\\xc3\\xa9', '/data/inner/tool.py', '/data/inner', ['/data/inner/tool.py', '-x'], ['python', \
         '/data/inner/tool.py', '-x'])\nTrue b'# coding'\n",
        "{stderr}"
    );
    assert_eq!(status, Some(1));
    assert!(stderr.contains("File \"/data/inner/tool.py\", line 8, in <module>\n    1/0\n"), "{stderr}");
}

#[test]
fn tracebacks_show_the_scripts_own_frames_only() {
    let (_, _, stderr) = exec(&[], "def f():\n    raise ValueError('no')\nf()\n", &[]);
    assert_eq!(
        stderr,
        "Traceback (most recent call last):\n  File \"<stdin>\", line 3, in <module>\n    f()\n    ~^^\n  \
         File \"<stdin>\", line 2, in f\n    raise ValueError('no')\nValueError: no\n"
    );
}

#[test]
fn mounts_give_exactly_what_was_granted() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("in.txt"), "hello").unwrap();
    let host = directory.path().to_str().unwrap();
    let code = "text = open('/data/in.txt').read()\nopen('/data/out.txt', 'w').write(text.upper())\n";
    let script = directory.path().join("script.py");
    std::fs::write(&script, code).unwrap();

    let run = |mount: String| output(brumate(["exec", "--mount", &mount, script.to_str().unwrap()]));
    let (status, _, stderr) = run(format!("{host}:/data:ro"));
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("Read-only file system"), "{stderr}");
    assert!(!directory.path().join("out.txt").exists());

    let (status, _, stderr) = run(format!("{host}:/data"));
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(std::fs::read_to_string(directory.path().join("out.txt")).unwrap(), "HELLO");
}

#[test]
fn files_of_a_script_are_copied_out_or_said_to_be_gone() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("made/out");
    let code = "import os, tempfile\nos.makedirs('sub')\nopen('sub/a.bin', 'wb').write(bytes(range(256)) * 5000)\n\
                open('/tmp/b.txt', 'w').write('b')\nopen('.hidden', 'w').close()\n\
                tempfile.NamedTemporaryFile(delete=False).close()\nos.chdir('/tmp')\nopen('c.txt', 'w').write('c')\nraise SystemExit(3)";
    let (status, _, errors) = exec(&[], code, &[]);
    assert_eq!(
        (status, errors.as_str()),
        (
            Some(3),
            "brumate: the script's new files are lost: /home/user/sub/a.bin (to keep such files, use --output-dir DIR or --mount \
             HOST:GUEST)\n"
        )
    );
    let option = ["--output-dir", out.to_str().unwrap()];
    assert_eq!(exec(&option, code, &[]), (Some(3), String::new(), String::new()));
    assert_eq!(std::fs::read(out.join("sub/a.bin")).unwrap(), (0..=255).cycle().take(1_280_000).collect::<Vec<u8>>());
    assert_eq!(std::fs::read_to_string(out.join("tmp/c.txt")).unwrap(), "c");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 2, "neither hidden nor temporary files");
    // What cannot be copied is named, and a script that ended well did not end well.
    std::os::unix::fs::symlink(directory.path(), out.join("link")).unwrap();
    let (status, _, errors) = exec(&option, "import os\nos.mkdir('link')\nopen('link/x', 'w').close()", &[]);
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("/home/user/link/x: ") && errors.contains("is not a directory"), "{errors}");
    assert!(!directory.path().join("x").exists());
    let sparse = "f = open('huge', 'wb')\nf.truncate(1 << 31)\nf.close()";
    let limited = [&option[..], &["--mount-limit", "4MiB"]].concat();
    let (status, _, errors) = exec(&limited, sparse, &[]);
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("larger than 4 MiB together"), "{errors}");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 3, "half a copy is removed");
}

#[test]
fn modules_and_code_run_as_under_python() {
    let directory = tempfile::tempdir().unwrap();
    let package = directory.path().join("tool");
    std::fs::create_dir(&package).unwrap();
    std::fs::write(package.join("__init__.py"), "").unwrap();
    let code = "import os, sys\ntold = open('/proc/self/cmdline').read() == '\\0'.join([*sys.orig_argv, ''])\n\
                print(__name__, __spec__.name, __file__, sys.argv, sys.path[:2], os.environ.get('B'), told)\n\
                def f():\n    1 / 0\nif sys.argv[1:] == ['--fail']:\n    f()\nsys.exit(7)\n";
    std::fs::write(package.join("__main__.py"), code).unwrap();
    // A package of the same name is on PyPI, and none of its business here.
    std::fs::write(directory.path().join("yaml.py"), "name = 'own'\n").unwrap();
    let mount = format!("{}:/work:ro", directory.path().display());
    let options =
        ["exec", "--mount", &mount, "--env", "PYTHONPATH=/work", "--env", "A=1=2", "--env", "B", "--env", "NOT_SET"];
    let run = |arguments: &[&str]| {
        let mut command = brumate([&options[..], arguments].concat());
        command.env("B", "from here");
        output(command)
    };
    let line = "__main__ tool.__main__ /work/tool/__main__.py ['/work/tool/__main__.py', '-v', '-m', 'x'] ['/home/user', '/work'] from here True\n";
    assert_eq!(run(&["-m", "tool", "-v", "-m", "x"]), (Some(7), line.to_owned(), String::new()));
    let (status, _, stderr) = run(&["-m", "tool", "--fail"]);
    let expected = "Traceback (most recent call last):\n  File \"<frozen runpy>\", line 198, in _run_module_as_main\n  \
                    File \"<frozen runpy>\", line 88, in _run_code\n  File \"/work/tool/__main__.py\", line 7, in <module>\n    f()\n    ~^^\n  \
                    File \"/work/tool/__main__.py\", line 5, in f\n    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero\n";
    assert_eq!((status, stderr.as_str()), (Some(1), expected));
    let code = "    import os, sys, yaml\n    print(sys.argv, yaml.name, os.environ['A'], 'NOT_SET' in os.environ, '__file__' in globals(), \
                open('/proc/self/cmdline').read() == '\\0'.join([*sys.orig_argv, '']))\n    1/0\n";
    let (status, stdout, stderr) = run(&["-c", code, "-x"]);
    assert_eq!((status, stdout.as_str()), (Some(1), "['-c', '-x'] own 1=2 False False True\n"), "{stderr}");
    assert_eq!(
        stderr,
        "Traceback (most recent call last):\n  File \"<string>\", line 3, in <module>\n    1/0\n    ~^~\nZeroDivisionError: division by zero\n"
    );
    let (status, _, stderr) = run(&["--offline", "-m", "no_such_module_anywhere"]);
    let note = "No module named no_such_module_anywhere\n(";
    assert!(status == Some(1) && stderr.contains(note) && stderr.contains("`--deps NAME`"), "{stderr}");
    std::fs::remove_file(package.join("__main__.py")).unwrap();
    let (status, _, stderr) = run(&["-m", "tool"]);
    assert!(status == Some(1) && stderr.ends_with("is a package and cannot be directly executed\n"), "{stderr}");
    let (status, _, stderr) = output(brumate(["exec", "--env", "=secret", "-c", "1"]));
    assert!(
        status == Some(2) && stderr.contains("`--env`: expected NAME=VALUE or NAME") && !stderr.contains("secret"),
        "{stderr}"
    );
}

#[test]
fn a_server_without_a_client_ends_well_and_says_nothing_to_it() {
    let (status, stdout, stderr) = output(brumate(["stdio"]));
    assert_eq!((status, stdout.as_str()), (Some(0), ""), "{stderr}");
}

#[test]
fn packages_get_completions_and_manual_pages() {
    let directory = tempfile::tempdir().unwrap();
    let man = directory.path().join("man1");
    assert_eq!(support::brumate(&["man", man.to_str().unwrap()]).0, Some(0));
    let page = std::fs::read_to_string(man.join("brumate-stdio.1")).unwrap();
    assert!(page.contains(".TH brumate") && page.contains("memory"), "{page}");
    assert!(!man.join("brumate-help.1").exists() && man.join("brumate.1").exists());
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef brumate"), ("fish", "complete -c brumate")] {
        let (status, script, _) = support::brumate(&["completions", shell]);
        assert!(status == Some(0) && script.contains(mark), "{shell}: {script}");
    }
    assert_eq!(support::brumate(&["completions", "nosuch"]).0, Some(2));
}

#[test]
fn a_server_that_is_not_there_is_not_healthy() {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    let (status, output, errors) = support::brumate(&["health", &free]);
    assert_eq!((status, output.as_str()), (Some(1), ""));
    assert!(errors.contains(&format!("the server at port {free} of this machine does not answer")), "{errors}");
}

/// Uses `brumate client` with `brumate stdio` as the server.
#[test]
fn a_servers_tools_are_listed_and_called() {
    let cache = brumate_test_support::cache_directory();
    let server = [env!("CARGO_BIN_EXE_brumate"), "stdio", "--cache-dir", cache.to_str().unwrap()];
    let client = |arguments: &[&str]| support::brumate(&[&["client"], arguments, &["--"], &server[..]].concat());
    let (status, output, errors) = client(&["list"]);
    assert_eq!(status, Some(0), "{errors}");
    assert!(
        output.starts_with("Brumate ") && output.contains("run_python_code(") && output.contains("2026-07-28"),
        "{output}"
    );
    let (status, output, errors) = client(&["call", "run_python_code", "python_code=print(6 * 7)"]);
    assert!(status == Some(0) && output.contains("42"), "{output}{errors}");
    let (status, output, _) = client(&["call", "run_python_code", "--json", "python_code=1 / 0"]);
    let result: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().contains("ZeroDivisionError"), "{status:?} {result}");
    let (status, _, errors) = client(&["call", "nothing"]);
    assert!(status == Some(1) && errors.contains("Unknown tool: nothing"), "{errors}");
    let (status, _, errors) = support::brumate(&["client", "list", "--url", "http://127.0.0.1:9/mcp"]);
    assert!(status == Some(1) && errors.contains("http://127.0.0.1:9/mcp"), "{errors}");
    assert_eq!(support::brumate(&["client", "list"]).0, Some(2), "it says no server");
}
