//! Errors of wheels: the wheel, the file in it, the problem, and the fix.

use std::fmt;

use thiserror::Error;

use super::limits::MAX_SHOWN_CHARACTERS;

/// Error of a wheel that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelError {
    /// File name of the wheel, made printable and shortened.
    pub wheel: String,
    /// File in the wheel, made printable and shortened; `None` for the wheel as a whole.
    pub file: Option<String>,
    /// The problem.
    pub problem: WheelProblem,
}

/// Problem of a wheel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WheelProblem {
    /// The file name is not that of a wheel.
    #[error("not the file name of a wheel (`name-version[-build]-python-abi-platform.whl`): {0}")]
    FileName(String),
    /// The file is a source distribution.
    #[error("it is a source distribution, which is not a wheel; those that end in `.tar.gz` or `.zip` can be built")]
    SourceDistribution,
    /// The file is an egg, an installer or an archive of another system.
    #[error("`{0}` files are not wheels")]
    OtherFormat(&'static str),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(String),
    /// The file is not a zip archive, or its directory is invalid.
    #[error("not a sound zip archive: {0}")]
    NotAnArchive(&'static str),
    /// There are bytes before or after the archive, or between its files.
    #[error("bytes that belong to no file: {0}")]
    ForeignBytes(&'static str),
    /// A limit is exceeded.
    #[error("{what}: at most {limit} are allowed")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The files decompress to so much that the wheel must be an attack.
    #[error("unpacks to {bytes} bytes, more than {limit}: a decompression bomb")]
    Bomb {
        /// Stated decompressed size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A name is not valid for a file.
    #[error("invalid name: {0}")]
    InvalidName(&'static str),
    /// A name starts at the root or with a drive.
    #[error("absolute name")]
    AbsoluteName,
    /// A name has a `..` component.
    #[error("the name leads out of the wheel (`..`)")]
    PathTraversal,
    /// A name occurs twice, or as a file and as a directory.
    #[error("the name occurs twice")]
    Duplicate,
    /// Two names are the same on file systems that ignore case.
    #[error("differs from `{0}` only by case")]
    CaseCollision(String),
    /// An entry is a symbolic link.
    #[error("symbolic link")]
    Symlink,
    /// An entry is a device, socket or pipe, or a directory with a file's name.
    #[error("neither a file nor a directory")]
    SpecialFile,
    /// Data is encrypted.
    #[error("encrypted")]
    Encrypted,
    /// A compression method is neither stored nor deflated.
    #[error("packed by method {0}; only stored (0) and deflated (8) are read")]
    Method(u16),
    /// The archive uses features of zip that no wheel needs.
    #[error("unsupported zip feature: {0}")]
    Feature(&'static str),
    /// Data is outside the archive, or shared with another file.
    #[error("data out of bounds or overlapping another file's")]
    Extent,
    /// A local header contradicts the central directory.
    #[error("the two headers of the file differ: {0}")]
    HeaderMismatch(&'static str),
    /// zip64 fields contradict the others.
    #[error("zip64 fields that cannot be: {0}")]
    Zip64(&'static str),
    /// Data does not have the stated size and checksum.
    #[error("corrupt data: {0}")]
    Corrupt(&'static str),
    /// A file that every wheel has is missing.
    #[error("missing from the wheel")]
    Missing,
    /// There is not exactly one `.dist-info` directory.
    #[error("there must be exactly one `.dist-info` directory, not {0}")]
    DistInfo(usize),
    /// `METADATA`, `WHEEL` or `entry_points.txt` cannot be read.
    #[error("{0}")]
    Syntax(String),
    /// The name or version differs from that in the file name.
    #[error("says {field} `{found}`, the file name `{expected}`")]
    Contradiction {
        /// `Name`, `Version` or `Build`.
        field: &'static str,
        /// Value in the file.
        found: String,
        /// Value in the file name.
        expected: String,
    },
    /// The format of the wheel or its metadata is newer than this reader.
    #[error("{field} {found} is not supported")]
    Newer {
        /// `Wheel-Version` or `Metadata-Version`.
        field: &'static str,
        /// Value in the file.
        found: String,
    },
    /// A `.data` directory has other content than the five schemes.
    #[error("a `.data` directory may hold only purelib, platlib, headers, scripts and data")]
    DataScheme,
    /// A line of `RECORD` cannot be read.
    #[error("line {line}: {reason}")]
    RecordLine {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// `RECORD` does not list a file.
    #[error("not listed in RECORD")]
    Unlisted,
    /// `RECORD` lists a file that the wheel does not have.
    #[error("listed in RECORD, but missing from the wheel")]
    ListedMissing,
    /// The hash or size of a file differs from that in `RECORD`.
    #[error("not the file that RECORD lists: its {0} differs")]
    RecordMismatch(&'static str),
    /// The wheel does not have the expected hash.
    #[error("its sha256 is {found}, but {expected} was expected")]
    WrongHash {
        /// Expected hash.
        expected: String,
        /// Actual hash.
        found: String,
    },
}

impl WheelProblem {
    /// Returns what the user can do about the problem.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::FileName(_) => "Give the wheel the name that its index shows.",
            Self::SourceDistribution => {
                "Choose a version that has a wheel (`py3-none-any`), or make one elsewhere with `pip wheel` and give that."
            }
            Self::OtherFormat(_) => "Choose a version that has a wheel.",
            Self::Io(_) => "Check the disk and the permissions, then try again.",
            Self::TooMuch { .. } => "Choose a smaller version of the package.",
            Self::Corrupt(_) | Self::WrongHash { .. } => {
                "Fetch it again; when it stays the same, the index holds a damaged or exchanged file: choose another version and tell the package's maintainers."
            }
            Self::Newer { .. } => "Choose an older version of the package, or a newer Brumate.",
            Self::Missing
            | Self::DistInfo(_)
            | Self::Syntax(_)
            | Self::Contradiction { .. }
            | Self::DataScheme
            | Self::RecordLine { .. }
            | Self::Unlisted
            | Self::ListedMissing => {
                "The wheel was not built as the specification demands: choose another version, or build it anew with a current build tool."
            }
            Self::RecordMismatch(_) => {
                "The wheel was changed after it was built: choose another version and tell the package's maintainers."
            }
            _ => {
                "No build tool makes such a wheel, and programs can disagree on what is in it: choose another version and tell the package's maintainers."
            }
        }
    }

    /// Makes the error of `wheel`, about `file` in it.
    pub(crate) fn at(self, wheel: &str, file: Option<&str>) -> WheelError {
        WheelError { wheel: quote_for_error(wheel), file: file.map(quote_for_error), problem: self }
    }
}

impl fmt::Display for WheelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(formatter, "`{}` is refused: `{file}`: {}. ", self.wheel, self.problem)?,
            None => write!(formatter, "`{}` is refused: {}. ", self.wheel, self.problem)?,
        }
        formatter.write_str(self.problem.hint())
    }
}

impl std::error::Error for WheelError {}

/// Problem of a file, before the wheel's name is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedProblem {
    pub(crate) file: Option<String>,
    pub(crate) problem: WheelProblem,
}

impl LocatedProblem {
    pub(crate) fn new(file: &str, problem: WheelProblem) -> Self {
        Self { file: Some(file.to_owned()), problem }
    }

    pub(crate) fn in_wheel(self, wheel: &str) -> WheelError {
        self.problem.at(wheel, self.file.as_deref())
    }
}

impl From<WheelProblem> for LocatedProblem {
    fn from(problem: WheelProblem) -> Self {
        Self { file: None, problem }
    }
}

/// Formats a stranger's text for messages: printable, and short.
pub(crate) fn quote_for_error(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN_CHARACTERS).flat_map(printable).collect();
    if text.chars().nth(MAX_SHOWN_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

/// Escapes control characters, and those that change the direction of writing.
fn printable(character: char) -> impl Iterator<Item = char> {
    let hidden = character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '`');
    let escaped = hidden.then(|| character.escape_unicode());
    let plain = (!hidden).then_some(character);
    escaped.into_iter().flatten().chain(plain)
}
