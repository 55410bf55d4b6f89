//! The library `brumate`, which is the sandbox without a protocol. Its processes are this package's program.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brumate::{Error, Event, Sandbox, SandboxBuilder, StopReason};
use brumate_test_support::cache_directory;
use tempfile::TempDir;

fn builder() -> SandboxBuilder {
    Sandbox::builder().program(env!("CARGO_BIN_EXE_brumate")).cache_dir(cache_directory()).offline()
}

fn with_sessions() -> (TempDir, Sandbox) {
    let data = tempfile::tempdir().unwrap();
    let sandbox = builder().data_dir(data.path().join("data")).build().unwrap();
    (data, sandbox)
}

#[tokio::test]
async fn code_runs_and_its_value_comes_back() {
    let sandbox = builder().build().unwrap();
    let code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'n': n, 'list': [1.5, None]}";
    let result = sandbox.run(code).global("n", 2).await.unwrap();
    assert!(result.success, "{result:?}");
    assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(result.value::<serde_json::Value>().unwrap(), serde_json::json!({"n": 2, "list": [1.5, null]}));
    let (large, raw) = (u128::MAX, serde_json::value::to_raw_value(&i128::MIN).unwrap());
    let sum = sandbox.run("[n + 1, m - 1, m]").global("n", large).global("m", &raw).await.unwrap();
    let [more, less, same]: [Box<serde_json::value::RawValue>; 3] = sum.value().unwrap();
    assert_eq!(more.get(), "340282366920938463463374607431768211456");
    assert_eq!((less.get(), same.get()), ("-170141183460469231731687303715884105729", raw.get()));
    assert!(sum.value::<serde_json::Value>().unwrap_err().to_string().contains("more than 64 bits"));
    assert_eq!(sandbox.run("'text'").await.unwrap().text.as_deref(), Some("text"));
    let figure = sandbox.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()").await.unwrap();
    assert_eq!(figure.figures[0].mime, "image/png");
    assert!(figure.packages.contains(&"matplotlib".to_owned()), "{:?}", figure.packages);
}

#[tokio::test]
async fn failures_of_code_are_results() {
    let sandbox = builder().timeout(Duration::from_millis(300)).build().unwrap();
    let failed = sandbox.run("1 / 0").file_name("sum.py").await.unwrap();
    let error = failed.error.clone().unwrap();
    assert!(error.contains("sum.py\", line 1") && error.contains("ZeroDivisionError: division by zero"), "{error}");
    assert!(matches!(failed.ok(), Err(Error::Code(_))));
    let stopped = sandbox.run("while True: pass").await.unwrap();
    assert_eq!((stopped.success, stopped.stopped), (false, Some(StopReason::TimeLimit)));
    let missing = sandbox.run("import no_such_module_at_all").await.unwrap();
    assert!(missing.error.unwrap().contains("no_such_module_at_all"));
    let unpassable = std::collections::HashMap::from([((1, 2), 3)]);
    assert!(matches!(sandbox.run("x").global("x", unpassable).await, Err(Error::Global { .. })));
}

#[tokio::test]
async fn events_come_and_questions_are_answered() {
    let sandbox = builder().build().unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let (seen, mut left) = (events.clone(), 2);
    let answer = move |question: brumate::InputRequest| {
        left -= 1;
        (left > 0).then(|| format!("{}!", question.prompt))
    };
    let code = "print(input('a'))\ntry:\n    input()\nexcept EOFError:\n    print('end')";
    let listen = move |event| seen.lock().unwrap().push(event);
    let result = sandbox.run(code).on_input(answer).on_event(listen).await.unwrap();
    assert!(result.stdout.contains("a!\n") && result.stdout.ends_with("end\n"), "{result:?}");
    let text: String = events
        .lock()
        .unwrap()
        .iter()
        .map(|event| if let Event::Stdout(text) = event { text.clone() } else { String::new() })
        .collect();
    assert_eq!(text, result.stdout);
}

#[tokio::test]
async fn calls_beyond_the_places_wait_and_each_has_its_time_limit() {
    let data = tempfile::tempdir().unwrap();
    let sandbox = builder().max_concurrent(1).data_dir(data.path().join("data")).build().unwrap();
    let runs: Vec<_> = (0..20_u64)
        .map(|number| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { sandbox.run("n").global("n", number).await.unwrap().value::<u64>().unwrap() })
        })
        .collect();
    for (number, run) in (0..).zip(runs) {
        assert_eq!(run.await.unwrap(), number);
    }
    let short = Duration::from_millis(300);
    let stopped = sandbox.run("while True: pass").timeout(short).await.unwrap();
    assert_eq!(stopped.stopped, Some(StopReason::TimeLimit));
    assert!(stopped.error.unwrap().contains("0.3 s (set by `timeout`)"));
    let session = sandbox.session().await.unwrap();
    let stopped = session.run("x = 1\nwhile True: pass").timeout(short).await.unwrap();
    assert_eq!((stopped.stopped, session.get::<u8>("x").await.unwrap()), (Some(StopReason::TimeLimit), 1));
    assert!(matches!(sandbox.run("1").timeout(Duration::ZERO).await, Err(Error::Settings(_))));
    assert!(matches!(builder().memory_limit(1).build(), Err(Error::Settings(_))));
    sandbox.close().await;
}

