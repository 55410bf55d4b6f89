//! Images that come with a snapshot or a backup: somebody else decides what they do, so only the session that they came with
//! gets a machine of one.
//!
//! The image is this version's own, patched so that `sys.copyright` says something else, under its right key and with right checksums.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use brumate::{Error, Sandbox};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::support::cache_copies::{cache, changed_image, images};

/// Text that is in the memory of each image.
const RIGHT: &[u8] = b"Copyright (c) 2001 Python";
const PLANTED: &[u8] = b"Planted!! (c) 2001 Python";
/// Shows which of the two a machine has.
const SHOW: &str = "import sys\nsys.copyright[:9]";

/// A host: a cache and a data directory.
struct Host {
    cache: tempfile::TempDir,
    data: tempfile::TempDir,
}

impl Host {
    fn new() -> Host {
        Host { cache: cache(), data: tempfile::tempdir().unwrap() }
    }

    fn sandbox(&self) -> Sandbox {
        let builder = Sandbox::builder().program(env!("CARGO_BIN_EXE_brumate")).cache_dir(self.cache.path()).offline();
        builder.data_dir(self.data.path().join("data")).build().unwrap()
    }

    /// Runs the program with this host's directories.
    fn brumate(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
        command.env_clear().env("BRUMATE_CACHE_DIR", self.cache.path()).env("UV_NO_CONFIG", "1");
        command.env("BRUMATE_DATA_DIR", self.data.path().join("data")).env("PIP_CONFIG_FILE", "/dev/null");
        let output = command.args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the output of a run in another process with this cache.
    fn shown_by_another_process(&self) -> String {
        let script = self.data.path().join("show.py");
        std::fs::write(&script, "import sys\nprint(sys.copyright[:9])").unwrap();
        self.brumate(&["exec", script.to_str().unwrap()])
    }

    /// Files of sessions that end like this.
    fn files(&self, end: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.data.path().join("data/sessions")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.to_str().unwrap().ends_with(end)).collect()
    }

    /// Whether an image of the cache, which this host's servers may have built, has the planted text.
    fn has_planted_image(&self) -> bool {
        images(self.cache.path()).iter().any(|path| !places(&std::fs::read(path).unwrap(), PLANTED).is_empty())
    }

    /// Builds the images, and patches them.
    fn patch_images(&self) {
        self.shown_by_another_process();
        let patched = images(self.cache.path());
        assert!(!patched.is_empty());
        for path in patched {
            let image = std::fs::read(&path).unwrap();
            std::fs::write(&path, patch(&image)).unwrap();
        }
    }
}

fn patch(image: &[u8]) -> Vec<u8> {
    changed_image(image, |memory| {
        let places = places(memory, RIGHT);
        assert!(!places.is_empty());
        for at in places {
            memory[at..at + PLANTED.len()].copy_from_slice(PLANTED);
        }
    })
}

/// Where a text is in a memory.
fn places(memory: &[u8], text: &[u8]) -> Vec<usize> {
    let found = memory.windows(text.len()).enumerate().filter(|(_, window)| window[0] == text[0] && *window == text);
    found.map(|(at, _)| at).collect()
}

async fn shown(session: &brumate::Session) -> String {
    session.run(SHOW).await.unwrap().value().unwrap()
}

/// A snapshot that somebody has made with patched images.
async fn snapshot_of_an_attacker(place: &Path) -> PathBuf {
    let attacker = Host::new();
    attacker.patch_images();
    let sandbox = attacker.sandbox();
    let session = sandbox.session().await.unwrap();
    session.run("x = 41").await.unwrap().ok().unwrap();
    assert_eq!(shown(&session).await, "Planted!!");
    let file = place.join("gift.brumate");
    session.snapshot(&file).await.unwrap();
    file
}

/// Writes a snapshot again, with each entry's content changed by `change`.
fn changed_snapshot(from: &Path, to: &Path, change: impl Fn(&str, Vec<u8>) -> Vec<u8>) {
    rewritten(from, to, change).finish().unwrap();
}

