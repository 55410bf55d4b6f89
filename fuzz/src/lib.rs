//! The fuzz targets: for each a module whose `run` holds the property that must be true of any bytes.
//!
//! Each `run` returns whether the bytes were accepted by at least one reader, and panics when the property does not hold.
//! The binaries in `fuzz_targets` give these functions to libFuzzer. `tests/all` runs them on the stored corpus and on
//! mutations of it, with a stable compiler.

pub mod access_tokens;
pub mod authorities;
pub mod challenges;
pub mod compile_gate;
pub mod env_files;
pub mod exceptions;
pub mod http;
pub mod packages;
pub mod resumption;
pub mod server_frames;
pub mod server_lines;
pub mod wheel;
pub mod wheel_files;
pub mod wire;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the binary, and of the directory in `corpus/`.
    pub name: &'static str,
    /// The property.
    pub run: fn(&[u8]) -> bool,
}

/// Every target, in the order of their names.
pub const TARGETS: [Target; 14] = [
    Target { name: "access_tokens", run: access_tokens::run },
    Target { name: "authorities", run: authorities::run },
    Target { name: "challenges", run: challenges::run },
    Target { name: "compile_gate", run: compile_gate::run },
    Target { name: "env_files", run: env_files::run },
    Target { name: "exceptions", run: exceptions::run },
    Target { name: "http", run: http::run },
    Target { name: "packages", run: packages::run },
    Target { name: "resumption", run: resumption::run },
    Target { name: "server_frames", run: server_frames::run },
    Target { name: "server_lines", run: server_lines::run },
    Target { name: "wheel", run: wheel::run },
    Target { name: "wheel_files", run: wheel_files::run },
    Target { name: "wire", run: wire::run },
];
