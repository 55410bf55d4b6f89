//! Work that must not block asynchronous threads.

/// Runs `work`, which uses files or parses large texts, in a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down, so no task polls this any more.
            Err(_) => std::future::pending().await,
        },
    }
}
