//! A guest written for one test, which may break the protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use brumate_python_server::{LaunchError, Launcher, Machine, MachineControl, MachineEnd, MachinePipes};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio_util::sync::CancellationToken;

pub(crate) const ANNOUNCEMENT: &[u8] = b"{\"serve\":\"http\",\"host\":\"127.0.0.1\",\"port\":1}\n";
pub(crate) const OPEN: u8 = 1;
pub(crate) const BODY: u8 = 2;
pub(crate) const END: u8 = 3;
pub(crate) const ABORT: u8 = 4;
pub(crate) const WINDOW: u8 = 5;
pub(crate) const PING: u8 = 8;
pub(crate) const START: u8 = 16;
pub(crate) const DATA: u8 = 17;
pub(crate) const FINISH: u8 = 18;
pub(crate) const READY: u8 = 19;
pub(crate) const FAILED: u8 = 20;
pub(crate) const PONG: u8 = 21;
pub(crate) const CLOSED: u8 = 22;
/// A head that is valid.
pub(crate) const HEAD: &[u8] = br#"{"status":200,"headers":[]}"#;

/// The guest's ends of the pipes.
pub(crate) struct Guest {
    input: Receiver,
    output: Sender,
}

impl Guest {
    /// Writes bytes; they may get nowhere, as the host may have ended the machine.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let _ = self.output.write_all(bytes).await;
    }

    pub(crate) async fn send(&mut self, frame: u8, stream: u32, payload: &[u8]) {
        self.write(&encode(frame, stream, payload)).await;
    }

    /// Returns the next frame; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<(u8, u32, Vec<u8>)> {
        let length = self.input.read_u32().await.ok()?;
        let (frame, stream) = (self.input.read_u8().await.ok()?, self.input.read_u32().await.ok()?);
        let mut payload = vec![0; length as usize];
        self.input.read_exact(&mut payload).await.ok()?;
        Some((frame, stream, payload))
    }

    /// Skips frames until one of this number. Returns its stream.
    pub(crate) async fn wait_for(&mut self, number: u8) -> Option<u32> {
        loop {
            let (frame, stream, _) = self.next().await?;
            if frame == number {
                return Some(stream);
            }
        }
    }
}

pub(crate) fn encode(frame: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes().to_vec();
    bytes.push(frame);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Starts guests that do what a function says, and are killed by ending it.
pub(crate) struct FakeLauncher {
    script: Arc<dyn Fn(Guest) -> BoxFuture<'static, ()> + Send + Sync>,
    pub(crate) started: AtomicUsize,
    pub(crate) control: Arc<FakeControl>,
}

/// Counts what the host does to guests.
#[derive(Default)]
pub(crate) struct FakeControl {
    pub(crate) interrupts: AtomicUsize,
    pub(crate) kills: AtomicUsize,
}

struct OneControl(Arc<FakeControl>, CancellationToken);

impl MachineControl for OneControl {
    fn interrupt_busy_task(&self) {
        self.0.interrupts.fetch_add(1, Ordering::SeqCst);
    }

    fn kill(&self) {
        self.0.kills.fetch_add(1, Ordering::SeqCst);
        self.1.cancel();
    }
}

impl FakeLauncher {
    /// Makes a launcher whose guests announce HTTP, say that they are ready, and do what `script` says.
    pub(crate) fn new<F>(script: impl Fn(Guest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let script = Arc::new(script);
        Self::unready(move |mut guest| {
            let script = Arc::clone(&script);
            async move {
                guest.send(READY, 0, b"").await;
                script(guest).await;
            }
        })
    }

    /// Makes a launcher whose guests announce HTTP and do what `script` says.
    pub(crate) fn unready<F>(script: impl Fn(Guest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let script = Arc::new(move |guest| script(guest).boxed());
        Self { script, started: AtomicUsize::new(0), control: Arc::default() }
    }
}

#[async_trait]
impl Launcher for FakeLauncher {
    async fn launch(&self) -> Result<Machine, LaunchError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let (MachinePipes { input, output }, to_server, from_server) = MachinePipes::new().unwrap();
        let guest =
            Guest { input: Receiver::from_owned_fd(input).unwrap(), output: Sender::from_owned_fd(output).unwrap() };
        let (script, killed) = (Arc::clone(&self.script), CancellationToken::new());
        let kill = killed.clone();
        let end = tokio::spawn(async move {
            let mut guest = guest;
            guest.write(ANNOUNCEMENT).await;
            tokio::select! {
                () = script(guest) => MachineEnd { status: 1, text: "it ended by itself".to_owned() },
                () = killed.cancelled() => MachineEnd { status: 137, text: String::new() },
            }
        });
        let end = end.map(|end| end.unwrap()).boxed();
        let control = Arc::new(OneControl(Arc::clone(&self.control), kill));
        Ok(Machine { input: to_server, output: from_server, control, end })
    }
}
