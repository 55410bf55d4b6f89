//! Wheels as layers of machines.
//!
//! | module | subject |
//! |---|---|
//! | `mounted` | wheels from the start and between cells, in place of others, hostile ones |
//! | `snapshots` | layers of hibernated, forked, rolled-back and recovered sessions |
//! | `installs` | packages that the guest asks for |
//! | `native` | native modules, bytecode, images |
#![allow(clippy::print_stdout, reason = "a process says to another how far it is; a test measures")]

mod installs;
mod mounted;
mod native;
mod snapshots;

use std::path::Path;

use brumate_engine::api::Layer;
use brumate_engine::client::Sandbox;

use crate::support::wheels::layer;

async fn sandbox() -> Sandbox {
    crate::support::sessions::sandbox(1).await
}

fn names(layers: &[Layer]) -> Vec<&str> {
    layers.iter().map(|layer| layer.name.split("-py3").next().unwrap()).collect()
}

/// Makes a wheel with modules, data files, a script, an entry point and metadata.
fn demo(directory: &Path, version: &str) -> Layer {
    let code = format!("__version__ = '{version}'\ndef run(): return 'ran {version}'\n");
    let info = format!("demo-{version}.dist-info/entry_points.txt");
    let own = format!("demo/only_{}.py", version.replace('.', "_"));
    let files: [(&str, &[u8]); 7] = [
        ("demo/__init__.py", code.as_bytes()),
        ("demo/data/text.txt", version.as_bytes()),
        (&own, b""),
        (&format!("demo-{version}.data/purelib/demo_extra.py"), b"x = 1\n"),
        (&format!("demo-{version}.data/data/share/demo/file"), b"shared"),
        (&format!("demo-{version}.data/scripts/demo"), b"#!python\n"),
        (&info, b"[console_scripts]\ndemo = demo:run\n"),
    ];
    layer(directory, "demo", version, &files, "Requires-Dist: part-a>=1\nSummary: shows\n")
}

/// Makes a wheel with a part of the namespace package `parts`.
fn part(directory: &Path, name: &str) -> Layer {
    let file = format!("parts/{name}.py");
    layer(directory, &format!("part_{name}"), "1.0", &[(&file, b"here = __name__\n")], "")
}
