//! Backups of data directories that servers use or have used, and their restoration.

use std::time::Duration;

use brumate_session::sessions::{BACKUP_TIMEOUT, Backup, DataDirError, Durability, LOCAL_PRINCIPAL, Sessions};

use super::storing::engine_with_big;
use super::support::{Host, engine};

/// Makes a backup beside a running server.
async fn backup(host: &Host, to: &std::path::Path) -> Result<Backup, DataDirError> {
    Sessions::backup(host.path(), to, Duration::from_millis(500)).await
}

#[tokio::test]
async fn a_backup_of_a_running_server_names_what_runs_too_long() {
    let host = Host::with(engine_with_big(), |_| {}).await;
    let (awake, asleep) = (host.open("x = 1").await, host.open("x = 2").await);
    host.pass(60);
    host.sessions.sweep().await;
    assert_eq!(host.x(&awake).await, "1");
    let busy = host.open("x = 1").await;
    let running = host.begin(&busy, "loop");
    host.until_executed(5).await;
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("backup");
    let made = backup(&host, &to).await.unwrap();
    assert_eq!((made.sessions, made.files.len()), (2, 2));
    let [left_out] = &made.left_out[..] else { panic!("{:?}", made.left_out) };
    assert!(left_out.id.as_str() == busy && left_out.reason.contains("still running after"), "{left_out:?}");
    assert!(matches!(backup(&host, &to).await, Err(DataDirError::NotEmpty { .. })));
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing stays beside it");
    assert!(made.files.iter().all(|file| file.starts_with(&to) && file.is_file()));
    // Later changes are not in the backup, and it needs nothing of the server.
    host.cell(Some(&awake), "big").await.unwrap();
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &asleep).await.unwrap());
    assert!(host.sessions.interrupt(LOCAL_PRINCIPAL, &busy).await.unwrap());
    running.await.unwrap().unwrap();
    assert!(matches!(Sessions::restore_backup(&to, host.path()), Err(DataDirError::InUse { .. })));
    let other = place.path().join("other");
    assert_eq!(Sessions::restore_backup(&to, &other).unwrap().sessions, 3);
    assert!(matches!(Sessions::restore_backup(&to, &other), Err(DataDirError::NotEmpty { .. })));
    assert!(matches!(Sessions::restore_backup(place.path(), &other), Err(DataDirError::Nothing { .. })));
    let host = host.move_to(&other).await;
    assert_eq!((host.x(&awake).await, host.x(&asleep).await), ("1".to_owned(), "2".to_owned()));
    let error = host.cell(Some(&busy), "x").await.unwrap_err();
    assert!(error.to_string().contains("it is not in the backup: a call on it was still running"), "{error}");
}

