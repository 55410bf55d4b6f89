//! Running Python code: from a text to a report.
//!
//! [`Runner`] is the door. One call takes a fresh machine from an [`Engine`](brumate_engine_api::Engine), finds out which packages
//! the code needs, prepares them, executes the code and gathers what it said:
//!
//! ```
//! # use std::sync::Arc;
//! # use brumate_packages::Bundle;
//! # use brumate_session::{CancellationToken, RunRequest, Runner, RunnerSettings, Status};
//! # use brumate_session::testing::{FakeEngine, Script};
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let engine = Arc::new(FakeEngine::default().on("x = 4\nx", Script::returning("4")));
//! # let bundle = Arc::new(Bundle::new([]).unwrap());
//! let runner = Runner::new(engine, bundle, RunnerSettings::default());
//! let report = runner.run(RunRequest::new("x = 4\nx"), &CancellationToken::new(), &mut |_| {}).await?;
//! assert_eq!(report.status, Status::Success);
//! assert_eq!(report.return_value.unwrap().json, "4");
//! # Ok::<(), brumate_session::Failure>(()) }).unwrap();
//! ```
//!
//! Vocabulary: a *machine* is one interpreter, isolated, gone after the run; a *run* is one execution of one text;
//! a [`RunReport`] is what became of it (also when the code failed); a [`Failure`] is a run that could not take place.
//! Events carry Jupyter's names.
//!
//! The engine is a trait of `brumate-engine-api` that speaks in messages, so that nothing here knows how a machine is made.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod admission;
mod allowance;
mod choice;
mod dependencies;
mod exec;
pub mod explain;
mod installs;
mod json;
mod learned;
mod new_files;
pub mod packages;
mod prepare;
mod question;
mod report;
mod request;
mod runner;
pub mod sessions;
#[cfg(feature = "testing")]
pub mod testing;
pub mod units;

pub use admission::Admission;
pub use allowance::{Allowance, Allowances, OverLimit};
pub use dependencies::Inference;
pub use exec::{ScriptEnd, ScriptReport, ScriptRequest};
pub use json::{compact_json, strict_json};
pub use learned::Builder;
pub use new_files::{Copied, FileSink, NewFiles};
pub use question::{MAX_QUESTIONS, Question, Questions, Reply, questions};
pub use report::{MAX_RUN_FIGURE_BYTES, MAX_RUN_FIGURES, OutputChunk, RunReport, Status};
pub use request::{Failure, Phases, RunEvent, RunRequest, RunnerSettings};
pub use runner::Runner;
/// Cancels a run when it is cancelled itself.
pub use tokio_util::sync::CancellationToken;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
