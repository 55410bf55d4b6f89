//! Client of package indexes: lists the files of distributions and reads the metadata of wheels.
//!
//! Constants of this module limit all bodies; [`Settings`](crate::settings::Settings) limit all waits.

mod attempt;
mod blocking;
mod body;
mod cache;
mod client;
mod error;
mod file;
mod filename;
mod find_links;
mod html;
mod http;
mod links;
mod metadata;
mod names;
mod pyodide;
mod simple;
mod sparse;
mod tls;
mod transfer;

pub(crate) use blocking::blocking;
pub use client::parse_page;
pub(crate) use client::{IndexClient, Listing, check_sha256};
pub use error::IndexError;
pub(crate) use error::url_for_error;
pub(crate) use file::sha256;
pub use file::{IndexFile, MetadataFile, Origin};
pub(crate) use filename::Filename;
pub(crate) use html::filename;
pub use metadata::Metadata;
pub use sparse::metadata_of;
pub use tls::configuration as tls_configuration;
pub use transfer::DownloadSink;

/// Most bytes of a project page. The largest on PyPI have some ten million bytes.
pub(crate) const MAX_PAGE_BYTES: u64 = 128 << 20;
/// Most bytes of a `METADATA` file, description included.
pub(crate) const MAX_METADATA_BYTES: u64 = 8 << 20;
/// Most bytes of a wheel that is downloaded for its metadata, because its server offers neither that nor ranges.
pub(crate) const MAX_WHEEL_BYTES: u64 = 256 << 20;
/// Most bytes of one wheel that are fetched in ranges: its directory and `METADATA`.
pub(crate) const MAX_RANGE_BYTES: u64 = 32 << 20;
/// Most bytes of a `pyodide-lock.json`.
pub(crate) const MAX_LOCK_BYTES: u64 = 32 << 20;
