//! Packages that running code asks for: `pip install` and `micropip.install` wait while they are installed.

use std::collections::HashMap;
use std::time::Duration;

use brumate_engine_api::{InstallAnswer, InstallRequest, Layer};
use futures::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::packages::{PackageEvent, Packages};
use crate::units::format_duration;

/// Requests of one execution; further ones are refused. A loop must not keep the service and the indexes busy for
/// ever.
pub(crate) const MAX_INSTALLS: usize = 100;
/// Requests for imported modules of one execution; further ones are refused.
const MAX_MODULE_REQUESTS: usize = 100;
/// Longest time of one request.
const MAX_TIME: Duration = Duration::from_secs(10 * 60);
/// Events that may wait; further ones are dropped.
const EVENT_QUEUE: usize = 64;

/// Answer to a request.
pub(crate) type InstallResult = Result<InstallAnswer, String>;

/// Modules that code imported and that could not be installed, with the reasons.
pub(crate) type MissingModules = HashMap<String, String>;

/// Install requests of one execution.
pub(crate) struct Installer {
    packages: Packages,
    left: usize,
    modules_left: usize,
    /// Modules that the present request is for.
    requested_modules: Vec<String>,
    missing: MissingModules,
    /// Number of the present request, and the work on it.
    work: Option<(u64, BoxFuture<'static, InstallResult>)>,
    events: Option<mpsc::Receiver<PackageEvent>>,
    /// True while a request is under way.
    waiting: watch::Sender<bool>,
}

/// Progress of an install request.
pub(crate) enum InstallProgress {
    /// A step of the installation.
    Event(PackageEvent),
    /// The end of the installation, with the number of its request.
    Done(u64, InstallResult),
}

impl Installer {
    pub(crate) fn new(packages: Packages, waiting: watch::Sender<bool>) -> Self {
        Self {
            packages,
            left: MAX_INSTALLS,
            modules_left: MAX_MODULE_REQUESTS,
            requested_modules: Vec::new(),
            missing: MissingModules::new(),
            work: None,
            events: None,
            waiting,
        }
    }

    /// Takes the modules that could not be installed, with the reasons.
    pub(crate) fn take_missing(&mut self) -> MissingModules {
        std::mem::take(&mut self.missing)
    }

    /// Starts the request with the number `id` of a machine that has `mounted`. Replaces an earlier request, which the code has given up.
    pub(crate) fn start(&mut self, id: u64, request: InstallRequest, mounted: Vec<Layer>) {
        self.waiting.send_replace(true);
        self.requested_modules = request.modules.iter().map(|module| module.name.clone()).collect();
        let (left, max) = match self.requested_modules.is_empty() {
            true => (&mut self.left, MAX_INSTALLS),
            false => (&mut self.modules_left, MAX_MODULE_REQUESTS),
        };
        let Some(fewer) = left.checked_sub(1) else {
            let text = format!("one execution may ask for packages {max} times; name them all at once");
            self.work = Some((id, Box::pin(async { Err(text) })));
            return;
        };
        *left = fewer;
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let packages = self.packages.clone();
        self.events = Some(receiver);
        let work = async move {
            let report = move |event| {
                // A full queue drops progress.
                let _ = sender.try_send(event);
            };
            match timeout(MAX_TIME, packages.answer(request, &mounted, &report)).await {
                Ok(answer) => answer.map_err(|error| error.to_string()),
                Err(_) => Err(format!("installing took longer than {}", format_duration(MAX_TIME))),
            }
        };
        self.work = Some((id, Box::pin(work)));
    }

    /// Returns the next progress; never ready while no request is under way. Cancellation-safe.
    pub(crate) async fn next_progress(&mut self) -> InstallProgress {
        let Some((id, work)) = &mut self.work else { return std::future::pending().await };
        let id = *id;
        let events = &mut self.events;
        let next = async {
            match events {
                Some(events) => match events.recv().await {
                    Some(event) => event,
                    None => std::future::pending().await,
                },
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            biased;
            event = next => return InstallProgress::Event(event),
            answer = work => answer,
        };
        (self.work, self.events) = (None, None);
        self.waiting.send_replace(false);
        if let Err(reason) = &answer {
            self.missing.extend(self.requested_modules.drain(..).map(|module| (module, reason.clone())));
        }
        InstallProgress::Done(id, answer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use brumate_packages::Bundle;

    use super::*;
    use crate::testing::FakeEngine;

    #[tokio::test]
    async fn code_may_ask_a_hundred_times() {
        let bundle = Bundle::new([]).expect("an empty bundle");
        let packages = Packages::bundle_only(Arc::new(FakeEngine::default()), Arc::new(bundle));
        let mut installer = Installer::new(packages, watch::Sender::new(false));
        for number in 0..=MAX_INSTALLS {
            let request = InstallRequest { requirements: vec!["unheard".to_owned()], ..InstallRequest::default() };
            installer.start(7, request, Vec::new());
            let error = loop {
                if let InstallProgress::Done(7, answer) = installer.next_progress().await {
                    break answer.expect_err("nobody has it");
                }
            };
            assert_eq!(error.contains("may ask for packages 100 times"), number == MAX_INSTALLS, "{number}: {error}");
        }
    }
}
