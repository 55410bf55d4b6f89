//! Architectures that packages are made for, and what each ecosystem calls them.

use anyhow::{Result, bail};

/// The architecture of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// Returns this machine's architecture.
    ///
    /// # Errors
    /// When packages are not made for it.
    pub(super) fn of_host() -> Result<Architecture> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Architecture::X86_64),
            "aarch64" => Ok(Architecture::Aarch64),
            other => bail!("packages are made for x86_64 and aarch64; this machine is {other}"),
        }
    }

    /// Returns the architecture of a program (elf(5), `e_machine`).
    ///
    /// # Errors
    /// When packages are not made for it.
    pub(super) fn of_program(bytes: &[u8]) -> Result<Architecture> {
        match bytes.get(18..20) {
            Some([62, 0]) => Ok(Architecture::X86_64),
            Some([183, 0]) => Ok(Architecture::Aarch64),
            _ => bail!("it is a program for neither x86_64 nor aarch64"),
        }
    }

    /// Finds the architecture of a target triple that packages are made for.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn of_target(triple: &str) -> Result<Architecture> {
        let all = [Architecture::X86_64, Architecture::Aarch64];
        let Some(found) = all.into_iter().find(|architecture| architecture.target() == triple) else {
            bail!("target {triple}: packages are made for {} and {}", all[0].target(), all[1].target());
        };
        Ok(found)
    }

    /// Returns the target triple.
    pub(super) fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// Returns the name that Rust, Python's wheels and Linux use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x86_64",
            Architecture::Aarch64 => "aarch64",
        }
    }

    /// Returns Debian's name.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Architecture::X86_64 => "amd64",
            Architecture::Aarch64 => "arm64",
        }
    }

    /// Returns Node's name.
    pub(super) fn node(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x64",
            Architecture::Aarch64 => "arm64",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_is_for() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Architecture::of_program(&this).unwrap(), Architecture::of_host().unwrap());
        let mut other = this[..64].to_vec();
        other[18] = 183;
        let architecture = Architecture::of_program(&other).unwrap();
        assert_eq!((architecture.target().as_str(), architecture.debian()), ("aarch64-unknown-linux-gnu", "arm64"));
        other[18] = 8;
        Architecture::of_program(&other).unwrap_err();
        Architecture::of_program(b"\x7fELF").unwrap_err();
    }

    #[test]
    fn other_targets_are_refused() {
        assert_eq!(Architecture::of_target("x86_64-unknown-linux-gnu").unwrap(), Architecture::X86_64);
        let error = Architecture::of_target("riscv64gc-unknown-linux-gnu").unwrap_err().to_string();
        assert!(error.contains("aarch64-unknown-linux-gnu"), "{error}");
    }
}
