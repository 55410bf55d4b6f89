//! Runs of a source text whose output is collected in a report.

use brumate_engine_api::{Execute, MachineSpec};
use tokio_util::sync::CancellationToken;

use crate::choice::imports_of;
use crate::dependencies::Inference;
use crate::exec::LocalModules;
use crate::execution::{execute_request, run_events};
use crate::explain::CodeContext;
use crate::input::InputForwarder;
use crate::job::{Job, JobOutcome};
use crate::report::{OutputCollector, RunReport};
use crate::request::{RunError, RunEvent, RunRequest};
use crate::runner::Runner;

impl Runner {
    /// Runs code and reports the result. `event_sink` receives events at once and must not block.
    ///
    /// When `cancel` is cancelled, waiting ends at once; running code is interrupted, and killed if it does not react.
    /// Interrupted code still has a report.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the code could not be run at all. A failure of the code itself is part of the report.
    pub async fn run(
        &self,
        request: RunRequest,
        cancel: &CancellationToken,
        event_sink: &mut (dyn FnMut(RunEvent) + Send),
    ) -> Result<RunReport, RunError> {
        let file_name = if request.file_name.is_empty() { "main.py".to_owned() } else { request.file_name };
        let imports = imports_of(&request.code);
        let image = self.image_for(&imports);
        let input = InputForwarder::new(request.input_requests);
        let execute =
            Execute { file_name, ends_program: true, ..execute_request(request.code, request.globals, &input, true) };
        let mounts = self.settings.grants.of(&request.principal).map_err(RunError::Engine)?;
        let principal = request.principal.as_str().into();
        let mut limits = *self.limits();
        limits.wall = request.time_limit.unwrap_or(limits.wall);
        let spec = MachineSpec { principal, image, limits, mounts, ..MachineSpec::default() };
        // Code that uses micropip may install the modules that it imports.
        let inference = if execute.code.contains("micropip") { Inference::Lenient } else { Inference::Strict };
        let context = CodeContext::of_script(&execute.code);
        let principal = request.principal;
        let phases = request.phases;
        let (sink, local, start) = (None, LocalModules::default(), None);
        let requirements = Vec::new();
        let job = Job { spec, execute, imports, requirements, inference, input, principal, phases, sink, local, start };

        let (events, mut received) = run_events();
        let mut collector = OutputCollector::new(&limits);
        let collect = async {
            while let Some(event) = received.recv().await {
                match event {
                    RunEvent::Output { name, text } => {
                        let text = collector.push(name, &text).to_owned();
                        if !text.is_empty() {
                            event_sink(RunEvent::Output { name, text });
                        }
                    }
                    RunEvent::Figure { bytes } => collector.show(bytes),
                    other => event_sink(other),
                }
            }
        };
        let (outcome, ()) = tokio::join!(self.run_job(job, events, cancel), collect);
        Ok(match outcome? {
            JobOutcome::InstallError { error } => RunReport::install_error(self.settings.dependencies.clone(), error),
            JobOutcome::Ran { dependencies, end, .. } => collector.finish(dependencies, *end, (context, &limits)),
        })
    }
}
