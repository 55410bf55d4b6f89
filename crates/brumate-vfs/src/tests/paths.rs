//! Paths of directories, of all kinds of mounts and links, compared with the kernel's.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use brumate_test_support::{Random, seed};
use rustix::fs::{Mode, OFlags};
use zip::CompressionMethod;

use super::hosts::{Fake, Thing};
use super::support::{archive, vfs};
use crate::{MountOptions, OpenFlags as O, Vfs, at};
use brumate_abi::errno::Errno;

/// Path that the scratch directory has in the guest.
const BASE: &str = "/r";
const STEPS: usize = 3000;

const DIRECTORIES: &[&str] =
    &["own", "own/deep", "own/deep/er", "w", "w/sub", "w/sub/sub", "layer", "layer/p", "layer/p/q"];
const FILES: &[&str] = &["own/f", "w/f", "layer/p/f"];
/// Links and their targets; a target that begins with `/` is below the base.
const LINKS: &[(&str, &str)] = &[
    ("own/to_w", "../w"),
    ("own/to_sub", "/w/sub"),
    ("own/deep/self", "."),
    ("own/deep/up", "../.."),
    ("own/chain", "to_sub/"),
    ("own/to_layer", "/layer/p"),
    ("own/dangling", "nowhere"),
    ("own/loop", "loop"),
    ("own/to_f", "../w/f"),
    ("w/back", "../own/deep"),
    ("w/sub/top", "/w"),
    ("w/sub/dots", "../../w/./sub"),
];
const NAMES: &[&str] = &[
    ".", "..", "..", "own", "deep", "er", "w", "sub", "layer", "p", "q", "f", "to_w", "to_sub", "self", "up", "chain",
    "to_layer", "dangling", "loop", "to_f", "back", "top", "dots",
];

fn guest() -> Vfs {
    let mut vfs = vfs();
    let below = |path: &str| format!("{BASE}/{path}");
    let target = |target: &str| if target.starts_with('/') { format!("{BASE}{target}") } else { target.to_owned() };
    let things = |prefix: &str| {
        let strip = |path: &&'static str| path.strip_prefix(prefix)?.strip_prefix('/');
        let directories = DIRECTORIES.iter().filter_map(strip).map(|path| (path, Thing::Directory));
        let files = FILES.iter().filter_map(strip).map(|path| (path, Thing::File(Vec::new())));
        let links = LINKS.iter().filter_map(|(path, to)| Some((strip(path)?, Thing::Link(target(to).into_bytes()))));
        directories.chain(files).chain(links).collect::<Vec<_>>()
    };
    vfs.mkdir(BASE).unwrap();
    vfs.mount_host(below("w").as_bytes(), Box::new(Fake::new(&things("w")))).unwrap();
    let layer = archive(&[("p/f", b""), ("p/q/", b"")], CompressionMethod::Stored);
    let read_only = MountOptions { read_only: true, ..MountOptions::default() };
    vfs.mount_archive(below("layer").as_bytes(), b"layer", &layer, &read_only).unwrap();
    for path in DIRECTORIES.iter().filter(|path| path.starts_with("own")) {
        vfs.mkdir(&below(path)).unwrap();
    }
    let file = vfs.open(&below("own/f"), O::WRONLY | O::CREAT).unwrap();
    vfs.close(file).unwrap();
    for (path, to) in LINKS.iter().filter(|(path, _)| path.starts_with("own")) {
        vfs.symlink(&target(to), &below(path)).unwrap();
    }
    vfs.chdir(BASE.as_bytes()).unwrap();
    vfs
}

fn kernel(root: &Path) {
    for path in DIRECTORIES {
        std::fs::create_dir(root.join(path)).unwrap();
    }
    for path in FILES {
        std::fs::write(root.join(path), "").unwrap();
    }
    for (path, to) in LINKS {
        let to = to.strip_prefix('/').map_or_else(|| PathBuf::from(to), |below| root.join(below));
        std::os::unix::fs::symlink(to, root.join(path)).unwrap();
    }
}

