//! Sessions that another version of Brumate hibernated: they resume from the image that it made, or their files are recovered.
//!
//! The other version is this one with another image: its own, with a byte changed that nobody reads, under the same name.

use std::path::{Path, PathBuf};

use crate::support::sessions::say;
use brumate_engine::api::MachineSpec;
use brumate_engine::client::{self, Error, Sandbox, SandboxConfig};
use sha2::{Digest, Sha256};

const PAGE: usize = 4096;

/// Where the key is in an image's header: behind its mark and a number of one byte.
const KEY: usize = 9;

/// A cache of its own with the compiled modules of the common one.
fn cache() -> tempfile::TempDir {
    let place = tempfile::tempdir_in(brumate_test_support::cache_directory().parent().unwrap()).unwrap();
    link_tree(&brumate_test_support::cache_directory(), place.path());
    for image in images(place.path()) {
        std::fs::remove_file(image).unwrap();
    }
    place
}

fn link_tree(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            std::fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
            link_tree(&entry.path(), &target);
        } else {
            // One that is just being replaced is made again.
            let _ = std::fs::hard_link(entry.path(), target);
        }
    }
}

fn images(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache.join("images")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "image")).collect()
}

async fn sandbox(cache: &Path) -> Sandbox {
    let program = Some(env!("CARGO_BIN_EXE_brumate").into());
    let config = SandboxConfig { cache_dir: cache.to_owned(), program, ready: 0, ..SandboxConfig::default() };
    Sandbox::start(config).await.expect("a sandbox")
}

fn number(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    unreachable!()
}

fn crc(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|index| (0..8).fold(index, |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())))
        .collect();
    !bytes.iter().fold(!0, |crc, byte| (crc >> 8) ^ table[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

/// The image as another version would have made it: the last byte of its memory is another.
fn another(image: &[u8]) -> Vec<u8> {
    let mut at = 8;
    number(image, &mut at);
    let id = at + 32..at + 64;
    at = id.end;
    let (memory, metadata, _pages) = (number(image, &mut at), number(image, &mut at), number(image, &mut at));
    let before = at;
    number(image, &mut at);
    let rest = image[at..PAGE].to_vec();
    let mut content = image[PAGE..].to_vec();
    content[memory as usize - 1] ^= 1;
    let mut header = image[..before].to_vec();
    header[id].copy_from_slice(&Sha256::digest(&content[..(memory + metadata) as usize]));
    let mut crc = crc(&content);
    while crc >= 0x80 {
        header.push(crc as u8 | 0x80);
        crc >>= 7;
    }
    header.push(crc as u8);
    header.extend(rest);
    header.resize(PAGE, 0);
    [header, content].concat()
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
        session.hibernate(&left.file()).await.unwrap();
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
    client::check_session_file(&left.file(), cache.path()).unwrap();
    sandbox.can_resume(&left.file()).await.unwrap();
    let (session, _) = sandbox.resume_session(&left.file(), MachineSpec::default()).await.unwrap();
    assert_eq!(say(&session, "print(f(3), open('a.txt').read())").await, "[1, 2, 3] hello\n");
    // It sleeps and wakes as before, beside sessions of this version.
    let own = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&own, "x = 'own'").await;
    let again = left.place.path().join("again");
    session.hibernate(&again).await.unwrap();
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
    assert!(sandbox.can_resume(&left.file()).await.is_err());
    assert_eq!(client::take_images(&carried, other.path()).unwrap(), 1);
    assert_eq!(client::take_images(&carried, other.path()).unwrap(), 0);
    sandbox.can_resume(&left.file()).await.unwrap();
}

#[tokio::test]
async fn files_of_a_session_whose_image_is_gone_are_recovered() {
    let left = OldVersionFiles::new().await;
    let cache = cache();
    let sandbox = sandbox(cache.path()).await;
    let before = std::fs::read(left.file()).unwrap();
    let told = |error: Error| match error {
        Error::Outdated(reason) => reason,
        other => panic!("{other}"),
    };
    let reasons = [
        told(sandbox.resume_session(&left.file(), MachineSpec::default()).await.unwrap_err()),
        told(sandbox.can_resume(&left.file()).await.unwrap_err()),
        told(client::check_session_file(&left.file(), cache.path()).unwrap_err()),
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
    assert!(matches!(&error, Error::Image(reason) if reason.contains("d/e/b")), "{error}");
}
