//! Files of a session, as the server lists, reads, writes and removes them between cells.

use crate::support::sessions::{cell, sandbox, say};
use brumate_engine::api::SessionFiles as _;
use brumate_engine::api::{Limits, MAX_FILE_CHUNK, MAX_LISTED_FILES, MachineSpec, Mount};
use brumate_engine::client::{EngineError, Session};

const WORKSPACE: &str = "/workspace";

async fn paths(session: &Session, directory: &str) -> Vec<String> {
    session.list_files(directory).await.expect("a listing").into_iter().map(|file| file.path).collect()
}

/// The reason of a refusal.
fn refused<T: std::fmt::Debug>(result: Result<T, EngineError>) -> String {
    match result {
        Err(EngineError::File(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_and_the_guest_see_the_same_files() {
    let sandbox = sandbox(1).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    say(&session, "import os; os.mkdir('out'); open('out/a b.txt', 'w').write('hello'); open('.hidden', 'w')").await;
    let files = session.list_files(WORKSPACE).await.expect("a listing");
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!((&file.path[..], file.size), ("out/a b.txt", 5));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!((now.as_nanos() as i64 - file.modified).abs() < 3_600_000_000_000, "{}", file.modified);
    let chunk = session.read_file("/workspace/out/../out/a b.txt", 1, 3).await.expect("a piece");
    assert_eq!((&chunk.bytes[..], chunk.size), (&b"ell"[..], 5));

    // The same length, the same time: still not the same file.
    let mut stamps = vec![file.stamp];
    for text in ["HELLO", "hello"] {
        let write = format!("open('out/a b.txt', 'r+').write('{text}'); os.utime('out/a b.txt', (10, 10))");
        say(&session, &write).await;
        let files = session.list_files(WORKSPACE).await.expect("a listing");
        assert_eq!((files[0].size, files[0].modified), (5, 10_000_000_000));
        assert!(!stamps.contains(&files[0].stamp));
        stamps.push(files[0].stamp);
    }

    session.write_file("/workspace/in/deep/data.bin", 0, vec![7; 1000], true).await.expect("written");
    session.write_file("/workspace/in/deep/data.bin", 1000, vec![8; 1000], false).await.expect("written");
    let check = "d = open('in/deep/data.bin', 'rb').read(); print(d == bytes([7]) * 1000 + bytes([8]) * 1000)";
    assert_eq!(say(&session, check).await, "True\n");
    session.remove_file("/workspace/in/deep/data.bin").await.expect("removed");
    assert_eq!(paths(&session, WORKSPACE).await, ["out/a b.txt"]);
    session.remove_tree(WORKSPACE).await.expect("removed");
    assert_eq!(say(&session, "print(os.listdir())").await, "[]\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_is_refused_and_the_session_goes_on() {
    let sandbox = sandbox(1).await;
    let limits = Limits { file_bytes: 2 << 20, ..Limits::default() };
    let session = sandbox.session(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a session");
    say(&session, "x = 1").await;
    let piece = || vec![1; MAX_FILE_CHUNK];
    assert!(refused(session.read_file("/none", 0, 9).await).contains("no such file"));
    assert!(refused(session.read_file("/dev/zero", 0, 9).await).contains("not a regular file"));
    assert!(refused(session.read_file("relative", 0, 9).await).contains("absolute"));
    assert_eq!(session.list_files("/none").await, Ok(Vec::new()));
    assert!(refused(session.list_files("/home\0").await).contains("null"));
    assert!(refused(session.write_file("/lib/python3.14/os.py", 0, piece(), true).await).contains("EROFS"));
    assert!(refused(session.write_file("/f", 0, vec![0; MAX_FILE_CHUNK + 1], true).await).contains("at once"));
    assert!(refused(session.remove_file(WORKSPACE).await).contains("not a regular file"));
    let longest = refused(session.write_file(&format!("/{}", "x".repeat(5000)), 0, piece(), true).await);
    assert!(longest.contains("too long"), "{longest}");
    for (number, fits) in [(0, true), (1, true), (2, false)] {
        let offset = number * MAX_FILE_CHUNK as u64;
        let written = session.write_file("/workspace/large", offset, piece(), false).await;
        assert_eq!(written.is_ok(), fits, "{written:?}");
        if !fits {
            assert!(refused(written).contains("no space is left"));
        }
    }
    session.remove_file("/workspace/large").await.expect("removed");
    let code = format!("for n in range({}): open(str(n), 'w').close()", MAX_LISTED_FILES);
    say(&session, &code).await;
    assert_eq!(paths(&session, WORKSPACE).await.len(), MAX_LISTED_FILES);
    say(&session, "open('one more', 'w').close()").await;
    assert!(refused(session.list_files(WORKSPACE).await).contains("more than"));
    assert_eq!(say(&session, "print(x)").await, "1\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_survives_a_roll_back() {
    let sandbox = sandbox(1).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    say(&session, "x = 1").await;
    for round in 0..10_u8 {
        let path = format!("/workspace/{round}");
        session.write_file(&path, 0, vec![round], true).await.expect("written");
        let (outcome, _) = cell(&session, "import os; open('lost', 'w').write('1'); x = 2; os._exit(1)").await;
        assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}");
        assert_eq!(session.read_file(&path, 0, 9).await.expect("it is there").bytes, [round]);
    }
    assert_eq!(
        say(&session, "print(x, len(os.listdir()) if 'os' in globals() else len(__import__('os').listdir()))").await,
        "1 10\n"
    );
    session.remove_tree(WORKSPACE).await.expect("removed");
    let (outcome, _) = cell(&session, "import os; os.abort()").await;
    assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}");
    assert_eq!(paths(&session, WORKSPACE).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_are_read_and_written_as_granted() {
    let sandbox = sandbox(1).await;
    let host = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(host.path().join("d")).unwrap();
    std::fs::write(host.path().join("d/f"), "host").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", host.path().join("link")).unwrap();
    let mount = |guest: &str, read_only| Mount { host: host.path().to_owned(), guest: guest.to_owned(), read_only };
    let mounts = vec![mount("/workspace/free", false), mount("/workspace/fixed", true)];
    let session = sandbox.session(MachineSpec { mounts, ..MachineSpec::default() }).await.expect("a session");
    assert_eq!(paths(&session, WORKSPACE).await, Vec::<String>::new());
    assert_eq!(paths(&session, "/workspace/fixed").await, ["d/f"]);
    assert_eq!(session.read_file("/workspace/fixed/d/f", 0, 9).await.expect("a piece").bytes, b"host");
    assert!(refused(session.read_file("/workspace/fixed/link", 0, 9).await).contains("no such file"));
    assert!(refused(session.write_file("/workspace/fixed/new", 0, vec![1], true).await).contains("EROFS"));
    session.write_file("/workspace/free/x/new", 0, b"new".to_vec(), true).await.expect("written");
    assert_eq!(std::fs::read(host.path().join("x/new")).unwrap(), b"new");
    session.remove_tree(WORKSPACE).await.expect("grants stay");
    assert_eq!(paths(&session, "/workspace/free").await, ["d/f", "x/new"]);
    session.remove_tree("/workspace/free").await.expect("unless they are meant");
    assert_eq!(std::fs::read_dir(host.path()).unwrap().count(), 0);
}
