//! The server's side of a conversation with a machine: serves callbacks until a message is no callback.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::channel::AsyncChannel;
use super::compiler::{CompileRequester, Urgency};
use super::machine::MAX_GATEWAY_SOCKETS;
use super::mounted::{self, Mounted, RemountPlan};
use super::mounts::Mounts;
use super::pool::Pool;
use super::session_file::{Header, SessionId};
use super::stop::{Clock, InterruptHandle, PausedClock, RequestKind};
use super::zygote::{answer, compiles_bundle};
use super::{SandboxShared, crash_snapshot};
use crate::api::{Event, GuestAnswer, InstallRequest, Layer, NetworkAccess, RequestBody};
use crate::bundle;
use crate::wire::{InstallReply, MachineAnswer, MachineMessage, MachineRequest, WireError};
use brumate_network::rules::FIX_HOST;
use brumate_setting::Setting;

/// A conversation. It has no time limit of its own: a [`Clock`] runs beside it.
pub(super) struct Conversation<'a> {
    pub(super) channel: &'a mut AsyncChannel,
    pub(super) shared: &'a SandboxShared,
    pub(super) mounts: &'a Mounts,
    pub(super) mounted: &'a Mounted,
    pub(super) pool: &'a Pool,
    pub(super) session: SessionId,
    /// The machine writes its crash snapshot beside this path.
    pub(super) crash_snapshot: Option<&'a Path>,
    pub(super) clock: &'a Clock,
    pub(super) interrupt_handle: &'a InterruptHandle,
    pub(super) dropped: &'a mut u64,
    pub(super) compiling: &'a mut Compiling,
    /// The way to other hosts.
    pub(super) network: Option<&'a dyn NetworkAccess>,
    /// Sockets to the gateway that the machine has got.
    pub(super) gateway_sockets: &'a mut usize,
}

/// Limits for compiling the modules of a machine's guest, and the CPU time that was used.
#[derive(Debug)]
pub(super) struct Compiling {
    /// The principal whose turn it takes.
    pub(super) principal: Arc<str>,
    /// Memory of the machine, in bytes.
    pub(super) memory: u64,
    /// CPU time of one execution.
    pub(super) cpu: Duration,
    /// CPU time used since the last execution's outcome.
    pub(super) spent: Duration,
}

/// Least CPU time of the compilers when a session resumes: each of its modules was within the limit of an execution,
/// but not all together.
const WAKING_CPU: Duration = Duration::from_secs(60);

impl Compiling {
    /// Returns the limits for one compilation. All compilations of an execution share its CPU time, of which `spent` is
    /// used; outside of an execution each has all of it.
    fn requester(&self, spent: Option<Duration>) -> CompileRequester<'_> {
        let cpu = spent.map_or(self.cpu.max(WAKING_CPU), |spent| self.cpu.saturating_sub(spent));
        CompileRequester { principal: &self.principal, urgency: Urgency::Needed, memory: self.memory, cpu }
    }
}

/// Requests of the guest in one execution, and whether they may be answered.
#[derive(Default)]
struct GuestRequests {
    /// Number of requests so far.
    count: u64,
    /// Kind of the last one.
    kind: RequestKind,
    /// Whether the last one waits for the caller's answer.
    waits: bool,
    /// The clock is paused while the guest waits for an answer. A guest that continues without waiting is limited by
    /// its CPU time only.
    paused: Option<PausedClock>,
    /// Layers that the machine has once it reports them as mounted.
    pending: Option<Vec<Layer>>,
    input: bool,
    install: bool,
}

