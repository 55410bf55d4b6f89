use std::os::fd::AsFd;

use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::*;

/// Asks this process, and waits until the handler, on whatever thread, has heard it. A signal before it that another thread handles may
/// be the last to be written down; then it is asked again.
fn stop(execution: u64) {
    const PATIENCE: usize = 100_000;
    let pidfd = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    queue(pidfd.as_fd(), execution).unwrap();
    for turn in 1.. {
        if STOPPED.load(ORDER) == execution {
            return;
        }
        if turn % PATIENCE == 0 {
            queue(pidfd.as_fd(), execution).unwrap();
        }
        std::thread::yield_now();
    }
}

/// Waits until an interrupt is written; takes it, as CPython would.
fn taken() {
    while !pending() {
        std::thread::yield_now();
    }
    forget_pending();
}

/// One test: the handlers are the process's.
#[test]
fn a_stop_means_one_execution() {
    install();
    let words: &'static mut [i32; 2] = Box::leak(Box::new([0; 2]));
    set_words((&raw mut words[0]).cast(), (&raw mut words[1]).cast());
    // Before it begins; during it, again and again; after it.
    stop(1);
    assert!(!pending());
    arm(1);
    taken();
    stop(1);
    taken();
    assert!(!disarm());
    stop(1);
    arm(2);
    assert!(!pending(), "it came too late");
    assert!(!disarm());
    // None takes the place of another.
    let pidfd = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let written = WRITTEN.load(Ordering::Relaxed);
    for execution in 1..=20 {
        queue(pidfd.as_fd(), execution).unwrap();
    }
    stop(21);
    assert_eq!(WRITTEN.load(Ordering::Relaxed), written, "none of them runs");
    arm(21);
    taken();
    // One that is taken in a callback is said again when C returns, once.
    let callback = Callback::begin();
    callback.end();
    returned_from_c();
    assert!(!pending(), "there was none");
    let callback = Callback::begin();
    stop(0);
    assert!(!pending(), "it means nobody");
    stop(21);
    while !pending() {
        std::thread::yield_now();
    }
    callback.end();
    returned_from_c();
    assert!(pending(), "it is still to be seen");
    let callback = Callback::begin();
    taken();
    callback.end();
    returned_from_c();
    taken();
    returned_from_c();
    assert!(!pending());
    // A fork's executions are counted anew.
    disarm();
    forget_stops();
    arm(21);
    assert!(!pending());
    disarm();
}
