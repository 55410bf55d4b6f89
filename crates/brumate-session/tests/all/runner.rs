//! Runs with the fake engine: reports for each kind of end.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{Ended, EngineError, Event, ExitReason, Limits, Outcome, StopReason, StreamName};
use brumate_packages::{Bundle, Distribution};
use brumate_session::testing::{FakeEngine, Script, outcome};
use brumate_session::{
    CancellationToken, OutputChunk, Report, Request, RunError, RunEvent, RunStatus, Runner, RunnerSettings,
};

const CODE: &str = "the code";

fn bundle() -> Arc<Bundle> {
    let numpy = Distribution::new("numpy", "2.4.6").provides(["numpy"]);
    let pandas = Distribution::new("pandas", "3.0.2").provides(["pandas"]).requires(["numpy"]);
    Arc::new(Bundle::new([numpy, pandas]).unwrap())
}

fn settings(limits: Limits) -> RunnerSettings {
    let mut settings = RunnerSettings::default();
    settings.limits = limits;
    settings
}

fn runner(script: Script) -> (Runner, Arc<FakeEngine>) {
    runner_with(script, RunnerSettings::default())
}

fn runner_with(script: Script, settings: RunnerSettings) -> (Runner, Arc<FakeEngine>) {
    let engine = Arc::new(FakeEngine::default().on(CODE, script));
    let as_engine: Arc<FakeEngine> = Arc::clone(&engine);
    (Runner::new(as_engine, bundle(), settings), engine)
}

async fn report(script: Script) -> Report {
    let (runner, engine) = runner(script);
    let report = runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap();
    assert_eq!(engine.alive(), 0, "every run gives its machine back");
    report
}

