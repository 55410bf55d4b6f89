//! A message of every kind.

use std::time::Duration;

use brumate_engine::api::{
    Analysis, Ended, Event, Execute, FileChunk, FileError, FileInfo, FrontendKind, FrontendMessage, GuestRequest,
    InstallRequest, LayerId, Limits, MAX_ARGUMENTS, MAX_BUFFERS, MAX_LAYERS, MAX_LISTED_FILES, MAX_MIME_TYPES,
    MAX_MODULES, MAX_NAMES, MAX_REQUIREMENTS, MissingModule, Outcome, RequestBody, ReturnValue, StopReason, StreamName,
};
use brumate_engine::wire::{
    self, Ending, FileReply, FileRequest, FromInit, FromZygote, HEADER, HostStat, InstallReply, LAYERS_AT_ONCE,
    LayerInfo, LayerProblem, MAX_ENTRIES, MAX_LIST, MachineAnswer, MachineMessage, MachineRequest, ModuleReply,
    ModuleRequest, MountOperation, MountReply, MountRequest, Origin, ToZygote,
};
use serde::{Serialize, de::DeserializeOwned};

fn text() -> String {
    "a text with ünïcödé".to_owned()
}

fn layers(count: usize) -> Vec<LayerId> {
    vec![LayerId { name: String::new(), sha256: [0; 32] }; count]
}

fn pairs(count: usize) -> Vec<(String, String)> {
    vec![Default::default(); count]
}

/// Returns the event of a request for packages.
fn packages(request: InstallRequest) -> Event {
    Event::Request(GuestRequest { id: 1, body: RequestBody::Install(request) })
}

fn request(requirements: usize, constraints: usize, uninstall: usize) -> InstallRequest {
    let (requirements, constraints, uninstall) = (texts(requirements), texts(constraints), texts(uninstall));
    InstallRequest {
        requirements,
        modules: vec![MissingModule { name: text(), among: texts(1) }],
        constraints,
        uninstall,
        upgrade: true,
        pre: true,
        no_deps: true,
        keep_going: true,
    }
}

fn modules(count: usize, among: usize) -> InstallRequest {
    let modules = vec![MissingModule { name: String::new(), among: texts(among) }; count];
    InstallRequest { modules, ..request(0, 0, 0) }
}

fn texts(count: usize) -> Vec<String> {
    vec![String::new(); count]
}

fn frontend_message(buffers: usize) -> FrontendMessage {
    let content = "{\"data\":{}}".to_owned();
    FrontendMessage { kind: FrontendKind::CommMsg, content, metadata: text(), buffers: vec![vec![1, 2]; buffers] }
}

fn bundle(count: usize) -> brumate_engine::api::MimeBundle {
    (0..count).map(|number| (format!("application/x-{number}"), text())).collect()
}

fn payload<T: Serialize>(message: &T) -> Vec<u8> {
    wire::encode(message, 0).unwrap().split_off(HEADER)
}

