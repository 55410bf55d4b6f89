//! The file system of a jail for native programs.

use std::fs;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount as mount_file_system,
};

use super::super::sys;
use super::{HOME, NativeConfig, SOCKETS, USER, WORKSPACE};

/// Place of the new root before it becomes the root; see [`super::super::root`].
const MOUNT_POINT: &str = "/proc";

/// Directories that programs may change: their own file system, devices and processes.
pub(super) const WRITABLE: [&str; 7] = [WORKSPACE, HOME, "/tmp", "/run", "/dev", "/dev/shm", "/proc"];

/// Device files of the host that are in the jail. They lead nowhere.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Size of the file system that holds the directories of the root.
const ROOT_OPTIONS: &std::ffi::CStr = c"size=1m,nr_inodes=4096,mode=0755";

/// A tree of the host that is not yet mounted in the jail.
struct Source {
    path: PathBuf,
    tree: OwnedFd,
    is_directory: bool,
}

/// Mounts the jail's root and enters it. The process has the capabilities over its mount namespace.
pub(super) fn mount(config: &NativeConfig) -> Result<(), String> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", private).map_err(step("making mounts private"))?;
    let sources = sources(&config.read_only)?;
    let devices = DEVICES.iter().map(|name| Ok((*name, clone_tree(Path::new(&format!("/dev/{name}")))?)));
    let devices = devices.collect::<Result<Vec<_>, String>>()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount_file_system("tmpfs", MOUNT_POINT, "tmpfs", flags, Some(ROOT_OPTIONS)).map_err(step("mounting tmpfs"))?;
    rustix::process::chdir(MOUNT_POINT).map_err(step("entering tmpfs"))?;
    // First, since a directory of the host may lie below `/tmp`.
    session_files(config)?;
    for source in &sources {
        let place = relative(&source.path);
        match source.is_directory {
            true => directory(place, 0o755)?,
            false => file(place, "")?,
        }
        attach(&source.tree, place)?;
    }
    system_links()?;
    device_files(devices)?;
    directory(Path::new("proc"), 0o555)?;
    process_files()?;
    account_files()?;
    let read_only = MountFlags::RDONLY | flags;
    rustix::mount::mount_remount(".", MountFlags::BIND | read_only, c"").map_err(step("making the root read-only"))?;
    rustix::process::pivot_root(".", ".").map_err(step("changing the root"))?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(step("leaving the old root"))?;
    rustix::process::chdir("/").map_err(step("entering the new root"))
}

fn step(what: impl Into<String>) -> impl Fn(rustix::io::Errno) -> String {
    let what = what.into();
    move |errno| format!("{what}: {errno}")
}

/// Takes the trees of the host, before anything covers them. A path below another one comes with it.
fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, String> {
    let mut wanted: Vec<PathBuf> = Vec::new();
    for path in paths {
        let real = fs::canonicalize(path).ok();
        wanted.extend(real.filter(|real| real != path));
        wanted.push(path.clone());
    }
    wanted.sort();
    wanted.dedup();
    let mut sources: Vec<Source> = Vec::new();
    for path in wanted {
        let is_usable = path.is_absolute() && path.components().count() > 1;
        if !is_usable || sources.iter().any(|known| path.starts_with(&known.path)) {
            continue;
        }
        // A link of the root directory is made again as a link.
        if path.parent() == Some(Path::new("/")) && path.is_symlink() {
            continue;
        }
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let tree = clone_tree(&path)?;
        sys::make_read_only(tree.as_fd())
            .map_err(|error| format!("{}: making it read-only: {error}", path.display()))?;
        sources.push(Source { path, tree, is_directory: metadata.is_dir() });
    }
    Ok(sources)
}

fn clone_tree(path: &Path) -> Result<OwnedFd, String> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(CWD, path, flags).map_err(step(format!("{}: open_tree", path.display())))
}

fn attach(tree: &OwnedFd, place: &Path) -> Result<(), String> {
    rustix::mount::move_mount(tree, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(step(format!("{}: move_mount", place.display())))
}

/// Returns a path of the root as one of the directory that will be the root.
fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn directory(path: &Path, mode: u32) -> Result<(), String> {
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|error| format!("{}: {error}", path.display()))
}

fn file(path: &Path, content: &str) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        directory(parent, 0o755)?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let made = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644)).map_err(step(path.display().to_string()))?;
    fs::File::from(made).write_all(content.as_bytes()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes the links of the host's root directory again: `/bin`, `/lib` and their like.
fn system_links() -> Result<(), String> {
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        if let Ok(target) = fs::read_link(Path::new("/").join(name)) {
            symlink(&target, name).map_err(|error| format!("/{name}: {error}"))?;
        }
    }
    Ok(())
}

/// Mounts one file system in memory, whose quota counts for all directories that programs may write.
fn session_files(config: &NativeConfig) -> Result<(), String> {
    let store = Path::new("session");
    directory(store, 0o755)?;
    let options = format!("size={},nr_inodes={},mode=0755", config.file_bytes, config.inodes);
    let options = std::ffi::CString::new(options).map_err(|error| error.to_string())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount_file_system("tmpfs", store, "tmpfs", flags, Some(&*options)).map_err(step("mounting the session's files"))?;
    directory(Path::new("dev"), 0o755)?;
    for place in [WORKSPACE, HOME, "/tmp", "/dev/shm", "/run"] {
        let place = relative(Path::new(place));
        let name = place.file_name().unwrap_or(place.as_os_str());
        let inside = store.join(name);
        directory(&inside, 0o755)?;
        directory(place, 0o755)?;
        rustix::mount::mount_bind(&inside, place).map_err(step(place.display().to_string()))?;
    }
    directory(relative(Path::new(SOCKETS)), 0o700)?;
    rustix::mount::unmount(store, UnmountFlags::DETACH).map_err(step("unmounting the session's files"))?;
    fs::remove_dir(store).map_err(|error| format!("{}: {error}", store.display()))
}

fn device_files(devices: Vec<(&str, OwnedFd)>) -> Result<(), String> {
    for (name, tree) in devices {
        let place = Path::new("dev").join(name);
        file(&place, "")?;
        attach(&tree, &place)?;
    }
    directory(Path::new("dev/pts"), 0o755)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    mount_file_system("devpts", "dev/pts", "devpts", flags, Some(options)).map_err(step("mounting devpts"))?;
    for (target, name) in [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ] {
        symlink(target, Path::new("dev").join(name)).map_err(|error| format!("/dev/{name}: {error}"))?;
    }
    Ok(())
}

/// Mounts `/proc` with the jail's own processes, and nothing about the host.
fn process_files() -> Result<(), String> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount_file_system("proc", "proc", "proc", flags, Some(c"subset=pid")).map_err(step("mounting /proc"))
}

/// Writes the files that name the user and the host.
fn account_files() -> Result<(), String> {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let host = super::super::namespaces::HOST_NAME;
    file(Path::new("etc/passwd"), &format!("{USER}:x:{uid}:{gid}::{HOME}:/bin/sh\n"))?;
    file(Path::new("etc/group"), &format!("{USER}:x:{gid}:\n"))?;
    file(Path::new("etc/hosts"), &format!("127.0.0.1 localhost {host}\n::1 localhost\n"))?;
    file(Path::new("etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files\n")
}
