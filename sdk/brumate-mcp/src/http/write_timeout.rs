//! Closes connections whose clients do not read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The time within which a client with something to read takes [`MIN_BYTES`] of it, or all there is.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The least number of bytes that a client takes within [`WRITE_TIMEOUT`].
const MIN_BYTES: usize = 4096;

/// A stream whose writes fail with `TimedOut` when the other side stops reading.
#[derive(Debug)]
pub(crate) struct WriteTimeout<S> {
    stream: S,
    limit: Duration,
    /// The timer of a write that waits, and the bytes that were written since it began.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, waiting: None }
    }

    /// Notes the result of a write of `wanted` bytes.
    fn note(
        &mut self,
        context: &mut Context<'_>,
        wanted: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(count)) => {
                if let Some((_, total)) = &mut self.waiting {
                    *total += count;
                    if *count >= wanted || *total >= MIN_BYTES {
                        self.waiting = None;
                    }
                }
                written
            }
            Poll::Ready(Err(_)) => written,
            Poll::Pending => {
                let limit = self.limit;
                let (timer, _) = self.waiting.get_or_insert_with(|| (Box::pin(sleep(limit)), 0));
                ready!(timer.as_mut().poll(context));
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(context, bytes.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(context, slices.iter().map(|slice| slice.len()).sum(), written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_given_up() {
        let (ours, _theirs) = duplex(1000);
        let mut stream = WriteTimeout::new(ours, LIMIT);
        let began = Instant::now();
        let error = stream.write_all(&[0; 5000]).await.expect_err("nobody reads");
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_byte_now_and_then_is_given_up_too() {
        let (ours, mut theirs) = duplex(1000);
        let mut stream = WriteTimeout::new(ours, LIMIT);
        let reader = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(10)).await;
                if theirs.read_u8().await.is_err() {
                    return;
                }
            }
        });
        let error = stream.write_all(&[0; 5000]).await.expect_err("it is too slow");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(stream);
        reader.await.expect("it ends");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_is_served_for_as_long_as_it_reads() {
        let (ours, mut theirs) = duplex(1000);
        let mut stream = WriteTimeout::new(ours, LIMIT);
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; 4096];
            let mut total = 0;
            loop {
                tokio::time::sleep(Duration::from_secs(5)).await;
                match theirs.read(&mut buffer).await {
                    Ok(0) | Err(_) => return total,
                    Ok(count) => total += count,
                }
            }
        });
        for _ in 0..5 {
            stream.write_all(&[0; 20_000]).await.expect("it is read");
            // A pause of the server's is not the client's.
            tokio::time::sleep(LIMIT * 3).await;
        }
        drop(stream);
        assert_eq!(reader.await.expect("it ends"), 100_000);
    }
}
