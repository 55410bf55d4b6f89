//! Runs [`brumate_fuzz::authorities`] on what libFuzzer makes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    brumate_fuzz::authorities::run(bytes);
});