impl Conversation<'_> {
    /// Serves the machine's callbacks until a message is no callback, and returns that message.
    ///
    /// # Errors
    /// When the connection breaks.
    pub(super) async fn serve_until_answer(
        self,
        request: &MachineRequest,
        fds: &[BorrowedFd<'_>],
        mut events: Option<mpsc::Sender<Event>>,
    ) -> Result<MachineMessage, WireError> {
        self.channel.send(request, fds).await?;
        let mut pauses = bundle::native_modules().len();
        let mut guest_requests = GuestRequests::default();
        let mut spent = matches!(request, MachineRequest::Execute { .. }).then_some(Duration::ZERO);
        if let MachineRequest::Execute { request, .. } = request {
            guest_requests.input = request.allow_stdin;
            guest_requests.install = request.allow_install;
        }
        loop {
            let message = tokio::select! {
                message = self.channel.receive::<MachineMessage>() => message?,
                answer = self.interrupt_handle.answered(), if guest_requests.waits => {
                    guest_requests.waits = false;
                    self.resume_clock(&mut guest_requests);
                    match answer {
                        GuestAnswer::Input(text) => self.input(&guest_requests, text).await?,
                        GuestAnswer::Install(answer) => {
                            let (plan, reply) = mounted::install(&self.mounted.get(), answer);
                            self.install(&mut guest_requests, plan, reply).await?;
                        }
                    }
                    continue;
                }
            };
            match message {
                MachineMessage::Event(event) => {
                    if let Event::Request(request) = &event {
                        // The machine counts as well.
                        guest_requests.count += 1;
                        if request.id != guest_requests.count {
                            return Err(WireError::UnexpectedMessage);
                        }
                        guest_requests.kind = kind_of(&request.body);
                        self.take_request(&mut guest_requests, &request.body, events.is_some()).await?;
                        if !guest_requests.waits {
                            self.interrupt_handle.clear_request();
                            self.resume_clock(&mut guest_requests);
                            continue;
                        }
                        self.interrupt_handle.ask(request.id, guest_requests.kind);
                        let paused = guest_requests.paused.take().unwrap_or_else(|| self.clock.pause());
                        guest_requests.paused = Some(paused);
                    }
                    if let Event::OutputDropped { bytes } = event {
                        *self.dropped = bytes.max(*self.dropped);
                    }
                    // A slow receiver slows the machine down.
                    if let Some(sender) = &events
                        && sender.send(event).await.is_err()
                    {
                        events = None;
                        self.resume_clock(&mut guest_requests);
                        if std::mem::take(&mut guest_requests.waits) {
                            self.refuse(&mut guest_requests).await?;
                        }
                    }
                }
                MachineMessage::Mounted(result) if guest_requests.pending.is_some() => {
                    if let (Some(layers), Ok(())) = (guest_requests.pending.take(), result) {
                        self.mounted.set(layers);
                    }
                }
                MachineMessage::Module(request) => {
                    let compiles_bundle = compiles_bundle(&self.shared.compilers, &request);
                    let find = |id: &_| self.mounted.find(id);
                    let requester = self.compiling.requester(spent);
                    let answered = answer(&self.shared.compilers, &find, requester, request);
                    // The bundle is compiled once, and this does not count as the guest's time. Other compilations do.
                    let (reply, file, cpu) = if compiles_bundle && pauses > 0 {
                        pauses -= 1;
                        self.clock.paused(answered).await
                    } else {
                        answered.await
                    };
                    self.compiling.spent += cpu;
                    spent = spent.map(|spent| spent + cpu);
                    let fds: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
                    self.channel.send(&MachineRequest::Module(reply), &fds).await?;
                }
                MachineMessage::Mount(request) => {
                    let (reply, file) = self.mounts.serve(request).await;
                    let fds: Vec<_> = file.iter().map(AsFd::as_fd).collect();
                    self.channel.send(&MachineRequest::Mount(reply), &fds).await?;
                }
                MachineMessage::Network => {
                    let (refusal, socket) = match self.network {
                        None => (Some(no_network()), None),
                        Some(_) if *self.gateway_sockets >= MAX_GATEWAY_SOCKETS => {
                            (Some("the gateway has died too often; begin a new session".to_owned()), None)
                        }
                        Some(network) => match network.open().await {
                            Ok(socket) => {
                                *self.gateway_sockets += 1;
                                (None, Some(socket))
                            }
                            Err(reason) => (Some(reason), None),
                        },
                    };
                    let fds: Vec<_> = socket.iter().map(AsFd::as_fd).collect();
                    self.channel.send(&MachineRequest::Network(refusal), &fds).await?;
                }
                other => return Ok(other),
            }
        }
    }

    fn resume_clock(&self, guest_requests: &mut GuestRequests) {
        if let Some(paused) = guest_requests.paused.take() {
            self.clock.resume(paused);
        }
    }

    /// Answers a request that the caller cannot answer, or notes that the guest waits for the caller.
    async fn take_request(
        &self,
        guest_requests: &mut GuestRequests,
        body: &RequestBody,
        has_caller: bool,
    ) -> Result<(), WireError> {
        let is_allowed = match body {
            RequestBody::Input { .. } => guest_requests.input,
            RequestBody::Install(request) => {
                if self.answer_without_caller(guest_requests, request).await? {
                    guest_requests.waits = false;
                    return Ok(());
                }
                guest_requests.install
            }
        };
        guest_requests.waits = is_allowed && has_caller;
        if guest_requests.waits { Ok(()) } else { self.refuse(guest_requests).await }
    }

    /// Answers the last request without the caller: with the end of the input, or with no packages.
    async fn refuse(&self, guest_requests: &mut GuestRequests) -> Result<(), WireError> {
        match guest_requests.kind {
            RequestKind::Input => self.input(guest_requests, None).await,
            RequestKind::Install => {
                self.install(guest_requests, RemountPlan::default(), InstallReply::Unavailable).await
            }
        }
    }

    async fn input(&self, guest_requests: &GuestRequests, text: Option<String>) -> Result<(), WireError> {
        let (guest_request, answer) = (guest_requests.count, MachineAnswer::Input(text));
        self.channel.send(&MachineRequest::Answer { guest_request, answer }, &[]).await
    }

    /// Answers uninstalls and invalid requests without the caller. Returns `false` if the caller has to answer.
    async fn answer_without_caller(
        &self,
        guest_requests: &mut GuestRequests,
        request: &InstallRequest,
    ) -> Result<bool, WireError> {
        let nothing = RemountPlan::default;
        let (plan, reply) = if !mounted::is_sound(request) {
            (nothing(), InstallReply::Refused("a requirement is too long".to_owned()))
        } else if request.uninstall.is_empty() {
            return Ok(false);
        } else {
            mounted::uninstall(&self.mounted.get(), &request.uninstall)
        };
        self.install(guest_requests, plan, reply).await?;
        Ok(true)
    }

    /// Sends the result of an install request to the machine.
    async fn install(
        &self,
        guest_requests: &mut GuestRequests,
        plan: RemountPlan,
        reply: InstallReply,
    ) -> Result<(), WireError> {
        if plan.is_empty() && !matches!(reply, InstallReply::Done { .. }) {
            return self.channel.send(&install_message(guest_requests.count, Vec::new(), reply), &[]).await;
        }
        // The header of the crash snapshot must name every layer that the state may need, whenever this process ends.
        if let Some(path) = self.crash_snapshot.filter(|_| !plan.is_empty()) {
            let header = Header::new(self.pool, self.session, plan.before_and_after());
            if let Err(error) = crash_snapshot::write_header(path.to_owned(), header).await {
                let reply = InstallReply::Refused(error.to_string());
                return self.channel.send(&install_message(guest_requests.count, Vec::new(), reply), &[]).await;
            }
            self.mounted.header_lists_superset();
        }
        for (message, fds) in plan.messages(Some(guest_requests.count)) {
            self.channel.send(&message, &fds).await?;
        }
        let message = install_message(guest_requests.count, plan.remove, reply);
        guest_requests.pending = Some(plan.after);
        self.channel.send(&message, &[]).await
    }
}

/// Text for a guest that has no network. The machine puts the host in the place of `HOST`.
fn no_network() -> String {
    format!("this sandbox has no network. Allow the host with {}", Setting::AllowNet.with(FIX_HOST))
}

fn kind_of(body: &RequestBody) -> RequestKind {
    match body {
        RequestBody::Input { .. } => RequestKind::Input,
        RequestBody::Install(_) => RequestKind::Install,
    }
}

fn install_message(guest_request: u64, remove: Vec<crate::api::LayerId>, reply: InstallReply) -> MachineRequest {
    MachineRequest::Answer { guest_request, answer: MachineAnswer::Install { remove, reply } }
}
