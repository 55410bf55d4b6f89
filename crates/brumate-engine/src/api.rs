//! The words the engine and its users share: limits, requests, events, outcomes.
//!
//! Events carry Jupyter's names (`stream`, `display_data`, `execute_result`, `error`, `status`; source: the Jupyter
//! messaging specification 5.4). Everything here crosses the process border in [`crate::wire`] frames, so everything
//! is plain data.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounded;

mod layer;

pub use layer::{
    InstallAnswer, InstallRequest, Layer, LayerId, MAX_LAYER_BYTES, MAX_LAYER_NAME, MAX_LAYERS, MAX_REFUSAL,
    MAX_REQUIREMENT, MAX_REQUIREMENTS, PACKAGES,
};

/// What one machine may use. Every field is enforced; `Default` holds the documented defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time of one [`Execute`]; then KeyboardInterrupt, then SIGKILL after [`Limits::grace`].
    pub wall: Duration,
    /// CPU time of one [`Execute`]; enforced by the kernel's process clock, same two steps.
    pub cpu: Duration,
    /// How long a guest may take to react to KeyboardInterrupt before it is killed.
    pub grace: Duration,
    /// Linear memory, in bytes. At the limit Python raises `MemoryError`.
    pub memory_bytes: u64,
    /// Bytes the guest may keep in its writable file layer. At the limit: `ENOSPC`.
    pub file_bytes: u64,
    /// Files, directories and links the guest may create. At the limit: `ENOSPC`.
    pub inodes: u64,
    /// Bytes of stdout and stderr kept per [`Execute`]; the rest is counted and dropped.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            wall: Duration::from_secs(60),
            cpu: Duration::from_secs(60),
            grace: Duration::from_secs(2),
            memory_bytes: 1 << 30,
            file_bytes: 256 << 20,
            inodes: 65_536,
            output_bytes: 1 << 20,
        }
    }
}

/// A host directory granted to one machine. Opened by the server as a handle; the guest never sees the host path.
#[derive(Debug, Clone)]
pub struct Mount {
    /// Directory on the host.
    pub host: PathBuf,
    /// Absolute path inside the guest.
    pub guest: String,
    /// Refuse every change.
    pub read_only: bool,
}

/// The interpreter a machine is forked from: what is imported in it already. Which one is taken changes how long imports
/// take, nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Image {
    modules: Vec<String>,
    layers: Vec<Layer>,
}

impl Image {
    /// Modules of [`Image::data`].
    pub const DATA: [&str; 3] = ["numpy", "pandas", "matplotlib"];

    /// Nothing beyond what every interpreter has.
    pub fn plain() -> Image {
        Image::default()
    }

    /// Modules of [`Image::notebook`].
    pub const NOTEBOOK: [&str; 4] = ["numpy", "pandas", "matplotlib", "IPython"];

    /// numpy, pandas and matplotlib, used once.
    pub fn data() -> Image {
        Image::of(Self::DATA)
    }

    /// [`Image::data`] with IPython's shell made and used: what cells with [`Execute::shell`] run in.
    pub fn notebook() -> Image {
        Image::of(Self::NOTEBOOK)
    }

    /// These modules, in that order.
    pub fn of<T: Into<String>>(modules: impl IntoIterator<Item = T>) -> Image {
        Image { modules: modules.into_iter().map(Into::into).collect(), layers: Vec::new() }
    }

    /// With these wheels mounted before its modules are imported: machines of it have them, and the modules may be theirs.
    pub fn with_layers(mut self, layers: Vec<Layer>) -> Image {
        self.layers = layers;
        self
    }

    /// Wheels that are mounted in it.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Distributions of which something may be imported in it and whose place one of `layers` takes: a machine of this image
    /// would go on using the version that it has. Normalised names (PEP 503), sorted.
    pub fn replaced_by(&self, layers: &[Layer]) -> Vec<String> {
        if layers.is_empty() {
            return Vec::new();
        }
        let mut replaced = crate::bundle::replaced(&self.modules, layers);
        let others = layers.iter().filter(|layer| !self.layers.contains(layer));
        let others: Vec<String> = others.map(|layer| crate::bundle::distribution(&layer.name)).collect();
        let own = self.layers.iter().map(|layer| crate::bundle::distribution(&layer.name));
        replaced.retain(|name| !own.clone().any(|own| own == *name));
        replaced.extend(own.filter(|name| others.contains(name)));
        replaced.sort_unstable();
        replaced
    }

