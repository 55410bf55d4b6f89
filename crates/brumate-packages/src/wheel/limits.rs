//! Limits on the contents of a wheel. None is wider than what the sandbox's file system can mount.

/// Largest wheel, in bytes. The largest pure wheel on PyPI has about 100 MB.
pub const MAX_WHEEL_BYTES: u64 = 512 << 20;
/// Most paths: files, directories, and directories that only follow from files' paths.
pub const MAX_PATHS: usize = 65_536;
/// Largest file, decompressed, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 << 20;
/// Most bytes of all files together, decompressed.
pub const MAX_TOTAL_BYTES: u64 = 1 << 30;
/// Most decompressed bytes for each byte of a wheel that decompresses to more than [`UNMEASURED_BYTES`]: source code
/// has a ratio of about 4:1, tables of zeros 1000:1.
pub const MAX_TOTAL_RATIO: u64 = 100;
/// Decompressed bytes up to which the ratio does not matter.
pub const UNMEASURED_BYTES: u64 = 32 << 20;
/// Best ratio that deflate can reach for one file (RFC 1951: 258 bytes in two bits).
pub const MAX_FILE_RATIO: u64 = 1032;
/// Longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 1024;
/// Longest component of a path, in bytes (`NAME_MAX`).
pub const MAX_COMPONENT_BYTES: usize = 255;
/// Most components of a path.
pub const MAX_PATH_DEPTH: usize = 64;
/// Largest central directory, in bytes.
pub const MAX_DIRECTORY_BYTES: u64 = 16 << 20;
/// Largest `METADATA`, in bytes: it holds the project's description.
pub const MAX_METADATA_BYTES: usize = 8 << 20;
/// Largest `RECORD`, in bytes.
pub const MAX_RECORD_BYTES: usize = 16 << 20;
/// Largest `WHEEL`, in bytes.
pub const MAX_WHEEL_FILE_BYTES: usize = 64 << 10;
/// Largest `entry_points.txt`, in bytes.
pub const MAX_ENTRY_POINTS_BYTES: usize = 1 << 20;
/// Most `Requires-Dist`, `Provides-Extra` and `Tag` lines, each.
pub const MAX_REPEATED_FIELDS: usize = 4096;
/// Longest value of one field, in bytes.
pub const MAX_FIELD_BYTES: usize = 16 << 10;
/// Longest file name of a wheel, in bytes (`NAME_MAX`).
pub const MAX_FILE_NAME_BYTES: usize = 255;
/// Most tags that a file name may stand for (`py2.py3-none-any` stands for two).
pub const MAX_TAGS: usize = 256;
/// Most characters of a name or value that an error repeats.
pub(crate) const MAX_SHOWN_CHARACTERS: usize = 120;
