//! Jupyter notebooks as files (source: nbformat 4.5).
//!
//! [`Notebook`] reads, checks and writes a file. [`Outputs`] collects the messages of a kernel into the outputs of cells, as nbclient does.
//! [`Parameters`] are values for a notebook, as papermill has them.

mod document;
mod output_policy;
mod outputs;
mod parameters;
mod widgets;

pub use document::{MAX_CELLS, MAX_NOTEBOOK_BYTES, Notebook, NotebookError, language_info};
pub use output_policy::OutputPolicy;
pub use outputs::{OUTPUT_DROPPED, Outputs, Recorded};
pub use parameters::{ParameterError, Parameters};
pub use widgets::Widgets;