    /// Modules that are imported in it.
    pub fn modules(&self) -> &[String] {
        &self.modules
    }
}

/// `plain`, `data`, `notebook`, or the modules with commas between; and how many wheels are mounted in it.
impl std::fmt::Display for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.modules[..] {
            [] => f.write_str("plain")?,
            modules if modules == Self::DATA => f.write_str("data")?,
            modules if modules == Self::NOTEBOOK => f.write_str("notebook")?,
            modules => f.write_str(&modules.join(","))?,
        }
        match self.layers.len() {
            0 => Ok(()),
            count => write!(f, " with {count} wheels"),
        }
    }
}

/// Files that one listing may name; a directory with more is refused.
pub const MAX_LISTED_FILES: usize = 10_000;

/// Bytes of one piece of a file, read or written.
pub const MAX_FILE_CHUNK: usize = 1 << 20;

/// A regular file in a guest directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Path relative to the directory, `/` between names.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Last modification, nanoseconds since 1970, by the guest's clock; the guest can set it.
    pub modified: i64,
    /// Another number whenever the content may have changed. Made of what the guest cannot set.
    pub stamp: u64,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChunk {
    /// The bytes; fewer than were asked for at the end of the file.
    pub bytes: Vec<u8>,
    /// Bytes of the whole file.
    pub size: u64,
}

/// How to make a machine.
#[derive(Debug, Default)]
pub struct MachineSpec {
    /// What it is forked from. One that is not built yet is replaced by [`Image::plain`].
    pub image: Image,
    /// Limits of this machine.
    pub limits: Limits,
    /// Granted host directories.
    pub mounts: Vec<Mount>,
    /// Read end of the guest's standard input; `None` is an empty input.
    pub stdin: Option<OwnedFd>,
    /// Wheels that are mounted before anything runs. With one that takes the place of something that is imported in `image`,
    /// the machine is forked from [`Image::plain`].
    pub layers: Vec<Layer>,
}

/// One piece of Python to run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Execute {
    /// Source text. Top-level `await` is allowed; the last expression's value is the result.
    pub code: String,
    /// Shown in tracebacks and as `__file__`; `main.py` when empty.
    pub file_name: String,
    /// Extra globals as one JSON object; empty string = none.
    pub globals_json: String,
    /// `sys.argv`; empty = `[file_name]`.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_ARGUMENTS>")]
    pub argv: Vec<String>,
    /// Extra environment variables.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_ARGUMENTS>")]
    pub env: Vec<(String, String)>,
    /// Run as a shell would run a script: no value of the last expression, and a `SystemExit` sets the exit code.
    pub script: bool,
    /// Names and modules stay for the next execution on this machine.
    pub session: bool,
    /// Run as a cell of a Jupyter notebook, through IPython's shell; names stay, as with `session`.
    ///
    /// Magics, shell lines, `Out`, `display()` and top-level `await` work. The last expression's value is an
    /// [`Event::ExecuteResult`], as IPython shows it, and not part of [`Ended::Returned`]; figures are shown at the end.
    /// `script`, `rich`, `figures`, `file_name` and `argv` have no effect. A traceback is IPython's, as plain text.
    pub shell: bool,
    /// Send the value of the last expression as an [`Event::ExecuteResult`] with every representation it has.
    pub rich: bool,
    /// Send figures that are open at the end as [`Event::DisplayData`].
    pub figures: bool,
    /// Someone answers [`Event::InputRequest`]. Until they do, the wall clock of this execution stands still; who asks decides
    /// how long to wait, with [`crate::client::Interrupter`].
    pub allow_stdin: bool,
    /// Someone answers [`Event::Install`]; the wall clock stands still as with `allow_stdin`. Otherwise the guest has the
    /// packages that it has.
    #[serde(default)]
    pub allow_install: bool,
}

/// Longest text that may answer an [`Event::InputRequest`], in bytes.
pub const MAX_INPUT: usize = 1 << 20;

