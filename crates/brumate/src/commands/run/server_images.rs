//! Images of servers whose `mcp` is not the bundle's: a file in the cache says which server has which image.
//!
//! They only decide how long a start takes: a lost or damaged file is started anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use brumate_engine_api::{Engine as _, Image, Layer};
use brumate_packages::cache::Sha256Hash;
use brumate_session::packages::{Installation, LayerRecord};
use serde::{Deserialize, Serialize};

use crate::bounded_file::read_text;
use crate::replace_file::replace_file;
use crate::sandbox::Sandbox;

/// Images that are kept; the least recently used one is removed.
const MAX_IMAGES: usize = 4;
/// Servers that are remembered of an image; the least recently started one is forgotten.
const MAX_SERVERS: usize = 64;
/// Largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Name of the file in the cache.
const FILE: &str = "servers.json";

/// An image, and the servers that start in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ImageRecord {
    /// Paths of the servers' files, the last started one last.
    servers: Vec<PathBuf>,
    modules: Vec<String>,
    layers: Vec<LayerRecord>,
}

impl ImageRecord {
    /// Returns an image that is named as this one is. Its layers have no files, so no machine can be made of it.
    fn name(&self) -> Option<Image> {
        let archive = Arc::new(std::fs::File::open("/dev/null").ok()?);
        let layer = |record: &LayerRecord| {
            let hash: Sha256Hash = record.sha256.parse().ok()?;
            Some(Layer {
                name: record.file_name.clone(),
                sha256: hash.0,
                archive: Arc::clone(&archive),
                bytecode: None,
            })
        };
        let layers = self.layers.iter().map(layer).collect::<Option<_>>()?;
        Some(Image::of(self.modules.clone()).with_layers(layers))
    }
}

/// The images of servers.
#[derive(Clone)]
pub(super) struct ServerImages {
    sandbox: Sandbox,
    path: PathBuf,
}

impl ServerImages {
    /// Uses the images of a sandbox, and the file in its cache.
    pub(super) fn new(sandbox: &Sandbox, cache_dir: &Path) -> Self {
        Self { sandbox: sandbox.clone(), path: cache_dir.join(FILE) }
    }

    /// Returns the image that a server was given before, if it is still there.
    pub(super) async fn find(&self, server: &Path) -> Option<Image> {
        let records = self.read();
        let record = records.iter().find(|record| record.servers.iter().any(|path| path == server))?;
        let name = record.name()?;
        if !self.sandbox.engine.has_image(&name) {
            return None;
        }
        let layers = self.sandbox.runner.packages().recover(&record.layers).await.ok()?;
        Some(Image::of(record.modules.clone()).with_layers(layers))
    }

    /// Builds an image for a server with these packages, unless it is there, and remembers it. `others` are further modules to import.
    /// Returns `None` if the server has the `mcp` of the bundle, or the image cannot be built.
    pub(super) async fn build(&self, server: &Path, installation: Arc<Installation>, others: &[&str]) -> Option<Image> {
        let modules = modules_of(&installation, others)?;
        // An image holds what its imports have compiled.
        let installation = self.sandbox.runner.with_bytecode(installation).await;
        let image = Image::of(modules.clone()).with_layers(installation.layers.clone());
        if !self.sandbox.engine.has_image(&image)
            && let Err(error) = self.sandbox.engine.build_image_ahead(&image).await
        {
            tracing::debug!(%image, %error, "no image was built for a server");
            return None;
        }
        let record = ImageRecord { servers: Vec::new(), modules, layers: records_of(&installation)? };
        let mut records = self.read();
        for surplus in remember(&mut records, record, server) {
            if let Some(name) = surplus.name() {
                self.sandbox.engine.remove_image(&name).await;
            }
        }
        if let Err(error) = self.write(&records) {
            tracing::debug!(%error, "the images of servers are not remembered");
        }
        Some(image)
    }

    fn read(&self) -> Vec<ImageRecord> {
        let text = read_text(&self.path, MAX_FILE_BYTES).unwrap_or_default();
        let mut records: Vec<ImageRecord> = serde_json::from_str(&text).unwrap_or_default();
        records.truncate(MAX_IMAGES);
        records
    }

