//! Read-only layers: the content of files that have not been written to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::archive::{Archive, LayerBytes, Packing};
use super::bytes::Bytes;
use brumate_abi::errno::Errno;

/// A layer of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LayerId(pub u32);

/// A file whose content is in a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerFile {
    pub layer: LayerId,
    /// Index of the archive entry; 0 for a layer that is one file.
    pub entry: u32,
    /// Length in bytes, known without touching the layer.
    pub len: u64,
}

/// What a layer is made of.
#[derive(Clone)]
pub enum Layer {
    Archive(Archive),
    File(LayerBytes),
}

impl Layer {
    /// Returns a fingerprint that identifies the layer when saved state is joined with it again.
    pub fn fingerprint(&self) -> u64 {
        match self {
            Self::Archive(archive) => archive.fingerprint(),
            Self::File(bytes) => {
                let mut crc = flate2::Crc::new();
                let bytes: &[u8] = (**bytes).as_ref();
                crc.update(bytes);
                (u64::from(crc.sum()) << 32) | (bytes.len() as u64 & 0xffff_ffff)
            }
        }
    }

    fn file_len(&self, entry: u32) -> Option<u64> {
        match self {
            Self::Archive(archive) => archive.entries.get(entry as usize).map(|entry| entry.size),
            Self::File(bytes) => (entry == 0).then(|| (**bytes).as_ref().len() as u64),
        }
    }
}

/// Returns what is remembered of a layer in saved state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRecord {
    pub name: Bytes,
    pub fingerprint: u64,
}

/// All layers, and recently inflated entries.
#[derive(Default, Serialize, Deserialize)]
pub struct Layers {
    records: Vec<LayerRecord>,
    /// Layers that were unmounted. Files that still refer to them are readable while they are attached.
    dropped: BTreeSet<LayerId>,
    #[serde(skip)]
    attached: HashMap<LayerId, Layer>,
    #[serde(skip)]
    cache: InflateCache,
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.records).finish()
    }
}

impl Layers {
    /// Adds a layer that is mounted, or mounted again.
    pub fn add(&mut self, name: &[u8], layer: Layer) -> Result<LayerId, Errno> {
        if let Some(id) = self.find(name, &layer).filter(|id| self.dropped.contains(id)) {
            self.dropped.remove(&id);
            self.attached.insert(id, layer);
            return Ok(id);
        }
        let id = LayerId(u32::try_from(self.records.len()).map_err(|_| Errno::ENFILE)?);
        self.records.push(LayerRecord { name: name.into(), fingerprint: layer.fingerprint() });
        self.attached.insert(id, layer);
        Ok(id)
    }

    /// Joins every record of that name and content with its layer again; returns how many matched.
    pub fn attach(&mut self, name: &[u8], layer: &Layer) -> usize {
        let wanted = LayerRecord { name: name.into(), fingerprint: layer.fingerprint() };
        let mut count = 0;
        for (index, _) in self.records.iter().enumerate().filter(|(_, record)| **record == wanted) {
            self.attached.insert(LayerId(index as u32), layer.clone());
            count += 1;
        }
        count
    }

    /// Returns the layer of that name and content.
    pub fn find(&self, name: &[u8], layer: &Layer) -> Option<LayerId> {
        let mut records = self.records.iter().zip(0..);
        let found = records.find(|(record, _)| record.name[..] == *name && record.fingerprint == layer.fingerprint());
        found.map(|(_, index)| LayerId(index))
    }

    pub fn is_dropped(&self, id: LayerId) -> bool {
        self.dropped.contains(&id)
    }

    /// Returns the layers of that name that are attached and not unmounted.
    pub fn named(&self, name: &[u8]) -> Vec<(LayerId, Layer)> {
        let ids = (0..)
            .map(LayerId)
            .zip(&self.records)
            .filter(|(id, record)| record.name[..] == *name && !self.dropped.contains(id));
        ids.filter_map(|(id, _)| Some((id, self.attached.get(&id)?.clone()))).collect()
    }

    /// Returns the attached layer of that name, even if it was unmounted.
    pub fn attached(&self, name: &[u8]) -> Option<&Layer> {
        let mut records = (0..).map(LayerId).zip(&self.records).filter(|(_, record)| record.name[..] == *name);
        records.find_map(|(id, _)| self.attached.get(&id))
    }

    pub fn drop_layer(&mut self, id: LayerId) {
        self.dropped.insert(id);
    }

    pub fn drop_named(&mut self, name: &[u8]) {
        let ids = (0..).map(LayerId).zip(&self.records).filter(|(_, record)| record.name[..] == *name);
        self.dropped.extend(ids.map(|(id, _)| id));
    }

    /// Returns the names of the layers that have not been unmounted.
    pub fn present(&self) -> impl Iterator<Item = &[u8]> {
        let records = (0..).map(LayerId).zip(&self.records);
        records.filter(|(id, _)| !self.dropped.contains(id)).map(|(_, record)| &record.name[..])
    }

