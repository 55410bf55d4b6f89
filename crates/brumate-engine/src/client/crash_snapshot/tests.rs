use super::*;
use crate::image::sealed::Sealing;

fn header(session: u8) -> Header {
    Header::example([session; 16])
}

fn snapshot(content: &str, generation: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sealing = Sealing::new(&mut bytes);
    sealing.write_all(content.as_bytes()).unwrap();
    sealing.seal(generation).unwrap();
    bytes
}

/// A hibernated session: its id, its content, and its number of changes.
type Asleep<'a> = Option<(u8, &'a str, u64)>;

/// The hibernated session, the two crash snapshots, and the content that is found.
type Case<'a> = (Asleep<'a>, [&'a [u8]; 2], Option<&'a str>);

/// A directory after a server disconnected: its crash snapshot, and the session that was hibernated there before.
struct Left {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Left {
    fn new(asleep: Asleep<'_>, slots: [&[u8]; 2]) -> Left {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session");
        if let Some((session, content, generation)) = asleep {
            session_file::complete(&path, &header(session), &mut content.as_bytes(), generation).unwrap();
        }
        let files = create(&path, &header(1)).unwrap().unwrap();
        for (slot, content) in files.slots.iter().zip(slots) {
            (&*slot).write_all(content).unwrap();
        }
        // As if by SIGKILL: the lock is released, the files stay.
        let CrashSnapshotFiles { slots, .. } = &files;
        flock(&slots[0], FlockOperation::Unlock).unwrap();
        std::mem::forget(files);
        Left { _directory: directory, path }
    }

    /// Returns content and generation of the session after its crash snapshot was adopted.
    fn found(&self) -> Option<(String, u64)> {
        try_adopt(&self.path).unwrap().unwrap();
        let rest = std::fs::read_dir(self.path.parent().unwrap()).unwrap().count();
        assert_eq!(rest, usize::from(self.path.exists()), "no will is left");
        let mut file = File::open(&self.path).ok()?;
        Header::read(&mut file).unwrap();
        let start = io::Seek::stream_position(&mut file).unwrap();
        let trailer = trailer(&mut file, start).unwrap();
        let mut content = Vec::new();
        copy_checked(&mut file, &trailer, &mut content).unwrap();
        Some((String::from_utf8(content).unwrap(), trailer.generation))
    }
}

#[test]
fn the_newest_that_is_whole_is_taken() {
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 1].to_vec();
    let mut damaged = snapshot("damaged", 9);
    damaged[2] ^= 1;
    let (machine, checkpoint, old) = (snapshot("machine", 7), snapshot("checkpoint", 6), (1, "asleep", 5));
    let none: &[u8] = b"";
    let cases: [Case<'_>; 14] = [
        (None, [none, none], None),
        (Some(old), [none, none], Some("asleep")),
        (Some(old), [&machine, &checkpoint], Some("machine")),
        (Some(old), [&checkpoint, &machine], Some("machine")),
        (None, [&machine, none], Some("machine")),
        (None, [none, &checkpoint], Some("checkpoint")),
        // An incomplete snapshot is ignored: a full disk, or a machine that took too long.
        (Some(old), [&cut(machine.clone()), none], Some("asleep")),
        (Some(old), [&cut(machine.clone()), &checkpoint], Some("checkpoint")),
        (Some(old), [&damaged, &checkpoint], Some("checkpoint")),
        (Some(old), [&damaged, b"short"], Some("asleep")),
        // The session was hibernated after that state, or in it.
        (Some((1, "asleep", 8)), [&machine, &checkpoint], Some("asleep")),
        (Some((1, "asleep", 7)), [&machine, &checkpoint], Some("asleep")),
        // Another session was hibernated there before.
        (Some((2, "other", 99)), [&machine, none], Some("machine")),
        (Some((2, "other", 99)), [none, none], Some("other")),
    ];
    for (number, (asleep, slots, expected)) in cases.into_iter().enumerate() {
        let left = Left::new(asleep, slots);
        let found = left.found().map(|(content, _)| content);
        assert_eq!(found.as_deref(), expected, "case {number}");
        assert_eq!(left.found().map(|(content, _)| content).as_deref(), expected, "case {number}, again");
    }
}

#[test]
fn a_damaged_session_gives_way_to_its_will() {
    let left = Left::new(Some((1, "asleep", 9)), [&snapshot("machine", 7), b""]);
    std::fs::write(&left.path, "garbage").unwrap();
    assert_eq!(left.found(), Some(("machine".to_owned(), 7)));
}

#[test]
fn who_writes_is_waited_for() {
    let left = Left::new(None, [&snapshot("machine", 7), b""]);
    let writer = open(&slot_paths(&left.path)[0], false).unwrap();
    assert!(lock(&writer).unwrap());
    assert!(try_adopt(&left.path).unwrap().is_none());
    assert!(create(&left.path, &header(1)).unwrap().is_none());
    discard(&left.path);
    drop(writer);
    assert_eq!(left.found(), Some(("machine".to_owned(), 7)));
}

#[test]
fn a_session_that_is_ended_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let files = create(&path, &header(1)).unwrap().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
    drop(files);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let left = Left::new(None, [&snapshot("machine", 7), b""]);
    discard(&left.path);
    assert_eq!(left.found(), None);
}

#[test]
fn what_is_no_file_of_ours_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let victim = directory.path().join("victim");
    std::fs::write(&victim, "kept").unwrap();
    std::os::unix::fs::symlink(&victim, &slot_paths(&path)[0]).unwrap();
    assert!(create(&path, &header(1)).is_err());
    assert_eq!(std::fs::read(&victim).unwrap(), b"kept");
}