    fn write(&self, records: &[ImageRecord]) -> std::io::Result<()> {
        replace_file(&self.path, &serde_json::to_string(records)?)
    }
}

/// Makes a record the last one, and the server its last one. Returns the records that are too many.
fn remember(records: &mut Vec<ImageRecord>, record: ImageRecord, server: &Path) -> Vec<ImageRecord> {
    for record in records.iter_mut() {
        record.servers.retain(|path| path != server);
    }
    let same = |known: &ImageRecord| known.modules == record.modules && known.layers == record.layers;
    let known = records.iter().position(same).map(|at| records.remove(at));
    let mut record = known.unwrap_or(record);
    record.servers.push(server.to_owned());
    let surplus = record.servers.len().saturating_sub(MAX_SERVERS);
    record.servers.drain(..surplus);
    records.push(record);
    records.drain(..records.len().saturating_sub(MAX_IMAGES)).collect()
}

/// Returns the modules to import, if `mcp` or `fastmcp` is not the bundle's.
fn modules_of(installation: &Installation, others: &[&str]) -> Option<Vec<String>> {
    let of_layer = |name: &str| {
        installation.packages.iter().find(|package| package.name == name).filter(|package| package.layer.is_some())
    };
    let (mcp, fastmcp) = (of_layer("mcp"), of_layer("fastmcp"));
    if mcp.is_none() && fastmcp.is_none() {
        return None;
    }
    let is_first = mcp.is_none_or(|package| package.version.starts_with("0.") || package.version.starts_with("1."));
    let mut modules: Vec<&str> = others.to_vec();
    modules.push(if is_first { "mcp.server.fastmcp" } else { "mcp.server.mcpserver" });
    if fastmcp.is_some() {
        modules.push("fastmcp");
    }
    Some(modules.into_iter().map(str::to_owned).collect())
}

/// Returns the records of an installation's layers, in their order.
fn records_of(installation: &Installation) -> Option<Vec<LayerRecord>> {
    let records = installation.packages.iter().filter_map(|package| package.layer.as_ref());
    let record = |layer: &Layer| records.clone().find(|record| record.file_name == layer.name).cloned();
    installation.layers.iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(module: &str) -> ImageRecord {
        let layer =
            LayerRecord { file_name: format!("{module}-2.0-py3-none-any.whl"), sha256: "ab".repeat(32), url: None };
        ImageRecord { servers: Vec::new(), modules: vec![module.to_owned()], layers: vec![layer] }
    }

    #[test]
    fn servers_share_images_and_the_oldest_image_is_removed() {
        let mut records = Vec::new();
        let (a, b) = (Path::new("/a.py"), Path::new("/b.py"));
        assert_eq!(remember(&mut records, record("m0"), a), []);
        assert_eq!(remember(&mut records, record("m0"), b), []);
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].servers, [a, b]);
        // A server has one image.
        assert_eq!(remember(&mut records, record("m1"), a), []);
        assert_eq!((&records[0].servers[..], &records[1].servers[..]), (&[b.to_owned()][..], &[a.to_owned()][..]));
        for number in 2..MAX_IMAGES {
            assert_eq!(remember(&mut records, record(&format!("m{number}")), a), []);
        }
        let removed = remember(&mut records, record("last"), a);
        assert_eq!(removed.iter().map(|record| &record.modules[0]).collect::<Vec<_>>(), ["m0"]);
        assert_eq!(records.len(), MAX_IMAGES);
        for number in 0..2 * MAX_SERVERS {
            remember(&mut records, record("last"), Path::new(&format!("/{number}.py")));
        }
        assert_eq!(records.last().map(|record| record.servers.len()), Some(MAX_SERVERS));
    }

    #[test]
    fn names_of_images_have_their_layers() {
        let image = record("m").name().expect("a name");
        assert_eq!((image.layers()[0].sha256, image.layers()[0].name.as_str()), ([0xab; 32], "m-2.0-py3-none-any.whl"));
        let damaged = LayerRecord { file_name: String::new(), sha256: "x".to_owned(), url: None };
        assert_eq!(ImageRecord { layers: vec![damaged], ..record("m") }.name(), None);
    }
}
