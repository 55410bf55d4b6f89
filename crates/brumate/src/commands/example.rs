//! `brumate example`: runs the numpy script of the documentation, and prints the text of the tool's result.

use brumate_server::result_text;
use brumate_session::{CancellationToken, Report, Request, RunStatus, Runner};

use super::{print, print_error};
use crate::exit_status;
use crate::sandbox::sandbox;
use crate::settings::Settings;
use crate::signals::Signals;

const CODE: &str = "
import numpy
a = numpy.array([1, 2, 3])
print(a)
a
";

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let sandbox = sandbox(settings)?;
    let cancel = CancellationToken::new();
    let (report, signalled) = Signals::listen()?.guard(&cancel, report(&sandbox.runner, &cancel)).await;
    let report = report?;
    print(&result_text(&report, sandbox.runner.limits(), settings.return_mode))?;
    if report.status == RunStatus::Success {
        return Ok(exit_status::SUCCESS);
    }
    print_error("brumate: the example failed; it needs numpy. Run `brumate doctor` to check this host.");
    Ok(signalled.unwrap_or(exit_status::FAILURE))
}

/// Runs the example's code.
pub(crate) async fn report(runner: &Runner, cancel: &CancellationToken) -> anyhow::Result<Report> {
    let request = Request::new(CODE).with_file_name("example.py");
    Ok(runner.run(request, cancel, &mut |_| {}).await?)
}
