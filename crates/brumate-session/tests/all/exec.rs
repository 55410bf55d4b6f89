//! Scripts with the fake engine: how each kind of end looks to a shell.

use std::sync::Arc;

use brumate_engine_api::{ExecuteMode, ExitReason, StopReason};
use brumate_packages::Bundle;
use brumate_session::testing::{FakeEngine, Script};
use brumate_session::{CancellationToken, Request, RunEvent, Runner, RunnerSettings, ScriptEnd};
use tokio::sync::mpsc;

async fn exec(script: Script, cancel: &CancellationToken) -> (ScriptEnd, String, Arc<FakeEngine>) {
    let engine = Arc::new(FakeEngine::default().on("code", script));
    let fake: Arc<FakeEngine> = Arc::clone(&engine);
    let runner = Runner::new(fake, Arc::new(Bundle::new([]).unwrap()), RunnerSettings::default());
    let mut request = Request::script("code", "tool.py");
    request.argv.push("--fast".to_owned());
    // A queue of one: the script has to wait for its receiver.
    let (sender, mut events) = mpsc::channel(1);
    let mut output = String::new();
    let read = async {
        while let Some(event) = events.recv().await {
            if let RunEvent::Output { text, .. } = event {
                output.push_str(&text);
                if text == "cancel me" {
                    cancel.cancel();
                }
            }
        }
    };
    let (end, ()) = tokio::join!(runner.exec(request, sender, cancel), read);
    (end.unwrap().end, output, engine)
}

async fn end(script: Script) -> ScriptEnd {
    exec(script, &CancellationToken::new()).await.0
}

#[tokio::test]
async fn arguments_go_in_and_output_comes_out() {
    let script = (0..200).fold(Script::silent(), |script, number| script.stdout(&format!("{number}\n")));
    let (end, output, engine) = exec(script, &CancellationToken::new()).await;
    assert_eq!(end, ScriptEnd::Exited { code: 0, message: String::new() });
    assert_eq!(output.lines().count(), 200);
    let executed = &engine.executed()[0];
    assert!(executed.mode == ExecuteMode::Script);
    assert_eq!(executed.argv, ["tool.py", "--fast"]);
}

#[tokio::test]
async fn modules_that_nobody_knows_are_left_to_python() {
    let (end, ..) = exec(Script::silent().imports(&["helper"], &[]), &CancellationToken::new()).await;
    assert_eq!(end, ScriptEnd::Exited { code: 0, message: String::new() });
}

#[tokio::test]
async fn every_end_is_told_apart() {
    assert_eq!(end(Script::exiting(258, "bye")).await, ScriptEnd::Exited { code: 2, message: "bye".to_owned() });
    assert_eq!(end(Script::dying(ExitReason::Exit(3))).await, ScriptEnd::Exited { code: 3, message: String::new() });
    assert!(
        matches!(end(Script::raising("ValueError", "no")).await, ScriptEnd::Raised { text } if text.ends_with("ValueError: no"))
    );
    assert!(matches!(
        end(Script::dying(ExitReason::TimeLimit)).await,
        ScriptEnd::Stopped { reason: StopReason::TimeLimit, .. }
    ));
    assert!(
        matches!(end(Script::dying(ExitReason::MemoryLimit)).await, ScriptEnd::Killed { text } if text.contains("`memory`"))
    );
}

#[tokio::test]
async fn cancelling_interrupts_the_script() {
    let cancel = CancellationToken::new();
    let (end, output, _) = exec(Script::silent().stdout("cancel me").endless(), &cancel).await;
    assert!(
        matches!(end, ScriptEnd::Stopped { reason: StopReason::Cancelled, text } if text.contains("KeyboardInterrupt"))
    );
    assert_eq!(output, "cancel me");
}
