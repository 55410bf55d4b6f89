//! Compatibility tags of the sandbox (PEP 425, 783).

use std::collections::HashMap;
use std::sync::LazyLock;

/// Minor version of the sandbox's Python 3.
const MINOR: u32 = 14;
/// First Python 3 with a stable ABI (PEP 384).
const FIRST_ABI3: u32 = 2;
/// Platform of the sandbox (PEP 783).
pub(crate) const PLATFORM: &str = "pyemscripten_2026_0_wasm32";

/// Priorities of tags (PEP 425), in pip's order: CPython with this ABI, the stable ABI, pure Python.
static PRIORITIES: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut tags = vec![
        format!("cp3{MINOR}-cp3{MINOR}-{PLATFORM}"),
        format!("cp3{MINOR}-abi3-{PLATFORM}"),
        format!("cp3{MINOR}-none-{PLATFORM}"),
    ];
    tags.extend((FIRST_ABI3..MINOR).rev().map(|minor| format!("cp3{minor}-abi3-{PLATFORM}")));
    let interpreters: Vec<String> = std::iter::once(format!("py3{MINOR}"))
        .chain(std::iter::once("py3".to_owned()))
        .chain((0..MINOR).rev().map(|minor| format!("py3{minor}")))
        .collect();
    tags.extend(interpreters.iter().map(|interpreter| format!("{interpreter}-none-{PLATFORM}")));
    tags.push(format!("cp3{MINOR}-none-any"));
    tags.extend(interpreters.iter().map(|interpreter| format!("{interpreter}-none-any")));
    tags.into_iter().zip(0u32..).collect()
});

/// Returns the priority of the best of a wheel's tags for the sandbox: smaller is better, `None` if none fits.
///
/// Each argument is a compressed set (PEP 425) whose members are joined by dots.
pub(super) fn priority(interpreters: &str, abis: &str, platforms: &str) -> Option<u32> {
    let mut best = None;
    // Most wheels of a page are for other platforms, so their tags need no lookup.
    for platform in platforms.split('.').filter(|platform| matches!(*platform, "any" | PLATFORM)) {
        for interpreter in interpreters.split('.') {
            for abi in abis.split('.') {
                let found = PRIORITIES.get(&format!("{interpreter}-{abi}-{platform}")).copied();
                best = match (best, found) {
                    (Some(best), Some(found)) => Some(u32::min(best, found)),
                    (best, found) => best.or(found),
                };
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefers_what_pip_prefers() {
        let best_first = [
            ("cp314", "cp314", "pyemscripten_2026_0_wasm32"),
            ("cp314", "abi3", "pyemscripten_2026_0_wasm32"),
            ("cp314", "none", "pyemscripten_2026_0_wasm32"),
            ("cp39", "abi3", "pyemscripten_2026_0_wasm32"),
            ("py3", "none", "pyemscripten_2026_0_wasm32"),
            ("cp314", "none", "any"),
            ("py3", "none", "any"),
            ("py310", "none", "any"),
        ];
        let priorities: Vec<u32> = best_first.iter().map(|(a, b, c)| priority(a, b, c).expect("fits")).collect();
        assert!(priorities.is_sorted_by(|a, b| a < b), "{priorities:?}");
        assert_eq!(priority("py2.py3", "none", "any"), priority("py3", "none", "any"));
    }

    #[test]
    fn refuses_other_systems_and_newer_pythons() {
        for (interpreter, abi, platform) in [
            ("py2", "none", "any"),
            ("py315", "none", "any"),
            ("cp314", "cp314t", "pyemscripten_2026_0_wasm32"),
            ("cp313", "cp313", "pyemscripten_2026_0_wasm32"),
            ("cp314", "cp314", "pyemscripten_2025_0_wasm32"),
            ("cp314", "cp314", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
        ] {
            assert_eq!(priority(interpreter, abi, platform), None, "{interpreter}-{abi}-{platform}");
        }
    }
}