fn to_machine() -> Vec<MachineRequest> {
    let execute = Execute {
        code: "print(1)\n".repeat(20),
        argv: vec![text(), text()],
        env: vec![(text(), text())],
        ..Execute::default()
    };
    let stat = HostStat { inode: 1, mode: 2, links: 3, size: u64::MAX, accessed: i64::MIN, modified: 6, changed: 7 };
    let mut messages = vec![
        MachineRequest::Start {
            limits: Limits::default(),
            stdin: true,
            messages: true,
            mounts: vec![(text(), true), (text(), false)],
        },
        MachineRequest::Analyze(text()),
        MachineRequest::Execute { number: u64::MAX, request: Box::new(execute), list: Some(text()), checkpoint: true },
    ];
    let (path, directory) = (text(), text());
    messages.extend(
        [
            FileRequest::List { directory: directory.clone() },
            FileRequest::Read { path: path.clone(), offset: u64::MAX, length: 7 },
            FileRequest::Write { path: path.clone(), offset: 1 << 40, bytes: vec![0xa5; 1000], truncate: true },
            FileRequest::Remove { path },
            FileRequest::RemoveTree { directory },
        ]
        .map(MachineRequest::Files),
    );
    messages.extend(
        [Some(text()), None]
            .map(|text| MachineRequest::Answer { guest_request: u64::MAX, answer: MachineAnswer::Input(text) }),
    );
    messages.extend([
        MachineRequest::Fork { checkpoint: true, idle: true },
        MachineRequest::CrashSnapshot,
        MachineRequest::UpdateCheckpoint,
        MachineRequest::Recover,
        MachineRequest::Restore { generation: u64::MAX },
        MachineRequest::Remount { remove: layers(3) },
    ]);
    let info = LayerInfo { id: LayerId { name: text(), sha256: [0xa5; 32] }, bytecode: true };
    messages.extend(
        [None, Some(u64::MAX)]
            .map(|guest_request| MachineRequest::Layers { guest_request, layers: vec![info.clone(); 3] }),
    );
    let named = vec![(text(), text()); 3];
    messages.extend(
        [
            InstallReply::Unavailable,
            InstallReply::Refused(text()),
            InstallReply::Done { installed: named.clone(), satisfied: named },
        ]
        .map(|reply| {
            let answer = MachineAnswer::Install { remove: layers(2), reply };
            MachineRequest::Answer { guest_request: u64::MAX, answer }
        }),
    );
    messages
        .extend([ModuleReply::Compiled, ModuleReply::Unknown, ModuleReply::Failed(text())].map(MachineRequest::Module));
    let cpu = Duration::from_millis(1500);
    messages.extend([None, Some(text())].map(|failed| MachineRequest::Module(ModuleReply::Charged { cpu, failed })));
    messages.extend(
        [
            MountReply::Done,
            MountReply::Stat(stat),
            MountReply::List(vec![(b"name".to_vec(), 0o100_644, u64::MAX); 20]),
            MountReply::Link(b"target".to_vec()),
            MountReply::Error("ENOENT".to_owned()),
        ]
        .map(MachineRequest::Mount),
    );
    messages
}

fn file(path: String) -> FileInfo {
    FileInfo { path, size: 1 << 40, modified: i64::MIN, stamp: u64::MAX }
}

