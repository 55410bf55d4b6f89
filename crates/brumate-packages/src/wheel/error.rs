//! Why a wheel is refused: which wheel, which file in it, what is wrong, and the way out.

use std::fmt;

use thiserror::Error;

use super::limits::MAX_SHOWN_CHARACTERS;

/// A wheel that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelError {
    /// The wheel's file name, made printable and shortened.
    pub wheel: String,
    /// The file in the wheel, made printable and shortened; `None` when it is the wheel as a whole.
    pub file: Option<String>,
    /// What is wrong.
    pub problem: WheelProblem,
}

/// What is wrong with a wheel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WheelProblem {
    /// The file name is not a wheel's.
    #[error("not the file name of a wheel (`name-version[-build]-python-abi-platform.whl`): {0}")]
    FileName(String),
    /// A source distribution.
    #[error("it is a source distribution, and building one runs its code outside of the sandbox")]
    SourceDistribution,
    /// An egg, an installer or an archive of another system.
    #[error("`{0}` files are not wheels")]
    OtherFormat(&'static str),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(String),
    /// No zip archive, or one whose directory cannot be.
    #[error("not a sound zip archive: {0}")]
    NotAnArchive(&'static str),
    /// Bytes before or after the archive, or between its files.
    #[error("bytes that belong to no file: {0}")]
    ForeignBytes(&'static str),
    /// More than a bound allows.
    #[error("{what}: at most {limit} are allowed")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
    /// The files unpack to so much that it can only be meant as an attack.
    #[error("unpacks to {bytes} bytes, more than {limit}: a decompression bomb")]
    Bomb {
        /// Unpacked size as stated.
        bytes: u64,
        /// The bound.
        limit: u64,
    },
    /// A name that no file may have.
    #[error("invalid name: {0}")]
    InvalidName(&'static str),
    /// The name starts at the root or with a drive.
    #[error("absolute name")]
    AbsoluteName,
    /// The name has a `..` component.
    #[error("the name leads out of the wheel (`..`)")]
    PathTraversal,
    /// The same name twice, or once as a file and once as a directory.
    #[error("the name occurs twice")]
    Duplicate,
    /// Two names that are one on file systems that ignore case.
    #[error("differs from `{0}` only by case")]
    CaseCollision(String),
    /// A symbolic link.
    #[error("symbolic link")]
    Symlink,
    /// A device, socket or pipe, or a directory whose name is a file's.
    #[error("neither a file nor a directory")]
    SpecialFile,
    /// Encrypted data.
    #[error("encrypted")]
    Encrypted,
    /// A method other than stored and deflated.
    #[error("packed by method {0}; only stored (0) and deflated (8) are read")]
    Method(u16),
    /// Features of zip that no wheel needs.
    #[error("unsupported zip feature: {0}")]
    Feature(&'static str),
    /// Data outside the archive, or shared with another file.
    #[error("data out of bounds or overlapping another file's")]
    Extent,
    /// The local header contradicts the central directory.
    #[error("the two headers of the file differ: {0}")]
    HeaderMismatch(&'static str),
    /// zip64 fields that contradict the others.
    #[error("zip64 fields that cannot be: {0}")]
    Zip64(&'static str),
    /// Data that is not what its size and checksum promise.
    #[error("corrupt data: {0}")]
    Corrupt(&'static str),
    /// A file that every wheel has is missing.
    #[error("missing from the wheel")]
    Missing,
    /// Other than one `.dist-info` directory.
    #[error("there must be exactly one `.dist-info` directory, not {0}")]
    DistInfo(usize),
    /// `METADATA`, `WHEEL` or `entry_points.txt` cannot be read.
    #[error("{0}")]
    Syntax(String),
    /// Another name or version than the file name says.
    #[error("says {field} `{found}`, the file name `{expected}`")]
    Contradiction {
        /// `Name`, `Version` or `Build`.
        field: &'static str,
        /// What the file says.
        found: String,
        /// What the file name says.
        expected: String,
    },
    /// A format of wheel or metadata that is newer than this reader.
    #[error("{field} {found} is not supported")]
    Newer {
        /// `Wheel-Version` or `Metadata-Version`.
        field: &'static str,
        /// What the file says.
        found: String,
    },
    /// `.data` directories with anything but the five schemes.
    #[error("a `.data` directory may hold only purelib, platlib, headers, scripts and data")]
    DataScheme,
    /// A line of `RECORD` that cannot be read.
    #[error("line {line}: {reason}")]
    RecordLine {
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A file that `RECORD` does not list.
    #[error("not listed in RECORD")]
    Unlisted,
    /// A file that `RECORD` lists and the wheel does not have.
    #[error("listed in RECORD, but missing from the wheel")]
    ListedMissing,
    /// A file whose hash or size is another than in `RECORD`.
    #[error("not the file that RECORD lists: its {0} differs")]
    RecordMismatch(&'static str),
    /// The wheel as a whole is another than was asked for.
    #[error("its sha256 is {found}, but {expected} was expected")]
    WrongHash {
        /// Hash that was asked for.
        expected: String,
        /// Hash of what came.
        found: String,
    },
}

impl WheelProblem {
    /// What the user can do about it.
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

    /// The error for `wheel`, naming `file` in it.
    pub(crate) fn at(self, wheel: &str, file: Option<&str>) -> WheelError {
        WheelError { wheel: shown(wheel), file: file.map(shown), problem: self }
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

/// A wheel's problem and the file that has it, before the wheel's name is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) file: Option<String>,
    pub(crate) problem: WheelProblem,
}

impl Located {
    pub(crate) fn new(file: &str, problem: WheelProblem) -> Self {
        Self { file: Some(file.to_owned()), problem }
    }

    pub(crate) fn in_wheel(self, wheel: &str) -> WheelError {
        self.problem.at(wheel, self.file.as_deref())
    }
}

impl From<WheelProblem> for Located {
    fn from(problem: WheelProblem) -> Self {
        Self { file: None, problem }
    }
}

/// A stranger's text for people: printable, and not long.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN_CHARACTERS).flat_map(printable).collect();
    if text.chars().nth(MAX_SHOWN_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

/// Control characters, and those that turn the direction of writing, as escapes.
fn printable(character: char) -> impl Iterator<Item = char> {
    let hidden = character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '`');
    let escaped = hidden.then(|| character.escape_unicode());
    let plain = (!hidden).then_some(character);
    escaped.into_iter().flatten().chain(plain)
}
