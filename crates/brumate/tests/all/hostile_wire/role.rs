//! The other side: zygotes and machines that misbehave. They run as processes of their own, started by the engine.
//!
//! The engine's `program` is a shell script that starts this test binary again, ignores the signal that stops an execution
//! (the first real-time one: 34, with musl 35) as a machine that was taken over would, and hands the control socket on as standard input, where it can be used without `unsafe`.

use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use brumate_engine::api::{
    Analysis, Ended, Event, FileChunk, FileError, FileInfo, GuestRequest, Outcome, RequestBody, StreamName,
};
use brumate_engine::wire::{
    self, Ending, FileReply, FromInit, FromZygote, HEADER, MachineMessage, MachineRequest, ModuleRequest,
    MountOperation, MountRequest, ToZygote,
};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::Serialize;

/// The variable that names the misbehaviour.
pub(crate) const ROLE: &str = "BRUMATE_TEST_ROLE";

/// The test that plays the role; it is ignored unless asked for.
pub(crate) const TEST: &str = "hostile_wire::a_process_that_misbehaves";

/// Far longer than any limit of a test: what lives that long was not ended.
const FOR_EVER: Duration = Duration::from_secs(600);

/// Writes the engine's `program` for a role.
pub(crate) fn program(directory: &Path, role: &str) -> PathBuf {
    let path = directory.join(role);
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\n\
         if test \"$2\" = compile; then exec '{brumate}' \"$@\"; fi\n\
         trap '' 34 35\n\
         {ROLE}='{role}' exec '{this}' --exact {TEST} --ignored --nocapture <&3 3<&-\n",
        brumate = env!("CARGO_BIN_EXE_brumate"),
        this = this.display(),
    );
    // Written by another process: a descriptor of ours, open for writing and inherited by whatever another test starts at
    // this instant, would make the script impossible to run (ETXTBSY).
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat > \"$0\" && chmod 700 \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    path
}

/// Plays the role of the environment, on the socket that is standard input. Never returns normally to the engine.
pub(crate) fn play() {
    let role = std::env::var(ROLE).expect("started by an engine");
    let mut peer = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    match role.strip_prefix("machine-") {
        // A zygote that behaves, for machines that do not: each is a process of its own.
        Some(_) => {
            let _reports = boot(&mut peer);
            let mut children = Vec::new();
            while let Some(socket) = forked(&peer) {
                let child = Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", TEST, "--ignored", "--nocapture"])
                    .env(ROLE, role.replacen("machine-", "forked-", 1))
                    .stdin(Stdio::from(socket))
                    .spawn();
                children.push(child);
            }
        }
        None => match role.strip_prefix("forked-") {
            Some(misbehaviour) => machine(misbehaviour, &mut peer),
            None => zygote(&role, &mut peer),
        },
    }
}

