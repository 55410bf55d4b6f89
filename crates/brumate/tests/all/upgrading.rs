//! Sessions that another version of Brumate hibernated: they resume from the image that it made, or their files are recovered.
//!
//! The other version is this one with another image: its own, with a byte changed that nobody reads, under the same name.

use std::path::{Path, PathBuf};

use crate::support::cache_copies::{cache, changed_image, images};
use crate::support::sessions::say;
use brumate_engine::api::MachineSpec;
use brumate_engine::api::Session as _;
use brumate_engine::api::SessionFiles as _;
use brumate_engine::client::{self, EngineError, Sandbox, SandboxConfig};

/// Where the key is in an image's header: behind its mark and a number of one byte.
const KEY: usize = 9;

async fn sandbox(cache: &Path) -> Sandbox {
    let program = Some(env!("CARGO_BIN_EXE_brumate").into());
    let config = SandboxConfig { cache_dir: cache.to_owned(), program, ready: 0, ..SandboxConfig::default() };
    Sandbox::start(config).await.expect("a sandbox")
}

/// The image as another version would have made it: the last byte of its memory is another.
fn another(image: &[u8]) -> Vec<u8> {
    changed_image(image, |memory| *memory.last_mut().unwrap() ^= 1)
}

/// Files of another version: an image, and a hibernated session with a variable and files.
struct OldVersionFiles {
    place: tempfile::TempDir,
    image: Vec<u8>,
}

impl OldVersionFiles {
    async fn new() -> OldVersionFiles {
        let (place, cache) = (tempfile::tempdir().unwrap(), cache());
        sandbox(cache.path()).await;
        let [own] = images(cache.path()).try_into().expect("one image");
        let image = another(&std::fs::read(&own).unwrap());
        std::fs::write(&own, &image).unwrap();
        let mut image = image;
        // It was made from something else than what this version makes its own from.
        image[KEY] ^= 1;
        let sandbox = sandbox(cache.path()).await;
        let session = sandbox.session(MachineSpec::default()).await.unwrap();
        say(&session, "x = [1, 2]\ndef f(y): return x + [y]\nimport os\nos.chdir('/workspace')").await;
        say(
            &session,
            "open('a.txt', 'w').write('hello'); os.makedirs('d/e'); open('d/e/b', 'wb').write(b'b' * 3_000_000)",
        )
        .await;
        let left = OldVersionFiles { place, image };
        session.write_to(&left.file()).await.unwrap();
        // Its version is another as well.
        let mut bytes = std::fs::read(left.file()).unwrap();
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let at = bytes.windows(version.len()).position(|window| window == version).unwrap();
        bytes[at] += 1;
        std::fs::write(left.file(), bytes).unwrap();
        left
    }

    fn file(&self) -> PathBuf {
        self.place.path().join("session")
    }
}

#[tokio::test]
async fn a_session_of_another_version_wakes_from_its_image() {
    let left = OldVersionFiles::new().await;
    let cache = cache();
    let sandbox = sandbox(cache.path()).await;
    std::fs::write(cache.path().join("images").join(format!("{}.image", "0".repeat(64))), &left.image).unwrap();
    client::check_session_file(&left.file(), None, cache.path()).unwrap();
    sandbox.can_resume(&left.file(), None).await.unwrap();
    let (session, _) = sandbox.resume_session(&left.file(), MachineSpec::default()).await.unwrap();
    assert_eq!(say(&session, "print(f(3), open('a.txt').read())").await, "[1, 2, 3] hello\n");
    // It sleeps and wakes as before, beside sessions of this version.
    let own = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&own, "x = 'own'").await;
    let again = left.place.path().join("again");
    session.write_to(&again).await.unwrap();
    let (session, _) = sandbox.resume_session(&again, MachineSpec::default()).await.unwrap();
    assert_eq!(
        (say(&session, "print(x)").await, say(&own, "print(x)").await),
        ("[1, 2]\n".to_owned(), "own\n".to_owned())
    );
    // An image goes with its sessions.
    let carried = left.place.path().join("carried");
    assert_eq!(client::copy_images(&[left.file(), again, "none".into()], cache.path(), &carried).unwrap(), 1);
    let other = self::cache();
    let sandbox = self::sandbox(other.path()).await;
    assert!(sandbox.can_resume(&left.file(), None).await.is_err());
    let private = left.place.path().join("private");
    assert!(!client::has_base(&left.file(), other.path()).unwrap());
    assert!(client::take_image_from(&carried, &left.file(), &private).unwrap());
    sandbox.can_resume(&left.file(), Some(&private)).await.unwrap();
    client::check_session_file(&left.file(), Some(&private), other.path()).unwrap();
    let spec = MachineSpec { private_image: Some(private), ..MachineSpec::default() };
    let (session, _) = sandbox.resume_session(&left.file(), spec).await.unwrap();
    assert_eq!(say(&session, "print(f(3), open('a.txt').read())").await, "[1, 2, 3] hello\n");
}

#[tokio::test]
async fn files_of_a_session_whose_image_is_gone_are_recovered() {
    let left = OldVersionFiles::new().await;
    let cache = cache();
    let sandbox = sandbox(cache.path()).await;
    let before = std::fs::read(left.file()).unwrap();
    let told = |error: EngineError| match error {
        EngineError::Outdated(reason) => reason,
        other => panic!("{other}"),
    };
    let reasons = [
        told(sandbox.resume_session(&left.file(), MachineSpec::default()).await.unwrap_err()),
        told(sandbox.can_resume(&left.file(), None).await.unwrap_err()),
        told(client::check_session_file(&left.file(), None, cache.path()).unwrap_err()),
    ];
    for reason in reasons {
        assert!(reason.contains("put it to sleep") && reason.contains("not in the cache"), "{reason}");
    }
    let session = sandbox.recover(&left.file(), MachineSpec::default()).await.unwrap();
    let files = session.list_files("/workspace").await.unwrap();
    let names: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.size)).collect();
    assert_eq!(names, [("a.txt", 5), ("d/e/b", 3_000_000)]);
    assert_eq!(session.read_file("/workspace/a.txt", 0, 99).await.unwrap().bytes, b"hello");
    assert_eq!(
        say(&session, "print('x' in globals(), open('/workspace/d/e/b').read() == 'b' * 3_000_000)").await,
        "False True\n"
    );
    assert_eq!(std::fs::read(left.file()).unwrap(), before, "nothing is deleted");
    // What does not fit is no session.
    let limits = brumate_engine::api::Limits { file_bytes: 1 << 20, ..Default::default() };
    let error = sandbox.recover(&left.file(), MachineSpec { limits, ..MachineSpec::default() }).await.unwrap_err();
    assert!(matches!(&error, EngineError::Image(reason) if reason.contains("d/e/b")), "{error}");
}
