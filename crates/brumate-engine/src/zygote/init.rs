//! The first process of a zygote's jail: it waits for all others, and tells the server how they end.
//!
//! With the first process of a process namespace everything in it ends. A zygote that were the first would take all
//! sessions along when it is killed, for lack of memory for instance. This one holds one socket and a few pages, and reads
//! nothing that anyone sends.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::process::Pid;

use crate::channel::Channel;
use crate::process::{self, Children};
use crate::wire::{FromInit, WireError};

/// Forks. Returns in the new process, which is to be the zygote, with the number of the one that stays behind: zygote and
/// machines are its children and end with it.
///
/// # Errors
/// When no process can be made.
pub(super) fn stay_behind(reports: OwnedFd) -> Result<Pid, String> {
    let init = rustix::process::getpid();
    match process::fork() {
        Ok(Some(_)) => {
            process::close_all_but(&reports);
            process::install_child_signal();
            // The server, if it is there, sees the end of the connection.
            let _ = report_deaths(&Channel::new(reports));
            wait_for_crash_snapshots();
            process::exit_now(0)
        }
        Ok(None) => match brumate_jail::die_with_parent(init) {
            Ok(true) => Ok(init),
            Ok(false) => Err("the jail's first process has ended".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        Err(errno) => Err(format!("forking the zygote: {errno}")),
    }
}

/// Tells the server of every process that ends, until none is left or the server is gone.
fn report_deaths(reports: &Channel) -> Result<(), WireError> {
    loop {
        match process::reap() {
            Children::Ended(process::Ended { pid, signal, peak_memory_bytes }) => {
                reports.send(&FromInit::Exited { pid, signal, peak_memory_bytes })?;
            }
            // The server says nothing here: what can be read is the end.
            Children::Alive if process::wait_readable_or_child(&reports.socket()) => return Ok(()),
            Children::Alive => {}
            Children::None => return Ok(()),
        }
    }
}

/// Machines whose server is gone write their crash snapshots, or have nothing to write, and end.
fn wait_for_crash_snapshots() {
    let deadline = Instant::now() + brumate_jail::CRASH_SNAPSHOT_TIME;
    loop {
        match process::reap() {
            Children::Ended(_) => {}
            Children::Alive => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return;
                }
                process::wait_child(left);
            }
            Children::None => return,
        }
    }
}
