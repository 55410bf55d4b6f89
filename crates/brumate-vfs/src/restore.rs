//! Saved state: attaching what it refers to, and checking it.
//!
//! A [`Vfs`] serialises as a whole, without the bytes of layers and without devices, host directories and the clock.
//! After deserialising: [`Vfs::set_clock`], [`Vfs::attach_archive`], [`Vfs::attach_file`], [`Vfs::attach_device`] and
//! [`Vfs::attach_host`] for everything that [`Vfs::unattached`] names, then [`Vfs::reopen`], which checks the whole
//! structure. Saved state may come from a compromised machine, so all of it is checked.

use thiserror::Error;

use super::Vfs;
use super::archive::{Archive, LayerBytes};
use super::device::{Device, DeviceKind};
use super::fds::Target;
use super::flags::OpenFlags;
use super::host::HostDir;
use super::layers::Layer;
use super::limits::{NAME_MAX, PATH_MAX};
use super::time::{Clock, ClockFn};

/// Why saved state cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A layer, device or host directory is not attached.
    #[error("`{0}` is not attached")]
    NotAttached(String),
    /// The state contradicts itself.
    #[error("inconsistent file system state: {0}")]
    Inconsistent(&'static str),
}

impl Vfs {
    /// Gives the file system a clock again.
    pub fn set_clock(&mut self, clock: ClockFn) {
        self.clock = Clock::new(clock);
    }

    /// Joins the layers of that name with their archive; returns how many have the same name and content.
    pub fn attach_archive(&mut self, name: &[u8], archive: &Archive) -> usize {
        self.layers.attach(name, &Layer::Archive(archive.clone()))
    }

    /// Joins the mounted files of that name with their bytes; returns how many have the same name and content.
    pub fn attach_file(&mut self, name: &[u8], bytes: LayerBytes) -> usize {
        self.layers.attach(name, &Layer::File(bytes))
    }

    /// Joins the device of that name (the path of [`Vfs::add_device`], the name of [`Vfs::install_device`]) with its
    /// object, replacing one that is attached. Returns whether there is such a device.
    pub fn attach_device(&mut self, name: &[u8], device: Box<dyn Device>) -> bool {
        let Some(index) = self.device_records.iter().position(|record| &record.name[..] == name) else {
            return false;
        };
        self.device_records[index].stream = device.kind() == DeviceKind::Stream;
        if self.devices.len() <= index {
            self.devices.resize_with(index + 1, || None);
        }
        self.devices[index] = Some(device);
        true
    }

    /// Joins the host directory mounted at that path with its handle. Returns whether there is one.
    pub fn attach_host(&mut self, path: &[u8], directory: Box<dyn HostDir>) -> bool {
        let Some(index) = self.host_records.iter().position(|record| &record.name[..] == path) else {
            return false;
        };
        if self.hosts.len() <= index {
            self.hosts.resize_with(index + 1, || None);
        }
        self.hosts[index] = Some(directory);
        true
    }

    /// Names of everything that is referred to and not attached.
    pub fn unattached(&self) -> Vec<String> {
        let devices = self.device_records.iter().enumerate();
        let devices = devices.filter(|(index, _)| self.devices.get(*index).is_none_or(Option::is_none));
        let hosts = self.host_records.iter().enumerate();
        let hosts = hosts.filter(|(index, _)| self.hosts.get(*index).is_none_or(Option::is_none));
        let names = self.layers.missing().chain(devices.map(|(_, record)| &record.name[..]));
        names.chain(hosts.map(|(_, record)| &record.name[..])).map(|name| name.escape_ascii().to_string()).collect()
    }

    /// Paths of the host directories that are not attached.
    pub fn unattached_hosts(&self) -> Vec<Vec<u8>> {
        let unattached = |(index, _): &(usize, _)| self.hosts.get(*index).is_none_or(Option::is_none);
        self.host_records.iter().enumerate().filter(unattached).map(|(_, record)| record.name.to_vec()).collect()
    }

    /// Checks restored state and opens host files again. A host file that no longer exists stays open as a descriptor
    /// that returns `ESTALE`.
    ///
    /// # Errors
    /// [`RestoreError`] for the first thing found wrong.
    pub fn reopen(&mut self) -> Result<(), RestoreError> {
        if let Some(name) = self.unattached().into_iter().next() {
            return Err(RestoreError::NotAttached(name));
        }
        match self.baseline.clone() {
            Some(baseline) => self.check_changes(&baseline)?,
            None => self.check()?,
        }
        let hosts = &mut self.hosts;
        for description in self.descriptions.iter_mut() {
            let flags = description.flags;
            if let Target::Host(target) = &mut description.target
                && !target.is_directory
                && target.file.is_none()
                && !flags.has(OpenFlags::PATH)
                && let Some(Some(host)) = hosts.get_mut(target.host.0 as usize)
            {
                target.file = host.open(&target.path, OpenFlags(flags.0 & OpenFlags::ACCMODE), 0).ok();
            }
        }
        Ok(())
    }
}

/// Whether a path below a host directory is one that resolution can produce.
pub(super) fn is_clean(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX && !name.contains(&0);
    path.is_empty() || (path.len() < PATH_MAX && path.split(|&b| b == b'/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::is_clean;

    #[test]
    fn only_what_resolution_makes_is_clean() {
        for path in [&b""[..], b"a", b"a/b", b"..a/.b"] {
            assert!(is_clean(path));
        }
        for path in
            [&b"/"[..], b"/a", b"a/", b"a//b", b"..", b"a/../b", b"./a", b"a/\0", &[b'a'; 256], &b"a/".repeat(3000)]
        {
            assert!(!is_clean(path));
        }
    }
}
