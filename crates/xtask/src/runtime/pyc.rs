//! Bytecode files: names (PEP 3147) and headers (PEP 552).

use anyhow::{Result, ensure};

/// CPython 3.14's magic number and line end, then the flags "hash based, not checked at import".
const HEADER: [u8; 8] = [0x2b, 0x0e, b'\r', b'\n', 1, 0, 0, 0];

/// Header, then the source's hash.
const HEADER_LENGTH: usize = 16;

/// Returns the path of the bytecode of the module file `name`.
pub(crate) fn name(name: &str) -> String {
    let (directory, file) = name.rsplit_once('/').unwrap_or(("", name));
    let slash = if directory.is_empty() { "" } else { "/" };
    let stem = file.strip_suffix(".py").unwrap_or(file);
    format!("{directory}{slash}__pycache__/{stem}.cpython-314.pyc")
}

/// Checks that `bytecode` is an unchecked hash-based .pyc made from exactly `source`.
pub(crate) fn check(name: &str, bytecode: &[u8], source: &[u8]) -> Result<()> {
    ensure!(
        bytecode.starts_with(&HEADER) && bytecode.len() > HEADER_LENGTH,
        "{name} is no unchecked hash-based bytecode of CPython 3.14"
    );
    ensure!(
        bytecode[HEADER.len()..HEADER_LENGTH] == source_hash(source).to_le_bytes(),
        "{name} was compiled from another source"
    );
    Ok(())
}

/// CPython's `_imp.source_hash`: SipHash-1-3 keyed with the magic number.
fn source_hash(source: &[u8]) -> u64 {
    let key = u64::from(u32::from_le_bytes([HEADER[0], HEADER[1], HEADER[2], HEADER[3]]));
    let mut state =
        [key ^ 0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, key ^ 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let mut chunks = source.chunks_exact(8);
    for chunk in &mut chunks {
        compress(&mut state, u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
    }
    // The last word: what is left, with the length's low byte on top.
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    last[7] = source.len() as u8;
    compress(&mut state, u64::from_le_bytes(last));
    state[2] ^= 0xff;
    for _ in 0..3 {
        round(&mut state);
    }
    state.iter().fold(0, |hash, word| hash ^ word)
}

fn compress(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    state[0] ^= word;
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

/// Bytecode that passes [`check`] for `source`, though nothing could run it.
#[cfg(test)]
pub(super) fn sample(source: &[u8]) -> Vec<u8> {
    let mut bytecode = HEADER.to_vec();
    bytecode.extend(source_hash(source).to_le_bytes());
    bytecode.push(0xe3);
    bytecode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytecode_lies_in_the_cache_directory_beside_its_module() {
        assert_eq!(name("six.py"), "__pycache__/six.cpython-314.pyc");
        assert_eq!(name("a/b/__init__.py"), "a/b/__pycache__/__init__.cpython-314.pyc");
    }

    /// Values of `importlib.util.source_hash` in CPython 3.14.
    #[test]
    fn source_hash_is_cpythons() {
        for (source, hash) in [
            (&b""[..], [0x61, 0xf5, 0xb7, 0xcb, 0x65, 0x3a, 0x6a, 0xa4]),
            (b"pass\n", [0x32, 0x51, 0xa4, 0x96, 0xcf, 0x24, 0x26, 0xb9]),
            (b"x = 1  # nineteen bytes", [0xda, 0x91, 0x2d, 0xff, 0xad, 0x9b, 0xaa, 0x75]),
        ] {
            assert_eq!(source_hash(source).to_le_bytes(), hash);
        }
    }

    #[test]
    fn bytecode_of_another_source_or_version_is_refused() {
        let mut bytecode = sample(b"pass\n");
        assert!(check("m", &bytecode, b"pass\n").is_ok());
        assert!(check("m", &bytecode, b"pass \n").is_err());
        assert!(check("m", &bytecode[..16], b"pass\n").is_err());
        bytecode[4] = 3; // checked at import
        assert!(check("m", &bytecode, b"pass\n").is_err());
    }
}