#[tokio::test]
async fn a_session_that_runs_too_long_keeps_no_other_out_of_a_backup() {
    /// More than are copied at the same time.
    const COUNT: usize = 70;
    let host = Host::with(engine(), |settings| settings.max_live = COUNT).await;
    for _ in 0..COUNT {
        host.open("x = 1").await;
    }
    let place = tempfile::tempdir().unwrap();
    // Writes them, so that freezing them takes no time.
    let made = Sessions::backup(host.path(), &place.path().join("first"), BACKUP_TIMEOUT).await.unwrap();
    assert_eq!((made.sessions, made.left_out), (COUNT, Vec::new()));
    // A backup begins with this one.
    let busy = Sessions::read_records(host.path()).unwrap()[0].id.to_string();
    host.cell(Some(&busy), "x = 2").await.unwrap();
    let running = host.begin(&busy, "loop");
    host.until_executed(COUNT + 2).await;
    let made = Sessions::backup(host.path(), &place.path().join("second"), Duration::from_secs(2)).await.unwrap();
    let left_out: Vec<&str> = made.left_out.iter().map(|left_out| left_out.id.as_str()).collect();
    assert_eq!((made.sessions, left_out), (COUNT - 1, vec![&*busy]));
    assert!(host.sessions.interrupt(LOCAL_PRINCIPAL, &busy).await.unwrap());
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_backup_that_fails_leaves_nothing() {
    let host = Host::new().await;
    host.open("x = 1").await;
    let host = host.restart(true).await;
    // Makes a file of a session unreadable.
    let image = host.path().join("sessions").join(&host.images()[0]);
    std::fs::remove_file(&image).unwrap();
    std::fs::create_dir(&image).unwrap();
    let place = tempfile::tempdir().unwrap();
    let made = backup(&host, &place.path().join("backup")).await;
    assert!(matches!(made, Err(DataDirError::Io { .. })), "{made:?}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_backup_has_the_crash_snapshots_of_a_killed_server() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    host.engine.set_server_crashed(true);
    let (engine, place) = (host.engine.clone(), tempfile::tempdir().unwrap());
    let data = host.abandon().await;
    engine.set_server_crashed(false);
    let (to, other) = (place.path().join("backup"), place.path().join("other"));
    // A process of the killed server that never ends is not waited for for ever.
    let written = data.path().join("sessions").join(format!("{id}.session.will-0"));
    let lock = std::fs::File::create_new(&written).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let made = Sessions::backup(data.path(), &place.path().join("early"), Duration::from_millis(500)).await.unwrap();
    let [left_out] = &made.left_out[..] else { panic!("{:?}", made.left_out) };
    assert_eq!(left_out.reason, "processes of its ended server still write it");
    drop(lock);
    std::fs::remove_file(written).unwrap();
    assert_eq!(Sessions::backup(data.path(), &to, BACKUP_TIMEOUT).await.unwrap().left_out, []);
    Sessions::restore_backup(&to, &other).unwrap();
    let host = Host::new().await.move_to(&other).await;
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn in_a_backup_while_sessions_change_each_is_of_one_moment() {
    for durability in [Durability::Shutdown, Durability::Cell] {
        let host = match durability {
            Durability::Shutdown => Host::with(engine_with_big(), |_| {}).await,
            Durability::Cell => Host::with(engine_with_big(), |settings| settings.durability = Durability::Cell).await,
        };
        let ids = [host.open("x = 1").await, host.open("x = 1").await, host.open("x = 1").await];
        let place = tempfile::tempdir().unwrap();
        for round in 0..3 {
            let to = place.path().join(format!("backup{round}"));
            let making = {
                let (from, to) = (host.path().to_owned(), to.clone());
                tokio::spawn(async move { Sessions::backup(&from, &to, BACKUP_TIMEOUT).await })
            };
            while !making.is_finished() {
                for id in &ids {
                    host.cell(Some(id), "x = 2").await.unwrap();
                }
                tokio::task::yield_now().await;
            }
            let made = making.await.unwrap().unwrap();
            assert_eq!((made.sessions, made.left_out), (3, Vec::new()));
            for record in Sessions::read_records(&to).unwrap() {
                let image = record.file.expect("each has its file");
                assert_eq!(image.generation, record.generation);
                assert_eq!(std::fs::metadata(to.join("sessions").join(image.name)).unwrap().len(), image.bytes);
            }
            let files = std::fs::read_dir(to.join("sessions")).unwrap().count();
            assert_eq!(files, 3, "nothing else is there");
        }
    }
}

#[tokio::test]
async fn links_in_a_backup_are_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let host = Host::new().await;
    host.open("x = 1").await;
    let to = place.path().join("backup");
    backup(&host, &to).await.unwrap();
    let files: Vec<_> = std::fs::read_dir(to.join("sessions")).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let secret = place.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    std::fs::remove_file(file).unwrap();
    std::os::unix::fs::symlink(&secret, file).unwrap();
    let other = place.path().join("other");
    assert!(Sessions::restore_backup(&to, &other).is_err());
    for copied in std::fs::read_dir(other.join("sessions")).unwrap() {
        assert_ne!(std::fs::read(copied.unwrap().path()).unwrap(), b"secret");
    }
    // A file without an end is refused as well.
    std::fs::remove_file(file).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(Sessions::restore_backup(&to, &place.path().join("third")).is_err());
}
