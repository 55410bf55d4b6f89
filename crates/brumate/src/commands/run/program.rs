//! The program of a server: its file, what is served in it, and what it gets from the host.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use brumate_engine_api::{ExecuteMode, Image, MessagePipes, Mount, ServerTarget};
use brumate_session::{Request, imports_of};
use parking_lot::Mutex;

use super::local_files::LocalFiles;
use super::watch::{Stamp, stamp};
use crate::cli::PythonServerOptions;
use crate::commands::source_file::{SourceFile, read_file};

/// Directory of the sandbox with the modules that lie beside the server's file.
const MODULES: &str = "/server";

/// A server's program. It is read again for each machine.
#[derive(Debug)]
pub(super) struct ServerProgram {
    file: PathBuf,
    object: String,
    transport: String,
    env: Vec<(String, String)>,
    arguments: Vec<String>,
    mounts: Vec<Mount>,
    /// Directories of projects whose modules the server imports.
    projects: Vec<PathBuf>,
    /// Modules of [`Image::DATA`] if the code imports one of them.
    data_modules: &'static [&'static str],
    /// Files that were read for the last machine.
    files: Mutex<Vec<PathBuf>>,
}

impl ServerProgram {
    /// Makes a program of the command line.
    ///
    /// # Errors
    ///
    /// A file or a directory cannot be read.
    pub(super) fn new(
        mounts: &[Mount],
        options: &PythonServerOptions,
        server: &OsStr,
        arguments: &[OsString],
    ) -> anyhow::Result<Self> {
        let (file, object) = file_and_object(server);
        // The command line is wrong if it cannot be read now.
        let code = read_file(&file)?.code;
        let file = std::path::absolute(&file).with_context(|| format!("cannot use {}", file.display()))?;
        let mut projects = Vec::new();
        for directory in &options.with_editable {
            if !directory.is_dir() {
                bail!("`--with-editable {0}`: {0} is not a directory", directory.display());
            }
            projects.push(std::path::absolute(directory)?);
        }
        Ok(Self {
            file,
            object,
            transport: options.transport.map_or_else(String::new, |transport| transport.name().to_owned()),
            env: super::environment::variables(options)?,
            arguments: arguments.iter().map(|text| text.to_string_lossy().into_owned()).collect(),
            mounts: mounts.to_owned(),
            projects,
            data_modules: data_modules(&code),
            files: Mutex::default(),
        })
    }

    /// Returns the server's file.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the modules of [`Image::DATA`] if the program imports one of them, else none.
    pub(super) fn data_modules(&self) -> &'static [&'static str] {
        self.data_modules
    }

    /// Returns the image that suits the program if its `mcp` is the bundle's.
    pub(super) fn image(&self) -> Image {
        server_image(self.data_modules)
    }

    /// Returns a number that changes with the files that the last machine was made of.
    pub(super) fn revision(&self) -> u64 {
        let files = self.files.lock().clone();
        let stamps: Vec<Option<Stamp>> = files.into_iter().map(stamp).collect();
        let mut hasher = DefaultHasher::new();
        stamps.hash(&mut hasher);
        hasher.finish()
    }

    /// Reads the program for a new machine. The files have to stay as long as the machine runs.
    ///
    /// # Errors
    ///
    /// The file, or a module beside it, cannot be read.
    pub(super) fn request(&self, pipes: MessagePipes) -> anyhow::Result<(Request, LocalFiles)> {
        let SourceFile { code, name, is_bytes } = read_file(&self.file)?;
        let local = LocalFiles::collect(&self.file, &code, &self.projects)?;
        let files = std::iter::once(&self.file).chain(&local.originals).cloned().collect();
        *self.files.lock() = files;
        let mut request = Request::script(code, name);
        request.source_bytes = is_bytes;
        request.mode = ExecuteMode::Server;
        request.messages = Some(pipes);
        request.argv.extend(self.arguments.iter().cloned());
        request.env = self.env.clone();
        request.mounts = self.mounts.clone();
        let mut target =
            ServerTarget { object: self.object.clone(), transport: self.transport.clone(), path: Vec::new() };
        if let Some(directory) = local.directory() {
            target.path.push(MODULES.to_owned());
            request.mounts.push(Mount { host: directory.to_owned(), guest: MODULES.to_owned(), read_only: true });
        }
        request.image = Some(server_image(data_modules(&request.code)));
        request.server = target;
        request.local = local.modules.clone();
        Ok((request, local))
    }
}

/// Returns the modules of [`Image::DATA`] if the code imports one of them, else none.
fn data_modules(code: &str) -> &'static [&'static str] {
    let imports = imports_of(code);
    if Image::DATA.iter().any(|module| imports.contains(*module)) { &Image::DATA } else { &[] }
}

/// Returns the image for a server with these modules.
fn server_image(data_modules: &[&'static str]) -> Image {
    Image::of(data_modules.iter().copied().chain(Image::SERVER))
}

/// Splits `FILE:OBJECT`. A path that exists has no object.
pub(crate) fn file_and_object(text: &OsStr) -> (PathBuf, String) {
    let bytes = text.as_bytes();
    let colon = bytes.iter().rposition(|byte| *byte == b':').filter(|_| !Path::new(text).exists());
    match colon.map(|index| (&bytes[..index], std::str::from_utf8(&bytes[index + 1..]))) {
        Some((file, Ok(object))) => (PathBuf::from(OsStr::from_bytes(file)), object.to_owned()),
        _ => (PathBuf::from(text), String::new()),
    }
}

/// Returns whether `FILE[:OBJECT]` names a file.
pub(crate) fn names_file(server: &Path) -> bool {
    file_and_object(server.as_os_str()).0.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_follow_the_last_colon() {
        let directory = tempfile::tempdir().unwrap();
        let odd = directory.path().join("a:b.py");
        std::fs::write(&odd, "").unwrap();
        for (text, file, object) in [
            ("server.py".to_owned(), PathBuf::from("server.py"), ""),
            ("server.py:app".to_owned(), PathBuf::from("server.py"), "app"),
            (odd.display().to_string(), odd.clone(), ""),
            (format!("{}:mcp", odd.display()), odd.clone(), "mcp"),
        ] {
            assert_eq!(file_and_object(OsStr::new(&text)), (file, object.to_owned()), "{text}");
        }
    }
}
