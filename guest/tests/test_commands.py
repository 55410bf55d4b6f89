"""Shell lines: compared with a real shell where there is one, and what is refused."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

import guest_path  # isort: split

import brumate_shell
from brumate_shell import Streams, streams, table
from brumate_shell.bash import constructs, executor, syntax
from support import Replaced

# Scripts that `bash` answers in the same words.
SAME = [
    "echo hello world",
    "echo -n a; echo b",
    "echo 'single $HOME' \"double $NAME\" un\\ quoted",
    'echo $NAME ${NAME} ${MISSING:-other} "${NAME:+set}" [$MISSING]',
    "echo a'b'\"c\"d",
    "echo *.txt; echo '*.txt' \"*.txt\" *.nothing",
    "echo {a,b}{1,2} {1..4} {x}",
    "echo $(echo inner; echo two) `echo back`",
    'echo "$(cat one.txt)"',
    "cat one.txt two.txt",
    "cat -n one.txt",
    "cat < one.txt",
    "cat one.txt | wc -l",
    "wc -l one.txt; wc -w < one.txt; wc -c one.txt",
    "head -n 2 long.txt; head -2 long.txt; head -n -7 long.txt; head -c 5 long.txt",
    "tail -n 2 long.txt; tail -n +9 long.txt; tail -c 4 long.txt",
    "head -n 1 one.txt two.txt",
    "grep -n a one.txt; grep -c a one.txt; grep -v a one.txt; grep -i A one.txt",
    "grep 'b.*a\\|gamma' one.txt; grep -E '(alpha|beta)$' one.txt; grep -o 'l[a-z]' one.txt",
    "grep -l a *.txt; grep -r beta sub; grep -w alp one.txt; echo $?",
    "grep -A1 alpha one.txt; grep -F 'a.' one.txt; echo $?",
    "ls; ls *.txt; ls -a sub; ls -1 sub",
    "ls one.txt sub",
    "ls -d sub",
    "ls missing 2>/dev/null; echo $?",
    "mkdir -p d/e/f && ls d && rmdir d/e/f && ls d/e",
    "mkdir d; echo $?; mkdir d 2>/dev/null; echo $?",
    "touch new && ls new; rm new; ls new 2>/dev/null || echo gone",
    "cp one.txt copy.txt && cat copy.txt && mv copy.txt sub && ls sub",
    "cp -r sub sub2; ls sub2; rm -r sub2; ls -d sub2 2>/dev/null; echo $?",
    "rm missing 2>/dev/null; echo $?; rm -f missing; echo $?; rm sub 2>/dev/null; echo $?",
    "echo one > f; echo two >> f; cat f; echo three > f; cat f",
    "ls missing one.txt > f 2>&1; wc -l < f",
    "find . -name '*.txt' | sort; find sub -type f; find . -maxdepth 1 -type d | sort",
    "find . -name '*.txt' ! -name 'o*' | sort",
    "cd sub; pwd | grep -c sub$; ls",
    "cd sub && ls; cd nowhere 2>/dev/null || echo no",
    "sort -r one.txt; sort -n numbers.txt; sort -u numbers.txt | head -1; sort -k2 table.csv -t,",
    "sort numbers.txt | uniq -c | sort -rn | head -1",
    "cut -d, -f2 table.csv; cut -c1-3 one.txt; cut -d, -f1,3- table.csv",
    "seq 3; seq 2 4; seq 1 2 6",
    "printf '%s=%d\\n' a 1 b 2; printf 'x\\ty\\n'; printf '%05.2f|%-4s|\\n' 3.14159 ab",
    "basename /a/b.txt .txt; dirname /a/b.txt; basename c; dirname c",
    "true && echo yes || echo no; false && echo yes || echo no; false; echo $?",
    "X=5; echo $X; export Y=6; echo $Y; X=7 echo $X",
    "echo a | tee t.txt; cat t.txt",
    "cat <<EOF\nvalue $NAME\nsecond\nEOF\necho after",
    "cat <<'EOF' > f\nraw $NAME\nEOF\ncat f",
    "cat <<< word",
    "echo one \\\n  two # comment\n# only a comment\necho three;",
    "echo a &&\necho b |\ncat",
    "echo ~ | grep -c /",
    "bash -c 'echo inside'; sh -c 'false'; echo $?",
    "exit 3",
    "echo 'a;b|c&d>e'",
    "du -b one.txt | cut -f1",
    "which ls > /dev/null && echo found; which no_such_program; echo $?",
    "date +%Y | wc -c",
    "echo a > 'with space'; cat 'with space'; ls with*",
    "env | grep ^NAME=",
    "echo -e 'a\\nb'",
]


class Same(unittest.TestCase):
    @unittest.skipIf(shutil.which("bash") is None, "no bash")
    def test_as_bash_does(self):
        for script in SAME:
            with self.subTest(script=script):
                status, out, _ = ours(script)
                with prepared() as directory:
                    real = subprocess.run(
                        ["bash", "-c", script], capture_output=True, cwd=directory, env=environment(), text=True
                    )
                self.assertEqual((out, status), (real.stdout, real.returncode))


PATH = os.environ["PATH"]


def environment():
    return {"NAME": "value", "HOME": "/root", "PATH": PATH, "LC_ALL": "C"}


def prepared():
    directory = tempfile.TemporaryDirectory()
    files = {
        "one.txt": "alpha\nbeta\ngamma alp\n", "two.txt": "no newline", "long.txt": "".join([f"line {n}\n" for n in range(10)]),
        "numbers.txt": "10\n9\n10\n1\n", "table.csv": "a,b,c,d\n1,9,3,4\n5,6,7,8\n", "sub/inner.txt": "beta in sub\n",
    }  # fmt: skip
    os.mkdir(os.path.join(directory.name, "sub"))
    for name, text in files.items():
        with open(os.path.join(directory.name, name), "w") as file:
            file.write(text)
    return directory


def ours(script):
    """`(status, stdout, stderr)` in a directory of its own."""
    before, saved = os.getcwd(), dict(os.environ)
    out, err = io.StringIO(), io.StringIO()
    with prepared() as directory:
        try:
            os.chdir(directory)
            os.environ.clear()
            os.environ.update(environment())
            status = brumate_shell.run(script, Streams(io.BytesIO(), out, err))
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(saved)
    return status, out.getvalue(), err.getvalue()


class Builtins(unittest.TestCase):
    """Whatever the guest has made of the builtins, the shell has the original ones; the guest's own stay."""

    def run_with(self, script, *replaced):
        out, err = io.StringIO(), io.StringIO()
        streams, replacement = Streams(io.BytesIO(), out, err), Replaced(*replaced)
        with replacement:
            status = brumate_shell.run(script, streams)
            left = {**replacement.live}
        self.assertEqual({name: left[name] for name in replacement.names}, replacement.names)
        return status, out.getvalue(), err.getvalue()

    def test_all_replaced(self):
        script = "for i in 2 1 3; do echo $((i * 2)); done | sort -n | awk '{ s += $1 } END { print s, NR }'; echo '[1]' | jq -c"
        self.assertEqual(self.run_with(script), (0, "12 3\n[1]\n", ""))
        self.assertEqual(self.run_with("echo ab | sed s/a/b/ | grep -c bb; find /nowhere")[:2], (1, "1\n"))

    def test_all_replaced_for_one_command(self):
        out = io.StringIO()
        streams = Streams(io.BytesIO(), out, out)
        with Replaced():
            status = brumate_shell.call("pip", ["--version"], streams)
            text = brumate_shell.describe("ls")
        self.assertEqual((status, out.getvalue()[:18]), (0, "pip of the sandbox"))
        self.assertIn("ls", text)

    def test_a_program_has_those_of_the_guest(self):
        code = "import builtins; print(builtins.sorted, builtins.len)"
        script = f"echo ab | wc -c; python -c '{code}' | cat; echo ab | wc -c"
        self.assertEqual(self.run_with(script, "len", "sorted"), (0, "3\nNone None\n3\n", ""))

    def test_a_program_that_replaces_some(self):
        code = "import builtins; builtins.len = builtins.sorted = builtins.super = None; print(1); print(2)"
        script = f"python -c '{code}' | cat; ls /nowhere 2> /dev/null; echo b | wc -l"
        self.assertEqual(self.run_with(script, "max"), (0, "1\n2\n1\n", ""))
        self.assertEqual(self.run_with(f"python -c '{code}; 1 / 0'", "max")[:2], (1, "1\n2\n"))


