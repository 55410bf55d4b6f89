//! How the binary is linked.

#![allow(clippy::disallowed_methods, reason = "it reads the repository")]

/// Size of a huge page on the architectures that are supported, in bytes.
const HUGE: usize = 2 << 20;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // The program's code begins at the border of a huge page: zygotes move it into such pages.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,separate-code,-z,max-page-size={HUGE}");
    }
}
