//! Cells of a notebook: IPython's shell inside the sandbox, through the engine's own interface.

use std::time::Duration;

use brumate_engine::api::Session as _;
use brumate_engine::api::{
    Ended, Event, Execute, ExecuteMode, Image, Limits, MachineSpec, MimeBundle, Outcome, StopReason, StreamName,
};
use brumate_engine::client::{EngineError, Sandbox, Session};

const PNG: &str = "image/png";
const SVG: &str = "image/svg+xml";

/// The output of a cell.
#[derive(Debug, Default)]
struct CellOutput {
    stdout: String,
    stderr: String,
    displayed: Vec<MimeBundle>,
    result: Option<MimeBundle>,
}

impl CellOutput {
    /// Text of the cell's value.
    fn value(&self) -> &str {
        self.result.as_ref().and_then(|data| data.get("text/plain")).map_or("", String::as_str)
    }
}

async fn run(session: &Session, request: Execute) -> (Result<Outcome, EngineError>, CellOutput) {
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let listening = tokio::spawn(async move {
        let mut sent = CellOutput::default();
        while let Some(event) = events.recv().await {
            match event {
                Event::Stream { name: StreamName::Stdout, text } => sent.stdout.push_str(&text),
                Event::Stream { name: StreamName::Stderr, text } => sent.stderr.push_str(&text),
                Event::DisplayData { data } => sent.displayed.push(data),
                Event::ExecuteResult { data } => sent.result = Some(data),
                _ => {}
            }
        }
        sent
    });
    let outcome = session.execute(request, sender).await;
    (outcome, listening.await.expect("the events end"))
}

/// Runs a cell. Returns its outcome and its output.
async fn cell(session: &Session, code: &str) -> (Result<Outcome, EngineError>, CellOutput) {
    run(session, Execute { code: code.to_owned(), mode: ExecuteMode::NotebookCell, ..Execute::default() }).await
}

/// Runs a cell that must succeed.
async fn good(session: &Session, code: &str) -> CellOutput {
    match cell(session, code).await {
        (Ok(Outcome { ended: Ended::Returned(None), .. }), sent) => sent,
        (other, sent) => panic!("{code}: {other:?}; {sent:?}"),
    }
}

/// Runs a cell that must raise: class name, message, traceback.
async fn bad(session: &Session, code: &str) -> (String, String, String) {
    match cell(session, code).await {
        (Ok(Outcome { ended: Ended::Raised { ename, evalue, traceback }, .. }), _) => (ename, evalue, traceback),
        (other, sent) => panic!("{code}: {other:?}; {sent:?}"),
    }
}

async fn sandbox() -> Sandbox {
    let sandbox = crate::support::sessions::sandbox(2).await;
    sandbox.build_image(&Image::notebook()).await.expect("the image");
    sandbox
}

async fn session(sandbox: &Sandbox) -> Session {
    let limits = Limits { grace: Duration::from_secs(10), ..Limits::default() };
    let spec = MachineSpec { image: Image::notebook(), limits, ..MachineSpec::default() };
    sandbox.session(spec).await.expect("a session")
}

#[tokio::test]
async fn a_new_session_has_no_trace_of_its_image() {
    let sandbox = sandbox().await;
    let fresh = session(&sandbox).await;
    assert_eq!(good(&fresh, "%who").await.stdout, "Interactive namespace is empty.\n");
    assert_eq!(
        good(&fresh, "In, Out").await.value(),
        "(['', \"get_ipython().run_line_magic('who', '')\", 'In, Out'], {})"
    );
    let listed =
        good(&fresh, "import os; os.getcwd(), os.listdir(), os.environ['HOME'], os.environ['OUTPUT_DIR']").await;
    assert_eq!(listed.value(), "('/workspace', [], '/workspace', '/workspace')");
    assert_eq!(good(&fresh, "%dhist").await.stdout, "Directory history (kept in _dh)\n0: /workspace\n");

    // Nor has a run that is no notebook's cell: it is not in a notebook, and at home.
    let other = session(&sandbox).await;
    let code = "import builtins, sys, os\nfrom IPython import get_ipython\n\
        print(get_ipython(), hasattr(builtins, '__IPYTHON__'), hasattr(sys, 'ps1'), hasattr(sys, 'last_exc'))\n\
        print(sorted(name for name in globals() if name[:2] != '__'))";
    assert_eq!(
        crate::support::sessions::say(&other, code).await,
        "None False False False\n['builtins', 'get_ipython', 'os', 'sys']\n"
    );
    assert_eq!(crate::support::sessions::say(&other, "print(display.__module__)").await, "builtins\n");
    // Cells of both kinds share names.
    assert_eq!(good(&other, "y = 5\nos.__name__").await.value(), "'os'");
    assert_eq!(crate::support::sessions::say(&other, "print(y + 1)").await, "6\n");
}

