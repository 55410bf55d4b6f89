//! Requests to run code, and what the guest's parser finds in a source text.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounded;

/// Arguments, and environment variables, of one [`Execute`].
pub const MAX_ARGUMENTS: usize = 1 << 20;

/// File name of the code of `python -c`; `COMMAND_NAME` of the guest's `space.py`.
pub const COMMAND_NAME: &str = "<string>";

/// Request to run one piece of Python.
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
    /// Working directory. Empty: the guest's home, or the session's directory.
    #[serde(default)]
    pub directory: String,
    /// Extra environment variables.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_ARGUMENTS>")]
    pub env: Vec<(String, String)>,
    /// How the code runs. Default: [`ExecuteMode::Snippet`].
    pub mode: ExecuteMode,
    /// Names the server in the code. Only [`ExecuteMode::Server`] uses it.
    #[serde(default)]
    pub server: ServerTarget,
    /// Names of the bundle's packages that the code needs. Entry points of others are hidden from it.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MAX_ARGUMENTS>")]
    pub packages: Vec<String>,
    /// Send the value of the last expression as an [`Event::ExecuteResult`](crate::Event::ExecuteResult) with every
    /// representation it has.
    pub rich: bool,
    /// Send figures that are open at the end as [`Event::DisplayData`](crate::Event::DisplayData).
    pub figures: bool,
    /// Whether the caller answers [`RequestBody::Input`](crate::RequestBody::Input). The wall clock of this execution is paused
    /// until then; the caller decides how long to wait, with an [`InterruptHandle`](crate::InterruptHandle).
    pub allow_stdin: bool,
    /// Whether the caller answers [`RequestBody::Install`](crate::RequestBody::Install); the wall clock is paused as with `allow_stdin`.
    /// Otherwise the guest has the packages that it has.
    #[serde(default)]
    pub allow_install: bool,
    /// Whether the code belongs to a project that states its requirements. It then gets a missing module only where a plain statement of
    /// its own imports it, and says so at its end.
    #[serde(default)]
    pub states_requirements: bool,
    /// Whether nothing runs on the machine afterwards. The program then ends as a Python process does: exit functions run, modules are
    /// cleared, files that are open are flushed. Cells do not end.
    #[serde(default)]
    pub ends_program: bool,
    /// Whether each character of `code` stands for a byte of a file. Python then finds out how the file is encoded (PEP 263).
    #[serde(default)]
    pub source_bytes: bool,
    /// Limit of this execution's wall-clock time, instead of [`Limits::wall`](crate::Limits::wall). The server keeps it; the machine does
    /// not know it.
    #[serde(skip)]
    pub wall: Option<Duration>,
}

/// Names the server in a program, and its transport. Only [`ExecuteMode::Server`] uses it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTarget {
    /// Global name of the server in the code; empty: the code serves by itself, or it has one of the usual names.
    pub object: String,
    /// Transport that takes precedence over the one in the code: `stdio`, `sse`, `streamable-http` or `streamable-http-stateless`; empty:
    /// none does.
    pub transport: String,
    /// Directories with further modules, after that of the code.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_NAMES>")]
    pub path: Vec<String>,
}

/// How a piece of Python runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecuteMode {
    /// In a namespace of its own. The last expression's value is the result.
    #[default]
    Snippet,
    /// As a shell would run a script: no value of the last expression, and a `SystemExit` sets the exit code.
    Script,
    /// As `python -m` would run a module: the code is its name. Otherwise like a [`Script`](ExecuteMode::Script).
    Module,
    /// As a server of messages (MCP or HTTP): the file is run as a script, and its server reads and writes the pipes
    /// of [`MachineSpec::messages`](crate::MachineSpec::messages).
    Server,
    /// As a snippet whose names and modules stay for the next execution on this machine.
    Cell,
    /// As a cell of a Jupyter notebook, through IPython's shell; names stay, as with [`ExecuteMode::Cell`].
    ///
    /// Magics, shell lines, `Out`, `display()` and top-level `await` work. The last expression's value is an
    /// [`Event::ExecuteResult`](crate::Event::ExecuteResult), as IPython shows it, and not part of
    /// [`Ended::Returned`](crate::Ended::Returned); figures are shown at the end.
    /// `rich`, `figures`, `file_name` and `argv` have no effect. A traceback is IPython's, as plain text.
    NotebookCell,
    /// As a request of a Jupyter frontend, in the shell of [`ExecuteMode::NotebookCell`]; names stay.
    ///
    /// The code is a [`FrontendRequest`](crate::FrontendRequest).
    /// [`Ended::Returned`](crate::Ended::Returned) has the content of the reply; a cell that raises is a reply of the status `error`.
    /// Output other than text comes as [`Event::Frontend`](crate::Event::Frontend).
    Frontend,
}

impl ExecuteMode {
    /// Returns whether names and modules stay for the next execution.
    pub fn keeps_names(self) -> bool {
        matches!(self, ExecuteMode::Cell | ExecuteMode::NotebookCell | ExecuteMode::Frontend)
    }
}

/// Names reported of one source text, in each of [`Analysis`]'s lists.
pub const MAX_NAMES: usize = 1000;

/// Findings of the guest's own parser in a source text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// Top-level names of imported modules in order of appearance, standard library left out; of namespaces that
    /// distributions share (`google`, `azure`, …) the whole name.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_NAMES>")]
    pub imports: Vec<String>,
    /// Like `imports`, but only those inside a `try` that catches `ImportError`.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_NAMES>")]
    pub optional_imports: Vec<String>,
    /// Requirements that the source means beyond the names of its imports: the version of `mcp` that it is written for, and what
    /// a server in it declares.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_NAMES>")]
    pub requirements: Vec<String>,
    /// The source does not parse; running it will report the error.
    pub syntax_error: bool,
}
