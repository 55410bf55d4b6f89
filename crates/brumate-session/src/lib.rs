//! Runs Python code and reports the result.
//!
//! [`Runner`] is the entry point. One call takes a fresh machine from an [`Engine`](brumate_engine_api::Engine), finds
//! out which packages the code needs, prepares them, executes the code and collects its output:
//!
//! ```
//! # use std::sync::Arc;
//! # use brumate_packages::Bundle;
//! # use brumate_session::{CancellationToken, Request, Runner, RunnerSettings, RunStatus};
//! # use brumate_session::testing::{FakeEngine, Script};
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let engine = Arc::new(FakeEngine::default().on("x = 4\nx", Script::returning("4")));
//! # let bundle = Arc::new(Bundle::new([]).unwrap());
//! let runner = Runner::new(engine, bundle, RunnerSettings::default());
//! let report = runner.run(Request::new("x = 4\nx"), &CancellationToken::new(), &mut |_| {}).await?;
//! assert_eq!(report.status, RunStatus::Success);
//! assert_eq!(report.value.unwrap().json, "4");
//! # Ok::<(), brumate_session::RunError>(()) }).unwrap();
//! ```
//!
//! Vocabulary: a *machine* is one isolated interpreter that ends with its run. A *run* is one execution of one source
//! text. A [`Report`] is its result, also when the code failed. A [`RunError`] means that the run could not take
//! place. Events have Jupyter's names.
//!
//! The engine is a trait of `brumate-engine-api`; this crate does not know how machines are made.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

mod admission;
mod allowance;
mod choice;
mod dependencies;
mod execution;
pub mod explain;
mod globals;
mod grants;
mod input;
mod installs;
mod json;
mod learned;
mod new_files;
pub mod packages;
mod report;
mod request;
mod run;
mod runner;
mod script;
pub mod sessions;
#[cfg(feature = "testing")]
pub mod testing;
pub mod units;

pub use admission::{Admission, WhenFull};
pub use allowance::{Allowance, Allowances, OverLimit};
pub use brumate_engine_api::FrontendRequest;
pub use choice::imports_of;
pub use dependencies::Inference;
pub use globals::Globals;
pub use grants::{Grants, Network, PRINCIPAL};
pub use input::{InputReply, InputRequest, InputRequests, MAX_INPUT_REQUESTS, input_requests};
pub use json::{compact_json, strict_json};
pub use learned::ImageBuilder;
pub use new_files::{CopyReport, FileSink, NewFiles};
pub use report::{MAX_RUN_FIGURE_BYTES, MAX_RUN_FIGURES, OutputChunk, Report, RunStatus, ShownImage};
pub use request::{LocalModules, Phases, Place, Request, RunError, RunEvent, RunnerSettings, ScriptStart};
pub use runner::Runner;
pub use script::{ScriptEnd, ScriptReport};
/// Token that cancels a run.
pub use tokio_util::sync::CancellationToken;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
