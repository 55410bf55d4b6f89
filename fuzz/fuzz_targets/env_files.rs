//! Runs [`brumate_fuzz::env_files`] on what libFuzzer makes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    brumate_fuzz::env_files::run(bytes);
});
