//! Starting a machine: from the launcher to the first line of its server.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::BufReader;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::announcement::{Announcement, AnnouncementError};
use crate::machine::{LaunchError, Launcher, Machine, MachineControl, MachineEnd};

/// Bytes of a machine that are read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// A machine whose server has sent its first line.
pub struct StartedMachine {
    /// Takes the messages to the server; see [`Machine::input`].
    pub input: Sender,
    /// Gives the messages of the server, after its first line.
    pub output: BufReader<Receiver>,
    /// Stops the machine.
    pub control: Arc<dyn MachineControl>,
    /// Is ready when the machine has ended.
    pub end: BoxFuture<'static, MachineEnd>,
    /// Protocol that the server speaks.
    pub announcement: Announcement,
}

impl std::fmt::Debug for StartedMachine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StartedMachine").field("announcement", &self.announcement).finish_non_exhaustive()
    }
}

/// A server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no machine.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The machine ended before its server served anything.
    #[error("{}", describe(.0))]
    Ended(MachineEnd),
    /// The first line cannot be used. The machine was killed.
    #[error(transparent)]
    Announcement(AnnouncementError),
    /// The first line took too long. The machine was killed.
    #[error("the server served nothing within {0:?}")]
    TimedOut(Duration),
}

fn describe(end: &MachineEnd) -> String {
    match end.text.is_empty() {
        true => format!("the server ended with status {} before it served anything", end.status),
        false => end.text.clone(),
    }
}

impl StartedMachine {
    /// Starts a machine as [`StartedMachine::start`] does. It has `timeout` for its first line.
    ///
    /// # Errors
    ///
    /// [`StartError`] when it does not come to serving.
    pub async fn start_within(launcher: &dyn Launcher, timeout: Duration) -> Result<Self, StartError> {
        tokio::time::timeout(timeout, Self::start(launcher)).await.unwrap_or(Err(StartError::TimedOut(timeout)))
    }

    /// Starts a machine and waits for the first line of its server, for as long as the program takes to get there.
    ///
    /// # Errors
    ///
    /// [`StartError`] when it does not come to serving.
    pub async fn start(launcher: &dyn Launcher) -> Result<Self, StartError> {
        let Machine { input, output, control, mut end } = launcher.launch().await?;
        let kill = KillOnDrop(Some(control));
        let mut output = BufReader::with_capacity(CHUNK_BYTES, output);
        let announced = tokio::select! {
            biased;
            announced = Announcement::read(&mut output) => announced,
            end = &mut end => return Err(StartError::Ended(end)),
        };
        match announced {
            Ok(announcement) => {
                let Some(control) = kill.keep() else { return Err(StartError::Announcement(AnnouncementError::Ended)) };
                Ok(Self { input, output, control, end, announcement })
            }
            // The end says more than the pipe.
            Err(AnnouncementError::Ended) => Err(StartError::Ended(end.await)),
            Err(error) => Err(StartError::Announcement(error)),
        }
    }
}

/// Kills the machine if its start fails or is given up.
struct KillOnDrop(Option<Arc<dyn MachineControl>>);

impl KillOnDrop {
    fn keep(mut self) -> Option<Arc<dyn MachineControl>> {
        self.0.take()
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(control) = self.0.take() {
            control.kill();
        }
    }
}