#[tokio::test]
async fn values_magics_and_history_are_ipythons() {
    let sandbox = sandbox().await;
    let session = session(&sandbox).await;
    assert_eq!(good(&session, "40 + 2").await.value(), "42");
    assert_eq!(good(&session, "_ + Out[1] + _1").await.value(), "126");
    assert!(good(&session, "_;").await.result.is_none());
    assert!(good(&session, "%time sum(range(1000))").await.stdout.contains("Wall time: "));
    assert!(good(&session, "%timeit -n2 -r2 1 + 1").await.stdout.contains("per loop (mean ± std. dev. of 2 runs"));
    good(&session, "%%writefile made.py\nvalue = 7\nprint('running', __name__)").await;
    assert_eq!(good(&session, "%run made.py").await.stdout, "running __main__\n");
    assert_eq!(good(&session, "value").await.value(), "7");
    assert_eq!(good(&session, "import asyncio\nawait asyncio.sleep(0, 'awaited')").await.value(), "'awaited'");
    assert!(good(&session, "str.upper?").await.stdout.starts_with("Signature: str.upper(self, /)\n"));
    assert_eq!(good(&session, "%%capture caught\nprint('hidden')").await.stdout, "");
    assert_eq!(good(&session, "caught.stdout").await.value(), "'hidden\\n'");
    assert_eq!(good(&session, "%history -l 1").await.stdout, "caught.stdout\n");
    let shown =
        good(&session, "from IPython.display import HTML, Markdown\ndisplay(HTML('<b>x</b>'), Markdown('*y*'))").await;
    assert_eq!(shown.displayed[0]["text/html"], "<b>x</b>");
    assert_eq!(shown.displayed[1]["text/markdown"], "*y*");
    let updated = good(&session, "handle = display('a', display_id='k'); handle.update('b')").await.displayed;
    let identity = "application/vnd.brumate.display+json";
    assert_eq!(updated[0][identity], "{\"display_id\":\"k\",\"update\":false}");
    assert_eq!(updated[1][identity], "{\"display_id\":\"k\",\"update\":true}");
    let table = good(&session, "import pandas as pd\npd.DataFrame({'a': [1, 2]})").await;
    assert_eq!(table.value(), "   a\n0  1\n1  2");
    assert!(table.result.unwrap()["text/html"].contains("<table border=\"1\" class=\"dataframe\">"));
    // Nothing was written but what cells wrote.
    assert_eq!(good(&session, "import os; sorted(os.listdir('/workspace'))").await.value(), "['made.py']");
    assert_eq!(
        good(&session, "os.path.exists('/nonexistent'), sorted(os.listdir('/'))").await.value(),
        "(False, ['dev', 'home', 'lib', 'proc', 'tmp', 'usr', 'workspace'])"
    );
}

#[tokio::test]
async fn errors_are_ipythons_as_plain_text() {
    let sandbox = sandbox().await;
    let session = session(&sandbox).await;
    let (ename, evalue, traceback) = bad(&session, "def f(x):\n    return 1 / x\nf(0)").await;
    assert_eq!((ename.as_str(), evalue.as_str()), ("ZeroDivisionError", "division by zero"));
    let expected = "Cell In[1], line 3\n      1 def f(x):\n      2     return 1 / x\n----> 3 f(0)\n\n\
        Cell In[1], line 2, in f(x)\n      1 def f(x):\n----> 2     return 1 / x\n\n\
        ZeroDivisionError: division by zero\n";
    assert!(traceback.ends_with(expected), "{traceback}");
    let (ename, _, traceback) = bad(&session, "x = (1,\n").await;
    assert_eq!(ename, "SyntaxError");
    assert!(traceback.starts_with("  Cell In[2], line 1\n"), "{traceback}");
    let (ename, evalue, _) = bad(&session, "%no_such_magic").await;
    assert_eq!((ename.as_str(), evalue.as_str()), ("UsageError", "Line magic function `%no_such_magic` not found."));
    let (ename, evalue, traceback) = bad(&session, "name = input('who? ')").await;
    assert_eq!(ename, "StdinNotImplementedError");
    assert_eq!(evalue, "raw_input was called, but this frontend does not support input requests.");
    let (_, _, group) = bad(&session, "raise ExceptionGroup('several', [ValueError(1), KeyError(2)])").await;
    for text in [&traceback, &group] {
        assert!(!text.contains("_brumate") && !text.contains('\u{1b}'), "{text}");
    }
    // The cell ends, the session does not.
    for code in ["import sys; sys.exit(3)", "exit(3)", "raise SystemExit"] {
        assert_eq!(bad(&session, code).await.0, "SystemExit");
    }
    for code in ["print(1); exit(); print(2)", "print(1)\nquit()"] {
        assert_eq!(good(&session, code).await.stdout, "1\n", "{code}");
    }
    assert_eq!(good(&session, "f(4)").await.value(), "0.25");
    let (ename, _, traceback) = bad(&session, "def deep(): return deep()\ndeep()").await;
    assert_eq!(ename, "RecursionError");
    assert!(
        traceback.contains("skipping similar frames: deep at line 1") && traceback.contains("line 2"),
        "{traceback}"
    );
    let (ename, _, _) = bad(&session, "x = [0] * 10 ** 9").await;
    assert_eq!(ename, "MemoryError");
    assert_eq!(good(&session, "1 + 1").await.value(), "2");
}