/// The kernel's path of an open directory, as the guest would have it; `None` outside of the scratch directory.
fn path_of(fd: &OwnedFd, root: &Path) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap();
    let below = path.strip_prefix(root).ok()?.to_str()?.to_owned();
    Some(if below.is_empty() { BASE.to_owned() } else { format!("{BASE}/{below}") })
}

fn text(path: Vec<u8>) -> String {
    String::from_utf8(path).unwrap()
}

/// Checks that every name of the current directory leads to it, and that `..` is the directory above.
fn check_identity(vfs: &mut Vfs, path: &str) {
    assert_eq!(text(vfs.getcwd().unwrap()), path);
    assert_eq!(text(vfs.readlinkat(at::FDCWD, b"/proc/self/cwd").unwrap()), path);
    let fd = vfs.open(".", O::DIRECTORY).unwrap();
    assert_eq!(text(vfs.readlinkat(at::FDCWD, format!("/proc/self/fd/{fd}").as_bytes()).unwrap()), path);
    vfs.close(fd).unwrap();
    let mut identity = |path: &str| vfs.stat(path.as_bytes()).map(|stat| (stat.dev, stat.ino)).unwrap();
    let own = identity(path);
    let from_above = format!("../{}", path.rsplit('/').next().unwrap());
    for name in [".", "./", "./.", &from_above, "/proc/self/cwd", "/proc/self/cwd/", "/proc/42/cwd/."] {
        assert_eq!(identity(name), own, "{name} in {path}");
    }
    let above = Path::new(path).parent().unwrap().to_str().unwrap().to_owned();
    for name in ["..", "../", "/proc/self/cwd/..", &format!("{path}/..")] {
        assert_eq!(identity(name), identity(&above), "{name} in {path}");
    }
}

#[test]
fn directories_have_the_paths_that_the_kernel_gives_them() {
    let scratch = tempfile::tempdir().unwrap();
    // So deep that no path of the test leaves the scratch directory.
    let root = scratch.path().canonicalize().unwrap().join("n/n/n/n/n/n/n/n");
    std::fs::create_dir_all(&root).unwrap();
    kernel(&root);
    let mut vfs = guest();
    let mut random = Random::new(seed());
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = rustix::fs::open(&root, flags, Mode::empty()).unwrap();
    let (mut entered, mut refused) = (0, 0);
    for _ in 0..STEPS {
        let mut path = if random.below(6) == 0 { "/".to_owned() } else { String::new() };
        for number in 0..=random.below(4) {
            path.push_str(if number == 0 { "" } else { ["/", "//"][random.below(2) as usize] });
            path.push_str(NAMES[random.below(NAMES.len() as u64) as usize]);
        }
        path.push_str(["", "", "/"][random.below(3) as usize]);
        let (theirs, ours) = match path.strip_prefix('/') {
            Some(below) => (root.join(below), format!("{BASE}/{below}")),
            None => (PathBuf::from(&path), path.clone()),
        };
        let fd = match rustix::fs::openat(here.as_fd(), &theirs, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(errno) => {
                let expected = match errno {
                    rustix::io::Errno::NOENT => Errno::ENOENT,
                    rustix::io::Errno::NOTDIR => Errno::ENOTDIR,
                    _ => Errno::ELOOP,
                };
                assert_eq!(vfs.chdir(ours.as_bytes()), Err(expected), "{ours}");
                refused += 1;
                continue;
            }
        };
        // The kernel's tree goes on above the scratch directory.
        let Some(expected) = path_of(&fd, &root) else { continue };
        vfs.chdir(ours.as_bytes()).unwrap_or_else(|errno| panic!("{ours}: {errno}"));
        check_identity(&mut vfs, &expected);
        here = fd;
        entered += 1;
    }
    assert!(entered > STEPS / 20 && refused > STEPS / 20, "{entered} {refused}");
}