fn from_machine() -> Vec<MachineMessage> {
    let ends = [
        Ended::Returned(None),
        Ended::Returned(Some(ReturnValue { json: text(), is_str: true })),
        Ended::Raised { ename: text(), evalue: text(), traceback: text() },
        Ended::Exited { code: -1, message: text() },
    ];
    let stops = [None, Some(StopReason::TimeLimit), Some(StopReason::CpuLimit), Some(StopReason::Cancelled)];
    let mut messages = vec![
        MachineMessage::Hello { pid: 77 },
        MachineMessage::Forked(Some(text())),
        MachineMessage::SnapshotWritten(Ok(300)),
        MachineMessage::SnapshotWritten(Err(text())),
        MachineMessage::Restored { failed: Some(text()), revoked: vec![text()], layers: layers(2) },
        MachineMessage::Mounted(Ok(())),
        MachineMessage::Mounted(Err(LayerProblem { name: text(), reason: text() })),
        MachineMessage::Module(ModuleRequest::Layer {
            key: [0xa5; 32],
            origin: Origin { layer: LayerId { name: text(), sha256: [0; 32] }, path: text() },
        }),
        MachineMessage::Event(packages(request(3, 2, 1))),
        MachineMessage::Analyzed(Analysis {
            imports: vec![text(), text()],
            optional_imports: vec![text()],
            requirements: vec![text()],
            syntax_error: false,
        }),
        MachineMessage::Files(Ok(FileReply::List((0..20).map(|number| file(format!("a/{number}"))).collect()))),
        MachineMessage::Files(Ok(FileReply::Read(FileChunk { bytes: vec![0xa5; 1000], size: u64::MAX }))),
        MachineMessage::Files(Ok(FileReply::Done)),
        MachineMessage::Files(Err(FileError::Other(text()))),
        MachineMessage::Module(ModuleRequest::Key([0xa5; 32])),
        MachineMessage::Module(ModuleRequest::Bytes { bytes: vec![0; 100_000], memory: 1 << 30, cpu: Duration::MAX }),
    ];
    messages.extend(
        [
            Event::Stream { name: StreamName::Stderr, text: "x".repeat(1000) },
            Event::DisplayData { data: bundle(MAX_MIME_TYPES) },
            Event::ExecuteResult { data: bundle(1) },
            Event::Frontend(frontend_message(2)),
            Event::OutputDropped { bytes: u64::MAX },
            Event::Request(GuestRequest { id: u64::MAX, body: RequestBody::Input { prompt: text(), password: true } }),
        ]
        .map(MachineMessage::Event),
    );
    for (ended, stopped) in ends.into_iter().zip(stops) {
        let cpu = Duration::new(u64::MAX, 999_999_999);
        let new_files = vec![FileInfo { path: "/tmp/a".to_owned(), size: 1, modified: 2, stamp: 3 }];
        let outcome = Outcome {
            ended,
            is_printed: true,
            stopped,
            output_dropped: 1 << 40,
            peak_memory_bytes: 5,
            cpu,
            new_files,
            more_new_files: 1,
        };
        let listed = Some(Err(FileError::Other(text())));
        messages.push(MachineMessage::Done { outcome: Box::new(outcome), listed });
    }
    for ending in [Ending::Exit(255), Ending::Abort, Ending::Trap(text())] {
        messages.push(MachineMessage::Ended { ending, output_dropped: 3 });
    }
    let path = b"a/b".to_vec();
    messages.extend(
        [
            MountOperation::Open {
                path: path.clone(),
                write: true,
                create: true,
                exclusive: false,
                truncate: true,
                mode: 1,
            },
            MountOperation::Stat { path: path.clone() },
            MountOperation::List { path: path.clone() },
            MountOperation::MakeDirectory { path: path.clone(), mode: 0o777 },
            MountOperation::Unlink { path: path.clone() },
            MountOperation::RemoveDirectory { path: path.clone() },
            MountOperation::Rename { from: path.clone(), to: path.clone() },
            MountOperation::ReadLink { path: path.clone() },
            MountOperation::SetMode { path: path.clone(), mode: 0 },
            MountOperation::SetTimes { path, accessed: Some(i64::MIN), modified: None },
        ]
        .map(|operation| MachineMessage::Mount(MountRequest { mount: u32::MAX, operation })),
    );
    messages
}

fn to_zygote() -> [ToZygote; 5] {
    [
        ToZygote::Build { preload: vec![text()], require_jail: true, layers: 1 },
        ToZygote::Load { require_jail: false, brief: true, layers: 2 },
        ToZygote::Layers(vec![LayerInfo { id: LayerId { name: text(), sha256: [0; 32] }, bytecode: false }; 2]),
        ToZygote::Fork,
        ToZygote::Module(ModuleReply::Failed(text())),
    ]
}

fn from_zygote() -> [FromZygote; 4] {
    [
        FromZygote::Ready { missing_walls: vec![text(), text()] },
        FromZygote::Failed(text()),
        FromZygote::ForkFailed(text()),
        FromZygote::Module(ModuleRequest::Key([0; 32])),
    ]
}

/// Payloads of one message of every kind, in all directions.
pub(crate) fn all() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    all.extend(to_machine().iter().map(payload));
    all.extend(from_machine().iter().map(payload));
    all.extend(to_zygote().iter().map(payload));
    all.extend(from_zygote().iter().map(payload));
    all.push(payload(&FromInit::Exited { pid: -1, signal: Some(9), peak_memory_bytes: u64::MAX }));
    all
}

/// A payload with the type it is meant for.
pub(crate) struct TooLong {
    payload: Vec<u8>,
    decode: fn(&[u8]) -> bool,
}

impl TooLong {
    fn of<T: Serialize + DeserializeOwned>(message: &T) -> TooLong {
        TooLong { payload: payload(message), decode: |payload| wire::decode::<T>(payload).is_ok() }
    }

    pub(crate) fn decodes(&self) -> bool {
        (self.decode)(&self.payload)
    }

    pub(crate) fn len(&self) -> usize {
        self.payload.len()
    }
}

