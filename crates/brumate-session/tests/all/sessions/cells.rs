//! Reports of cells for each kind of end, and the order of waiting calls.

use std::time::Duration;

use brumate_engine_api::{Ended, EngineError, Event, ExitReason, Outcome, StopReason};
use brumate_session::CancellationToken;
use brumate_session::Request;
use brumate_session::sessions::{LOCAL_PRINCIPAL, SessionError, SessionState};
use brumate_session::testing::{Script, outcome};

use super::support::{Host, engine, texts};

#[tokio::test]
async fn state_stays_from_cell_to_cell_and_sessions_are_apart() {
    let host = Host::new().await;
    let one = host.open("x = 1").await;
    let two = host.open("x = 2").await;
    assert_eq!((host.x(&one).await, host.x(&two).await), ("1".to_owned(), "2".to_owned()));
    assert_ne!(one, two);
    assert_eq!(one.len(), 16);
    let executed = host.engine.executed();
    assert!(executed.iter().all(|execute| execute.mode.keeps_names() && execute.rich && execute.figures));
    assert_eq!(executed[2].file_name, "cell_2.py");
    assert_eq!(executed[0].env, [("OUTPUT_DIR".to_owned(), "/workspace".to_owned())]);
}

#[tokio::test]
async fn an_exception_is_a_report_and_the_session_stays_even_when_it_was_the_first_cell() {
    let host = Host::new().await;
    let report = host.cell(None, "1/0").await.unwrap();
    assert!(report.created && !report.run.is_success());
    assert_eq!(report.run.error.as_deref(), Some("ZeroDivisionError: division by zero"));
    assert_eq!(report.run.traceback.last().map(String::as_str), Some("ZeroDivisionError: division by zero"));
    let id = report.id.to_string();
    host.cell(Some(&id), "x = 1").await.unwrap();
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn output_is_in_order_with_displays_between() {
    let display = |text: &str| Event::DisplayData { data: [("text/plain".to_owned(), text.to_owned())].into() };
    let script = Script::silent().stdout("a").stdout("b\n").stderr("e\n").event(display("table")).stdout("c\n");
    let host = Host::with(engine().on("talk", script), |_| {}).await;
    let report = host.cell(None, "talk").await.unwrap();
    assert_eq!(texts(&report), ["ab\n", "e\n", "table\n", "c\n"]);
}

#[tokio::test]
async fn a_cell_that_kills_its_machine_is_rolled_back_with_its_output_kept() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    let report = host.cell(Some(&id), "crash").await.unwrap();
    assert!(!report.run.is_success() && report.rolled_back);
    assert_eq!(texts(&report), ["half\n"]);
    assert_eq!(
        report.run.error.unwrap(),
        "SessionRolledBackError: The code was killed: the code may use at most 1 GiB of memory (set by `memory`). The session is as it was before this cell."
    );
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn a_session_that_is_lost_says_so_until_it_is_cleared() {
    let script = Script::dying(ExitReason::Signal(9)).losing_session();
    let host = Host::with(engine().on("lose", script), |_| {}).await;
    let id = host.open("x = 1").await;
    let report = host.cell(Some(&id), "lose").await.unwrap();
    assert!(report.run.error.unwrap().starts_with("SessionLostError: The machine was ended from outside (SIGKILL)"));
    let error = host.cell(Some(&id), "x").await.unwrap_err();
    assert!(matches!(&error, SessionError::Lost { .. }), "{error}");
    assert!(error.to_string().contains("use session_id=\"\" or session_id=\"0\""), "{error}");
    assert_eq!(host.state(&id).await, SessionState::Lost);
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(matches!(host.cell(Some(&id), "x").await, Err(SessionError::NotFound { .. })));
}

#[tokio::test]
async fn limits_are_told_and_the_session_goes_on() {
    let raised = |stopped| {
        let ended = Ended::Raised {
            ename: "KeyboardInterrupt".to_owned(),
            evalue: String::new(),
            traceback: "Traceback\nKeyboardInterrupt\n".to_owned(),
        };
        Script::ending_with(Ok(outcome(ended, Some(stopped)))).stdout("partial\n").sets("x", "1")
    };
    let memory = Ended::Raised { ename: "MemoryError".to_owned(), evalue: String::new(), traceback: "t".to_owned() };
    let memory = Outcome { peak_memory_bytes: 900 << 20, ..outcome(memory, None) };
    let scripts = engine()
        .on("slow", raised(StopReason::TimeLimit))
        .on("swallows", Script::ending_with(Ok(outcome(Ended::Returned(None), Some(StopReason::CpuLimit)))))
        .on("greedy", Script::ending_with(Ok(memory)))
        .on("exit", Script::exiting(3, ""));
    let host = Host::with(scripts, |_| {}).await;
    let report = host.cell(None, "slow").await.unwrap();
    let id = report.id.to_string();
    assert_eq!(
        report.run.error.as_deref().unwrap(),
        "KeyboardInterrupt: The code was stopped: it ran longer than the time limit of 60 s (set by `timeout`). The session keeps what was done until then."
    );
    assert_eq!((texts(&report), report.run.stopped), (vec!["partial\n"], Some(StopReason::TimeLimit)));
    assert_eq!(host.x(&id).await, "1");
    assert!(host.cell(Some(&id), "swallows").await.unwrap().run.error.unwrap().contains("CPU time"));
    let greedy = host.cell(Some(&id), "greedy").await.unwrap().run.error.unwrap();
    assert!(greedy.starts_with("MemoryError") && greedy.contains("900 MiB of memory at its peak"), "{greedy}");
    assert_eq!(host.cell(Some(&id), "exit").await.unwrap().run.error.unwrap(), "SystemExit: 3");
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn cells_of_a_session_run_one_at_a_time_in_the_order_they_came() {
    let scripts = (0..8).fold(engine(), |engine, n| engine.on(&format!("n{n}"), Script::silent()));
    let host = Host::with(scripts, |_| {}).await;
    let id = host.open("1 + 1").await;
    let first = host.begin(&id, "loop");
    host.until_executed(2).await;
    let mut waiting = Vec::new();
    for n in 0..8 {
        waiting.push(host.begin(&id, &format!("n{n}")));
        // Each call is in the queue before the next one starts.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(host.engine.executed().len(), 2);
    assert!(host.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    let interrupted = first.await.unwrap().unwrap();
    assert_eq!(interrupted.run.stopped, Some(StopReason::Cancelled));
    assert_eq!(texts(&interrupted), ["begun\n"]);
    for cell in waiting {
        assert!(cell.await.unwrap().unwrap().run.is_success());
    }
    let order: Vec<String> = host.engine.executed().into_iter().skip(2).map(|execute| execute.code).collect();
    assert_eq!(order, (0..8).map(|n| format!("n{n}")).collect::<Vec<_>>());
    assert!(!host.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap(), "nothing runs any more");
}

#[tokio::test]
async fn the_queue_of_a_session_is_bounded() {
    let host = Host::new().await;
    let id = host.open("1 + 1").await;
    let running = host.begin(&id, "loop");
    host.until_executed(2).await;
    let queue: Vec<_> = (0..16).map(|_| host.begin(&id, "1 + 1")).collect();
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    let error = host.cell(Some(&id), "1 + 1").await.unwrap_err();
    assert!(matches!(error, SessionError::Busy { waiting: 16, .. }), "{error}");
    host.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap();
    running.await.unwrap().unwrap();
    for cell in queue {
        cell.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn cancelling_and_losing_interest_stop_the_cell_and_keep_the_session() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    let cancel = CancellationToken::new();
    let sessions = host.sessions.clone();
    let mut event_sink = |_| {};
    let run =
        sessions.execute(Request::cell(Some(&id), "loop").with_principal(LOCAL_PRINCIPAL), &cancel, &mut event_sink);
    let stop = async {
        host.until_executed(2).await;
        // A waiting call that is cancelled returns at once.
        let impatient = CancellationToken::new();
        impatient.cancel();
        let request = Request::cell(Some(&id), "x");
        let waiting = host.sessions.execute(request.with_principal(LOCAL_PRINCIPAL), &impatient, &mut |_| {}).await;
        assert_eq!(waiting.unwrap_err(), SessionError::Cancelled);
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(run, stop);
    assert_eq!(report.unwrap().run.stopped, Some(StopReason::Cancelled));
    assert_eq!(host.x(&id).await, "1");

    // A dropped call counts as cancelled.
    let abandoned = host.begin(&id, "loop");
    host.until_executed(4).await;
    abandoned.abort();
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn an_interrupt_that_came_too_late_does_not_hit_the_next_cell() {
    let host = Host::with(engine().on("wait", Script::silent().sleep(Duration::from_millis(20))), |_| {}).await;
    let id = host.open("1 + 1").await;
    let cell = host.begin(&id, "wait");
    host.until_executed(2).await;
    // The script ignores interrupts.
    assert!(host.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(cell.await.unwrap().unwrap().run.is_success());
    let next = host.begin(&id, "loop");
    host.until_executed(3).await;
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    assert!(!next.is_finished(), "the loop was not interrupted");
    host.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap();
    next.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_in_the_engine_is_the_callers_and_ends_that_session_only() {
    let host = Host::with(engine().on("boom", Script::silent().panicking()), |_| {}).await;
    let (id, other) = (host.open("x = 1").await, host.open("x = 2").await);
    assert!(host.begin(&id, "boom").await.unwrap_err().is_panic());
    assert!(matches!(host.cell(Some(&id), "x").await, Err(SessionError::Lost { .. })));
    assert_eq!(host.x(&other).await, "2");
}

#[tokio::test]
async fn a_sandbox_that_fails_leaves_no_session_behind() {
    let broken = Script::ending_with(Err(EngineError::Unavailable("no user namespaces".to_owned())));
    let host = Host::with(engine().on("broken", broken), |_| {}).await;
    let error = host.cell(None, "broken").await.unwrap_err();
    assert!(error.to_string().contains("no user namespaces"), "{error}");
    assert!(host.sessions.list(LOCAL_PRINCIPAL).await.is_empty());
    assert_eq!((host.sessions.live(), host.engine.alive()), (0, 0));
}
