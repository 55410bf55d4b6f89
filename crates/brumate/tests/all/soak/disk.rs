//! A small disk in memory, which only processes in its namespace see.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Mounts a disk, and lives until it is killed.
const HOLD: &str = "mount -t tmpfs -o size=256m,mode=700 none \"$1\" && echo ready && exec sleep infinity";

/// A disk with the data directory of all servers.
pub(super) struct Disk {
    directory: tempfile::TempDir,
    /// `None` where the host lets no user mount a file system: the directory is on the host's disk then.
    holder: Option<Child>,
}

impl Disk {
    pub(super) fn new() -> Disk {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", HOLD, "sh"]).arg(directory.path());
        let mut holder = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("unshare");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        if line == "ready\n" {
            return Disk { directory, holder: Some(holder) };
        }
        assert!(std::env::var_os("CI").is_none(), "this host cannot mount a file system in a namespace; CI must");
        eprintln!("SKIPPED: no full disk, since this host cannot mount a file system in a namespace");
        holder.wait().expect("it ends");
        Disk { directory, holder: None }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(super) fn is_small(&self) -> bool {
        self.holder.is_some()
    }

    /// Returns a command for a program that sees the disk.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let Some(holder) = &self.holder else { return Command::new(program.as_ref()) };
        let mut command = Command::new("nsenter");
        command.args(["--target", &holder.id().to_string(), "--user", "--mount", "--preserve-credentials", "--"]);
        command.arg(program.as_ref());
        command
    }

    /// Fills the disk to the last byte.
    pub(super) fn fill(&self) {
        self.shell("dd if=/dev/zero of=\"$1\"/filler bs=64k 2>/dev/null; dd if=/dev/zero of=\"$1\"/rest bs=1k 2>/dev/null; true");
    }

    /// Removes what fills the disk.
    pub(super) fn empty(&self) {
        self.shell("rm -f \"$1\"/filler \"$1\"/rest");
    }

    fn shell(&self, script: &str) {
        let mut command = self.command("sh");
        let status = command.args(["-c", script, "sh"]).arg(self.directory.path()).status().expect("a shell");
        assert!(status.success(), "{script}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(holder) = &mut self.holder {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}
