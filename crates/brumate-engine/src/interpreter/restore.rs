//! Restores a machine from an image, and saves an image of a machine.

use std::fs::File;
use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::{AsContextMut, Engine};

use super::boot::instantiate;
use super::non_memory_state::Globals;
use super::python::Python;
use super::{Interpreter, InterpreterError, Prelude};
use crate::api::{Execute, ExecuteMode};
use crate::caps::output::GuestOutput;
use crate::code::ModuleSource;
use crate::files;
use crate::files::layers::GivenLayer;
use crate::host::guest;
use crate::image::{self, Base, ImageError, Record, SavedState};
use crate::libc::zone::Zone;
use crate::memory;
use crate::trace::Pages;
use crate::wire::LayerProblem;
use brumate_vfs::{Vfs, VfsConfig};

/// Joins files with the layers that they were saved with.
///
/// # Errors
/// When one is missing.
pub(crate) fn join(vfs: &mut Vfs, layers: &[GivenLayer]) -> Result<(), ImageError> {
    let joined = files::layers::join(vfs, layers);
    joined.map_err(|LayerProblem { name, reason }| ImageError::Layer(name, reason))
}

/// The first code that a machine runs while the pages of a run are traced.
const FIRST_RUNS: [&str; 2] = ["1+1", "x = 1\nprint(x)"];

/// Code that a session runs later, and the number of traced rounds: allocations move from page to page.
const LATER_RUNS: [&str; 3] = ["1+1", "x = 1\nprint(x)", "y = [i * 2 for i in range(10)]\ny"];
const LATER_ROUNDS: usize = 4;

impl Interpreter {
    /// Returns a machine that continues from an image. Its memory is `file` from `offset` on, shared with every other
    /// process that maps it until it is written to.
    ///
    /// # Errors
    /// When the image does not fit this version of Brumate.
    pub(crate) fn restore(
        engine: &Engine,
        prelude: &Prelude,
        modules: Box<dyn ModuleSource>,
        saved: &SavedState,
        (file, offset): (&File, u64),
        layers: &[GivenLayer],
    ) -> Result<Interpreter, ImageError> {
        let output = Arc::new(Mutex::new(GuestOutput::new()));
        let mut vfs = files::restored(&saved.vfs, &output)?;
        join(&mut vfs, layers)?;
        files::reopen(&mut vfs)?;
        vfs.begin_changes();
        let (mut store, instance) = instantiate(engine, prelude, modules, vfs)?;
        image::restore::apply(&mut store.as_context_mut(), &saved.record)?;
        let python = Python::restored(&mut store, instance, &saved.record.driver)?;
        let memory = guest(&store.as_context_mut())?.memory;
        memory::map(&mut store, memory, file, offset)
            .map_err(|error| ImageError::Engine(format!("mapping the image: {error}")))?;
        let mut machine = Interpreter { store, memory, python, output, globals: Globals::default() };
        machine.set_zone(&saved.zone);
        machine.set_signal_words().map_err(|error| ImageError::Damaged(error.to_string()))?;
        Ok(machine)
    }

    /// Returns what an image stores of this machine except its memory.
    ///
    /// # Errors
    /// If it has something that no image can hold.
    pub(crate) fn snapshot(&mut self) -> Result<SavedState, ImageError> {
        let record = self.record()?;
        let vfs = postcard::to_allocvec(&self.store.data().vfs);
        self.saved(record, vfs)
    }

    /// As [`Interpreter::snapshot`], for a session: of the files only the difference to the base's.
    ///
    /// # Errors
    /// As [`Interpreter::snapshot`].
    pub(crate) fn snapshot_changes(&mut self) -> Result<SavedState, ImageError> {
        let record = self.record()?;
        let vfs = self.store.data_mut().vfs.save_changes();
        self.saved(record, vfs)
    }

    fn saved(&self, record: Record, vfs: Result<Vec<u8>, postcard::Error>) -> Result<SavedState, ImageError> {
        let vfs = vfs.map_err(|error| ImageError::Unsupported(error.to_string()))?;
        Ok(SavedState { record, vfs, zone: self.store.data().zone.clone() })
    }

    /// Sets the local time of a saved state, which is UTC if it makes no sense.
    fn set_zone(&mut self, zone: &Zone) {
        let host = self.store.data_mut();
        host.zone = if zone.is_sound() { zone.clone() } else { Zone::default() };
        host.zone_changes += 1;
    }

    fn record(&mut self) -> Result<Record, ImageError> {
        match self.store.data().threads.count() {
            0 => {}
            1 => return Err(ImageError::Unsupported("a running thread".to_owned())),
            count => return Err(ImageError::Unsupported(format!("{count} running threads"))),
        }
        let driver = self.python.record();
        image::capture::capture(&mut self.store.as_context_mut(), driver)
    }

