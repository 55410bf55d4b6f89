//! What a forked machine does: serve its socket.

mod limits;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

use crate::api::{Ended, Execute, Limits, Outcome, StopReason};
use crate::channel::Channel;
use crate::code::remote::RemoteModules;
use crate::host::GuestExit;
use crate::jail::{self, MachineLimits};
use crate::machine::{Machine, MachineError};
use crate::wire::{Ending, FromMachine, ModuleRequest, ToMachine, WireError};

/// Bytes of fresh entropy for the guest's generators after a fork.
const ENTROPY: usize = 64;

/// Answer of the driver's `execute`.
#[derive(serde::Deserialize)]
struct Executed {
    ended: Ended,
}

/// Serves one machine until its server goes away.
///
/// # Errors
/// When the connection breaks.
pub(crate) fn main(machine: Machine, channel: Arc<Channel>, zygote: Pid) -> Result<(), WireError> {
    if let Err(error) = jail::tighten_machine(zygote, &MachineLimits::default()) {
        return channel.send(&ended(Ending::Trap(error.to_string()), 0));
    }
    crate::zygote::sys::forget_child_signal();
    channel.send(&FromMachine::Hello)?;
    let mut worker = match Worker::start(machine, channel.clone())? {
        Ok(worker) => worker,
        Err(error) => return channel.send(&ended(ending(error), 0)),
    };
    loop {
        match worker.serve_one() {
            Ok(()) => {}
            Err(Failure::Wire(error)) => return Err(error),
            Err(Failure::Machine(error)) => {
                let output_dropped = worker.lock_output().end();
                return channel.send(&ended(ending(error), output_dropped));
            }
        }
    }
}

/// Why the loop ends.
enum Failure {
    Wire(WireError),
    Machine(MachineError),
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Failure {
        Failure::Wire(error)
    }
}

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Failure {
        Failure::Machine(error)
    }
}

fn ended(ending: Ending, output_dropped: u64) -> FromMachine {
    FromMachine::Ended { ending, output_dropped }
}

fn ending(error: MachineError) -> Ending {
    match error {
        MachineError::Exit(GuestExit::Exit(code)) => Ending::Exit(code & 0xff),
        MachineError::Exit(GuestExit::Abort) => Ending::Abort,
        MachineError::Trap(text) | MachineError::Driver(text) => Ending::Trap(text),
    }
}

struct Worker {
    machine: Machine,
    channel: Arc<Channel>,
    limits: Limits,
}

impl Worker {
    /// Receives the limits and makes everything a fork shares with its siblings fresh.
    fn start(mut machine: Machine, channel: Arc<Channel>) -> Result<Result<Worker, MachineError>, WireError> {
        let (ToMachine::Start { limits, stdin, mounts }, fds) = channel.receive()? else {
            return Err(WireError::MissingDescriptor);
        };
        let stdin: Option<OwnedFd> = if stdin { fds.into_iter().next() } else { None };
        let base = machine.memory_bytes();
        let host = machine.host();
        host.modules = Box::new(modules_over_machine(channel.clone()));
        host.memory.max_bytes = limits.memory_bytes.max(base);
        host.memory.peak_bytes = base;
        host.vfs.set_quota(limits.file_bytes, limits.inodes);
        if let Some(stdin) = stdin {
            crate::files::set_stdin(&mut host.vfs, stdin);
        }
        crate::files::mount_host_directories(&mut host.vfs, &mounts, &channel);
        limits::protect(&limits);
        let mut worker = Worker { machine, channel, limits };
        Ok(worker.refresh().map(|()| worker))
    }

    /// New identity after a fork: no two machines share a random number.
    fn refresh(&mut self) -> Result<(), MachineError> {
        let mut entropy = [0; ENTROPY];
        crate::caps::random(&mut entropy).map_err(|errno| MachineError::Trap(format!("no randomness: {errno}")))?;
        self.machine.reseed_c(&entropy)?;
        self.machine.call_driver_bytes("reseed", &entropy)
    }

    fn serve_one(&mut self) -> Result<(), Failure> {
        let (request, _) = self.channel.receive()?;
        match request {
            ToMachine::Analyze(code) => {
                let answer = self.machine.call_driver("analyze", &code)?;
                let analysis = serde_json::from_str(&answer)
                    .map_err(|error| MachineError::Driver(format!("bad analysis: {error}")))?;
                self.channel.send(&FromMachine::Analyzed(analysis))?;
            }
            ToMachine::Execute(request) => {
                let outcome = self.execute(&request)?;
                self.channel.send(&FromMachine::Done(Box::new(outcome)))?;
            }
            _ => return Err(WireError::MissingDescriptor.into()),
        }
        Ok(())
    }

    fn execute(&mut self, request: &Execute) -> Result<Outcome, Failure> {
        let request =
            serde_json::to_string(request).map_err(|error| MachineError::Driver(format!("bad request: {error}")))?;
        let channel = self.channel.clone();
        self.lock_output().begin(crate::files::event_sink(channel), self.limits.output_bytes);
        self.machine.host().memory.refused = false;
        let before = cpu_time();
        crate::signals::arm();
        let total = before + self.limits.cpu + self.limits.grace;
        limits::start_cpu_timer(self.limits.cpu, self.limits.grace, total);
        let answer = self.machine.call_driver("execute", &request);
        limits::stop_cpu_timer();
        let arrived = crate::signals::disarm();
        let answer = answer?;
        let executed: Executed =
            serde_json::from_str(&answer).map_err(|error| MachineError::Driver(format!("bad result: {error}")))?;
        let output_dropped = self.lock_output().end();
        Ok(Outcome {
            ended: executed.ended,
            stopped: arrived.cpu_limit.then_some(StopReason::CpuLimit),
            output_dropped,
            peak_memory_bytes: self.machine.memory_bytes(),
            cpu: cpu_time().saturating_sub(before),
        })
    }

    fn lock_output(&self) -> std::sync::MutexGuard<'_, crate::caps::output::Output> {
        self.machine.output().lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn modules_over_machine(channel: Arc<Channel>) -> RemoteModules {
    RemoteModules::new(Box::new(move |request: ModuleRequest| {
        channel.send(&FromMachine::Module(request))?;
        match channel.receive()? {
            (ToMachine::Module(reply), fds) => Ok((reply, fds.into_iter().next())),
            _ => Err(WireError::MissingDescriptor),
        }
    }))
}
