//! Closed descriptors and an empty environment.

use std::os::fd::{AsFd, RawFd};

use super::sys::{self, SingleThreaded};
use super::{JailConfig, JailError, Report, Wall};

/// Closes every descriptor that the configuration does not name, and puts `/dev/null` where a standard stream is
/// missing: a later descriptor must never become one.
pub(super) fn close_others(config: &JailConfig, report: &mut Report) -> Result<(), JailError> {
    let mut keep: Vec<RawFd> = vec![0, 1, 2, config.control];
    keep.extend(&config.keep);
    keep.sort_unstable();
    keep.dedup();
    for fd in 0..=2 {
        if !sys::is_open(fd) {
            // The lowest free number is `fd`, because all lower ones are open.
            let null = rustix::fs::open(c"/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())
                .map_err(JailError::os("opening /dev/null"))?;
            std::mem::forget(null);
        }
    }
    if let Some(&closed) = keep.iter().find(|&&fd| !sys::is_open(fd)) {
        return Err(JailError::NotOpen(closed));
    }
    let mut next = 0;
    for &fd in &keep {
        if fd > next {
            close_between(next, fd as u32 - 1)?;
        }
        next = fd + 1;
    }
    close_between(next, u32::MAX)?;
    report.active(Wall::Descriptors, format!("{} descriptors kept", keep.len()));
    report.descriptors = keep;
    Ok(())
}

fn close_between(first: RawFd, last: u32) -> Result<(), JailError> {
    if sys::close_range(first, last).is_ok() {
        return Ok(());
    }
    // Before Linux 5.9, or a container's filter: one by one, as high as a descriptor can be.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let highest = limit.maximum.unwrap_or(1 << 20).min(1 << 20) as u32;
    for fd in first..=last.min(highest) as RawFd {
        sys::close(fd);
    }
    Ok(())
}

/// Overwrites and forgets the environment.
pub(super) fn scrub_environment(alone: &SingleThreaded, report: &mut Report) {
    let detail = match sys::scrub_environment(alone) {
        0 => "was empty".to_owned(),
        count => format!("{count} variables overwritten"),
    };
    report.active(Wall::Environment, detail);
}

/// Whether a directory is among the open descriptors: one would be a way out of the empty root.
pub(super) fn refuse_directories(report: &mut Report) {
    let directory = report.descriptors.iter().copied().find(|&fd| {
        sys::with_fd(fd, |fd| {
            rustix::fs::fstat(fd.as_fd())
                .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory)
        }) == Some(true)
    });
    if let Some(fd) = directory {
        report.missing(Wall::Descriptors, format!("descriptor {fd} is a directory: a way out of the empty root"));
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::super::{Profile, Require, WallReport};
    use super::*;

    #[test]
    fn a_directory_is_a_missing_wall_that_nothing_runs_without() {
        let (file, directory) = (File::open("/dev/null").unwrap(), File::open("/").unwrap());
        let mut report = Report::new(Profile::Zygote);
        for wall in Wall::ALL {
            report.active(wall, "");
        }
        report.descriptors = vec![file.as_raw_fd()];
        refuse_directories(&mut report);
        assert!(report.judge(Require::Best).is_ok());
        report.descriptors.push(directory.as_raw_fd());
        refuse_directories(&mut report);
        let WallReport { wall, .. } = report.walls.iter().find(|entry| !report.is_active(entry.wall)).unwrap();
        assert_eq!(*wall, Wall::Descriptors);
        assert!(report.judge(Require::Best).unwrap_err().to_string().contains("is a directory"));
    }
}