#[test]
fn the_path_of_a_mount_follows_its_directory_and_ends_with_it() {
    let mut vfs = guest();
    vfs.rename("/r", "/moved").unwrap();
    vfs.chdir(b"/moved/w/sub").unwrap();
    check_identity(&mut vfs, "/moved/w/sub");
    vfs.chdir(b"..").unwrap();
    check_identity(&mut vfs, "/moved/w");
    vfs.mkdir("/moved/own/gone").unwrap();
    vfs.chdir(b"/moved/own/gone").unwrap();
    vfs.rmdir("/moved/own/gone").unwrap();
    assert_eq!(vfs.getcwd(), Err(Errno::ENOENT));
    let shown = text(vfs.readlinkat(at::FDCWD, b"/proc/self/cwd").unwrap());
    assert!(shown.ends_with(" (deleted)"), "{shown}");
    assert_eq!(vfs.stat(b"/proc/self/cwd").unwrap().nlink, 0);
    let host = Fake::new(&[("d", Thing::Directory)]);
    let things = host.things.clone();
    vfs.mount_host(b"/other", Box::new(host)).unwrap();
    vfs.chdir(b"/other/d").unwrap();
    things.lock().unwrap().clear();
    assert_eq!(vfs.getcwd(), Err(Errno::ENOENT));
}

#[test]
fn files_of_proc_tell_what_the_engine_told() {
    let mut vfs = vfs();
    let process = vfs.process_mut();
    (process.memory_bytes, process.max_memory_bytes, process.cpu_nanos) = (3 << 20, 16 << 20, 1_230_000_000);
    process.set_command_line(["python", "a b.py", "é"]);
    let mut read = |path: &str| String::from_utf8(vfs.read_file_up_to(path, 1 << 20).unwrap()).unwrap();
    assert_eq!(read("/proc/self/cmdline"), "python\0a b.py\0é\0");
    assert_eq!(read("/proc/self/comm"), "python\n");
    assert_eq!(read("/proc/42/statm"), "48 48 0 0 0 48 0\n");
    let stat = read("/proc/self/stat");
    let fields: Vec<&str> = stat.split_whitespace().collect();
    assert_eq!((fields.len(), &fields[..5]), (52, &["42", "(python)", "R", "1", "42"][..]));
    assert_eq!((fields[13], fields[22], fields[23]), ("123", "3145728", "48"));
    let status = read("/proc/self/status");
    for line in ["Name:\tpython", "Pid:\t42", "PPid:\t1", "Umask:\t0022", "VmRSS:\t    3072 kB", "Threads:\t1"] {
        assert!(status.lines().any(|found| found == line), "{line} in {status}");
    }
    assert!(read("/proc/meminfo").starts_with("MemTotal:          16384 kB\nMemFree:           13312 kB\n"));
    assert!(read("/proc/cpuinfo").starts_with("processor\t: 0\n"));
    let maps = read("/proc/self/maps");
    assert!(maps.starts_with("00000000-00300000 rw-p ") && maps.ends_with(" [heap]\n"), "{maps}");
    assert_eq!(vfs.readlinkat(at::FDCWD, b"/proc/self").unwrap(), b"42");
    assert_eq!(vfs.readlinkat(at::FDCWD, b"/proc/self/exe").unwrap(), b"/bin/python");
    let status = vfs.stat(b"/proc/self/status").unwrap();
    assert_eq!((status.mode, status.size, status.nlink), (0o100_444, 0, 1));
    // Reads go on where the last one ended, and nothing can be changed.
    let fd = vfs.open("/proc/self/comm", O::RDONLY).unwrap();
    assert!(vfs.is_process_file(fd));
    let mut part = [0; 4];
    assert_eq!((vfs.read(fd, &mut part), &part), (Ok(4), b"pyth"));
    assert_eq!((vfs.read(fd, &mut part), &part[..3]), (Ok(3), &b"on\n"[..]));
    assert_eq!((vfs.read(fd, &mut part), vfs.pread(fd, i64::MAX, &mut part)), (Ok(0), Ok(0)));
    for path in ["/proc/self/comm", "/proc/meminfo"] {
        assert_eq!(vfs.open(path, O::WRONLY), Err(Errno::EROFS));
        assert_eq!(vfs.unlink(path), Err(Errno::EROFS));
    }
    vfs.check().unwrap();
}

#[test]
fn a_command_line_is_bounded() {
    let mut vfs = vfs();
    let long = "x".repeat(crate::MAX_COMMAND_LINE);
    vfs.process_mut().set_command_line(["python", &long, "more"]);
    assert_eq!(vfs.read_file_up_to("/proc/self/cmdline", 1 << 20).unwrap(), b"python\0");
}