#[tokio::test]
async fn every_figure_is_sent_once() {
    let sandbox = sandbox().await;
    let session = session(&sandbox).await;
    let pyplot = "import matplotlib.pyplot as plt\n";
    for (code, count) in [
        ("plt.plot([1, 2]); plt.show()", 1),
        ("plt.plot([1, 2]);", 1),
        ("for i in range(3):\n    plt.plot([i])\n    plt.show()", 3),
        ("plt.plot([1]); display(plt.gcf())", 1),
        ("%matplotlib inline\nfig, axes = plt.subplots(1, 2)\naxes[0].bar([1], [2]);", 1),
        ("plt.plot([1]); plt.savefig('x.png'); plt.close()", 0),
        ("import seaborn as sns\nsns.histplot([1, 2, 2, 3]);", 1),
        ("1", 0),
    ] {
        let sent = good(&session, &format!("{pyplot}{code}")).await;
        assert_eq!(sent.displayed.len(), count, "{code}: {sent:?}");
        for data in sent.displayed {
            assert!(data[PNG].starts_with("iVBORw0KGgo") && !data.contains_key(SVG), "{code}");
            assert!(data["text/plain"].starts_with("<Figure size "), "{code}");
        }
    }
    assert_eq!(good(&session, "import os; os.path.getsize('x.png') > 1000").await.value(), "True");
    let value = good(&session, "fig, axes = plt.subplots()\naxes.plot([1])\nfig").await;
    assert!(value.displayed.is_empty() && value.result.unwrap().contains_key(PNG));
    // A large one comes in two sizes; an SVG of a great many points not at all.
    let sent = good(&session, "plt.figure(figsize=(30, 10)); plt.plot([1, 2]);").await;
    assert!(sent.displayed[0]["application/vnd.brumate.original+png"].len() > 1000);
    assert!(sent.displayed[0][PNG].len() < 1_400_000);
    let sent = good(&session, "%config InlineBackend.figure_formats = {'png', 'svg'}\nplt.plot([1, 2]);").await;
    assert!(sent.displayed[0].contains_key(PNG) && sent.displayed[0][SVG].contains("</svg>"));
    let sent = good(&session, "import numpy as np\nplt.scatter(np.arange(50_000), np.sin(np.arange(50_000)));").await;
    assert!(!sent.displayed[0].contains_key(SVG) && sent.displayed[0]["text/plain"].contains("no SVG"));
}

#[tokio::test]
async fn figures_have_glyphs_of_many_scripts() {
    let sandbox = sandbox().await;
    let session = session(&sandbox).await;
    let begin = "import matplotlib.pyplot as plt, matplotlib\ndef picture(text):\n    plt.figure(figsize=(3, 1))\n    \
                 plt.text(0, 0, text)\n    plt.savefig('t.png', dpi=50)\n    plt.close()\n    return open('t.png', 'rb').read()";
    good(&session, begin).await;
    for text in
        ["中文图表", "繁體", "日本語グラフ", "한국어", "العربية", "हिन्दी", "😀🎉🚀🔥❤️👍🏽", "$x^2$ 中 🚀 한", "ไทย"]
    {
        let sent = good(&session, &format!("missing = picture('\\ue123')\npicture('{text}') != missing")).await;
        let known = text != "ไทย";
        // The first line is about the missing glyph that the cell asks for itself.
        let warnings = sent.stderr.lines().filter(|line| line.contains("Glyph") || line.contains("dummy")).count();
        assert_eq!((warnings == 1, sent.value()), (known, "True"), "{text}: {}", sent.stderr);
    }
    assert_eq!(good(&session, "matplotlib.rcParams['font.family']").await.value(), "['sans-serif']");
    // A warning from drawing names no file of ours.
    let sent = good(&session, "plt.title('\\ue123');").await;
    assert!(sent.stderr.starts_with("UserWarning: Glyph 57635 "), "{}", sent.stderr);
    assert!(!sent.stderr.contains("/lib/"), "{}", sent.stderr);
}

