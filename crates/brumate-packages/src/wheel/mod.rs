//! Verification of wheels from strangers. Their code is never run.
//!
//! [`verify`] reads a wheel from its first byte to its last, and returns its contents or the reason why it is refused.
//! An accepted wheel can be mounted as a read-only layer of the sandbox as it is: all limits and rules of that reader
//! are checked here, or stricter ones.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use brumate_packages::wheel::{WheelFileName, verify};
//!
//! let name: WheelFileName = "six-1.17.0-py2.py3-none-any.whl".parse()?;
//! let error = verify(&b"no archive"[..], &name).unwrap_err();
//! assert!(error.to_string().starts_with("`six-1.17.0-py2.py3-none-any.whl` is refused: not a sound zip archive"));
//! # Ok(())
//! # }
//! ```
//!
//! Sources: PEP 427 and its successor, the PyPA specification "binary distribution format"; "recording installed
//! projects"; "core metadata"; "entry points"; APPNOTE.TXT 6.3.10 for zip.

mod archive;
mod contents;
mod error;
mod file_name;
mod headers;
mod layout;
pub mod limits;
mod metadata;
mod record;
mod tags;
#[cfg(test)]
pub(crate) mod tests;
mod verify;

pub use archive::ReadAt;
pub use contents::{Collision, NativeFormat, NativeModule, WheelContents, WheelFile, WheelSummary, collisions};
pub(crate) use error::quote_for_error;
pub use error::{WheelError, WheelProblem};
pub(crate) use file_name::SOURCE_ENDINGS;
pub use file_name::{BuildTag, Tag, WheelFileName};
pub use layout::Scheme;
pub use metadata::{EntryPoint, Metadata, WheelInfo, parse_entry_points};
pub use record::Record;
pub(crate) use tags::PLATFORM;
pub use verify::{VERIFIER_VERSION, modules_of, verify};