#[tokio::test]
async fn a_future_that_is_dropped_interrupts_its_code() {
    let (_data, sandbox) = with_sessions();
    let session = sandbox.session().await.unwrap();
    let endless = session.run("n = 0\nwhile True:\n    n += 1");
    assert!(tokio::time::timeout(Duration::from_millis(300), endless.into_future()).await.is_err());
    assert!(session.get::<u64>("n").await.unwrap() > 0, "the session goes on");
    sandbox.close().await;
}

#[tokio::test]
async fn directories_of_the_host_are_mounted() {
    let (data, _) = with_sessions();
    let work = data.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("a"), "a").unwrap();
    let builder = builder().data_dir(data.path().join("data")).mount(&work, "/work");
    let sandbox = builder.clone().build().unwrap();
    sandbox.run("open('/work/b', 'w').write('b')").await.unwrap().ok().unwrap();
    let session = sandbox.session().await.unwrap();
    session.run("import os\nnames = sorted(os.listdir('/work'))\nos.remove('/work/a')").await.unwrap().ok().unwrap();
    assert_eq!(session.get::<Vec<String>>("names").await.unwrap(), ["a", "b"]);
    assert!(!work.join("a").exists());
    sandbox.close().await;
    let refused = builder.mount_read_only(work.join("b"), "/b").build().unwrap_err();
    assert!(refused.to_string().contains("is not a directory"), "{refused}");
}

#[tokio::test]
async fn sessions_keep_variables_and_files() {
    let (_data, sandbox) = with_sessions();
    let session = sandbox.session().await.unwrap();
    session.set("x", [1, 2]).await.unwrap();
    let content = vec![7; (1 << 20) + 5];
    assert_eq!(session.upload("a.bin", &content).await.unwrap().size, content.len() as u64);
    let result = session.run("x.append(3)\nopen('b.txt', 'w').write('b')\nprint(len(x))").await.unwrap();
    assert_eq!((result.stdout.as_str(), result.files.len()), ("3\n", 1));
    assert_eq!(session.get::<Vec<u8>>("x").await.unwrap(), [1, 2, 3]);
    assert_eq!(session.download("a.bin").await.unwrap(), content);
    let names: Vec<String> = session.files().await.unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["a.bin", "b.txt"]);
    let fork = session.fork().await.unwrap();
    fork.run("x.clear()").await.unwrap().ok().unwrap();
    assert_eq!(session.get::<Vec<u8>>("x").await.unwrap().len(), 3);
    assert!(sandbox.session_ids().await.unwrap().contains(&session.id().to_owned()));
    assert!(matches!(session.get::<u8>("missing").await, Err(Error::Code(text)) if text.contains("NameError")));
    assert!(matches!(session.get::<u8>("x; y").await, Err(Error::Settings(_))));
    assert!(matches!(session.download("missing").await, Err(Error::SessionFile(_))));
    session.reset().await.unwrap();
    assert!(session.files().await.unwrap().is_empty());
    let id = session.id().to_owned();
    session.delete().await.unwrap();
    assert!(matches!(sandbox.open_session(id).run("1").await, Err(Error::SessionNotFound(_))));
    sandbox.close().await;
}

#[tokio::test]
async fn a_session_is_a_notebook() {
    let (_data, sandbox) = with_sessions();
    let session = sandbox.session().await.unwrap();
    session.set("x", 1).await.unwrap();
    session.run("print('a')\nx").await.unwrap();
    let copy = session.fork().await.unwrap();
    let notebook = session.to_notebook().await.unwrap();
    assert_eq!(copy.to_notebook().await.unwrap(), notebook);
    let cells = serde_json::from_str::<serde_json::Value>(&notebook).unwrap()["cells"].clone();
    let outputs = (&cells[0]["outputs"][0]["text"][0], &cells[0]["outputs"][1]["data"]["text/plain"][0]);
    assert_eq!((cells.as_array().unwrap().len(), outputs.0.as_str(), outputs.1.as_str()), (1, Some("a\n"), Some("1")));
}

#[tokio::test]
async fn a_snapshot_goes_on_in_another_data_directory() {
    let (data, sandbox) = with_sessions();
    let path = data.path().join("state.brumate");
    let session = sandbox.session().await.unwrap();
    session.run("import collections\nwords = collections.Counter('aba')").await.unwrap().ok().unwrap();
    session.snapshot(&path).await.unwrap();
    session.run("words.clear()").await.unwrap().ok().unwrap();
    sandbox.close().await;
    let (_other, sandbox) = with_sessions();
    let restored = sandbox.restore(&path).await.unwrap();
    assert_eq!(restored.run("words['a']").await.unwrap().value::<u8>().unwrap(), 2);
    assert!(matches!(sandbox.restore(data.path()).await, Err(Error::HostFile { .. })));
    sandbox.close().await;
}

#[test]
fn a_program_that_cannot_be_started_again_is_told() {
    let error = Sandbox::new().unwrap_err();
    assert!(error.to_string().contains("call `brumate::init()` first in `main`"), "{error}");
}