/// Frames that are none, by name.
fn nonsense(kind: &str) -> Option<Vec<u8>> {
    Some(match kind {
        "garbage" => (0..100_000_u32).flat_map(|number| (number.wrapping_mul(2_654_435_761)).to_le_bytes()).collect(),
        "gigantic" => [u32::MAX.to_le_bytes(), 0_u32.to_le_bytes()].concat(),
        "descriptors" => [1_u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat(),
        "empty" => vec![0; HEADER],
        "undecodable" => [4_u32.to_le_bytes(), 0_u32.to_le_bytes(), [0xff; 4]].concat(),
        // A valid message (Ready of a zygote, Hello of a machine) with more behind it.
        "trailing" => [3_u32.to_le_bytes(), 0_u32.to_le_bytes()].concat().into_iter().chain([0; 3]).collect(),
        // Lists whose elements take a byte each, and dozens in memory.
        "walls" => of_many(&FromZygote::Ready { missing_walls: vec![String::new(); MANY] }),
        "names" => {
            of_many(&MachineMessage::Analyzed(Analysis { imports: vec![String::new(); MANY], ..Analysis::default() }))
        }
        "bundle" => {
            let data = (0..MANY).map(|number| (number.to_string(), String::new())).collect();
            of_many(&MachineMessage::Event(Event::DisplayData { data }))
        }
        "half" => [1000_u32.to_le_bytes(), 0_u32.to_le_bytes(), [0; 4]].concat(),
        "header" => vec![1, 0, 0],
        // Announces the most that is allowed and sends a little of it.
        "announced" => [(wire::MAX_FRAME as u32).to_le_bytes(), 0_u32.to_le_bytes(), [7; 4]].concat(),
        _ => return None,
    })
}

/// Elements of a list that is too long.
const MANY: usize = 100_000;

fn of_many<T: Serialize>(message: &T) -> Vec<u8> {
    wire::encode(message, 0).unwrap()
}

fn zygote(role: &str, peer: &mut UnixStream) {
    match role {
        "dies-at-once" => {}
        "dies-in-boot" => drop(receive::<ToZygote>(peer)),
        "fails" => say(peer, &FromZygote::Failed("no interpreter today".to_owned())),
        "boot-silent" => std::thread::sleep(FOR_EVER),
        "boot-modules" => loop {
            say(peer, &FromZygote::Module(ModuleRequest::Key([7; 32])));
        },
        "boot-modules-read" => {
            assert!(matches!(receive(peer), Some(ToZygote::Load { .. })));
            loop {
                say(peer, &FromZygote::Module(ModuleRequest::Key([7; 32])));
                if receive::<ToZygote>(peer).is_none() {
                    return;
                }
            }
        }
        "never-forks" => {
            let _reports = boot(peer);
            std::thread::sleep(FOR_EVER);
        }
        "fails-to-fork-in-boot" => say(peer, &FromZygote::ForkFailed("not yet".to_owned())),
        "dies-when-asked" => {
            let _reports = boot(peer);
            drop(forked(peer));
        }
        // Its jail goes on without it.
        "leaves-when-asked" => {
            let _reports = boot(peer);
            drop(forked(peer));
            let _ = peer.shutdown(Shutdown::Both);
            std::thread::sleep(FOR_EVER);
        }
        "refuses" => {
            let _reports = boot(peer);
            loop {
                drop(forked(peer));
                say(peer, &FromZygote::ForkFailed("not today".to_owned()));
            }
        }
        "refuses-for-ever" => {
            let _reports = boot(peer);
            loop {
                say(peer, &FromZygote::ForkFailed("never".to_owned()));
            }
        }
        "floods" => {
            let mut reports = boot(peer);
            for number in 0_i32.. {
                let (pid, peak_memory_bytes) = (number.wrapping_mul(7919), u64::MAX);
                say(&mut reports, &FromInit::Exited { pid, signal: Some(9), peak_memory_bytes });
            }
        }
        "no-reports" => {
            drop(boot(peer));
            std::thread::sleep(FOR_EVER);
        }
        "nonsense-reports" => {
            let mut reports = boot(peer);
            let _ = reports.write_all(&nonsense("garbage").expect("known"));
            std::thread::sleep(FOR_EVER);
        }
        _ => {
            let (when, kind) = role.split_once('-').expect("when and what");
            let _reports = (when == "after").then(|| {
                let reports = boot(peer);
                drop(forked(peer));
                reports
            });
            let _ = peer.write_all(&nonsense(kind).expect("a known nonsense"));
            if !role.ends_with("half") {
                std::thread::sleep(FOR_EVER);
            }
        }
    }
}

fn machine(misbehaviour: &str, peer: &mut UnixStream) {
    if let Some(kind) = misbehaviour.strip_prefix("hello-") {
        match kind {
            "silent" => {}
            "event" => say(peer, &MachineMessage::Event(Event::OutputDropped { bytes: 1 })),
            "ends" => return,
            kind => drop(peer.write_all(&nonsense(kind).expect("a known nonsense"))),
        }
        return std::thread::sleep(FOR_EVER);
    }
    say(peer, &MachineMessage::Hello { pid: std::process::id() as i32 });
    let Some(MachineRequest::Start { .. }) = receive(peer) else { return };
    let asked = receive::<MachineRequest>(peer);
    assert!(matches!(
        asked,
        Some(MachineRequest::Execute { .. } | MachineRequest::Analyze(_) | MachineRequest::Files(_))
    ));
    match misbehaviour {
        "silent" => {}
        "busy" => loop {
            std::hint::spin_loop();
        },
        "ends" | "half-and-ends" => {
            if misbehaviour == "half-and-ends" {
                let _ = peer.write_all(&nonsense("half").expect("known"));
            }
            return;
        }
        "files-above" => say(peer, &listing(["../../etc/passwd"])),
        "files-inside" => say(peer, &listing(["a/../../b"])),
        "files-absolute" => say(peer, &listing(["/etc/passwd"])),
        "files-nameless" => say(peer, &listing([""])),
        "files-null" => say(peer, &listing(["a\0b"])),
        "files-disorder" => say(peer, &listing(["b", "a"])),
        "files-twice" => say(peer, &listing(["a", "a"])),
        "files-long" => say(peer, &listing(["x".repeat(5000)])),
        "files-many" => say(peer, &listing((0..MANY).map(|number| format!("{number:09}")))),
        "files-refused" => say(peer, &MachineMessage::Files(Err(FileError::Other("x".repeat(1 << 20))))),
        "files-large" => say(peer, &piece(1 << 21, 1 << 21)),
        "files-more" => say(peer, &piece(5, 3)),
        "files-done" => say(peer, &MachineMessage::Files(Ok(FileReply::Done))),
        "again-hello" => say(peer, &MachineMessage::Hello { pid: std::process::id() as i32 }),
        "other-answer" => say(peer, &MachineMessage::Analyzed(Default::default())),
        "ended" => {
            say(peer, &MachineMessage::Ended { ending: Ending::Trap("x".repeat(1000)), output_dropped: u64::MAX })
        }
        "events" => loop {
            say(peer, &MachineMessage::Event(Event::Stream { name: StreamName::Stdout, text: "flood ".repeat(1000) }));
        },
        "large-events" => loop {
            say(peer, &MachineMessage::Event(Event::Stream { name: StreamName::Stdout, text: "x".repeat(8 << 20) }));
        },
        "questions" => {
            for id in 1.. {
                let body = RequestBody::Input { prompt: "?".repeat(1000), password: true };
                say(peer, &MachineMessage::Event(Event::Request(GuestRequest { id, body })));
            }
        }
        "question-again" => loop {
            let body = RequestBody::Input { prompt: String::new(), password: false };
            say(peer, &MachineMessage::Event(Event::Request(GuestRequest { id: 1, body })));
        },
        "modules" => loop {
            say(peer, &MachineMessage::Module(ModuleRequest::Key([7; 32])));
        },
        "own-modules" => loop {
            let bytes = b"\0asm\x01\0\0\0".to_vec();
            let (memory, cpu) = (u64::MAX, Duration::MAX);
            say(peer, &MachineMessage::Module(ModuleRequest::Bytes { bytes, memory, cpu }));
        },
        "mounts" => loop {
            let operation = MountOperation::List { path: b"../..".to_vec() };
            say(peer, &MachineMessage::Mount(MountRequest { mount: u32::MAX, operation }));
        },
        "descriptors-sent" => {
            for _ in 0..500 {
                send_descriptors(peer, &MachineMessage::Event(Event::OutputDropped { bytes: 1 }));
            }
            say(peer, &MachineMessage::Done { outcome: Box::new(outcome()), listed: None });
        }
        "answers-twice" => {
            for _ in 0..2 {
                say(peer, &MachineMessage::Done { outcome: Box::new(outcome()), listed: None });
            }
        }
        kind => drop(peer.write_all(&nonsense(kind).expect("a known nonsense"))),
    }
    std::thread::sleep(FOR_EVER);
}

fn listing<T: Into<String>>(paths: impl IntoIterator<Item = T>) -> MachineMessage {
    let file = |path: T| FileInfo { path: path.into(), size: 1, modified: 2, stamp: 3 };
    MachineMessage::Files(Ok(FileReply::List(paths.into_iter().map(file).collect())))
}

fn piece(length: usize, size: u64) -> MachineMessage {
    MachineMessage::Files(Ok(FileReply::Read(FileChunk { bytes: vec![7; length], size })))
}

fn outcome() -> Outcome {
    let (peak_memory_bytes, cpu) = (u64::MAX, Duration::MAX);
    Outcome {
        ended: Ended::Returned(None),
        is_printed: true,
        stopped: None,
        output_dropped: u64::MAX,
        peak_memory_bytes,
        cpu,
        new_files: Vec::new(),
        more_new_files: 0,
    }
}

/// Boots as a zygote should; returns the socket for reports.
fn boot(peer: &mut UnixStream) -> UnixStream {
    let mut fds = Vec::new();
    let message: Option<ToZygote> = receive_with(|buffer| receive_some(peer, buffer, &mut fds));
    assert!(matches!(message, Some(ToZygote::Load { .. })));
    say(peer, &FromZygote::Ready { missing_walls: Vec::new() });
    UnixStream::from(fds.pop().expect("four descriptors"))
}

/// The next request to fork: the machine's socket.
fn forked(peer: &UnixStream) -> Option<OwnedFd> {
    let mut fds = Vec::new();
    let message: ToZygote = receive_with(|buffer| receive_some(peer, buffer, &mut fds))?;
    assert!(matches!(message, ToZygote::Fork));
    fds.pop()
}

/// Sends a message; when nobody listens any more the role is over.
fn say<T: Serialize>(peer: &mut UnixStream, message: &T) {
    if peer.write_all(&wire::encode(message, 0).unwrap()).is_err() {
        std::process::exit(0);
    }
}

fn receive<T: serde::de::DeserializeOwned>(peer: &mut UnixStream) -> Option<T> {
    receive_with(|buffer| peer.read(buffer).unwrap_or(0))
}

fn receive_with<T: serde::de::DeserializeOwned>(mut read: impl FnMut(&mut [u8]) -> usize) -> Option<T> {
    let mut fill = |buffer: &mut [u8]| {
        let mut filled = 0;
        while filled < buffer.len() {
            match read(&mut buffer[filled..]) {
                0 => return None,
                count => filled += count,
            }
        }
        Some(())
    };
    let mut header = [0; HEADER];
    fill(&mut header)?;
    let (length, _) = wire::decode_header(header).unwrap();
    let mut payload = vec![0; length];
    fill(&mut payload)?;
    Some(wire::decode(&payload).unwrap())
}

fn receive_some(peer: &UnixStream, buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> usize {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(peer, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
    for item in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = item {
            fds.extend(rights);
        }
    }
    received.map_or(0, |message| message.bytes)
}

/// A message with descriptors, which the server never accepts.
fn send_descriptors<T: Serialize>(peer: &UnixStream, message: &T) {
    let frame = wire::encode(message, 0).unwrap();
    let stdin = std::io::stdin();
    let fds = [stdin.as_fd(); 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&fds)));
    let sent = rustix::net::sendmsg(peer, &[std::io::IoSlice::new(&frame)], &mut ancillary, SendFlags::NOSIGNAL);
    if sent != Ok(frame.len()) {
        std::process::exit(0);
    }
}
