//! What one interpreter keeps on the host's side of the border: the wasmtime store's data.

use std::collections::HashMap;

use wasmtime::{AsContextMut, Caller, Func, Global, Instance, Memory, StoreContextMut, Table, Tag, TypedFunc};

use crate::account::Account;
use crate::caps::clock::Clock;
use crate::caps::network::Network;
use crate::code::{ModuleSource, NoModules};
use crate::files::Installs;
use crate::libc::ffi::{ClosureFunctions, Closures};
use crate::libc::zone::Zone;
use crate::link::{Helper, Libraries, LibraryInstance};
use crate::threads::Threads;
use brumate_abi::errno::Errno;
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{Vfs, VfsConfig};

/// Data of the store. Everything is plain process memory, so that a fork copies it.
///
/// Each thread of the guest has a store. Except [`Host::store`], everything belongs to all of them: the thread that runs has it, see
/// [`threads`](crate::threads).
pub(crate) struct Host {
    /// The guest's files and descriptors.
    pub(crate) vfs: Vfs,
    /// Handles into this store.
    pub(crate) store: StoreHandles,
    /// Loaded side modules.
    pub(crate) libraries: Libraries,
    /// libffi closures.
    pub(crate) closures: Closures,
    /// Where compiled side modules come from.
    pub(crate) modules: Box<dyn ModuleSource>,
    /// Clocks.
    pub(crate) clock: Clock,
    /// Connections to other machines.
    pub(crate) network: Network,
    /// Local time.
    pub(crate) zone: Zone,
    /// How often the zone was set.
    pub(crate) zone_changes: u64,
    /// Environment read once by the guest's start-up: `NAME=value`.
    pub(crate) environment: Vec<String>,
    /// What the guest may hold, and holds.
    pub(crate) account: Account,
    /// Threads beside the main thread.
    pub(crate) threads: Threads,
    /// Installs packages for the guest. `None` before `Start`.
    pub(crate) installs: Option<Installs>,
}

/// Handles that are valid in one store.
#[derive(Default)]
pub(crate) struct StoreHandles {
    /// Handles of the main module; set once it is instantiated.
    pub(crate) guest: Option<Guest>,
    /// The call trampoline.
    pub(crate) helper: Option<Helper>,
    /// Host functions by name, for side modules that import them.
    pub(crate) functions: HashMap<String, Func>,
    /// Table slot of a function, by its identity.
    pub(crate) slots: HashMap<usize, u32>,
    /// Instances of the libraries, in the order of [`Libraries::loaded`].
    pub(crate) libraries: Vec<LibraryInstance>,
    /// Number of [`Libraries::appended`] that the table of a thread's store has.
    pub(crate) appended: usize,
    /// Host functions of closures.
    pub(crate) closures: ClosureFunctions,
    /// The thread that the store is for. `None` for the main thread.
    pub(crate) thread: Option<u32>,
}

impl Host {
    /// Returns the data of a new store.
    pub(crate) fn new(vfs: Vfs, modules: Box<dyn ModuleSource>, environment: Vec<String>, threads: Threads) -> Host {
        Host {
            vfs,
            store: StoreHandles::default(),
            libraries: Libraries::default(),
            closures: Closures::default(),
            modules,
            clock: Clock::new(),
            network: Network::default(),
            zone: Zone::default(),
            zone_changes: 0,
            environment,
            account: Account::new(),
            threads,
            installs: None,
        }
    }

    /// Returns the data of a store whose thread does not run: empty except for the handles.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn placeholder(thread: Option<u32>) -> wasmtime::Result<Host> {
        let vfs = Vfs::new(&VfsConfig::default(), Box::new(crate::caps::clock::realtime));
        let vfs = vfs.map_err(|errno| wasmtime::Error::msg(format!("{errno:?}")))?;
        let mut host = Host::new(vfs, Box::new(NoModules), Vec::new(), Threads::none());
        host.store.thread = thread;
        Ok(host)
    }

    /// Mounts the packages that the guest waits for, if it does.
    ///
    /// # Errors
    /// The errors of [`Installs::finish`].
    pub(crate) fn finish_install(&mut self) -> Result<(), Errno> {
        let Some(installs) = &self.installs else { return Ok(()) };
        if installs.finish(&mut self.vfs)? {
            self.forget_replaced_libraries();
        }
        Ok(())
    }

    /// Tells the file system what the files of `/proc` show.
    pub(crate) fn tell_process(&mut self) {
        let process = self.vfs.process_mut();
        process.memory_bytes = self.account.memory_bytes();
        process.max_memory_bytes = self.account.memory_limit();
        process.cpu_nanos = self.clock.process_cpu();
    }

    /// Libraries of layers that were taken away are not what a path stands for any more.
    pub(crate) fn forget_replaced_libraries(&mut self) {
        let present = crate::files::layers::present(&self.vfs);
        let libraries = &mut self.libraries;
        let loaded = &libraries.loaded;
        libraries.by_path.retain(|_, index| {
            let origin = loaded.get(*index).and_then(|library| library.origin.as_ref());
            origin.is_none_or(|origin| present.contains(&origin.layer))
        });
    }
}