/// Longest prompt of an [`Event::InputRequest`], in bytes; longer ones are cut.
pub const MAX_PROMPT: usize = 64 << 10;

/// Names reported of one source text, in each of [`Analysis`]'s lists.
pub const MAX_NAMES: usize = 1000;

/// What the guest's own parser found in a source text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// Top-level names of imported modules in order of appearance, standard library left out; of namespaces that
    /// distributions share (`google`, `azure`, …) the whole name.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_NAMES>")]
    pub imports: Vec<String>,
    /// Like `imports`, but only those inside a `try` that catches `ImportError`.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_NAMES>")]
    pub optional_imports: Vec<String>,
    /// The source does not parse; running it will report the error.
    pub syntax_error: bool,
}

/// Standard stream a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamName {
    /// fd 1.
    Stdout,
    /// fd 2.
    Stderr,
}

/// Representations of one object.
pub const MAX_MIME_TYPES: usize = 64;

/// Arguments, and environment variables, of one [`Execute`].
pub const MAX_ARGUMENTS: usize = 1 << 20;

/// MIME type → payload: text as it is, binary types as base64 (Jupyter's mime bundle).
pub type MimeBundle = BTreeMap<String, String>;

/// What a machine reports while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// Output of the guest, in order.
    Stream {
        /// Which stream.
        name: StreamName,
        /// Text; invalid UTF-8 is replaced.
        text: String,
    },
    /// `display(...)`, a shown figure.
    DisplayData {
        /// The mime bundle.
        #[serde(deserialize_with = "bounded::texts::<_, MAX_MIME_TYPES>")]
        data: MimeBundle,
    },
    /// The value of the last expression, as a mime bundle.
    ExecuteResult {
        /// The mime bundle.
        #[serde(deserialize_with = "bounded::texts::<_, MAX_MIME_TYPES>")]
        data: MimeBundle,
    },
    /// An uncaught exception.
    Error {
        /// Class name.
        ename: String,
        /// `str(exception)`.
        evalue: String,
        /// CPython's own traceback text (IPython's with [`Execute::shell`]), without frames of our prelude.
        traceback: String,
    },
    /// Output beyond [`Limits::output_bytes`] is being dropped. Sent now and then; [`Outcome::output_dropped`] is exact.
    OutputDropped {
        /// Bytes dropped so far.
        bytes: u64,
    },
    /// The guest waits for a line of input; see [`crate::client::Interrupter::answer`].
    InputRequest {
        /// What to show.
        prompt: String,
        /// Do not show what is typed.
        password: bool,
    },
    /// The guest waits for packages; see [`crate::client::Interrupter::install`].
    Install(InstallRequest),
    /// Busy or idle.
    Status {
        /// True while code runs.
        busy: bool,
    },
}

/// The value of the last expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnValue {
    /// JSON text, indent 2 (NaN and infinities are `null`).
    pub json: String,
    /// The value is a `str`: clients in text mode show it verbatim.
    pub is_str: bool,
}

/// How an [`Execute`] ended inside the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Ran to its end.
    Returned(Option<ReturnValue>),
    /// An exception reached the top; the text of its traceback.
    Raised {
        /// Class name.
        ename: String,
        /// `str(exception)`.
        evalue: String,
        /// Traceback text.
        traceback: String,
    },
    /// `SystemExit` or `os._exit`.
    Exited {
        /// Exit code, 0 to 255.
        code: i32,
        /// What Python prints for `SystemExit("text")`.
        message: String,
    },
}

/// Why a running guest was interrupted by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// [`Limits::wall`] passed.
    WallLimit,
    /// [`Limits::cpu`] used up.
    CpuLimit,
    /// The caller asked for it.
    Cancelled,
}

/// The answer to an [`Execute`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// Set when the host interrupted the guest during this execution; `ended` is then usually a `KeyboardInterrupt`.
    pub stopped: Option<StopReason>,
    /// Output bytes dropped past [`Limits::output_bytes`].
    pub output_dropped: u64,
    /// Highest linear memory size so far, bytes.
    pub peak_memory_bytes: u64,
    /// CPU time of this execution.
    pub cpu: Duration,
}