class Refused(unittest.TestCase):
    def test_by_name(self):
        for script, part, status in [
            ("git status", "git: command not available: this sandbox has no network", 127),
            ("apt-get install x", "only packages of Python can be installed", 127),
            ("gcc x.c", "runs Python only", 127),
            ("for i in 1 2; do echo $i", "for: done is missing", 2),
            ("if true; then echo x; else", "a command is missing", 2),
            ("if true; fi", "then is missing", 2),
            ("case x in a) echo x", "case: ;; is missing", 2),
            ("echo a; }", "syntax error near }", 2),
            ("echo a)", "syntax error near )", 2),
            ("select x in a; do :; done", "select is not supported", 2),
            ("coproc cat", "coproc is not supported", 2),
            ("diff <(ls) <(ls)", "process substitution <(...) is not supported", 2),
            ("ls > >(cat)", "process substitution >(...) is not supported", 2),
            ("echo x 3> f", "there are 0, 1 and 2", 2),
            ("exec > f", "redirect a { ...; } instead", 2),
            ("trap 'rm x' EXIT", "trap: command not available: there are no signals", 127),
            ("kill 1", "there are no processes", 127),
            ("alias a=b", "write a function", 127),
            ("echo $!", "no background jobs", 2),
            ("echo $[1+1]", "write $((...))", 2),
            ("[[ a -xx b ]]", "[[: the operator -xx is not supported", 2),
            ("set -Z", "the option Z is not supported", 2),
            ("shopt -s extglob", "extglob is not supported", 1),
            ("awk 'BEGIN { system(\"ls\") }'", "system(): awk starts no commands", 2),
            ("awk '{ print | \"sort\" }'", 'print | "command": awk starts no commands', 2),
            ("awk 'BEGIN { \"ls\" | getline }'", '"command" | getline: awk starts no commands', 2),
            ("sed 's/a/ls/e'", "the flag e of s is not supported", 2),
            ("sed e", "the command e is not supported", 2),
            ("diff -y one.txt two.txt", "use -u", 2),
            ("find . -fprint x", "-fprint is not supported", 1),
            ("jq 'import \"a\" as a; .'", "no modules of jq", 3),
            ("tail -f one.txt", "-f is not supported", 1),
            ("sleep 1 &", "background jobs", 2),
            ("echo 'open", "not closed", 2),
            ("ls --no-such", "--no-such is not supported", 2),
            ("cat |", "missing after |", 2),
            ("cat <<EOF\nx", "no line EOF", 2),
            ("./script.bin", "command not available", 127),
        ]:
            with self.subTest(script=script):
                found, _, err = ours(script)
                self.assertIn(part, err)
                self.assertEqual(found, status)

    def test_a_refusal_names_what_there_is(self):
        _, _, err = ours("vim")
        for name in table.NAMES:
            self.assertIn(name, err)

    def test_every_command_says_what_it_does(self):
        for name in table.NAMES:
            self.assertTrue(table.find(name).__doc__, name)


