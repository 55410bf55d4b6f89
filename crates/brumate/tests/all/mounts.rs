//! The limit of writes to granted host directories, and forged answers.

use brumate_engine::api::{Ended, Limits, MachineSpec, Mount, Outcome};
use brumate_engine::client::{EngineError, ExitReason, Session};

use crate::support::sessions::{cell, sandbox, say};

async fn session_with(limits: Limits, host: &std::path::Path) -> Session {
    let sandbox = sandbox(0).await;
    let mounts = vec![Mount { host: host.to_owned(), guest: "/m".to_owned(), read_only: false }];
    sandbox.session(MachineSpec { limits, mounts, ..MachineSpec::default() }).await.expect("a session")
}

#[tokio::test]
async fn a_file_that_would_be_too_long_is_an_error_and_not_the_end() {
    let host = tempfile::tempdir().expect("a directory");
    let session = session_with(Limits { mount_bytes: 1 << 50, ..Limits::default() }, host.path()).await;
    let code = "
import os, errno
open('/m/f', 'w').close()
def refused(what):
    try:
        what()
    except OSError as error:
        print(errno.errorcode[error.errno])
refused(lambda: os.truncate('/m/f', 2**62))
refused(lambda: os.truncate('/m/f', 9 << 30))
fd = os.open('/m/f', os.O_RDWR)
refused(lambda: os.ftruncate(fd, 2**62))
refused(lambda: os.pwrite(fd, b'x', 9 << 30))
refused(lambda: os.pwrite(fd, b'x', 2**62))
os.ftruncate(fd, 4096)
print(os.stat('/m/f').st_size)
";
    assert_eq!(say(&session, code).await, "EFBIG\n".repeat(5) + "4096\n");
}

#[tokio::test]
async fn what_is_written_to_mounts_has_a_limit_of_its_own() {
    let host = tempfile::tempdir().expect("a directory");
    // The limit of the sandbox's own files is another one.
    let limits = Limits { mount_bytes: 1 << 20, file_bytes: 64 << 20, ..Limits::default() };
    let session = session_with(limits, host.path()).await;
    let code = "
import os
open('/tmp/own', 'wb').write(bytes(2 << 20))
try:
    with open('/m/large', 'wb', buffering=0) as file:
        while True:
            file.write(bytes(100_000))
except OSError as error:
    print(error)
def refused(what):
    try:
        what()
        print('done')
    except OSError as error:
        print(error.strerror)
refused(lambda: open('/m/other', 'w'))
refused(lambda: os.mkdir('/m/d'))
refused(lambda: os.truncate('/m/large', 2 << 20))
refused(lambda: os.truncate('/m/large', 10))
os.remove('/m/large')
refused(lambda: open('/m/other', 'w'))
print(os.listdir('/m'))
";
    let expected =
        "[Errno 19] Quota exceeded\nQuota exceeded\nQuota exceeded\nQuota exceeded\ndone\nQuota exceeded\n[]\n";
    assert_eq!(say(&session, code).await, expected);
}

#[tokio::test]
async fn a_limit_of_mounts_counts_what_was_written_and_what_was_made() {
    let host = tempfile::tempdir().expect("a directory");
    let session = session_with(Limits { mount_bytes: 1 << 20, ..Limits::default() }, host.path()).await;
    let code = "
try:
    with open('/m/large', 'wb', buffering=0) as file:
        while file.write(bytes(100_000)): pass
except OSError: pass
import os
print(os.stat('/m/large').st_size)
";
    assert_eq!(say(&session, code).await, format!("{}\n", (1 << 20) - 4096));
}

#[tokio::test]
async fn a_forged_answer_is_the_codes_fault() {
    let host = tempfile::tempdir().expect("a directory");
    let session = session_with(Limits::default(), host.path()).await;
    // The next cell's answer is made by what this one puts in the driver's place.
    let forge = "import _brumate.execution as driver\ndriver.execute.__code__ = (lambda request: 'no JSON').__code__";
    say(&session, forge).await;
    match cell(&session, "1").await.0 {
        Err(
            EngineError::RolledBack { reason: ExitReason::Trap(text), .. }
            | EngineError::MachineExited { reason: ExitReason::Trap(text), .. },
        ) => {
            assert_eq!(text, "the code damaged its interpreter: its answer makes no sense");
        }
        other => panic!("{other:?}"),
    }
    // One part of an answer.
    let session = session_with(Limits::default(), host.path()).await;
    say(&session, "import _brumate.values as driver\ndriver.to_json.__code__ = (lambda value: 'no JSON').__code__")
        .await;
    match cell(&session, "1").await.0 {
        Ok(Outcome { ended: Ended::Returned(Some(value)), .. }) => {
            assert_eq!(value.json, "no JSON", "told by the report")
        }
        other => panic!("{other:?}"),
    }
}