/// Handles into the main module's instance.
#[derive(Clone)]
pub(crate) struct Guest {
    pub(crate) instance: Instance,
    pub(crate) memory: Memory,
    pub(crate) table: Table,
    pub(crate) stack_pointer: Global,
    pub(crate) cpp_exception: Tag,
    pub(crate) c_longjmp: Tag,
    pub(crate) malloc: TypedFunc<u32, u32>,
    pub(crate) free: TypedFunc<u32, ()>,
    pub(crate) memalign: TypedFunc<(u32, u32), u32>,
    pub(crate) dl_seterr: TypedFunc<(u32, u32), ()>,
}

impl Guest {
    /// Looks the handles up.
    ///
    /// # Errors
    /// When `instance` is not Pyodide's main module.
    pub(crate) fn new(mut store: impl AsContextMut, instance: Instance) -> wasmtime::Result<Guest> {
        let missing = |name: &str| wasmtime::Error::msg(format!("the main module has no export `{name}`"));
        let mut store = store.as_context_mut();
        Ok(Guest {
            instance,
            memory: instance.get_memory(&mut store, "memory").ok_or_else(|| missing("memory"))?,
            table: instance
                .get_table(&mut store, "__indirect_function_table")
                .ok_or_else(|| missing("__indirect_function_table"))?,
            stack_pointer: instance
                .get_global(&mut store, "__stack_pointer")
                .ok_or_else(|| missing("__stack_pointer"))?,
            cpp_exception: instance.get_tag(&mut store, "__cpp_exception").ok_or_else(|| missing("__cpp_exception"))?,
            c_longjmp: instance.get_tag(&mut store, "__c_longjmp").ok_or_else(|| missing("__c_longjmp"))?,
            malloc: instance.get_typed_func(&mut store, "malloc")?,
            free: instance.get_typed_func(&mut store, "free")?,
            memalign: instance.get_typed_func(&mut store, "emscripten_builtin_memalign")?,
            dl_seterr: instance.get_typed_func(&mut store, "__dl_seterr")?,
        })
    }
}

/// The guest's handles, for host functions (which only the guest calls).
pub(crate) fn guest(store: &StoreContextMut<'_, Host>) -> wasmtime::Result<Guest> {
    store.data().store.guest.clone().ok_or_else(|| wasmtime::Error::msg("the guest is not instantiated yet"))
}

/// Linear memory and host data at once. Before the guest is instantiated the memory is empty.
pub(crate) fn split<'a>(caller: &'a mut Caller<'_, Host>) -> (GuestMemory<'a>, &'a mut Host) {
    match caller.data().store.guest.as_ref().map(|guest| guest.memory) {
        Some(memory) => {
            let (bytes, host) = memory.data_and_store_mut(caller);
            (GuestMemory::new(bytes), host)
        }
        None => (GuestMemory::new(&mut []), caller.data_mut()),
    }
}

/// The same for a store context.
pub(crate) fn split_store<'a>(store: &'a mut StoreContextMut<'_, Host>) -> (GuestMemory<'a>, &'a mut Host) {
    match store.data().store.guest.as_ref().map(|guest| guest.memory) {
        Some(memory) => {
            let (bytes, host) = memory.data_and_store_mut(store.as_context_mut());
            (GuestMemory::new(bytes), host)
        }
        None => (GuestMemory::new(&mut []), store.data_mut()),
    }
}

/// How a guest process ended by its own doing: `exit`, `abort`, `_Exit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuestExit {
    /// `exit`/`_Exit` with this status.
    Exit(i32),
    /// `abort`, a failed assertion, a fatal Python error.
    Abort,
}

impl std::fmt::Display for GuestExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GuestExit::Exit(code) => write!(f, "the guest exited with status {code}"),
            GuestExit::Abort => write!(f, "the guest aborted"),
        }
    }
}

impl std::error::Error for GuestExit {}
