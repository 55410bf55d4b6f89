//! Devices: objects of the host that the guest reads and writes as files.

use std::fmt;
use std::os::fd::RawFd;

use brumate_abi::errno::Errno;

/// What a descriptor is ready for, in the bits of `poll`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Readiness(pub i16);

impl Readiness {
    /// A read does not block.
    pub const IN: i16 = 0x001;
    /// Urgent data.
    pub const PRI: i16 = 0x002;
    /// A write does not block.
    pub const OUT: i16 = 0x004;
    /// An error is pending. Always reported, even if not requested.
    pub const ERR: i16 = 0x008;
    /// The other side is closed. Always reported, even if not requested.
    pub const HUP: i16 = 0x010;
    /// The descriptor is not open. Always reported, even if not requested.
    pub const NVAL: i16 = 0x020;
    /// As [`Self::IN`], for normal data.
    pub const RDNORM: i16 = 0x040;
    /// As [`Self::OUT`], for normal data.
    pub const WRNORM: i16 = 0x100;

    /// Never blocks, as a regular file.
    pub const ALWAYS: Self = Self(Self::IN | Self::OUT | Self::RDNORM | Self::WRNORM);
    /// Nothing to read now; writes do not block.
    pub const WRITABLE: Self = Self(Self::OUT | Self::WRNORM);
    /// Something to read, or the end of the input.
    pub const READABLE: Self = Self(Self::IN | Self::RDNORM);
}

/// How a device looks to `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// A character device such as `/dev/null`; seeking does nothing.
    Character,
    /// A stream such as redirected standard output; seeking fails with `ESPIPE`.
    Stream,
}

/// An object of the host behind a device file or a standard stream.
pub trait Device: Send {
    /// Opens it; by default there is nothing to do.
    ///
    /// # Errors
    /// `ENXIO` when nothing is behind the name.
    fn open(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    /// Reads up to `buf.len()` bytes; 0 is the end of the input.
    ///
    /// # Errors
    /// `EAGAIN` if there is no input yet: the engine waits, not the device.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno>;

    /// Writes up to `data.len()` bytes.
    ///
    /// # Errors
    /// Any; `EAGAIN` if nothing can be written yet.
    fn write(&mut self, data: &[u8]) -> Result<usize, Errno>;

    /// Returns what the device is ready for now.
    fn poll(&mut self) -> Readiness {
        Readiness::ALWAYS
    }

    /// Returns the host's descriptor that becomes readable when the device does. Default: none; only the guest itself
    /// changes what the device is ready for.
    fn readable_fd(&self) -> Option<RawFd> {
        None
    }

    /// Returns the host's descriptor that becomes writable when the device does. Default: none.
    fn writable_fd(&self) -> Option<RawFd> {
        None
    }

    /// Returns how `stat` and `lseek` treat it.
    fn kind(&self) -> DeviceKind {
        DeviceKind::Character
    }
}

/// `/dev/null`: empty to read, swallows what is written.
#[derive(Debug)]
pub struct Null;

impl Device for Null {
    fn read(&mut self, _buf: &mut [u8]) -> Result<usize, Errno> {
        Ok(0)
    }

    fn write(&mut self, data: &[u8]) -> Result<usize, Errno> {
        Ok(data.len())
    }
}

/// `/dev/zero` and, when `full`, `/dev/full`: endless zeros; the latter has no space to write.
#[derive(Debug)]
pub struct Zero {
    /// Whether writes fail with `ENOSPC`.
    pub full: bool,
}

impl Device for Zero {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        buf.fill(0);
        Ok(buf.len())
    }

    fn write(&mut self, data: &[u8]) -> Result<usize, Errno> {
        if self.full { Err(Errno::ENOSPC) } else { Ok(data.len()) }
    }
}

/// `/dev/tty` of a process without a controlling terminal: it is there, and cannot be opened.
#[derive(Debug)]
pub struct NoTerminal;

impl Device for NoTerminal {
    fn open(&mut self) -> Result<(), Errno> {
        Err(Errno::ENXIO)
    }

    fn read(&mut self, _buf: &mut [u8]) -> Result<usize, Errno> {
        Err(Errno::EIO)
    }

    fn write(&mut self, _data: &[u8]) -> Result<usize, Errno> {
        Err(Errno::EIO)
    }
}

/// A source of random bytes, for `/dev/urandom` and `/dev/random`. Writes (added entropy) are ignored.
pub struct Random<F>(pub F);

impl<F> fmt::Debug for Random<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

impl<F: FnMut(&mut [u8]) + Send> Device for Random<F> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        (self.0)(buf);
        Ok(buf.len())
    }

    fn write(&mut self, data: &[u8]) -> Result<usize, Errno> {
        Ok(data.len())
    }
}

/// A stream that is written to only, for standard output and standard error.
pub struct Sink<F>(pub F);

impl<F> fmt::Debug for Sink<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

impl<F: FnMut(&[u8]) -> Result<usize, Errno> + Send> Device for Sink<F> {
    fn read(&mut self, _buf: &mut [u8]) -> Result<usize, Errno> {
        Err(Errno::EBADF)
    }

    fn write(&mut self, data: &[u8]) -> Result<usize, Errno> {
        (self.0)(data)
    }

    fn poll(&mut self) -> Readiness {
        Readiness::WRITABLE
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Stream
    }
}
