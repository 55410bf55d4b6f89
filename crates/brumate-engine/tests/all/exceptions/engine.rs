//! Running translated modules in wasmtime.

use wasmtime::{Collector, Config, Engine, Instance, Module, Store, Tag, ThrownException, Val};

/// How a run of a generated module ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Returned = 0,
    /// An exception left the module; its tag and payload are mixed into the hash.
    Threw = 1,
    Trapped = 2,
}

/// What a run of a generated module did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) hash: u64,
}

/// An engine with the settings that exceptions need, as the product sets them.
pub(crate) fn engine() -> Engine {
    let mut config = Config::new();
    config.wasm_exceptions(true).wasm_function_references(true).wasm_gc(true).collector(Collector::Copying);
    Engine::new(&config).expect("the engine's settings are valid")
}

/// Mixes one number into a hash; the JavaScript side does the same.
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// Runs a generated module, translated, with the inputs from 0 to `inputs - 1`.
pub(crate) fn run(engine: &Engine, wasm: &[u8], inputs: i32) -> wasmtime::Result<Vec<Outcome>> {
    let module = Module::new(engine, wasm)?;
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let run = instance.get_typed_func::<i32, i64>(&mut store, "run")?;
    let hash = instance.get_global(&mut store, "hash").expect("generated modules export `hash`");
    let tags: Vec<Tag> = (0..super::generator::TAGS.len())
        .map(|tag| instance.get_tag(&mut store, &format!("t{tag}")).expect("generated modules export their tags"))
        .collect();
    (0..inputs)
        .map(|input| {
            let result = run.call(&mut store, input);
            let mut hash = hash.get(&mut store).unwrap_i64() as u64;
            let ending = match result {
                Ok(_) => Ending::Returned,
                Err(error) if error.is::<ThrownException>() => {
                    let exception = store.take_pending_exception().expect("the exception just thrown");
                    let tag = exception.tag(&mut store)?;
                    let index = tags.iter().position(|known| Tag::eq(known, &tag, &store));
                    let index = index.expect("one of the module's tags");
                    hash = mix(hash, index as u64);
                    for field in 0..super::generator::TAGS[index].len() {
                        hash = match exception.field(&mut store, field)? {
                            Val::I32(value) => mix(hash, u64::from(value as u32)),
                            Val::I64(value) => mix(hash, value as u64),
                            other => panic!("unexpected payload {other:?}"),
                        };
                    }
                    Ending::Threw
                }
                Err(error) if error.is::<wasmtime::Trap>() => Ending::Trapped,
                Err(error) => return Err(error),
            };
            Ok(Outcome { ending, hash })
        })
        .collect()
}
