//! Wheels that are mounted and unmounted.

use sha2::Digest;
use zip::CompressionMethod::Deflated;

use super::support::{archive, vfs};
use crate::{MountError, Vfs, Wheel};
use brumate_abi::errno::Errno;

const PLACE: &[u8] = b"/p";

fn wheel(name: &str, files: &[(&str, &[u8])]) -> Wheel {
    Wheel { name: name.as_bytes().to_vec(), archive: archive(files, Deflated), bytecode: None }
}

fn tree(vfs: &mut Vfs) -> Vec<String> {
    let mut found: Vec<_> = vfs.list_files(b"/", 1000).unwrap().into_iter().map(|file| file.path).collect();
    found.retain(|path| !path.starts_with("dev/"));
    found.sort();
    found
}

#[test]
fn what_is_taken_away_leaves_nothing_behind() {
    let mut vfs = vfs();
    vfs.create_directories(PLACE, 0o755).unwrap();
    vfs.seal(PLACE).unwrap();
    let first = wheel(
        "first",
        &[
            ("a/b/c.py", b"1"),
            ("a/d.py", b"2"),
            ("first-1.dist-info/RECORD", b""),
            ("first-1.data/purelib/e.py", b"3"),
            ("first-1.data/data/share/x/y", b"4"),
            ("first-1.data/scripts/run", b"5"),
        ],
    );
    let second = wheel("second", &[("a/d.py", b"other"), ("a/f.py", b"6")]);
    vfs.mount_wheel(PLACE, &first).unwrap();
    assert_eq!(
        tree(&mut vfs),
        [
            "p/a/b/c.py",
            "p/a/d.py",
            "p/e.py",
            "p/first-1.dist-info/INSTALLER",
            "p/first-1.dist-info/RECORD",
            "share/x/y"
        ]
    );
    vfs.mount_wheel(PLACE, &second).unwrap();
    vfs.mount_wheel(PLACE, &first).unwrap();
    assert_eq!(vfs.read_file_at(b"/p/a/d.py", 0, 10).unwrap().0, b"other", "one that is mounted is left as it is");
    vfs.check().unwrap();
    vfs.unmount_wheel(PLACE, b"first").unwrap();
    assert_eq!(tree(&mut vfs), ["p/a/d.py", "p/a/f.py"]);
    assert_eq!(vfs.mkdir("/p/new"), Err(Errno::EROFS));
    vfs.unmount_wheel(PLACE, b"second").unwrap();
    assert!(vfs.names("/p").unwrap().is_empty());
    vfs.check().unwrap();
    // Mounting and unmounting repeatedly takes no more space.
    let records = vfs.layer_names().count();
    for _ in 0..10_000 {
        vfs.mount_wheel(PLACE, &first).unwrap();
        vfs.unmount_wheel(PLACE, b"first").unwrap();
    }
    assert_eq!(vfs.layer_names().count(), records);
}

#[test]
fn a_wheel_that_does_not_fit_changes_nothing() {
    let mut vfs = vfs();
    vfs.mount_wheel(PLACE, &wheel("first", &[("a/b.py", b"1"), ("c.py", b"2")])).unwrap();
    for files in [[("z.py", &b""[..]), ("a", b"")], [("z.py", b""), ("c.py/d", b"")]] {
        let refused = vfs.mount_wheel(PLACE, &wheel("second", &files));
        assert!(matches!(refused, Err(MountError::Conflict { .. })), "{refused:?}");
        assert_eq!(tree(&mut vfs), ["p/a/b.py", "p/c.py"]);
        assert!(!vfs.has_layer(b"second"));
    }
    vfs.check().unwrap();
}

