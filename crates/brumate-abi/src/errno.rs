//! Error numbers as the guest's libc knows them.
//!
//! Emscripten numbers errors as WASI does (dense, 1 to 76) and adds a few of its own from 100 up.
//! They differ from Linux's, so a host error number must never be handed to the guest as it is.

#![allow(unreachable_pub, reason = "part of the file system's interface")]

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of the guest's error numbers.
///
/// `__syscall_*` imports return it negated ([`Errno::as_syscall`]), WASI imports as it is
/// ([`Errno::as_wasi`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Errno(u16);

impl Errno {
    /// The number itself, 1 to 156.
    pub const fn raw(self) -> u16 {
        self.0
    }

    /// What a `__syscall_*` import returns for this error: a negative number.
    pub const fn as_syscall(self) -> i32 {
        -(self.0 as i32)
    }

    /// What a WASI import returns for this error: a positive number.
    pub const fn as_wasi(self) -> i32 {
        self.0 as i32
    }
}

/// The return value of a `__syscall_*` import.
pub fn syscall(result: Result<i32, Errno>) -> i32 {
    result.unwrap_or_else(Errno::as_syscall)
}

/// The return value of a `__syscall_*` import that has nothing to say but success.
pub fn syscall_unit(result: Result<(), Errno>) -> i32 {
    syscall(result.map(|()| 0))
}

/// The return value of a WASI import.
pub fn wasi(result: Result<(), Errno>) -> i32 {
    result.map_or_else(Errno::as_wasi, |()| 0)
}

macro_rules! errnos {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl Errno {
            $(#[doc = $text] pub const $name: Self = Self($number);)*

            /// The symbolic name, for example `ENOENT`; `E?` for a number that has none.
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $($number => stringify!($name),)*
                    _ => "E?",
                }
            }

            /// The error with this symbolic name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text = match self.0 {
                    $($number => $text,)*
                    _ => "Unknown error",
                };
                write!(f, "{text} ({})", self.name())
            }
        }
    };
}

errnos! {
    E2BIG = 1, "Argument list too long";
    EACCES = 2, "Permission denied";
    EADDRINUSE = 3, "Address already in use";
    EADDRNOTAVAIL = 4, "Address not available";
    EAFNOSUPPORT = 5, "Address family not supported";
    EAGAIN = 6, "Resource temporarily unavailable";
    EALREADY = 7, "Connection already in progress";
    EBADF = 8, "Bad file descriptor";
    EBADMSG = 9, "Bad message";
    EBUSY = 10, "Device or resource busy";
    ECANCELED = 11, "Operation canceled";
    ECHILD = 12, "No child processes";
    ECONNABORTED = 13, "Connection aborted";
    ECONNREFUSED = 14, "Connection refused";
    ECONNRESET = 15, "Connection reset";
    EDEADLK = 16, "Resource deadlock would occur";
    EDESTADDRREQ = 17, "Destination address required";
    EDOM = 18, "Argument out of the domain of the function";
    EDQUOT = 19, "Disk quota exceeded";
    EEXIST = 20, "File exists";
    EFAULT = 21, "Bad address";
    EFBIG = 22, "File too large";
    EHOSTUNREACH = 23, "Host is unreachable";
    EIDRM = 24, "Identifier removed";
    EILSEQ = 25, "Illegal byte sequence";
    EINPROGRESS = 26, "Operation in progress";
    EINTR = 27, "Interrupted function";
    EINVAL = 28, "Invalid argument";
    EIO = 29, "Input/output error";
    EISCONN = 30, "Socket is connected";
    EISDIR = 31, "Is a directory";
    ELOOP = 32, "Too many levels of symbolic links";
    EMFILE = 33, "Too many open files";
    EMLINK = 34, "Too many links";
    EMSGSIZE = 35, "Message too large";
    EMULTIHOP = 36, "Multihop attempted";
    ENAMETOOLONG = 37, "File name too long";
    ENETDOWN = 38, "Network is down";
    ENETRESET = 39, "Connection aborted by the network";
    ENETUNREACH = 40, "Network is unreachable";
    ENFILE = 41, "Too many files open in the system";
    ENOBUFS = 42, "No buffer space available";
    ENODEV = 43, "No such device";
    ENOENT = 44, "No such file or directory";
    ENOEXEC = 45, "Executable file format error";
    ENOLCK = 46, "No locks available";
    ENOLINK = 47, "Link has been severed";
    ENOMEM = 48, "Not enough memory";
    ENOMSG = 49, "No message of the desired type";
    ENOPROTOOPT = 50, "Protocol not available";
    ENOSPC = 51, "No space left on device";
    ENOSYS = 52, "Function not implemented";
    ENOTCONN = 53, "The socket is not connected";
    ENOTDIR = 54, "Not a directory";
    ENOTEMPTY = 55, "Directory not empty";
    ENOTRECOVERABLE = 56, "State not recoverable";
    ENOTSOCK = 57, "Not a socket";
    ENOTTY = 59, "Inappropriate I/O control operation";
    ENXIO = 60, "No such device or address";
    EOVERFLOW = 61, "Value too large to be stored in data type";
    EOWNERDEAD = 62, "Previous owner died";
    EPERM = 63, "Operation not permitted";
    EPIPE = 64, "Broken pipe";
    EPROTO = 65, "Protocol error";
    EPROTONOSUPPORT = 66, "Protocol not supported";
    EPROTOTYPE = 67, "Protocol wrong type for socket";
    ERANGE = 68, "Result too large";
    EROFS = 69, "Read-only file system";
    ESPIPE = 70, "Invalid seek";
    ESRCH = 71, "No such process";
    ESTALE = 72, "Stale file handle";
    ETIMEDOUT = 73, "Connection timed out";
    ETXTBSY = 74, "Text file busy";
    EXDEV = 75, "Cross-device link";
    ENOTCAPABLE = 76, "Capabilities insufficient";
    EOPNOTSUPP = 138, "Operation not supported";
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::Errno;

    #[test]
    fn numbers_are_wasi_not_linux() {
        assert_eq!(Errno::ENOENT.raw(), 44);
        assert_eq!(Errno::ENOENT.as_syscall(), -44);
        assert_eq!(Errno::EBADF.as_wasi(), 8);
        assert_eq!(Errno::EOPNOTSUPP.as_syscall(), -138);
    }

    #[test]
    fn names_round_trip() {
        for number in 1..=200u16 {
            let errno = Errno(number);
            match Errno::from_name(errno.name()) {
                Some(same) => assert_eq!(same, errno),
                None => assert_eq!(errno.name(), "E?"),
            }
        }
        assert_eq!(format!("{} / {:?}", Errno::ENOSPC, Errno::ENOSPC), "No space left on device (ENOSPC) / ENOSPC");
    }
}
