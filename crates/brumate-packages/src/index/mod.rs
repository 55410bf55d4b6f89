//! The client of package indexes: which files there are of a distribution, and what a wheel's metadata says.
//!
//! Every body is bounded by a constant of this module, every wait by [`Settings`](crate::settings::Settings).

mod cache;
mod client;
mod error;
mod file;
mod filename;
mod find_links;
mod html;
mod http;
mod metadata;
mod names;
mod pyodide;
mod simple;
mod sparse;
mod tls;

pub use client::parse_page;
pub(crate) use client::{IndexClient, Listing};
pub use error::IndexError;
pub(crate) use error::shown;
pub(crate) use file::sha256;
pub use file::{IndexFile, MetadataFile, Origin};
pub(crate) use filename::Filename;
pub(crate) use html::filename;
pub(crate) use http::{Sink, blocking};
pub use metadata::Metadata;
pub use sparse::metadata_of;
pub use tls::configuration as tls_configuration;

/// A project page. The largest on PyPI have some ten million bytes.
pub(crate) const MAX_PAGE_BYTES: u64 = 128 << 20;
/// A `METADATA` file, description included.
pub(crate) const MAX_METADATA_BYTES: u64 = 8 << 20;
/// A wheel that is fetched whole because its server serves neither its metadata nor ranges.
pub(crate) const MAX_WHEEL_BYTES: u64 = 256 << 20;
/// Bytes of one wheel that are fetched in ranges: its directory and `METADATA`.
pub(crate) const MAX_RANGE_BYTES: u64 = 32 << 20;
/// A `pyodide-lock.json`.
pub(crate) const MAX_LOCK_BYTES: u64 = 32 << 20;
