//! Kernels over sessions of an engine that plays scripts.

use brumate_session::sessions::SessionSettings;
use brumate_session::testing::{FakeEngine, Script};
use tempfile::TempDir;

use super::*;

/// Makes a gateway whose kernels do nothing.
async fn gateway(change: impl FnOnce(&mut SessionSettings)) -> (Gateway, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = SessionSettings::new(directory.path());
    change(&mut settings);
    let engine = FakeEngine::default().on("", Script::silent());
    let sessions = Sessions::open(Arc::new(engine), settings).await.unwrap();
    (Gateway::new(sessions, OutputPolicy::Passive), directory)
}

#[tokio::test]
async fn kernels_of_a_principal_are_bounded_and_those_of_others_start() {
    let (gateway, _directory) = gateway(|_| {}).await;
    for _ in 0..MAX_KERNELS {
        gateway.start_kernel("ada", models::KERNEL_NAME).await.unwrap();
    }
    let refused = gateway.start_kernel("ada", models::KERNEL_NAME).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    gateway.start_kernel("bob", models::KERNEL_NAME).await.unwrap();
    let one = &gateway.kernels_of("ada")[0].id;
    gateway.delete_kernel("ada", one, "").await.unwrap();
    gateway.start_kernel("ada", models::KERNEL_NAME).await.unwrap();
    gateway.close().await;
    assert_eq!(gateway.inner.settings.sessions.count(), 0, "kernels remove their sessions");
}

#[tokio::test]
async fn kernels_without_place_for_a_session_are_not_there() {
    let (gateway, _directory) = gateway(|settings| settings.max_sessions = 1).await;
    gateway.start_kernel("ada", models::KERNEL_NAME).await.unwrap();
    let refused = gateway.start_kernel("ada", models::KERNEL_NAME).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(gateway.kernels_of("ada").len(), 1);
}

#[tokio::test]
async fn a_kernel_whose_session_was_removed_ends() {
    let (gateway, _directory) = gateway(|_| {}).await;
    let kernel = gateway.start_kernel("ada", models::KERNEL_NAME).await.unwrap();
    let (client, _queue) = kernel.clients().connect(frames::Form::Default).unwrap();
    gateway.remove_expired().await;
    assert_eq!(gateway.kernels_of("ada").len(), 1);
    gateway.inner.settings.sessions.clear("ada", &kernel.session_id().unwrap()).await.unwrap();
    gateway.remove_expired().await;
    assert!(gateway.kernels_of("ada").is_empty());
    client.closing.closed().await.unwrap();
}

#[tokio::test]
async fn a_restart_replaces_the_session_and_keeps_the_kernel() {
    let (gateway, _directory) = gateway(|_| {}).await;
    let kernel = gateway.start_kernel("ada", models::KERNEL_NAME).await.unwrap();
    let before = kernel.session_id().unwrap();
    kernel.restart(false).await.unwrap();
    assert_ne!(kernel.session_id().unwrap(), before);
    assert_eq!((kernel.state(), gateway.inner.settings.sessions.count()), ("idle", 1));
    // A restart of a kernel that has ended does nothing.
    gateway.delete_kernel("ada", &kernel.id, "").await.unwrap();
    kernel.restart(false).await.unwrap();
    assert_eq!(gateway.inner.settings.sessions.count(), 0);
}
