//! CPython's C API, as the host calls it, and the driver's functions.

use wasmtime::{AsContextMut, Instance, Store, TypedFunc};

use super::InterpreterError;
use crate::host::{Host, guest};
use crate::image::{Driver, IdentityAddresses, ImageError};

/// Functions of the driver that the host calls. They are looked up before any guest code runs, because guest code could
/// replace them.
pub(super) const DRIVER_FUNCTIONS: [&str; 8] =
    ["boot", "preload", "object_addresses", "seed_addresses", "reseed", "analyze", "execute", "packages_changed"];

/// Handles of the C API functions used at run time.
pub(super) struct Python {
    pub(super) unicode_from_string_and_size: TypedFunc<(u32, i32), u32>,
    pub(super) unicode_as_utf8_and_size: TypedFunc<(u32, u32), u32>,
    pub(super) call_one_arg: TypedFunc<(u32, u32), u32>,
    pub(super) get_attr_string: TypedFunc<(u32, u32), u32>,
    pub(super) import_module: TypedFunc<u32, u32>,
    pub(super) dec_ref: TypedFunc<u32, ()>,
    pub(super) err_print: TypedFunc<(), ()>,
    pub(super) bytes_from_string_and_size: TypedFunc<(u32, i32), u32>,
    pub(super) malloc: TypedFunc<u32, u32>,
    pub(super) free: TypedFunc<u32, ()>,
    /// Seeds of the C library's generators.
    pub(super) seeds: [TypedFunc<u32, ()>; 3],
    /// The driver's module object.
    pub(super) driver: u32,
    /// Functions of the driver, in the order of [`DRIVER_FUNCTIONS`].
    pub(super) functions: [u32; DRIVER_FUNCTIONS.len()],
    /// Addresses of the generators' states, in an image.
    pub(super) seeds_at: Option<IdentityAddresses>,
}

impl Python {
    /// Looks the C API up.
    fn find(store: &mut Store<Host>, instance: Instance) -> wasmtime::Result<Python> {
        Ok(Python {
            unicode_from_string_and_size: instance.get_typed_func(&mut *store, "PyUnicode_FromStringAndSize")?,
            unicode_as_utf8_and_size: instance.get_typed_func(&mut *store, "PyUnicode_AsUTF8AndSize")?,
            call_one_arg: instance.get_typed_func(&mut *store, "PyObject_CallOneArg")?,
            get_attr_string: instance.get_typed_func(&mut *store, "PyObject_GetAttrString")?,
            import_module: instance.get_typed_func(&mut *store, "PyImport_ImportModule")?,
            dec_ref: instance.get_typed_func(&mut *store, "Py_DecRef")?,
            err_print: instance.get_typed_func(&mut *store, "PyErr_Print")?,
            bytes_from_string_and_size: instance.get_typed_func(&mut *store, "PyBytes_FromStringAndSize")?,
            malloc: instance.get_typed_func(&mut *store, "malloc")?,
            free: instance.get_typed_func(&mut *store, "free")?,
            seeds: [
                instance.get_typed_func(&mut *store, "srand")?,
                instance.get_typed_func(&mut *store, "srandom")?,
                instance.get_typed_func(&mut *store, "srand48")?,
            ],
            driver: 0,
            functions: [0; DRIVER_FUNCTIONS.len()],
            seeds_at: None,
        })
    }

    /// Looks the C API up and imports the driver.
    ///
    /// # Errors
    /// When the driver cannot be imported or lacks a function.
    pub(super) fn new(store: &mut Store<Host>, instance: Instance) -> Result<Python, InterpreterError> {
        let mut python = Python::find(store, instance)?;
        let name = python.c_string(store, "_brumate")?;
        python.driver = python.import_module.call(&mut *store, name)?;
        python.free.call(&mut *store, name)?;
        if python.driver == 0 {
            python.err_print.call(&mut *store, ())?;
            return Err(InterpreterError::Driver("the module `_brumate` cannot be imported".to_owned()));
        }
        for (position, name) in DRIVER_FUNCTIONS.iter().enumerate() {
            let text = python.c_string(store, name)?;
            let object = python.get_attr_string.call(&mut *store, (python.driver, text))?;
            python.free.call(&mut *store, text)?;
            if object == 0 {
                python.err_print.call(&mut *store, ())?;
                return Err(InterpreterError::Driver(format!("the driver has no function `{name}`")));
            }
            python.functions[position] = object;
        }
        Ok(python)
    }

    /// Looks the C API up for a guest out of an image, in which the driver is imported already.
    ///
    /// # Errors
    /// When the image is of another driver.
    pub(super) fn restored(store: &mut Store<Host>, instance: Instance, driver: &Driver) -> Result<Python, ImageError> {
        let mut python = Python::find(store, instance)?;
        python.set_driver(driver)?;
        Ok(python)
    }

    /// Takes the driver's objects from an image.
    ///
    /// # Errors
    /// When the image is of another driver.
    pub(super) fn set_driver(&mut self, driver: &Driver) -> Result<(), ImageError> {
        self.driver = driver.module;
        self.seeds_at = driver.seeds_at.clone();
        self.functions = driver.functions[..].try_into().map_err(|_| ImageError::Damaged("driver".to_owned()))?;
        Ok(())
    }

    /// Returns what an image stores of it.
    pub(super) fn record(&self) -> Driver {
        Driver { module: self.driver, functions: self.functions.to_vec(), seeds_at: self.seeds_at.clone() }
    }

    /// The driver's function of that name.
    pub(super) fn function(&self, name: &str) -> u32 {
        // Every name is in the constant. Null would be a mistake of this crate; Python raises an exception for it.
        DRIVER_FUNCTIONS.iter().position(|known| *known == name).map_or(0, |position| self.functions[position])
    }

    /// A C string in guest memory.
    fn c_string(&self, store: &mut Store<Host>, text: &str) -> Result<u32, InterpreterError> {
        let bytes = format!("{text}\0").into_bytes();
        let block = self.malloc.call(&mut *store, bytes.len() as u32)?;
        let memory = guest(&store.as_context_mut())?.memory;
        memory.write(&mut *store, block as usize, &bytes).map_err(|_| super::fault())?;
        Ok(block)
    }
}
