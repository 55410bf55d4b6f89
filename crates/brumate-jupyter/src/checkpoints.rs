//! Checkpoints of a kernel: `%checkpoint` keeps the state of its session as a copy, and `%rollback` goes on from one.
//!
//! A cell is one of these magics alone. The kernel copies the session, or takes another copy in its place, before the cell runs; the cell
//! says so. Copies are sessions, which end with the kernel.

use std::sync::Arc;

use brumate_session::CancellationToken;
use brumate_session::sessions::{SessionError, Sessions};
use thiserror::Error;
use tokio::sync::Mutex;

/// Checkpoints of a kernel.
pub const MAX_CHECKPOINTS: usize = 16;
/// Longest name of a checkpoint, in bytes.
pub const MAX_CHECKPOINT_NAME: usize = 64;
/// Name of a checkpoint that the code gives no name.
const DEFAULT_NAME: &str = "last";

/// Wish of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To keep the present state under a name.
    Keep(String),
    /// To return to the state with a name, or to the newest one.
    Return(Option<String>),
}

impl Wish {
    /// Reads a cell. `None`: it has no such wish.
    pub(crate) fn of(code: &str) -> Option<Self> {
        let line = Some(code.trim()).filter(|code| !code.contains('\n'))?;
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        match words[..] {
            ["%checkpoint"] => Some(Self::Keep(DEFAULT_NAME.to_owned())),
            ["%checkpoint", name] => Some(Self::Keep(name.to_owned())),
            ["%rollback"] => Some(Self::Return(None)),
            ["%rollback", name] => Some(Self::Return(Some(name.to_owned()))),
            _ => None,
        }
    }
}

/// Reason why a wish is not met.
#[derive(Debug, Error)]
pub(crate) enum CheckpointError {
    #[error("a checkpoint's name has at most {MAX_CHECKPOINT_NAME} bytes")]
    Name,
    #[error("the kernel has {MAX_CHECKPOINTS} checkpoints, which is the most; use one of their names again: {0}")]
    Many(String),
    #[error("there is no checkpoint `{0}`; {1}")]
    Missing(String, String),
    #[error("there is no checkpoint; %checkpoint makes one")]
    None,
    #[error(
        "this kernel continues a session that stays (--session), so no copy can take its place; a kernel without --session has checkpoints"
    )]
    Existing,
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Copies of a kernel's session: names and ids, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints(Mutex<Vec<(String, Arc<str>)>>);

impl Checkpoints {
    /// Keeps the state of `session`.
    pub(crate) async fn keep(
        &self,
        sessions: &Sessions,
        principal: &str,
        session: &str,
        name: &str,
    ) -> Result<(), CheckpointError> {
        if name.len() > MAX_CHECKPOINT_NAME {
            return Err(CheckpointError::Name);
        }
        let mut kept = self.0.lock().await;
        let before = kept.iter().position(|(known, _)| known == name);
        if before.is_none() && kept.len() >= MAX_CHECKPOINTS {
            return Err(CheckpointError::Many(names(&kept)));
        }
        let copy = sessions.fork(principal, session, &CancellationToken::new()).await?;
        if let Some(before) = before {
            let (_, old) = kept.remove(before);
            remove(sessions, principal, &old).await;
        }
        kept.push((name.to_owned(), copy.as_str().into()));
        Ok(())
    }

    /// Returns a session that goes on from a checkpoint, and the checkpoint's name.
    pub(crate) async fn resume(
        &self,
        sessions: &Sessions,
        principal: &str,
        name: Option<&str>,
    ) -> Result<(Arc<str>, String), CheckpointError> {
        let kept = self.0.lock().await;
        let found = match name {
            Some(name) => kept.iter().find(|(known, _)| known == name),
            None => kept.last(),
        };
        let Some((name, copy)) = found else {
            return Err(match name {
                Some(name) if !kept.is_empty() => CheckpointError::Missing(name.to_owned(), names(&kept)),
                _ => CheckpointError::None,
            });
        };
        let session = sessions.fork(principal, copy, &CancellationToken::new()).await?;
        Ok((session.as_str().into(), name.clone()))
    }

    /// Removes all copies.
    pub(crate) async fn clear(&self, sessions: &Sessions, principal: &str) {
        for (_, copy) in self.0.lock().await.drain(..) {
            remove(sessions, principal, &copy).await;
        }
    }
}

fn names(kept: &[(String, Arc<str>)]) -> String {
    let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
    format!("the checkpoints are {}", names.join(", "))
}

/// Removes a session of a kernel.
pub(crate) async fn remove(sessions: &Sessions, principal: &str, session: &str) {
    if let Err(error) = sessions.clear(principal, session).await {
        tracing::warn!(%error, "a session of this kernel cannot be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_wishes_for_a_checkpoint_if_it_is_nothing_else() {
        let keep = |name: &str| Some(Wish::Keep(name.to_owned()));
        assert_eq!(Wish::of("%checkpoint"), keep("last"));
        assert_eq!(Wish::of("\n %checkpoint  before  \n"), keep("before"));
        assert_eq!(Wish::of("%rollback"), Some(Wish::Return(None)));
        assert_eq!(Wish::of("%rollback a"), Some(Wish::Return(Some("a".to_owned()))));
        for code in ["", "x = 1", "%checkpoints", "%checkpoint a b", "%checkpoint\nx", "x = 1\n%rollback", "%%rollback"]
        {
            assert_eq!(Wish::of(code), None, "{code:?}");
        }
    }
}