/// Does what [`changed_snapshot`] does, and leaves the end of the archive to the caller.
fn rewritten(from: &Path, to: &Path, change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> ZipWriter<std::fs::File> {
    let mut archive = ZipArchive::new(std::fs::File::open(from).unwrap()).unwrap();
    let mut writer = ZipWriter::new(std::fs::File::create(to).unwrap());
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).unwrap();
        let (name, mut content) = (entry.name().unwrap().into_owned(), Vec::new());
        entry.read_to_end(&mut content).unwrap();
        let method = if name == "session" { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        writer.start_file(&*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(&change(&name, content)).unwrap();
    }
    writer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_in_a_snapshot_serves_its_session_alone() {
    let place = tempfile::tempdir().unwrap();
    let gift = snapshot_of_an_attacker(place.path()).await;
    // A host without images: what it would build later must not be there already.
    let victim = Host::new();
    let sandbox = victim.sandbox();
    let restored = sandbox.restore(&gift).await.unwrap();
    assert!(!victim.has_planted_image(), "nothing of it is put into the cache");
    assert_eq!(restored.run("x + 1").await.unwrap().value::<u8>().unwrap(), 42);
    assert_eq!(shown(&restored).await, "Planted!!", "the session goes on from its image");
    // Others on this server, and other servers, are not touched.
    assert_eq!(shown(&sandbox.session().await.unwrap()).await, "Copyright");
    assert_eq!(sandbox.run(SHOW).await.unwrap().value::<String>().unwrap(), "Copyright");
    assert_eq!(victim.shown_by_another_process(), "Copyright\n");
    assert!(!victim.has_planted_image());
    // A copy of the session has the image as well, and so has a snapshot of it.
    let copy = restored.fork().await.unwrap();
    assert_eq!(shown(&copy).await, "Planted!!");
    let again = place.path().join("again.brumate");
    restored.snapshot(&again).await.unwrap();
    assert_eq!(victim.files(".session.image").len(), 2);
    drop(sandbox);

    // A later server wakes it the same way; the image goes with its session.
    let sandbox = victim.sandbox();
    let (restored, copy) = (sandbox.open_session(restored.id()), sandbox.open_session(copy.id()));
    assert_eq!((shown(&restored).await, shown(&copy).await), ("Planted!!".to_owned(), "Planted!!".to_owned()));
    restored.reset().await.unwrap();
    assert_eq!((shown(&restored).await, victim.files(".session.image").len()), ("Copyright".to_owned(), 1));
    copy.delete().await.unwrap();
    assert_eq!(victim.files(".session.image"), [] as [PathBuf; 0]);
    let third = sandbox.restore(&again).await.unwrap();
    assert_eq!(
        (shown(&third).await, victim.shown_by_another_process()),
        ("Planted!!".to_owned(), "Copyright\n".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_image_than_the_sessions_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let gift = snapshot_of_an_attacker(place.path()).await;
    let victim = Host::new();
    let sandbox = victim.sandbox();
    let changed = place.path().join("changed.brumate");
    // Its header says that it is the session's, and its content is another one.
    let lying = |name: &str, mut content: Vec<u8>| {
        if name.starts_with("images/") {
            let at = content.len() / 2;
            content[at] ^= 1;
        }
        content
    };
    // A right image, of which the session knows nothing.
    let other =
        |name: &str, content: Vec<u8>| if name.starts_with("images/") { patch_again(&content) } else { content };
    for of_image in [true, false] {
        changed_snapshot(
            &gift,
            &changed,
            |name, content| if of_image { lying(name, content) } else { other(name, content) },
        );
        let error = sandbox.restore(&changed).await.unwrap_err();
        assert!(matches!(&error, Error::HostFile { .. }) && error.to_string().contains("not the one"), "{error}");
    }
    changed_snapshot(&gift, &changed, |_, content| content);
    sandbox.restore(&changed).await.unwrap();
    assert_eq!(victim.files(".session.image").len(), 1, "what was refused has left nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_entries_than_a_snapshot_has_are_refused() {
    let (place, host) = (tempfile::tempdir().unwrap(), Host::new());
    let sandbox = host.sandbox();
    let session = sandbox.session().await.unwrap();
    session.run("x = 41").await.unwrap().ok().unwrap();
    let (file, changed) = (place.path().join("x.brumate"), place.path().join("changed.brumate"));
    session.snapshot(&file).await.unwrap();
    // The cache has the session's image, so images are passed over, and each would be.
    let mut writer = rewritten(&file, &changed, |_, content| content);
    writer.start_file(format!("images/{}.image", "a5".repeat(32)), SimpleFileOptions::default()).unwrap();
    writer.finish().unwrap();
    let error = sandbox.restore(&changed).await.unwrap_err();
    assert!(error.to_string().contains("more entries than a snapshot"), "{error}");
    sandbox.restore(&file).await.unwrap();
}

fn patch_again(image: &[u8]) -> Vec<u8> {
    changed_image(image, |memory| *memory.last_mut().unwrap() ^= 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_in_a_backup_serves_its_sessions_alone() {
    let place = tempfile::tempdir().unwrap();
    let attacker = Host::new();
    attacker.patch_images();
    let sandbox = attacker.sandbox();
    let (one, two) = (sandbox.session().await.unwrap(), sandbox.session().await.unwrap());
    for session in [&one, &two] {
        session.run("x = 41").await.unwrap().ok().unwrap();
    }
    let backup = place.path().join("backup");
    attacker.brumate(&["sessions", "backup", backup.to_str().unwrap()]);
    let victim = Host::new();
    let said = victim.brumate(&["sessions", "restore", backup.to_str().unwrap()]);
    assert!(said.contains("2 sessions restored") && said.contains("with 2 images"), "{said}");
    assert_eq!(images(victim.cache.path()), [] as [PathBuf; 0], "nothing is put into the cache");
    let sandbox = victim.sandbox();
    for id in [one.id(), two.id()] {
        let session = sandbox.open_session(id);
        assert_eq!(session.run("x + 1").await.unwrap().value::<u8>().unwrap(), 42);
        assert_eq!(shown(&session).await, "Planted!!");
    }
    assert_eq!(shown(&sandbox.session().await.unwrap()).await, "Copyright");
    assert_eq!(victim.shown_by_another_process(), "Copyright\n");
    // A backup of what was restored has their images.
    let second = place.path().join("second");
    victim.brumate(&["sessions", "backup", second.to_str().unwrap()]);
    let third = Host::new();
    third.brumate(&["sessions", "restore", second.to_str().unwrap()]);
    assert_eq!(shown(&third.sandbox().open_session(one.id())).await, "Planted!!");
}
