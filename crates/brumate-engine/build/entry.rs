//! Entries of the bundle's lock, and what is generated of each.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::usual::Usual;
use super::{Result, hex, rerun_if_changed};

/// One entry of the lock.
pub(crate) struct Entry<'a> {
    table: &'a Table,
    pub(crate) path: PathBuf,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(value: &'a Value, runtime: &Path) -> Result<Self> {
        let table = value.as_table().ok_or("an entry of the lock is no table")?;
        let mut entry = Self { table, path: PathBuf::new() };
        entry.path = runtime.join(entry.text("file")?);
        Ok(entry)
    }

    pub(crate) fn text(&self, key: &str) -> Result<&'a str> {
        let value = self.table.get(key).and_then(Value::as_str);
        Ok(value.ok_or_else(|| format!("an entry of the lock has no {key}"))?)
    }

    pub(crate) fn list(&self, key: &str) -> Result<Vec<&'a str>> {
        let items = self.table.get(key).and_then(Value::as_array);
        let items = items.ok_or_else(|| format!("{} has no {key}", self.path.display()))?;
        Ok(items.iter().filter_map(Value::as_str).collect())
    }

    /// The file's content, once its digest proved equal to the lock's.
    pub(crate) fn checked(&self) -> Result<Vec<u8>> {
        rerun_if_changed(&self.path);
        let data = std::fs::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))?;
        let (found, locked) = (hex(&data), self.text("sha256")?);
        if found != locked {
            let path = self.path.display();
            return Err(format!("{path} has SHA-256 {found}, the lock says {locked}").into());
        }
        Ok(data)
    }

    pub(crate) fn write_archive(
        &self,
        out: &mut String,
        name: &str,
        doc: &str,
        sha256: &str,
        content: &str,
    ) -> Result<()> {
        let version = self.text("version")?;
        writeln!(
            out,
            "\n/// {doc}\npub static {name}: BundledArchive = BundledArchive {{\n\
             version: {version:?},\nsha256: {sha256:?},\ncontent: {content},\n}};"
        )?;
        Ok(())
    }

    pub(crate) fn write_wheel(&self, out: &mut String, content: &str) -> Result<()> {
        let file = self.path.file_name().and_then(|name| name.to_str());
        writeln!(
            out,
            "BundledWheel {{\nname: {:?},\nversion: {:?},\nfile: {:?},\nsha256: {:?},\n\
             licence: {:?},\nimport_names: &{:?},\nrequires: &{:?},\ncontent: {content},\n}},",
            self.text("name")?.to_ascii_lowercase().replace(['_', '.'], "-"),
            self.text("version")?,
            file.ok_or("a wheel's file name is no UTF-8")?,
            self.text("sha256")?,
            self.text("licence")?,
            self.list("import_names")?,
            self.list("requires")?,
        )?;
        Ok(())
    }

    /// The wheel's native modules, with the digest by which their compiled form is found.
    pub(crate) fn write_natives(&self, out: &mut String, wheel: Vec<u8>, usual: &Usual) -> Result<()> {
        let name = self.text("name")?.to_ascii_lowercase().replace(['_', '.'], "-");
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(wheel))?;
        let mut modules = Vec::new();
        for name in archive.file_names() {
            let name = name?.into_owned();
            if name.ends_with(".so") {
                modules.push(name);
            }
        }
        for path in &modules {
            let mut member = archive.by_name(path)?;
            let is_usual = usual.contains(path, &modules);
            let mut data = Vec::new();
            member.read_to_end(&mut data)?;
            let key: [u8; 32] = Sha256::digest(&data).into();
            writeln!(out, "NativeModule {{ wheel: {name:?}, path: {path:?}, key: {key:?}, is_usual: {is_usual} }},")?;
        }
        Ok(())
    }
}