#[tokio::test]
async fn plotly_needs_no_browser() {
    let sandbox = sandbox().await;
    let session = session(&sandbox).await;
    for code in [
        "import plotly.express as px\nfig = px.line(x=[1, 2], y=[3, 4], title='T')\nfig",
        "fig.show()",
        "fig.show('browser')",
    ] {
        let mut sent = good(&session, code).await;
        assert_eq!(sent.displayed.len(), 1, "{code}");
        let data = sent.displayed.remove(0);
        let json: serde_json::Value = serde_json::from_str(&data["application/vnd.plotly.v1+json"]).unwrap();
        assert_eq!(json["data"][0]["type"], "scatter");
        let html = &data["text/html"];
        assert!(
            html.len() > 1_500_000 && html.matches("Plotly.newPlot(").count() >= 1 && !html.contains("<script src=")
        );
        assert_eq!(data["text/plain"], "plotly Figure 'T' with 1 trace: scatter");
        assert!(data[PNG].starts_with("iVBORw0KGgo"));
    }
    good(&session, "fig.write_image('x.png')").await;
    assert_eq!(good(&session, "open('x.png', 'rb').read(4)").await.value(), "b'\\x89PNG'");
    good(&session, "fig.write_html('x.html')").await;
    assert_eq!(good(&session, "import os; os.path.getsize('x.html') > 3_000_000").await.value(), "True");
}

#[tokio::test]
async fn other_packages_of_the_bundle_work() {
    let sandbox = sandbox().await;
    let session = session(&sandbox).await;
    let value = good(&session, "import sympy\nx = sympy.Symbol('x')\nsympy.integrate(x**2, x)").await.result.unwrap();
    assert_eq!(
        (value["text/plain"].as_str(), value["text/latex"].as_str()),
        ("x**3/3", "$\\displaystyle \\frac{x^{3}}{3}$")
    );
    good(&session, "import pandas as pd\npd.DataFrame({'a': [1, 2]}).to_excel('t.xlsx', index=False)").await;
    assert_eq!(good(&session, "pd.read_excel('t.xlsx').a.sum()").await.value(), "np.int64(3)");
    let code = "import seaborn as sns\ngrid = sns.pairplot(pd.DataFrame({'a': [1, 2, 3], 'b': [3, 1, 2]}))";
    assert_eq!(good(&session, code).await.displayed.len(), 1);
}

#[tokio::test]
async fn shell_lines_are_answered_or_refused() {
    let sandbox = sandbox().await;
    let session = session(&sandbox).await;
    good(&session, "%%writefile data.csv\na,b\n1,2\n3,4").await;
    for (code, expected) in [
        ("!pwd", "/workspace\n"),
        ("!ls *.csv", "data.csv\n"),
        ("!cat data.csv | wc -l", "3\n"),
        ("name = 'data.csv'\n!head -1 {name} $name", "==> data.csv <==\na,b\n\n==> data.csv <==\na,b\n"),
        ("!mkdir -p x/{y,z} && cp data.csv x/y/ && find x -type f", "x/y/data.csv\n"),
        ("%%bash\necho one > f\necho two >> f\ngrep -n t f", "2:two\n"),
        ("%cd x\n!pwd\n%cd ..", "/workspace/x\n/workspace/x\n/workspace\n"),
        ("!python -c 'print(6 * 7)'", "42\n"),
    ] {
        assert_eq!(good(&session, code).await.stdout, expected, "{code}");
    }
    assert_eq!(good(&session, "files = !ls\nlist(files)").await.value(), "['data.csv', 'f', 'x']");
    // A last shell line that fails fails its cell; others set the status.
    let (name, message, _) = bad(&session, "!git status").await;
    assert_eq!(name, "CalledProcessError");
    assert!(message.contains("Command 'git status' returned non-zero exit status 127."), "{message}");
    let refused = good(&session, "!git status\nNone").await.stderr;
    assert!(
        refused.starts_with("git: command not available: this sandbox has no network. There are: awk, "),
        "{refused}"
    );
    let loops = "%%bash\nfor n in 1 2 3; do\n  if [ $((n % 2)) -eq 1 ]; then echo $n; fi\ndone | sed 's/3/three/' | awk '{ print NR, $1 }'";
    assert_eq!(good(&session, loops).await.stdout, "1 1\n2 three\n");
    assert_eq!(good(&session, "_exit_code").await.value(), "127");
    assert_eq!(bad(&session, "%%bash\nfalse").await.0, "CalledProcessError");
    for code in ["%pip install numpy pandas>=3", "!pip install seaborn"] {
        let sent = good(&session, code).await;
        assert!(sent.stdout.starts_with("Requirement already satisfied: "), "{sent:?}");
    }
    let refused = good(&session, "%pip install seaborne").await.stderr;
    assert!(
        refused.contains("only the packages that come with this sandbox") && refused.contains("Did you mean: seaborn?"),
        "{refused}"
    );
    assert!(good(&session, "%pip list").await.stdout.contains("plotly"));
    assert!(good(&session, "%conda install numpy").await.stderr.contains("not available"));
}

