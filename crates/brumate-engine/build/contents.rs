//! Packs the bundle's files in release builds, and generates the tables that say where the bytes of each file are.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::compact::Compact;
use super::mark::Mark;
use super::pack::{Frame, Pack, Part};
use super::{BUNDLE_OUT, LEVEL, Result, hex, in_digits, rerun_if_changed};

/// Level of compression where [`LEVEL`] names none: ten seconds. Level 19 takes two minutes, and the pack is an eighth smaller.
const DEFAULT_LEVEL: i32 = 9;

/// Files of the bundle: packed in release builds, otherwise read from the repository when they are needed.
pub(crate) struct Contents {
    pub(crate) pack: Option<Pack>,
    pub(crate) compact: Option<Compact>,
}

impl Contents {
    /// Returns the expression for the bytes of a file of the core.
    pub(crate) fn file(&mut self, path: &Path, bytes: &[u8]) -> Result<String> {
        Ok(self.pack.as_mut().map_or_else(|| in_repository(path), |pack| in_pack(&pack.add_file(Part::Core, bytes))))
    }

    /// Returns the expression for the bytes of an archive of the core, of which nothing is left out.
    pub(crate) fn whole_archive(&mut self, path: &Path, bytes: &[u8]) -> Result<String> {
        match &mut self.pack {
            None => Ok(in_repository(path)),
            Some(pack) => Ok(in_pack(&pack.add_archive(Part::Core, bytes, &|_| true)?)),
        }
    }

    /// Returns the expression for the bytes of a wheel, or of the archive of bytecode.
    pub(crate) fn archive(&mut self, path: &Path, bytes: &[u8]) -> Result<String> {
        let Some(pack) = &mut self.pack else { return Ok(in_repository(path)) };
        let keeps = |path: &str| self.compact.as_ref().is_none_or(|compact| compact.keeps(path));
        Ok(in_pack(&pack.add_archive(Part::Packages, bytes, &keeps)?))
    }

    /// Returns the digest of all archives as they are mounted.
    pub(crate) fn layout(&self) -> String {
        let digest = self.pack.as_ref().map_or_else(String::new, |pack| hex(pack.image()));
        format!(
            "/// SHA-256 of the archives as they are mounted; empty when they are the repository's.\npub(crate) static LAYOUT: &str = {digest:?};\n"
        )
    }

    /// Returns the tables of compiled code: what is in `directory`, in a release build. The interpreter's module has the SHA-256
    /// `interpreter`.
    pub(crate) fn compiled(&mut self, directory: Option<&Path>, interpreter: &str) -> Result<String> {
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
                let part = if name == interpreter { Part::Core } else { Part::Packages };
                let range = pack.add_file(part, &std::fs::read(path)?);
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

    /// Writes the pack to `path`, and the packages' frames to the file that [`BUNDLE_OUT`] names; returns the expression for it.
    pub(crate) fn finish(self, path: &Path) -> Result<String> {
        let Some(pack) = self.pack else { return Ok("None".to_owned()) };
        let level = std::env::var(LEVEL).map_or(Ok(DEFAULT_LEVEL), |level| level.parse())?;
        let apart = std::env::var_os(BUNDLE_OUT).map(PathBuf::from);
        let (length, frames) = pack.finish(level)?;
        let (mut inside, mut outside, mut all) = (Vec::new(), Vec::new(), Sha256::new());
        let mut table = String::new();
        for Frame { part, packed, length } in &frames {
            let is_apart = *part == Part::Packages && apart.is_some();
            let bytes = if is_apart { &mut outside } else { &mut inside };
            let start = bytes.len();
            bytes.extend_from_slice(packed);
            all.update(packed);
            let (end, sha256): (_, [u8; 32]) = (bytes.len(), Sha256::digest(packed).into());
            write!(
                table,
                "Frame {{ is_apart: {is_apart}, start: {start}, end: {end}, length: {length}, sha256: {sha256:?} }},"
            )?;
        }
        std::fs::write(path, &inside)?;
        let mark = match apart {
            None => "None".to_owned(),
            Some(apart) => {
                let mark = Mark { sha256: Sha256::digest(&outside).into(), length: outside.len() as u64 };
                outside.extend(mark.to_bytes());
                std::fs::write(&apart, &outside).map_err(|error| format!("{}: {error}", apart.display()))?;
                format!("Some({mark:?})")
            }
        };
        let key = in_digits(&all.finalize());
        Ok(format!(
            "Some(Packed {{ bytes: include_bytes!({path:?}), frames: &[{table}], length: {length}, key: {key:?}, \
             apart: {mark} }})"
        ))
    }
}

fn in_repository(path: &Path) -> String {
    format!("Content::file({path:?})")
}

fn in_pack(range: &Range<usize>) -> String {
    format!("Content::packed({}, {})", range.start, range.len())
}