class State(unittest.TestCase):
    def test_directory_and_environment_are_the_callers_again(self):
        before = os.getcwd(), dict(os.environ)
        ours("cd /; X=1; export Y=2; unset HOME")
        self.assertEqual((os.getcwd(), dict(os.environ)), before)

    def test_bytes_pass_through(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "b")
            with open(path, "wb") as file:
                file.write(bytes(range(256)))
            brumate_shell.run(f"cat {path} | cat > {path}2", Streams(io.BytesIO(), io.StringIO(), io.StringIO()))
            with open(path + "2", "rb") as file:
                self.assertEqual(file.read(), bytes(range(256)))

    def test_loops_end_when_their_time_is_over(self):
        status, out, _ = ours("timeout 0.2 bash -c 'while true; do :; done'; echo $?")
        self.assertEqual((status, out), (0, "124\n"))

    def test_an_interrupt_ends_a_loop(self):
        import signal

        # Not SIGINT: a shell that starts these tests in the background has it ignored.
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, signal.default_int_handler))
        for script in (
            "while true; do :; done",
            "for ((;;)); do x=1; done",
            "yes > /dev/null",
            "awk 'BEGIN { while (1) x++ }'",
            "sed ':a;ba' one.txt",
            "jq -n 'last(repeat(1))'",
            "f() { while :; do g; done; }; g() { true || true; }; f | cat",
        ):
            with self.subTest(script=script):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                with self.assertRaises(KeyboardInterrupt):
                    ours(script)

    def test_bounds(self):
        self.assertEqual(ours("echo " + "x" * (syntax.MAX_SCRIPT_CHARS + 1))[0], 2)
        self.assertIn("too many", ours("echo {1..999999999}")[2])
        self.assertIn("too many", ours("echo " + "{1..999}" * 3)[2])
        deep = "echo x"
        for _ in range(executor.MAX_DEPTH + 2):
            deep = f"echo $({deep})"
        self.assertIn("nested too deeply", ours(deep)[2])
        self.assertIn("nested too deeply", ours("f() { f; }; f")[2])
        self.assertIn("nested too deeply", ours("( " * 200 + "ls" + " )" * 200)[2])
        self.assertIn("nested too deeply", ours("x=x; echo $((x))")[2])
        self.assertIn("nested too deeply", ours("echo $(({}))".format("(" * 99 + "1" + ")" * 99))[2])
        self.assertIn("nested", ours("awk 'function f() { return f() } BEGIN { f() }'")[2])
        self.assertIn("nested too deeply", ours("jq -n '{}1{}'".format("(" * 500, ")" * 500))[2])
        self.assertIn("nested too deeply", ours("jq -n 'def f: 1 + f; f'")[2])
        with mock.patch.object(constructs, "MAX_LOOP_TURNS", 100):
            status, _, err = ours("while true; do :; done")
        self.assertEqual(status, 2)
        self.assertIn("more than 100 turns", err)
        with mock.patch.object(streams, "MAX_PIPE_CHARS", 1000):
            self.assertEqual(ours("yes | sed 3q")[1], "y\ny\ny\n")
            self.assertIn("too long to be passed on", ours("yes | wc -l")[2])
            self.assertIn("too long to be passed on", ours("x=$(yes | cat)")[2])