#[test]
fn saved_state_knows_what_was_taken_away() {
    let mut vfs = vfs();
    let (first, second) = (wheel("first", &[("a.py", b"1")]), wheel("second", &[("b.py", b"2")]));
    vfs.mount_wheel(PLACE, &first).unwrap();
    vfs.mount_wheel(PLACE, &second).unwrap();
    let fd = vfs.open("/p/a.py", 0).unwrap();
    vfs.unmount_wheel(PLACE, b"first").unwrap();
    let mut buffer = [0; 4];
    assert_eq!(vfs.read(fd, &mut buffer), Ok(1), "what is open is readable");
    let saved = postcard::to_allocvec(&vfs).unwrap();
    let mut other: Vfs = postcard::from_bytes(&saved).unwrap();
    assert_eq!(other.unattached_layers().collect::<Vec<_>>(), [b"second"]);
    other.attach_archive(b"second", &second.archive);
    assert_eq!(other.layer_of(b"/p/b.py"), Some((b"second".to_vec(), b"b.py".to_vec())));
    assert_eq!(other.layer_of(b"/p/a.py"), None);
    other.check().unwrap();
}

#[test]
fn what_is_installed_says_by_whom_and_where_its_files_are() {
    const RECORD: &str = "first-1.dist-info/RECORD";
    let own = b"a.py,sha256=x,1\nfirst-1.data/purelib/b.py,sha256=y,1\n\"first-1.data/platlib/c,d.py\",sha256=z,1\n\
        first-1.data/data/share/x/y,,1\nfirst-1.data/scripts/run,,1\nfirst-1.dist-info/RECORD,,";
    let files: [(&str, &[u8]); 6] = [
        ("a.py", b"1"),
        ("first-1.data/purelib/b.py", b"2"),
        ("first-1.data/platlib/c,d.py", b"3"),
        ("first-1.data/data/share/x/y", b"4"),
        ("first-1.data/scripts/run", b"5"),
        (RECORD, own),
    ];
    let first = wheel("first", &files);
    let mut vfs = vfs();
    vfs.mount_wheel(PLACE, &first).unwrap();
    let plain = wheel("second", &[("s.py", b"1"), ("second-1.dist-info/RECORD", b"s.py,,\n")]);
    vfs.mount_wheel(PLACE, &plain).unwrap();
    let digest = sha2::Sha256::digest(b"brumate\n");
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        digest, "bf1249e8ebc7a57107c9dad11a5e5e88ae0ef16afa7f17a58d38daf2d7d4758d",
        "what RECORD says of INSTALLER is this, in base64"
    );
    let expected = "a.py,sha256=x,1\nb.py,sha256=y,1\n\"c,d.py\",sha256=z,1\n../../../share/x/y,,1\n\
        first-1.dist-info/RECORD,,\nfirst-1.dist-info/INSTALLER,sha256=vxJJ6OvHpXEHydrRGl5eiK4O8Wr6fxeljTja8tfUdY0,8\n";
    let seen = |vfs: &mut Vfs| {
        for name in ["first", "second"] {
            let path = format!("/p/{name}-1.dist-info/INSTALLER");
            assert_eq!(vfs.read_file_at(path.as_bytes(), 0, 100).unwrap().0, b"brumate\n");
        }
        let record = vfs.read_file_at(format!("/p/{RECORD}").as_bytes(), 0, 1000).unwrap().0;
        assert_eq!(String::from_utf8(record).unwrap(), expected);
        let other = vfs.read_file_at(b"/p/second-1.dist-info/RECORD", 0, 1000).unwrap().0;
        assert_eq!(other, b"s.py,,\n", "nothing of it moved");
        vfs.check().unwrap();
    };
    seen(&mut vfs);
    let saved = postcard::to_allocvec(&vfs).unwrap();
    let mut resumed: Vfs = postcard::from_bytes(&saved).unwrap();
    resumed.attach_file(crate::INSTALLER_LAYER, std::sync::Arc::new(crate::INSTALLER));
    resumed.attach_wheel(b"first", &first.archive);
    resumed.attach_wheel(b"second", &plain.archive);
    assert_eq!(resumed.unattached_layers().count(), 0);
    seen(&mut resumed);
    for name in [&b"first"[..], b"second"] {
        resumed.unmount_wheel(PLACE, name).unwrap();
    }
    assert!(tree(&mut resumed).is_empty(), "{:?}", tree(&mut resumed));
    resumed.check().unwrap();
}
