//! Files of `/proc`, from which a guest learns of itself. Each is made when it is read, from what the engine has told;
//! nothing comes from the host's `/proc`.

use std::borrow::Cow;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// Number of the guest's only process, which Emscripten's `getpid` returns.
pub const PID: u32 = 42;
/// Path of the interpreter, as the guest is told.
pub const EXECUTABLE: &str = "/bin/python";
/// Bytes that are kept of a command line.
pub const MAX_COMMAND_LINE: usize = 128 << 10;

/// Number of the parent process, which Emscripten's `getppid` returns.
const PARENT: u32 = 1;
/// Name of the process.
const NAME: &str = "python";
/// Unit of memory in `stat` and `statm`, in bytes: `sysconf(_SC_PAGESIZE)` of WebAssembly.
const PAGE: u64 = 1 << 16;
/// Nanoseconds of a unit of time in `stat`: `sysconf(_SC_CLK_TCK)` is 100.
const TICK: u64 = 10_000_000;

/// A file of `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessFile {
    CommandLine,
    Name,
    Maps,
    Stat,
    Pages,
    Status,
    Processors,
    Memory,
}

impl ProcessFile {
    /// Files of `/proc`.
    pub const OF_ALL: &'static [(&'static [u8], ProcessFile)] =
        &[(b"cpuinfo", Self::Processors), (b"meminfo", Self::Memory)];
    /// Files of `/proc/self`.
    pub const OF_ONE: &'static [(&'static [u8], ProcessFile)] = &[
        (b"cmdline", Self::CommandLine),
        (b"comm", Self::Name),
        (b"maps", Self::Maps),
        (b"stat", Self::Stat),
        (b"statm", Self::Pages),
        (b"status", Self::Status),
    ];
}

/// State of the guest's process, as the engine tells it. Not part of the saved state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Size of the linear memory, in bytes.
    pub memory_bytes: u64,
    /// Size to which it may grow, in bytes.
    pub max_memory_bytes: u64,
    /// CPU time since the process began, in nanoseconds.
    pub cpu_nanos: u64,
    /// The arguments, each with a zero byte after it.
    command_line: String,
}

impl Process {
    /// Sets the arguments that the program was started with. What is beyond [`MAX_COMMAND_LINE`] is left out.
    pub fn set_command_line<'a>(&mut self, arguments: impl IntoIterator<Item = &'a str>) {
        self.command_line.clear();
        for argument in arguments {
            if self.command_line.len() + argument.len() >= MAX_COMMAND_LINE {
                break;
            }
            self.command_line.push_str(argument);
            self.command_line.push('\0');
        }
    }

    /// Reads a file at an offset; returns the number of bytes, 0 at the end.
    pub(super) fn read_at(&self, file: ProcessFile, umask: u32, offset: u64, buf: &mut [u8]) -> usize {
        let text = self.text(file, umask);
        let rest = usize::try_from(offset).ok().and_then(|offset| text.as_bytes().get(offset..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        count
    }

    fn text(&self, file: ProcessFile, umask: u32) -> Cow<'_, str> {
        let (pages, kib) = (self.memory_bytes / PAGE, self.memory_bytes / 1024);
        let text = match file {
            ProcessFile::CommandLine => return Cow::Borrowed(self.command_line.as_str()),
            ProcessFile::Name => format!("{NAME}\n"),
            ProcessFile::Maps => {
                format!("{:<73}[heap]\n", format!("00000000-{:08x} rw-p 00000000 00:00 0", self.memory_bytes))
            }
            ProcessFile::Pages => format!("{pages} {pages} 0 0 0 {pages} 0\n"),
            ProcessFile::Stat => {
                // proc_pid_stat(5): 52 fields. Those that are 0 here are not counted, or of the host.
                let mut fields = [0; 52];
                (fields[3], fields[4], fields[5]) = (PARENT.into(), PID.into(), PID.into());
                (fields[13], fields[17], fields[19]) = (self.cpu_nanos / TICK, 20, 1);
                (fields[22], fields[23], fields[24]) = (self.memory_bytes, pages, self.max_memory_bytes);
                fields[37] = 17; // The signal to the parent: SIGCHLD.
                let rest: String = fields[3..].iter().fold(String::new(), |mut rest, field| {
                    let _ = write!(rest, " {field}");
                    rest
                });
                format!("{PID} ({NAME}) R{rest}\n")
            }
            ProcessFile::Status => format!(
                "Name:\t{NAME}\nUmask:\t{umask:04o}\nState:\tR (running)\nTgid:\t{PID}\nNgid:\t0\nPid:\t{PID}\n\
                 PPid:\t{PARENT}\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t{}\nGroups:\t0 \n\
                 VmPeak:\t{kib:8} kB\nVmSize:\t{kib:8} kB\nVmHWM:\t{kib:8} kB\nVmRSS:\t{kib:8} kB\nVmData:\t{kib:8} kB\n\
                 VmSwap:\t       0 kB\nThreads:\t1\n",
                super::limits::OPEN_FILES_MAX,
            ),
            ProcessFile::Processors => "processor\t: 0\nmodel name\t: WebAssembly\ncpu cores\t: 1\n\n".to_owned(),
            ProcessFile::Memory => {
                let total = self.max_memory_bytes.max(self.memory_bytes) / 1024;
                let free = total - kib;
                let rows = [
                    ("MemTotal", total),
                    ("MemFree", free),
                    ("MemAvailable", free),
                    ("Buffers", 0),
                    ("Cached", 0),
                    ("SwapTotal", 0),
                    ("SwapFree", 0),
                ];
                rows.iter().fold(String::new(), |mut text, (name, kib)| {
                    let _ = writeln!(text, "{:<16}{kib:8} kB", format!("{name}:"));
                    text
                })
            }
        };
        Cow::Owned(text)
    }
}

impl super::Vfs {
    /// Returns the state that the files of `/proc` show, to be changed.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}
