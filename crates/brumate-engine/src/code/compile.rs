//! Compiles wasm bytes to machine code.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wasmtime::Engine;

use crate::cache_dir::hex;
use crate::engine::common_features;
use crate::wire::ModuleKey;
use brumate_module::{Options, dylink, gate, translate};

/// Increment it whenever translation or patches change what is compiled.
pub(crate) const TRANSLATION: u32 = 3;

/// Largest module accepted, in bytes.
pub(crate) const MAX_MODULE: usize = 64 << 20;

/// What kind of module is to be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ModuleKind {
    /// Pyodide's main module.
    Main,
    /// A side module (a wheel's extension, or what a guest brings).
    Side,
    /// The call trampoline, compiled unchanged.
    Helper,
}

/// The origin of bytes that are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Trust {
    /// Of the bundle.
    Bundle,
    /// Bytes of a wheel that the operator allows: untrusted, but the same for all principals, and no larger than the
    /// cache of wheels allows. The compiled code is cached.
    Layer,
    /// Bytes that a guest brings.
    Guest,
}

impl Trust {
    /// Returns the limits of a side module, which are checked before it is compiled.
    fn bounds(self) -> Option<&'static gate::Counts> {
        match self {
            Trust::Bundle => None,
            Trust::Layer => Some(&gate::WHEEL),
            Trust::Guest => Some(&gate::GUEST),
        }
    }
}

/// Tier of compiled code: fast to compile, or fast to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tier {
    /// Compiled in half of the time; the code runs 1.4 to 1.6 times as long.
    Baseline,
    /// Compiled with all optimizations.
    Optimized,
}

/// Key of a module in the cache.
pub(crate) fn key(bytes: &[u8]) -> ModuleKey {
    Sha256::digest(bytes).into()
}

/// Key of a module's baseline code in the cache.
pub(crate) fn baseline_key(key: &ModuleKey) -> ModuleKey {
    Sha256::new_with_prefix(b"baseline").chain_update(key).finalize().into()
}

/// Translates and compiles a module.
///
/// # Errors
/// A text for the user: what is wrong with the bytes, or which limit they exceed.
pub(crate) fn compile(engine: &Engine, kind: ModuleKind, trust: Trust, bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.len() > MAX_MODULE {
        return Err(format!("a module of {} bytes is larger than allowed ({MAX_MODULE})", bytes.len()));
    }
    if let Some(bounds) = trust.bounds() {
        gate::check(bytes, bounds).map_err(|error| error.to_string())?;
    }
    let translated = match kind {
        ModuleKind::Helper => bytes.to_vec(),
        ModuleKind::Main => {
            translate(bytes, &Options { main: true, threads: true }).map_err(|error| error.to_string())?
        }
        ModuleKind::Side => {
            dylink::parse(bytes).map_err(|error| error.to_string())?;
            translate(bytes, &Options::default()).map_err(|error| error.to_string())?
        }
    };
    engine.precompile_module(&translated).map_err(|error| format!("it does not compile: {error:#}"))
}

/// Returns a name for everything that compiled code depends on: engine version and settings, CPU, the translation.
pub(crate) fn fingerprint(engine: &Engine) -> String {
    let mut feed = version_feed(engine);
    cpu_features().hash(&mut feed);
    feed.hex()
}

/// As [`fingerprint`] without the CPU.
pub(crate) fn version(engine: &Engine) -> String {
    version_feed(engine).hex()
}

/// Feeds a hash function from the standard library's interface.
struct Feed(Sha256);

impl Hasher for Feed {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

impl Feed {
    fn hex(self) -> String {
        hex(&self.0.finalize()[..8])
    }
}

/// Returns the hash function, fed with the version.
fn version_feed(engine: &Engine) -> Feed {
    let mut feed = Feed(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut feed);
    TRANSLATION.hash(&mut feed);
    env!("CARGO_PKG_VERSION").hash(&mut feed);
    std::env::consts::ARCH.hash(&mut feed);
    feed
}

/// Returns the CPU features that Cranelift may use. Code that uses more of them does not load elsewhere.
fn cpu_features() -> Vec<bool> {
    #[allow(unused_mut, reason = "other architectures add nothing")]
    let mut features: Vec<bool> = common_features().into_iter().map(|(_, is_here)| is_here).collect();
    #[cfg(target_arch = "x86_64")]
    features.extend([
        std::is_x86_feature_detected!("avx512bitalg"),
        std::is_x86_feature_detected!("avx512dq"),
        std::is_x86_feature_detected!("avx512f"),
        std::is_x86_feature_detected!("avx512vl"),
        std::is_x86_feature_detected!("avx512vbmi"),
    ]);
    #[cfg(target_arch = "aarch64")]
    features.extend([
        std::arch::is_aarch64_feature_detected!("lse"),
        std::arch::is_aarch64_feature_detected!("paca"),
        std::arch::is_aarch64_feature_detected!("fp16"),
    ]);
    features
}