class Python(unittest.TestCase):
    def test_runs_here(self):
        self.assertEqual(
            ours("echo 'import sys; print(sys.argv, __name__)' > p.py; python p.py a b")[1],
            "['p.py', 'a', 'b'] __main__\n",
        )
        self.assertEqual(ours("python3 -c 'import sys; sys.exit(4)'")[0], 4)
        self.assertEqual(ours("python -c 'print(input())' <<< typed")[1], "typed\n")
        status, _, err = ours("python -c '1/0'")
        self.assertEqual(status, 1)
        self.assertTrue(err.startswith('Traceback (most recent call last):\n  File "<string>", line 1'), err)
        self.assertEqual(ours("python -m json.tool <<< '{\"a\": 1}'")[1], '{\n    "a": 1\n}\n')
        self.assertRegex(ours("python --version")[1], r"^Python 3\.\d+\.\d+")


class Programs(unittest.TestCase):
    """Console scripts of installed packages."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        info = os.path.join(directory.name, "told-1.dist-info")
        os.mkdir(info)
        scripts = "told-it = told:Told.main\njq = told:never\nbroken = told:missing\nempty = told\n"
        for path, text in [
            (os.path.join(info, "METADATA"), "Metadata-Version: 2.1\nName: told\nVersion: 1\n"),
            (os.path.join(info, "entry_points.txt"), f"[console_scripts]\n{scripts}[gui_scripts]\nseen = told:main\n"),
            (
                os.path.join(directory.name, "told.py"),
                "import sys\nclass Told:\n    def main():\n"
                "        print(sys.argv, sys.stdin.read())\n        return 3 if sys.argv[1:] else None\n",
            ),
        ]:
            with open(path, "w") as file:
                file.write(text)
        sys.path.append(directory.name)
        self.addCleanup(sys.path.remove, directory.name)
        self.addCleanup(sys.modules.pop, "told", None)

    def test_they_are_commands(self):
        self.assertEqual(ours("echo in | told-it"), (0, "['/usr/bin/told-it'] in\n\n", ""))
        self.assertEqual(ours("told-it --help; echo $?")[1], "['/usr/bin/told-it', '--help'] \n3\n")
        self.assertEqual(ours("/usr/bin/told-it")[0], 0)
        self.assertEqual(ours("echo a b | xargs told-it")[1], "['/usr/bin/told-it', 'a', 'b'] \n")
        self.assertEqual(
            ours("which told-it; command -v told-it; type -t told-it")[1], "/usr/bin/told-it\n" * 2 + "file\n"
        )
        self.assertEqual(ours("jq -n 1"), (0, "1\n", ""), "ours comes first")

    def test_what_fails_says_why(self):
        status, _, err = ours("broken")
        self.assertEqual(status, 1)
        self.assertIn("ImportError: cannot import name 'missing' from 'told'", err)
        for name in ("empty", "seen", "told", "sub/told-it", "./told-it"):
            with self.subTest(name=name):
                status, _, err = ours(name)
                self.assertEqual(status, 127)
                self.assertIn("%pip install", err)


class Pip(unittest.TestCase):
    def test_what_is_there_is_satisfied(self):
        import importlib.metadata

        here = next(iter(importlib.metadata.distributions())).metadata["Name"]
        self.assertRegex(ours(f"pip install --upgrade {here}")[1], f"^Requirement already satisfied: {here} in ")
        self.assertIn(here, ours("pip list")[1])
        self.assertIn(f"{here}==", ours("python -m pip freeze")[1])
        self.assertIn(f"Name: {here}", ours(f"pip show {here}")[1])
        near = here[:-1] + "x"
        status, _, err = ours(f"pip install {near}")
        self.assertEqual(status, 1)
        self.assertIn(f"No matching distribution found for {near}", err)
        self.assertIn(here.lower().replace("_", "-"), err)

    def test_refusals(self):
        for line in (
            "pip install https://example.org/x.whl",
            "pip install ./here",
            "pip uninstall",
            "pip install",
            "pip install '???'",
        ):
            status, _, err = ours(line)
            self.assertTrue(status and err, line)


# The sandbox has it; Python 3.11.2, which is Debian 12's, has not.
@unittest.skipUnless(hasattr(tarfile, "data_filter"), "tarfile has no filters")
class Archives(unittest.TestCase):
    def test_round_trips(self):
        script = "zip -q a.zip one.txt; mkdir o; unzip -q a.zip -d o; cat o/one.txt | head -1; tar czf a.tgz sub; tar tf a.tgz; tar xzf a.tgz -C o; ls o"
        self.assertEqual(ours(script)[1], "alpha\nsub/\nsub/inner.txt\none.txt\nsub\n")

    def test_members_stay_below(self):
        script = "python -c \"import tarfile, io; t = tarfile.open('e.tar', 'w'); t.addfile(tarfile.TarInfo('../evil')); t.close()\"; mkdir o; tar xf e.tar -C o; ls"
        status, out, err = ours(script)
        self.assertIn("outside", err)
        self.assertNotIn("evil", out)


if __name__ == "__main__":
    unittest.main()