    /// Returns the name of the layer that holds a file, and the file's path in it.
    pub fn entry(&self, file: &LayerFile) -> Option<(&[u8], &[u8])> {
        let Layer::Archive(archive) = self.attached.get(&file.layer)? else { return None };
        let name = &self.records.get(file.layer.0 as usize)?.name[..];
        Some((name, archive.path(archive.entries.get(file.entry as usize)?)))
    }

    /// Returns the record of each layer, in order.
    pub fn records(&self) -> &[LayerRecord] {
        &self.records
    }

    /// Names of the layers that saved state refers to and that are not attached.
    pub fn missing(&self) -> impl Iterator<Item = &[u8]> {
        let unattached = |index: &usize| {
            let id = LayerId(*index as u32);
            !self.attached.contains_key(&id) && !self.dropped.contains(&id)
        };
        (0..self.records.len()).filter(unattached).map(|index| &self.records[index].name[..])
    }

    /// Whether a file refers to an attached layer and has the length in the layer.
    pub fn holds(&self, file: &LayerFile) -> bool {
        let Some(layer) = self.attached.get(&file.layer) else {
            return (file.layer.0 as usize) < self.records.len();
        };
        layer.file_len(file.entry) == Some(file.len)
    }

    pub fn set_cache_budget(&mut self, bytes: u64) {
        self.cache.budget = bytes;
    }

    /// Fills `buf` from `offset`; returns the number of bytes.
    ///
    /// # Errors
    /// `EIO` when the entry is corrupt or its layer is not attached.
    pub fn read_at(&mut self, file: &LayerFile, offset: u64, buf: &mut [u8]) -> Result<usize, Errno> {
        if offset >= file.len {
            return Ok(0);
        }
        let from = |content: &[u8], buf: &mut [u8]| {
            let tail = content.get(offset as usize..).unwrap_or(&[]);
            let count = tail.len().min(buf.len());
            buf[..count].copy_from_slice(&tail[..count]);
            count
        };
        match self.attached.get(&file.layer).ok_or(Errno::EIO)? {
            Layer::File(bytes) => Ok(from((**bytes).as_ref(), buf)),
            Layer::Archive(archive) => {
                let entry = archive.entries.get(file.entry as usize).ok_or(Errno::EIO)?;
                if entry.packing == Packing::Stored {
                    return Ok(from(archive.packed(entry).map_err(|_| Errno::EIO)?, buf));
                }
                let key = (file.layer, file.entry);
                if let Some(content) = self.cache.get(key) {
                    return Ok(from(&content, buf));
                }
                let content = Arc::new(archive.inflate(entry).map_err(|_| Errno::EIO)?);
                let count = from(&content, buf);
                self.cache.insert(key, content);
                Ok(count)
            }
        }
    }
}

type CacheKey = (LayerId, u32);

/// Inflated entries. The least recently used are dropped first.
#[derive(Default)]
struct InflateCache {
    budget: u64,
    bytes: u64,
    tick: u64,
    contents: HashMap<CacheKey, (u64, Arc<Vec<u8>>)>,
    by_use: BTreeMap<u64, CacheKey>,
}

impl InflateCache {
    fn get(&mut self, key: CacheKey) -> Option<Arc<Vec<u8>>> {
        let (used, content) = self.contents.get_mut(&key)?;
        self.by_use.remove(used);
        self.tick += 1;
        *used = self.tick;
        self.by_use.insert(self.tick, key);
        Some(Arc::clone(content))
    }

    /// Keeps `content`, dropping older entries to stay within budget. The newest stays even when it alone is larger:
    /// a file is usually read in many small pieces.
    fn insert(&mut self, key: CacheKey, content: Arc<Vec<u8>>) {
        let size = content.len() as u64;
        while self.bytes + size > self.budget {
            let Some((_, oldest)) = self.by_use.pop_first() else {
                break;
            };
            if let Some((_, dropped)) = self.contents.remove(&oldest) {
                self.bytes -= dropped.len() as u64;
            }
        }
        self.tick += 1;
        self.bytes += size;
        self.by_use.insert(self.tick, key);
        self.contents.insert(key, (self.tick, content));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_drops_the_least_recently_used() {
        let mut cache = InflateCache { budget: 10, ..InflateCache::default() };
        let key = |entry| (LayerId(0), entry);
        cache.insert(key(1), Arc::new(vec![0; 4]));
        cache.insert(key(2), Arc::new(vec![0; 4]));
        assert!(cache.get(key(1)).is_some());
        cache.insert(key(3), Arc::new(vec![0; 4]));
        assert!(cache.get(key(2)).is_none());
        assert!(cache.get(key(1)).is_some());
        cache.insert(key(4), Arc::new(vec![0; 100]));
        assert_eq!(cache.contents.len(), 1, "an oversized entry is kept alone");
        assert!(cache.get(key(4)).is_some());
        assert_eq!((cache.bytes, cache.by_use.len()), (100, 1));
    }
}