#[tokio::test]
async fn an_interrupt_ends_the_cell_and_keeps_the_state() {
    let sandbox = sandbox().await;
    let limits = Limits { wall: Duration::from_secs(2), grace: Duration::from_secs(20), ..Limits::default() };
    let spec = MachineSpec { image: Image::notebook(), limits, ..MachineSpec::default() };
    let session = sandbox.session(spec).await.unwrap();
    good(&session, "x = 1").await;
    for code in [
        "x += 1\nprint('partial')\nwhile True: pass",
        "x += 1\nprint('partial')\nimport time; time.sleep(1000)",
        "x += 1\nprint('partial')\nimport asyncio; await asyncio.sleep(1000)",
        "%%time\nx += 1\nprint('partial')\nwhile True: pass",
        "x += 1\n!echo partial; sleep 1000",
    ] {
        let (outcome, sent) = cell(&session, code).await;
        let outcome = outcome.expect(code);
        assert_eq!(outcome.stopped, Some(StopReason::TimeLimit), "{code}");
        assert!(
            matches!(&outcome.ended, Ended::Raised { ename, .. } if ename == "KeyboardInterrupt"),
            "{code}: {outcome:?}"
        );
        assert!(sent.stdout.starts_with("partial\n"), "{code}: {sent:?}");
    }
    assert_eq!(good(&session, "x").await.value(), "6");
    assert_eq!(good(&session, "%time x").await.value(), "6");
}

#[tokio::test]
async fn a_shell_forks_sleeps_and_wakes() {
    let sandbox = sandbox().await;
    let parent = session(&sandbox).await;
    good(&parent, "import random\nx = [1]\n%store x\nopen('kept', 'w').write('text')").await;
    let child = parent.fork().await.unwrap();
    good(&child, "x.append(2)").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    child.write_to(&file).await.unwrap();
    let (resumed, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
    assert_eq!(good(&resumed, "x, In[2], open('kept').read()").await.value(), "([1, 2], 'x.append(2)', 'text')");
    assert_eq!(good(&parent, "x, len(In)").await.value(), "([1], 3)");
    let draw = "import uuid, numpy as np\nrandom.random(), uuid.uuid4(), np.random.rand()";
    let (a, b, c) = (good(&parent, draw).await, good(&child, draw).await, good(&resumed, draw).await);
    assert!(a.value() != b.value() && b.value() != c.value() && a.value() != c.value());
    // A cell that ends the machine never was: In and Out too.
    let (outcome, _) = cell(&resumed, "x = None\nimport os; os._exit(1)").await;
    assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}");
    assert_eq!(good(&resumed, "x, len(In)").await.value(), "([1, 2], 6)");
}

#[tokio::test]
async fn it_works_without_its_image() {
    let sandbox = crate::support::sessions::sandbox(1).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    assert_eq!(crate::support::sessions::say(&session, "x = 4").await, "");
    assert_eq!(good(&session, "%time y = x * 2\ny").await.value(), "8");
    assert_eq!(bad(&session, "1 / 0").await.0, "ZeroDivisionError");
    let environment = vec![("OUTPUT_DIR".to_owned(), "/workspace/out".to_owned())];
    let code = "import os; open(os.environ['OUTPUT_DIR'] + '/f', 'w').close()\n!ls out".to_owned();
    let request = Execute { code, mode: ExecuteMode::NotebookCell, env: environment, ..Execute::default() };
    let (outcome, sent) = run(&session, request).await;
    assert!(matches!(outcome.unwrap().ended, Ended::Returned(None)), "{sent:?}");
    assert_eq!(sent.stdout, "f\n");
}
