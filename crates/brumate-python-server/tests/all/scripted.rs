//! Machines that are tasks of the test: a closure plays the server.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use brumate_python_server::{LaunchError, Launcher, Machine, MachineControl, MachineEnd, MachinePipes};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Notify;

/// The behaviour of a machine. Its result is the machine's end.
type Script = Box<dyn FnOnce(ScriptedServer) -> Pin<Box<dyn Future<Output = MachineEnd> + Send>> + Send>;

/// The server's side of a machine.
pub(crate) struct ScriptedServer {
    pub(crate) input: BufReader<Receiver>,
    pub(crate) output: Sender,
    /// Is notified by an interrupt of the busy task.
    pub(crate) interrupted: Arc<Notify>,
}

impl ScriptedServer {
    /// Sends a line.
    pub(crate) async fn send(&mut self, line: &str) {
        // The host may have closed the pipe.
        let _ = self.output.write_all(format!("{line}\n").as_bytes()).await;
    }

    /// Returns the next line. `None` at the end.
    pub(crate) async fn receive(&mut self) -> Option<serde_json::Value> {
        let mut line = String::new();
        match self.input.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Answers each request with its method until the input ends.
    pub(crate) async fn echo(mut self) -> MachineEnd {
        while let Some(message) = self.receive().await {
            self.answer(&message).await;
        }
        exited(0)
    }

    /// Answers a request late, and then as `echo` does.
    pub(crate) async fn echo_after(mut self, late: serde_json::Value) -> MachineEnd {
        self.answer(&late).await;
        self.echo().await
    }

    /// Answers a request with its method.
    pub(crate) async fn answer(&mut self, message: &serde_json::Value) {
        if let (Some(id), Some(method)) = (message.get("id"), message.get("method")) {
            self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"method":{method}}}}}"#)).await;
        }
    }
}

/// Returns the end of a machine with this status.
pub(crate) fn exited(status: u8) -> MachineEnd {
    MachineEnd { status, text: String::new() }
}

/// A launcher whose machines play scripts, one after the other.
#[derive(Default)]
pub(crate) struct ScriptedLauncher {
    scripts: Mutex<VecDeque<Script>>,
    /// Starts, failed ones included.
    pub(crate) launches: AtomicUsize,
    pub(crate) interrupts: Arc<AtomicUsize>,
    pub(crate) kills: Arc<AtomicUsize>,
}

impl ScriptedLauncher {
    /// Adds the script of the next machine.
    pub(crate) fn then<F>(self, script: impl FnOnce(ScriptedServer) -> F + Send + 'static) -> Self
    where
        F: Future<Output = MachineEnd> + Send + 'static,
    {
        self.scripts.lock().unwrap().push_back(Box::new(|server| Box::pin(script(server))));
        self
    }

    /// Adds a machine that announces standard input and output before its script.
    pub(crate) fn then_stdio<F>(self, script: impl FnOnce(ScriptedServer) -> F + Send + 'static) -> Self
    where
        F: Future<Output = MachineEnd> + Send + 'static,
    {
        self.then(|mut server| async move {
            server.send(r#"{"serve":"stdio"}"#).await;
            script(server).await
        })
    }
}

struct Control {
    interrupted: Arc<Notify>,
    killed: Arc<Notify>,
    interrupts: Arc<AtomicUsize>,
    kills: Arc<AtomicUsize>,
}

impl MachineControl for Control {
    fn interrupt_busy_task(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
        self.interrupted.notify_one();
    }

    fn kill(&self) {
        self.kills.fetch_add(1, Ordering::SeqCst);
        self.killed.notify_one();
    }
}

#[async_trait]
impl Launcher for ScriptedLauncher {
    async fn launch(&self) -> Result<Machine, LaunchError> {
        self.launches.fetch_add(1, Ordering::SeqCst);
        let script = self.scripts.lock().unwrap().pop_front();
        let script = script.ok_or_else(|| LaunchError { reason: "no script is left".to_owned() })?;
        let (pipes, input, output) = MachinePipes::new().unwrap();
        let (interrupted, killed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let server = ScriptedServer {
            input: BufReader::new(Receiver::from_owned_fd(pipes.input).unwrap()),
            output: Sender::from_owned_fd(pipes.output).unwrap(),
            interrupted: Arc::clone(&interrupted),
        };
        let control = Control {
            interrupted,
            killed: Arc::clone(&killed),
            interrupts: Arc::clone(&self.interrupts),
            kills: Arc::clone(&self.kills),
        };
        let running = tokio::spawn(async move {
            tokio::select! {
                end = script(server) => end,
                () = killed.notified() => MachineEnd { status: 137, text: "killed".to_owned() },
            }
        });
        let end = Box::pin(async move { running.await.unwrap() });
        Ok(Machine { input, output, control: Arc::new(control), end })
    }
}