/// For every list in a message: one element more than is allowed, each as small as can be.
pub(crate) fn too_long() -> Vec<(&'static str, TooLong)> {
    let analysis = |imports, optional_imports| {
        TooLong::of(&MachineMessage::Analyzed(Analysis {
            imports: texts(imports),
            optional_imports: texts(optional_imports),
            requirements: Vec::new(),
            syntax_error: false,
        }))
    };
    let execute = |argv, env| {
        let env = vec![Default::default(); env];
        let request = Box::new(Execute { argv: texts(argv), env, ..Execute::default() });
        TooLong::of(&MachineRequest::Execute { number: 1, request, list: None, checkpoint: false })
    };
    let tiny = || FileInfo { path: String::new(), size: 0, modified: 0, stamp: 0 };
    let mounts = vec![Default::default(); MAX_LIST + 1];
    let event = |event| TooLong::of(&MachineMessage::Event(event));
    let info = LayerInfo { id: LayerId { name: String::new(), sha256: [0; 32] }, bytecode: false };
    let install = |remove, installed, satisfied| {
        let reply = InstallReply::Done { installed: pairs(installed), satisfied: pairs(satisfied) };
        TooLong::of(&MachineRequest::Answer {
            guest_request: 1,
            answer: MachineAnswer::Install { remove: layers(remove), reply },
        })
    };
    vec![
        ("imports", analysis(MAX_NAMES + 1, 0)),
        ("optional imports", analysis(0, MAX_NAMES + 1)),
        ("arguments", execute(MAX_ARGUMENTS + 1, 0)),
        ("environment", execute(0, MAX_ARGUMENTS + 1)),
        (
            "mounts",
            TooLong::of(&MachineRequest::Start { limits: Limits::default(), stdin: false, messages: false, mounts }),
        ),
        ("entries", TooLong::of(&MachineRequest::Mount(MountReply::List(vec![Default::default(); MAX_ENTRIES + 1])))),
        ("files", TooLong::of(&MachineMessage::Files(Ok(FileReply::List(vec![tiny(); MAX_LISTED_FILES + 1]))))),
        ("walls", TooLong::of(&FromZygote::Ready { missing_walls: texts(MAX_LIST + 1) })),
        (
            "revoked",
            TooLong::of(&MachineMessage::Restored { failed: None, revoked: texts(MAX_LIST + 1), layers: layers(0) }),
        ),
        (
            "layers of a session",
            TooLong::of(&MachineMessage::Restored { failed: None, revoked: texts(0), layers: layers(MAX_LAYERS + 1) }),
        ),
        (
            "layers",
            TooLong::of(&MachineRequest::Layers {
                guest_request: None,
                layers: vec![info.clone(); LAYERS_AT_ONCE + 1],
            }),
        ),
        ("layers to remove", TooLong::of(&MachineRequest::Remount { remove: layers(MAX_LAYERS + 1) })),
        ("layers replaced", install(MAX_LAYERS + 1, 0, 0)),
        ("installed", install(0, MAX_LIST + 1, 0)),
        ("satisfied", install(0, 0, MAX_LIST + 1)),
        ("requirements", event(packages(request(MAX_REQUIREMENTS + 1, 0, 0)))),
        ("constraints", event(packages(request(0, MAX_REQUIREMENTS + 1, 0)))),
        ("modules", event(packages(modules(MAX_MODULES + 1, 0)))),
        ("requirements of a library", event(packages(modules(1, MAX_REQUIREMENTS + 1)))),
        ("uninstalled", event(packages(request(0, 0, MAX_REQUIREMENTS + 1)))),
        ("preload", TooLong::of(&ToZygote::Build { preload: texts(MAX_LIST + 1), require_jail: false, layers: 0 })),
        ("layers of an image", TooLong::of(&ToZygote::Layers(vec![info.clone(); LAYERS_AT_ONCE + 1]))),
        ("display data", event(Event::DisplayData { data: bundle(MAX_MIME_TYPES + 1) })),
        ("result", event(Event::ExecuteResult { data: bundle(MAX_MIME_TYPES + 1) })),
        ("buffers", event(Event::Frontend(frontend_message(MAX_BUFFERS + 1)))),
    ]
}