    /// Restores the session in an image into this machine, which must be a machine of the image's base. `join` attaches
    /// the host directories to the file system; its result is returned.
    ///
    /// # Errors
    /// If the image does not fit, or `join` fails. The machine is unusable then.
    pub(crate) fn restore_session<T>(
        &mut self,
        from: &File,
        base: &Base,
        join: impl FnOnce(&mut Vfs) -> Result<T, ImageError>,
    ) -> Result<T, ImageError> {
        let (saved, pages) = image::difference::read(from)?;
        let mut vfs = files::continued(self.base_files(base)?, &saved.vfs, &self.output)?;
        let joined = join(&mut vfs)?;
        files::reopen(&mut vfs)?;
        // Before the modules, because these may be files of it.
        self.store.data_mut().vfs = vfs;
        image::restore::apply(&mut self.store.as_context_mut(), &saved.record)?;
        self.python.set_driver(&saved.record.driver)?;
        self.set_zone(&saved.zone);
        let failed = |error: std::io::Error| ImageError::Engine(format!("mapping the image: {error}"));
        let (offset, length) = (image::file::HEADER_BYTES, base.header.memory);
        memory::reset(&mut self.store, self.memory, &base.file, offset, length).map_err(failed)?;
        let memory = self.memory.data_mut(&mut self.store);
        pages.pages(memory)?;
        // As in a fork of the base.
        memory::populate(memory, &base.pages.written);
        memory::populate_for_reading(memory, &base.pages.read);
        Ok(joined)
    }

    /// Returns the base image's files: this machine's own, if it has changed none.
    fn base_files(&mut self, base: &Base) -> Result<Vfs, ImageError> {
        let own = &mut self.store.data_mut().vfs;
        if own.is_unchanged() {
            let nothing = Vfs::new(&VfsConfig::default(), Box::new(crate::caps::clock::realtime));
            return Ok(std::mem::replace(own, nothing.map_err(|errno| ImageError::Engine(format!("{errno:?}")))?));
        }
        let mut vfs = files::restored(&base.vfs, &self.output)?;
        join(&mut vfs, &base.layers)?;
        Ok(vfs)
    }

    /// Returns the pages of memory that a usual run touches, or a cell of a notebook with `shell`. For a process that
    /// ends afterwards.
    ///
    /// # Errors
    /// When the run fails.
    pub(crate) fn trace_run(&mut self, shell: bool) -> Result<Pages, InterpreterError> {
        let memory = self.memory.data_mut(&mut self.store);
        let (start, length) = (memory.as_mut_ptr(), memory.len());
        crate::trace::begin_memory(start, length).map_err(|error| InterpreterError::Trap(error.to_string()))?;
        self.refresh_fork()?;
        // As a server of sessions requests them.
        let cell = |code: &str| Execute {
            code: code.to_owned(),
            file_name: "cell_1.py".to_owned(),
            env: vec![("OUTPUT_DIR".to_owned(), "/workspace".to_owned())],
            mode: if shell { ExecuteMode::NotebookCell } else { ExecuteMode::Cell },
            rich: true,
            figures: true,
            allow_install: true,
            ..Execute::default()
        };
        for code in FIRST_RUNS {
            let run =
                || Execute { code: code.to_owned(), allow_install: true, ends_program: true, ..Execute::default() };
            self.call_driver("analyze", code)?;
            self.trace_execution(&if shell { cell(code) } else { run() })?;
        }
        let mut pages = crate::trace::pages();
        // Work that is done only once is not traced.
        for code in LATER_RUNS {
            self.trace_execution(&cell(code))?;
        }
        crate::trace::restart().map_err(|error| InterpreterError::Trap(error.to_string()))?;
        for _ in 0..LATER_ROUNDS {
            for code in LATER_RUNS {
                self.trace_execution(&cell(code))?;
            }
        }
        pages.later = crate::trace::pages().written;
        Ok(pages)
    }

    fn trace_execution(&mut self, request: &Execute) -> Result<(), InterpreterError> {
        let request = serde_json::to_string(request).map_err(|error| InterpreterError::Driver(error.to_string()))?;
        self.call_driver("execute", &request)?;
        Ok(())
    }

    /// Gives this process its own copies of these pages, without changing them. Forks inherit the mapping.
    pub(crate) fn touch(&mut self, pages: &[u32]) {
        // Pages are not read first: the kernel would map the pages around them too, and every fork would copy these
        // mappings.
        memory::populate(self.memory.data_mut(&mut self.store), pages);
    }

    /// Copies pages of the memory that will be written soon, all at once.
    pub(crate) fn prefault(&mut self, pages: &[u32]) {
        memory::populate(self.memory.data_mut(&mut self.store), pages);
    }

    /// Gives back pages that runs and later cells write, if they equal the base's file again.
    pub(crate) fn give_back(&mut self, base: &Base) {
        if let Ok(original) = memory::Mapped::new(&base.file, image::file::HEADER_BYTES, base.header.memory) {
            let memory = self.memory.data_mut(&mut self.store);
            for pages in [&base.pages.written, &base.pages.later] {
                memory::release(memory, original.bytes(), pages);
            }
        }
    }

    /// Returns the linear memory.
    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    /// Returns the linear memory of a machine at rest.
    pub(crate) fn memory_mut(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }
}