fn limited(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[tokio::test]
async fn success_has_output_in_order_and_the_value() {
    let report = report(Script::returning("[\n  1\n]").stdout("a").stdout("b\n").stderr("c\n").stdout("d")).await;
    assert_eq!(report.status, RunStatus::Success);
    let chunk = |name, text: &str| OutputChunk { name, text: text.to_owned() };
    assert_eq!(
        report.output,
        [chunk(StreamName::Stdout, "ab\n"), chunk(StreamName::Stderr, "c\n"), chunk(StreamName::Stdout, "d")]
    );
    assert_eq!(report.output_text(&Limits::default()), "ab\nc\nd");
    assert_eq!(report.value.unwrap().json, "[\n  1\n]");
    assert_eq!((report.error, report.stopped, report.output_dropped), (None, None, 0));
}

#[tokio::test]
async fn globals_and_file_name_reach_the_machine() {
    let (runner, engine) = runner(Script::silent());
    let globals = serde_json::json!({"a": [1, 2, 3]}).as_object().unwrap().clone();
    let request = Request::new(CODE).with_globals(globals);
    runner.run(request, &CancellationToken::new(), &mut |_| {}).await.unwrap();
    runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap();
    let executed = engine.executed();
    assert_eq!((executed[0].globals_json.as_str(), executed[0].file_name.as_str()), ("{\"a\":[1,2,3]}", "main.py"));
    assert_eq!(executed[1].globals_json, "");
    assert_eq!(engine.made(), 2, "a machine is used once");
}

#[tokio::test]
async fn an_exception_is_a_run_error_with_its_traceback() {
    let report = report(Script::raising("NameError", "name 'unknown' is not defined").stdout("before\n")).await;
    assert_eq!(report.status, RunStatus::RunError);
    assert_eq!(
        report.error.unwrap(),
        "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\nNameError: name 'unknown' is not defined"
    );
    assert_eq!(report.output[0].text, "before\n");
}

#[tokio::test]
async fn exits() {
    assert_eq!(report(Script::exiting(0, "")).await.status, RunStatus::Success);
    assert_eq!(report(Script::dying(ExitReason::Exit(0))).await.status, RunStatus::Success);
    let failed = report(Script::exiting(3, "out of cheese\n")).await;
    assert_eq!(failed.status, RunStatus::RunError);
    assert_eq!(failed.error.unwrap(), "out of cheese\nThe code exited with status 3.");
    assert_eq!(report(Script::exiting(1, "")).await.error.unwrap(), "The code exited with status 1.");
}

#[tokio::test]
async fn a_limit_is_named_before_the_traceback() {
    let ended = Ended::Raised {
        ename: "KeyboardInterrupt".to_owned(),
        evalue: String::new(),
        traceback: "Traceback (most recent call last):\nKeyboardInterrupt\n".to_owned(),
    };
    let report = report(Script::ending_with(Ok(outcome(ended, Some(StopReason::TimeLimit))))).await;
    assert_eq!(report.status, RunStatus::RunError);
    assert_eq!(report.stopped, Some(StopReason::TimeLimit));
    assert_eq!(
        report.error.unwrap(),
        "The code was stopped: it ran longer than the time limit of 60 s (set by `timeout`).\n\
         Traceback (most recent call last):\nKeyboardInterrupt"
    );
}

#[tokio::test]
async fn code_that_swallows_the_interrupt_still_failed() {
    let report = report(Script::ending_with(Ok(outcome(Ended::Returned(None), Some(StopReason::CpuLimit))))).await;
    assert_eq!(report.status, RunStatus::RunError);
    assert!(report.error.unwrap().contains("`cpu_timeout`"));
}

#[tokio::test]
async fn a_dead_machine_is_a_run_error_that_says_why() {
    for (reason, stopped, part) in [
        (ExitReason::TimeLimit, Some(StopReason::TimeLimit), "did not react to KeyboardInterrupt within 2 s"),
        (ExitReason::CpuLimit, Some(StopReason::CpuLimit), "`cpu_timeout`"),
        (ExitReason::MemoryLimit, None, "at most 1 GiB of memory (set by `memory`)"),
        (ExitReason::Signal(11), None, "signal 11 (SIGSEGV)"),
        (ExitReason::Exit(7), None, "The code exited with status 7."),
        (ExitReason::Abort, None, "aborted"),
        (ExitReason::Protocol("half a frame".to_owned()), None, "half a frame"),
        (ExitReason::Trap("wasm trap: out of bounds".to_owned()), None, "wasm trap: out of bounds"),
    ] {
        let report = report(Script::dying(reason).stdout("so far\n")).await;
        assert_eq!((report.status, report.stopped), (RunStatus::RunError, stopped));
        assert_eq!(report.output[0].text, "so far\n", "what it wrote is kept");
        let error = report.error.unwrap();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn exceptions_of_limits_get_a_note() {
    let memory = report(Script::raising("MemoryError", "")).await.error.unwrap();
    assert!(memory.ends_with("\nNote: the code may use at most 1 GiB of memory (set by `memory`)."));
    let disk = report(Script::raising("OSError", "[Errno 51] No space left on device")).await.error.unwrap();
    assert!(disk.contains("`files`"), "{disk}");
}

#[tokio::test]
async fn output_is_cut_at_the_limit_whatever_the_machine_says() {
    let limits = limited(|limits| limits.output_bytes = 10);
    let script = Script::ending_with(Ok(Outcome { output_dropped: 5, ..outcome(Ended::Returned(None), None) }));
    let (runner, _) = runner_with(script.stdout("12345678é").stdout("more").stderr("x"), settings(limits));
    let mut seen = String::new();
    let mut event_sink = |event| {
        if let RunEvent::Output { text, .. } = event {
            seen.push_str(&text);
        }
    };
    let report = runner.run(Request::new(CODE), &CancellationToken::new(), &mut event_sink).await.unwrap();
    assert_eq!(seen, "12345678é");
    assert_eq!(report.output_dropped, 4 + 1 + 5);
    assert_eq!(
        report.output_text(&limits),
        "12345678é\n[10 bytes more were cut: only the first 10 bytes of output are kept \
         (set by `output_limit`)]"
    );
}

#[tokio::test]
async fn large_values_and_tracebacks_are_cut_with_a_note() {
    let limits = limited(|limits| limits.output_bytes = 16);
    let (runner, _) = runner_with(Script::returning_str(&"é".repeat(20)), settings(limits));
    let report = runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap();
    let value = report.value.unwrap();
    let text: String = serde_json::from_str(&value.json).unwrap();
    assert!(value.is_str && text.starts_with("éééééééé\n[24 bytes more were cut"), "{text}");

    let (runner, _) = runner_with(Script::raising("ValueError", &"x".repeat(100)), settings(limits));
    let report = runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap();
    let error = report.error.unwrap();
    assert!(error.starts_with("Tracebac\n[") && error.ends_with("]\nxxxxxxxx"), "{error}");
}

#[tokio::test]
async fn a_value_that_is_not_json_is_not_passed_on() {
    let report = report(Script::returning("{oops")).await;
    assert_eq!(report.status, RunStatus::RunError);
    assert_eq!(report.error.unwrap(), "The code damaged its interpreter: the return value it sent is not JSON.");
    assert_eq!(report.value, None);
}

#[tokio::test]
async fn displayed_objects_are_shown_by_their_text() {
    let data = [("text/plain".to_owned(), "<Figure>".to_owned()), ("image/png".to_owned(), "AAAA".to_owned())];
    let report = report(Script::silent().event(Event::DisplayData { data: data.into() })).await;
    assert_eq!(report.output_text(&Limits::default()), "<Figure>\n");
}

#[tokio::test]
async fn imported_packages_are_prepared_and_reported() {
    let (runner, engine) = runner(Script::silent().imports(&["pandas"], &["nosuch"]).stdout("hi"));
    let mut events = Vec::new();
    let report =
        runner.run(Request::new(CODE), &CancellationToken::new(), &mut |event| events.push(event)).await.unwrap();
    assert_eq!(report.dependencies, ["pandas"]);
    let wheels = vec!["numpy".to_owned(), "pandas".to_owned()];
    assert_eq!(engine.prepared(), wheels);
    assert_eq!(
        events,
        [
            RunEvent::Loading { wheels: wheels.clone() },
            RunEvent::Loaded { wheels },
            RunEvent::Output { name: StreamName::Stdout, text: "hi".to_owned() }
        ]
    );
}

#[tokio::test]
async fn a_missing_package_is_an_install_error_and_nothing_runs() {
    let (runner, engine) = runner(Script::silent().imports(&["requests"], &[]));
    let report = runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap();
    assert_eq!(report.status, RunStatus::InstallError);
    assert!(report.error.unwrap().contains("`requests`"));
    assert!(engine.executed().is_empty());
}

#[tokio::test]
async fn dependencies_given_at_start_that_cannot_be_had_fail_every_run() {
    let mut settings = RunnerSettings::default();
    settings.dependencies = vec!["nosuch".to_owned()];
    let (runner, _) = runner_with(Script::silent(), settings);
    for _ in 0..2 {
        let report = runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap();
        assert_eq!(report.status, RunStatus::InstallError);
    }
    assert!(runner.prepare_requirements(&["nosuch".to_owned()], &|_| {}).await.unwrap().is_err());
    let warm = runner.prepare_requirements(&["pandas".to_owned()], &|_| {}).await.unwrap().unwrap();
    assert_eq!(warm.wheels, ["numpy", "pandas"]);
}

#[tokio::test]
async fn engine_failures_are_not_the_codes_fault() {
    let (runner, _) = runner(Script::ending_with(Err(EngineError::Compile {
        name: "numpy".to_owned(),
        reason: "no memory".to_owned(),
    })));
    let failure = runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap_err();
    assert_eq!(failure.to_string(), "the sandbox failed: could not compile: numpy: no memory");
}

#[tokio::test]
async fn cancelling_interrupts_and_still_reports() {
    let (runner, engine) = runner(Script::silent().stdout("started\n").endless());
    let cancel = CancellationToken::new();
    let on_output = cancel.clone();
    let report = runner.run(Request::new(CODE), &cancel, &mut |_| on_output.cancel()).await.unwrap();
    assert_eq!((report.status, report.stopped), (RunStatus::RunError, Some(StopReason::Cancelled)));
    assert_eq!(report.output[0].text, "started\n");
    assert_eq!(engine.alive(), 0);

    let failure = runner.run(Request::new(CODE), &cancel, &mut |_| {}).await.unwrap_err();
    assert_eq!(failure, RunError::Cancelled, "a call that is cancelled already does not start");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_forgets_its_limits_is_cut_off() {
    let (runner, engine) = runner(Script::silent().stubborn());
    let report = runner.run(Request::new(CODE), &CancellationToken::new(), &mut |_| {}).await.unwrap();
    assert_eq!(report.stopped, Some(StopReason::TimeLimit));
    assert_eq!(engine.alive(), 0);

    let cancel = CancellationToken::new();
    cancel_later(&cancel);
    let report = runner.run(Request::new(CODE), &cancel, &mut |_| {}).await.unwrap();
    assert_eq!(report.stopped, Some(StopReason::Cancelled));
}

fn cancel_later(cancel: &CancellationToken) {
    let cancel = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
}

#[tokio::test]
async fn other_calls_are_answered_while_endless_loops_run() {
    let mut settings = RunnerSettings::default();
    settings.max_concurrent = 3;
    let engine = Arc::new(FakeEngine::default().on(CODE, Script::silent().endless()).on("1", Script::returning("1")));
    let fake: Arc<FakeEngine> = Arc::clone(&engine);
    let runner = Runner::new(fake, bundle(), settings);
    let cancel = CancellationToken::new();
    let loops: Vec<_> = (0..2)
        .map(|_| {
            let (runner, cancel) = (runner.clone(), cancel.clone());
            tokio::spawn(async move { runner.run(Request::new(CODE), &cancel, &mut |_| {}).await })
        })
        .collect();
    while engine.executed().len() < 2 {
        tokio::task::yield_now().await;
    }
    for _ in 0..10 {
        let report = runner.run(Request::new("1"), &CancellationToken::new(), &mut |_| {}).await.unwrap();
        assert_eq!(report.status, RunStatus::Success);
    }
    cancel.cancel();
    for endless in loops {
        assert_eq!(endless.await.unwrap().unwrap().stopped, Some(StopReason::Cancelled));
    }
}

#[tokio::test]
async fn runs_of_a_principal_whose_access_is_revoked_end() {
    let mut settings = RunnerSettings::default();
    settings.max_concurrent = 1;
    let (runner, engine) = runner_with(Script::silent().stdout("begun\n").endless(), settings);
    let begin = |principal: &'static str| {
        let runner = runner.clone();
        tokio::spawn(async move {
            let request = Request::new(CODE).with_principal(principal);
            runner.run(request, &CancellationToken::new(), &mut |_| {}).await
        })
    };
    let running = begin("ada");
    while engine.executed().is_empty() {
        tokio::task::yield_now().await;
    }
    let waiting = begin("ada");
    while runner.admission().waiting() == 0 {
        tokio::task::yield_now().await;
    }
    runner.revoke("bob");
    assert!(!running.is_finished() && !waiting.is_finished());
    runner.revoke("ada");
    assert_eq!(running.await.unwrap().unwrap_err(), RunError::Revoked);
    assert_eq!(waiting.await.unwrap().unwrap_err(), RunError::Revoked);
    assert_eq!((engine.alive(), runner.admission().running(), engine.executed().len()), (0, 0, 1));
}
