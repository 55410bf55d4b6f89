//! Packs the bundle's files in release builds, and generates the tables that say where the bytes of each file are.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::compact::Compact;
use super::pack::{Frame, Pack};
use super::{LEVEL, Result, hex, rerun_if_changed};

/// Level of compression where [`LEVEL`] names none: ten seconds. Level 19 takes two minutes, and the pack is an eighth smaller.
const DEFAULT_LEVEL: i32 = 9;

/// Files of the bundle: packed in release builds, otherwise read from the repository when they are needed.
pub(crate) struct Contents {
    pub(crate) pack: Option<Pack>,
    pub(crate) compact: Option<Compact>,
}

impl Contents {
    /// Returns the expression for the bytes of a file.
    pub(crate) fn file(&mut self, path: &Path, bytes: &[u8]) -> Result<String> {
        Ok(self.pack.as_mut().map_or_else(|| in_repository(path), |pack| in_pack(&pack.add_file(bytes))))
    }

    /// Returns the expression for the bytes of an archive of which nothing is left out.
    pub(crate) fn whole_archive(&mut self, path: &Path, bytes: &[u8]) -> Result<String> {
        match &mut self.pack {
            None => Ok(in_repository(path)),
            Some(pack) => Ok(in_pack(&pack.add_archive(bytes, &|_| true)?)),
        }
    }

    /// Returns the expression for the bytes of a wheel, or of the archive of bytecode.
    pub(crate) fn archive(&mut self, path: &Path, bytes: &[u8]) -> Result<String> {
        match (&mut self.pack, &self.compact) {
            (Some(pack), Some(compact)) => Ok(in_pack(&pack.add_archive(bytes, &|path| compact.keeps(path))?)),
            _ => self.whole_archive(path, bytes),
        }
    }

    /// Returns the digest of all archives as they are mounted.
    pub(crate) fn layout(&self) -> String {
        let digest = self.pack.as_ref().map_or_else(String::new, |pack| hex(pack.image()));
        format!(
            "/// SHA-256 of the archives as they are mounted; empty when they are the repository's.\npub(crate) static LAYOUT: &str = {digest:?};\n"
        )
    }

    /// Returns the tables of compiled code: what is in `directory`, in a release build.
    pub(crate) fn compiled(&mut self, directory: Option<&Path>) -> Result<String> {
        let (mut table, mut count, mut made_for) = (String::new(), 0, "None".to_owned());
        if let (Some(directory), Some(pack)) = (directory, &mut self.pack) {
            rerun_if_changed(directory);
            let text = std::fs::read_to_string(directory.join("made-for"));
            let text = text.map_err(|error| format!("no compiled code in {}: {error}", directory.display()))?;
            made_for = format!("Some({text:?})");
            let mut paths: Vec<PathBuf> =
                std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
            paths.sort();
            for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "cwasm")) {
                let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a name in UTF-8")?;
                let bytes = name
                    .as_bytes()
                    .chunks(2)
                    .map(|digits| u8::from_str_radix(std::str::from_utf8(digits)?, 16).map_err(Into::into));
                let key = bytes.collect::<Result<Vec<u8>>>()?;
                let range = pack.add_file(&std::fs::read(path)?);
                count += 1;
                writeln!(table, "({key:?}, {}),", in_pack(&range))?;
            }
        }
        Ok(format!(
            "/// Compiled code of modules, by the modules' keys.\n\
             pub(crate) static COMPILED: [(ModuleKey, Content); {count}] = [\n{table}];\n\n\
             /// Processor and version that this code was compiled for.\n\
             pub(crate) static COMPILED_FOR: Option<&str> = {made_for};\n"
        ))
    }

    /// Writes the pack to `path`; returns the expression for it.
    pub(crate) fn finish(self, path: &Path) -> Result<String> {
        let Some(pack) = self.pack else { return Ok("None".to_owned()) };
        let level = std::env::var(LEVEL).map_or(Ok(DEFAULT_LEVEL), |level| level.parse())?;
        let (length, frames) = pack.finish(level)?;
        let mut bytes = Vec::new();
        let mut table = String::new();
        for Frame { packed, length } in &frames {
            let start = bytes.len();
            bytes.extend_from_slice(packed);
            write!(table, "Frame {{ start: {start}, end: {}, length: {length} }},", bytes.len())?;
        }
        std::fs::write(path, &bytes)?;
        let key = hex(&bytes);
        Ok(format!(
            "Some(Packed {{ bytes: include_bytes!({path:?}), frames: &[{table}], length: {length}, key: {key:?} }})"
        ))
    }
}

fn in_repository(path: &Path) -> String {
    format!("Content::file({path:?})")
}

fn in_pack(range: &Range<usize>) -> String {
    format!("Content::packed({}, {})", range.start, range.len())
}
