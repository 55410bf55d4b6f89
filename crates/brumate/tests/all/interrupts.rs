//! Stops and answers reach the execution they are meant for and no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::sessions::{cell, sandbox, say};
use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::SessionFiles as _;
use brumate_engine::api::{
    Ended, Event, Execute, ExecuteMode, GuestAnswer, GuestRequest, Limits, MAX_INPUT, MachineSpec, Outcome,
    RequestBody, StopReason,
};
use brumate_engine::client::{EngineError, InterruptHandle, Session};
use brumate_test_support::{Random, count, seed};
use tokio::sync::mpsc;

/// Calls `stop` in a loop, on a thread of its own, until it is dropped.
struct StopLoop {
    ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl StopLoop {
    fn new(stop: impl Fn() + Send + 'static) -> StopLoop {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = ended.clone();
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                stop();
            }
        });
        StopLoop { ended, thread: Some(thread) }
    }
}

impl Drop for StopLoop {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().map(|thread| thread.join());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_comes_too_late_stops_nothing() {
    let sandbox = sandbox(1).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    say(&session, "number = 0").await;
    let (mut stopped, mut killed) = (0, 0);
    for round in 0..200_u64 {
        let interrupt_handle = session.interrupt_handle();
        let kills = round % 4 == 3;
        // Some come before the cell ends, most of them after it.
        let code = if round % 2 == 0 { "pass" } else { "import time\nwhile True: time.sleep(0.001)" };
        let stop = move || if kills { interrupt_handle.kill() } else { interrupt_handle.interrupt() };
        let storm = StopLoop::new(stop);
        match cell(&session, code).await.0 {
            Ok(outcome) => stopped += u64::from(outcome.stopped == Some(StopReason::Cancelled)),
            Err(EngineError::RolledBack { .. }) => killed += 1,
            Err(error) => panic!("round {round}: {error}"),
        }
        // It rages on, and means nobody.
        let printed = say(&session, "number += 1\nimport time\ntime.sleep(0.002)\nprint(number)").await;
        assert_eq!(printed, format!("{}\n", round + 1));
        drop(storm);
    }
    assert!(stopped > 40 && killed > 40, "{stopped} stopped, {killed} killed");
}

/// Panics unless the cell was interrupted, and nothing worse.
fn assert_interrupted(outcome: &Result<Outcome, EngineError>, what: &str) {
    let Ok(Outcome { ended: Ended::Raised { ename, .. }, stopped: Some(StopReason::Cancelled), .. }) = outcome else {
        panic!("{what}: {outcome:?}");
    };
    assert_eq!(ename, "KeyboardInterrupt", "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_comes_before_a_cell_stops_it() {
    let sandbox = sandbox(1).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    say(&session, "number = 0").await;
    // However short the cell is, and whatever is done between the two.
    for round in 0..20 {
        session.interrupt_handle().interrupt();
        match round % 4 {
            0 => {}
            1 => drop(session.list_files("/workspace").await.expect("a list")),
            2 => drop(session.analyze("import json").await.expect("an analysis")),
            _ => {
                cell(&session.fork().await.expect("a fork"), "number = -1").await.0.expect("it was not meant");
            }
        }
        let code = ["number = -1", "import time\ntime.sleep(60)"][round / 4 % 2];
        assert_interrupted(&cell(&session, code).await.0, &format!("round {round}"));
        assert_eq!(say(&session, "number += 1\nprint(number)").await, format!("{}\n", round + 1));
    }
    session.interrupt_handle().interrupt();
    let (sender, events) = mpsc::channel(1);
    drop(events);
    let request = Execute { code: "number = -1".to_owned(), mode: ExecuteMode::NotebookCell, ..Execute::default() };
    assert_interrupted(&session.execute(request, sender).await, "a notebook's cell");
    // One for the machine that a checkpoint has taken over from means nobody.
    let interrupt_handle = session.interrupt_handle();
    cell(&session, "import os; os._exit(1)").await.0.expect_err("rolled back");
    interrupt_handle.interrupt();
    assert_eq!(say(&session, "print(number)").await, "20\n");
    // The first stop of the new one's first cell.
    session.interrupt_handle().interrupt();
    assert_interrupted(&cell(&session, "import time\ntime.sleep(60)").await.0, "after a roll-back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_comes_while_a_cell_begins_stops_it() {
    let sandbox = sandbox(1).await;
    let limits = Limits { grace: Duration::from_secs(60), ..Limits::default() };
    let session = sandbox.session(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a session");
    say(&session, "number = 0\nimport time").await;
    let mut random = Random::part(seed(), 5);
    for round in 0..count(25, 2000) {
        // A machine is told of a cell, and begins it, in about this time.
        let instant = Duration::from_micros(random.below(1500));
        let interrupt_handle = session.interrupt_handle();
        let stopping = std::thread::spawn(move || {
            std::thread::sleep(instant);
            interrupt_handle.interrupt();
        });
        let outcome = cell(&session, "time.sleep(600)").await.0;
        stopping.join().expect("it was asked");
        assert_interrupted(&outcome, &format!("round {round}, after {instant:?}"));
        assert_eq!(say(&session, "number += 1\nprint(number)").await, format!("{}\n", round + 1));
    }
}

/// Nearly all the time is spent in a callback from C, where no exception gets out.
const CALLBACKS: &str = "import ctypes\nkind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)\n\
    qsort = ctypes.CDLL(None).qsort\nvalues = (ctypes.c_int * 100)(*range(100))\n\
    def compare(a, b):\n    for _ in range(200): pass\n    return 0\n\
    compare = kind(compare)\nprint('sorts', flush=True)\nwhile True: qsort(values, 100, 4, compare)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_not_lost_in_a_callback_from_c() {
    let sandbox = sandbox(1).await;
    let limits = Limits { grace: Duration::from_secs(20), ..Limits::default() };
    let session = sandbox.session(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a session");
    let mut random = Random::part(seed(), 6);
    for round in 0..count(3, 10) {
        let instant = Duration::from_micros(random.below(20_000));
        let interrupt_handle = session.interrupt_handle();
        let (outcome, text) = asked(&session, CALLBACKS, |event| {
            if matches!(event, Event::Stream { text, .. } if text.starts_with("sorts")) {
                std::thread::sleep(instant);
                interrupt_handle.interrupt();
            }
        })
        .await;
        assert_interrupted(&outcome, &format!("round {round}, after {instant:?}: {text}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caught_interrupt_does_not_disturb_later_waits() {
    let sandbox = sandbox(1).await;
    let limits = Limits { grace: Duration::from_secs(60), ..Limits::default() };
    let session = sandbox.session(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a session");
    // The stop is sent again as long as the cell runs: only the first one raises.
    let code = "import signal, time\nseen = []\ndef heard(*_):\n    seen.append(1)\n    if len(seen) == 1: raise KeyboardInterrupt\n\
        signal.signal(signal.SIGINT, heard)\ntry:\n    print('waits', flush=True)\n    time.sleep(600)\n\
        except KeyboardInterrupt:\n    pass\n\
        cpu = time.process_time()\ntime.sleep(0.5)\nprint(time.process_time() - cpu < 0.2)";
    let interrupt_handle = session.interrupt_handle();
    let (outcome, text) = asked(&session, code, |event| {
        if matches!(event, Event::Stream { text, .. } if text.starts_with("waits")) {
            interrupt_handle.interrupt();
        }
    })
    .await;
    // The second sleep uses no CPU time.
    assert_eq!(text, "waits\nTrue\n", "{outcome:?}");
}

/// Runs a cell that may ask; `heard` hears every event. What became of it, and what it printed.
async fn asked(session: &Session, code: &str, mut heard: impl FnMut(&Event)) -> (Result<Outcome, EngineError>, String) {
    let (sender, mut events) = mpsc::channel(4);
    let request = Execute { code: code.to_owned(), mode: ExecuteMode::Cell, allow_stdin: true, ..Execute::default() };
    let mut printed = String::new();
    let listening = async {
        while let Some(event) = events.recv().await {
            heard(&event);
            if let Event::Stream { text, .. } = event {
                printed.push_str(&text);
            }
        }
    };
    let (outcome, ()) = tokio::join!(session.execute(request, sender), listening);
    (outcome, printed)
}

/// How a cell asks.
const ASK: &str = "from _brumate.channel import ask\n";

fn input(line: Option<String>) -> GuestAnswer {
    GuestAnswer::Input(line)
}

/// Answers questions with these lines, one after the other.
fn answering(interrupt_handle: InterruptHandle, lines: &'static [Option<&'static str>]) -> impl FnMut(&Event) {
    let mut lines = lines.iter();
    move |event| {
        if let Event::Request(request) = event {
            let line = lines.next().expect("a line for every question");
            assert!(interrupt_handle.answer(request.id, input(line.map(str::to_owned))));
            assert!(!interrupt_handle.answer(request.id, input(Some("again".to_owned()))), "it has its answer");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_are_answered() {
    let sandbox = sandbox(1).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    assert!(!session.interrupt_handle().answer(1, input(Some("nobody asks".to_owned()))));
    let mut asks = Vec::new();
    let code = format!("{ASK}print(repr(ask('name? ')), repr(ask('pass\\nword: ', True)), repr(ask('')))");
    let mut answers = answering(session.interrupt_handle(), &[Some("Zoë \"\n\u{0}"), Some(""), Some("x")]);
    let (outcome, text) = asked(&session, &code, |event| {
        if let Event::Request(GuestRequest { body: RequestBody::Input { prompt, password }, .. }) = event {
            asks.push((prompt.clone(), *password));
        }
        answers(event);
    })
    .await;
    assert_eq!(text, "'Zoë \"\\n\\x00' '' 'x'\n", "{outcome:?}");
    let asked_for = [("name? ", false), ("pass\nword: ", true), ("", false)];
    assert_eq!(asks, asked_for.map(|(prompt, password)| (prompt.to_owned(), password)));

    // The largest answer, one that is too large, and the end of the input.
    let interrupt_handle = session.interrupt_handle();
    let code = format!("{ASK}print(len(ask('')))\ntry:\n    ask('')\nexcept EOFError as error:\n    print(error)");
    let mut first = true;
    let (_, text) = asked(&session, &code, |event| {
        if let Event::Request(request) = event {
            assert!(!interrupt_handle.answer(request.id, input(Some("x".repeat(MAX_INPUT + 1)))));
            let line = std::mem::take(&mut first).then(|| "x".repeat(MAX_INPUT));
            assert!(interrupt_handle.answer(request.id, input(line)));
        }
    })
    .await;
    assert_eq!(text, format!("{MAX_INPUT}\nEOF when reading a line\n"));

    // After sleep, too, and in a checkpoint that took over.
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("session");
    session.write_to(&file).await.expect("it sleeps");
    let (resumed, _) = sandbox.resume_session(&file, MachineSpec::default()).await.expect("it resumes");
    for session in [&resumed, &session] {
        cell(session, "import os; os._exit(1)").await.0.expect_err("rolled back");
        let answers = answering(session.interrupt_handle(), &[Some("here")]);
        assert_eq!(asked(session, &format!("{ASK}print(ask(''))"), answers).await.1, "here\n");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_to_ask_is_the_end_of_the_input() {
    let sandbox = sandbox(1).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    let code = format!("{ASK}try:\n    ask('')\nexcept EOFError as error:\n    print(error)");
    // `say` does not allow it.
    assert_eq!(say(&session, &code).await, "EOF when reading a line\n");
    // Allowed, but nobody listens.
    let (sender, receiver) = mpsc::channel(1);
    drop(receiver);
    let request =
        Execute { code: format!("{code}\nx = 1"), mode: ExecuteMode::Cell, allow_stdin: true, ..Execute::default() };
    let outcome = session.execute(request, sender).await.expect("an outcome");
    assert!(matches!(outcome.ended, Ended::Returned(None)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_an_answer_can_be_stopped() {
    let sandbox = sandbox(1).await;
    let limits = Limits { wall: Duration::from_secs(2), ..Limits::default() };
    let session = sandbox.session(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a session");
    say(&session, "x = 1").await;
    // A person who thinks for longer than the limit does not use it up; the code's own time does.
    let interrupt_handle = session.interrupt_handle();
    let code = format!("{ASK}print(ask(''))\nwhile True: pass");
    let (outcome, text) = asked(&session, &code, |event| {
        if let Event::Request(request) = event {
            let (interrupt_handle, id) = (interrupt_handle.clone(), request.id);
            tokio::spawn(async move {
                tokio::time::sleep(limits.wall * 2).await;
                assert!(interrupt_handle.answer(id, input(Some("at last".to_owned()))));
            });
        }
    })
    .await;
    assert_eq!(text, "at last\n");
    assert_eq!(outcome.expect("an outcome").stopped, Some(StopReason::TimeLimit));
    for _ in 0..20 {
        // The first question is answered when the guest waits for it no longer, or never; that answer is not the second's.
        let interrupt_handle = session.interrupt_handle();
        let mut questions = 0;
        let code = format!(
            "{ASK}try:\n    ask('first')\nexcept KeyboardInterrupt:\n    import json, this\n    print(ask('second'))"
        );
        let (outcome, text) = asked(&session, &code, |event| {
            if let Event::Request(GuestRequest { id, body: RequestBody::Input { prompt, .. } }) = event {
                questions += 1;
                if prompt == "first" {
                    interrupt_handle.interrupt();
                    interrupt_handle.answer(*id, input(Some("late".to_owned())));
                } else {
                    assert!(!interrupt_handle.answer(*id - 1, input(Some("wrong".to_owned()))), "that was given up");
                    assert!(interrupt_handle.answer(*id, input(Some("right".to_owned()))));
                }
            }
        })
        .await;
        assert!(outcome.is_ok(), "{outcome:?}");
        if questions == 2 {
            assert!(text.ends_with("right\n"), "{text}");
        }
    }
    assert_eq!(say(&session, "print(x)").await, "1\n");
}
