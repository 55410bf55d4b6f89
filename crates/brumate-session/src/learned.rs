//! Images of what code imports: packages that are imported together twice get an image, and later runs are forked from
//! it.
//!
//! A file in the cache keeps the counts for the next process. They only decide how long imports take: a lost or
//! damaged file is started anew.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brumate_engine_api::Image;
use serde::{Deserialize, Serialize};

/// Images that are kept; the least recently used one is removed.
const MAX_IMAGES: usize = 6;
/// Sets of imports that are counted; the least recently seen one is forgotten.
const MAX_SETS: usize = 64;
/// Most modules of one image. Code that imports more is rarely the same twice.
const MAX_MODULES: usize = 12;
/// Imports of a set after which it gets an image.
const USES: u32 = 2;
/// Shortest time between two builds: code that always imports other things must not keep a processor busy.
const PAUSE: Duration = Duration::from_secs(30);
/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The process that builds images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Builder {
    /// No process. Imports are not counted.
    #[default]
    Nobody,
    /// This process, in the background.
    Here,
    /// Another process, for the image that [`Runner::image_to_build`](crate::Runner::image_to_build) returns.
    Elsewhere,
}

/// A set of modules that code imports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ImportSet {
    modules: Vec<String>,
    uses: u32,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Status {
    Counted,
    Built,
    /// The image could not be built. It is not tried again.
    Failed,
}

/// Counts of the sets of modules that runs import, and the images that were built of them.
#[derive(Debug)]
pub(crate) struct LearnedImages {
    builder: Builder,
    path: Option<PathBuf>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Sorted by their last imports, the latest last.
    sets: Vec<ImportSet>,
    /// Start of the last build.
    began: Option<Instant>,
    /// Image that another process is asked to build.
    wanted: Option<Image>,
    /// Whether the file lacks a change.
    changed: bool,
}

impl LearnedImages {
    /// Reads the counts of earlier processes from the file `path`.
    pub(crate) fn open(builder: Builder, path: Option<PathBuf>) -> LearnedImages {
        let sets = path.as_deref().filter(|_| builder != Builder::Nobody).and_then(read).unwrap_or_default();
        LearnedImages { builder, path, known: Mutex::new(Known { sets, ..Known::default() }) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the images that were built.
    pub(crate) fn images(&self) -> Vec<Image> {
        self.known().sets.iter().filter(|set| set.status == Status::Built).map(|set| image_of(&set.modules)).collect()
    }

    /// Counts an import of `modules`, all of the bundle. Returns the image that this process has to build now.
    pub(crate) fn note(&self, modules: BTreeSet<String>) -> Option<Image> {
        let is_data = modules.iter().all(|module| Image::DATA.contains(&module.as_str()));
        if self.builder == Builder::Nobody || is_data || modules.len() > MAX_MODULES {
            return None;
        }
        let modules: Vec<String> = modules.into_iter().collect();
        let mut known = self.known();
        let at = known.sets.iter().position(|set| set.modules == modules);
        let mut set = match at {
            Some(at) => known.sets.remove(at),
            None => ImportSet { modules, uses: 0, status: Status::Counted },
        };
        set.uses = set.uses.saturating_add(1);
        // The count does not matter any more once there is an image.
        known.changed |= set.status == Status::Counted;
        let rested = known.began.is_none_or(|began| began.elapsed() >= PAUSE);
        // Scripts that run while another process builds must not start further builds. Powers of two retry a build
        // that was killed.
        let asked = self.builder == Builder::Elsewhere && !set.uses.is_power_of_two();
        let due = set.status == Status::Counted && set.uses >= USES && rested && !asked;
        let image = due.then(|| image_of(&set.modules));
        known.sets.push(set);
        if known.sets.len() > MAX_SETS
            && let Some(oldest) = known.sets.iter().position(|set| set.status != Status::Built)
        {
            known.sets.remove(oldest);
        }
        let image = image?;
        known.began = Some(Instant::now());
        if self.builder == Builder::Elsewhere {
            known.wanted = Some(image);
            return None;
        }
        Some(image)
    }

    /// Returns the process that builds images.
    pub(crate) fn builder(&self) -> Builder {
        self.builder
    }

    /// Takes the image that another process has to build.
    pub(crate) fn take_wanted(&self) -> Option<Image> {
        self.known().wanted.take()
    }

    /// Notes the result of a build. Returns an image that has to be removed because there are too many.
    pub(crate) fn finished(&self, image: &Image, built: bool) -> Option<Image> {
        let mut known = self.known();
        for set in known.sets.iter_mut().filter(|set| image_of(&set.modules) == *image) {
            set.status = if built { Status::Built } else { Status::Failed };
        }
        known.changed = true;
        let count = known.sets.iter().filter(|set| set.status == Status::Built).count();
        let oldest = known.sets.iter().position(|set| set.status == Status::Built);
        let oldest = oldest.filter(|_| count > MAX_IMAGES)?;
        Some(image_of(&known.sets.remove(oldest).modules))
    }

    /// Writes the counts for other processes. A failure only costs time later.
    pub(crate) fn save(&self) {
        let Some(path) = &self.path else { return };
        let sets = {
            let mut known = self.known();
            if !std::mem::take(&mut known.changed) {
                return;
            }
            known.sets.clone()
        };
        let written = serde_json::to_vec(&sets).map_err(std::io::Error::other).and_then(|text| {
            let new = path.with_extension(format!("{}.new", std::process::id()));
            std::fs::write(&new, text)?;
            std::fs::rename(&new, path)
        });
        if let Err(error) = written {
            tracing::debug!(%error, "what was imported is not kept");
        }
    }
}

/// Returns the image with these modules. Those of [`Image::data`] come first, because others import them.
fn image_of(modules: &[String]) -> Image {
    let has = |module: &&str| modules.iter().any(|own| own == module);
    let data = Image::DATA.into_iter().filter(has).map(str::to_owned);
    let others = modules.iter().filter(|module| !Image::DATA.contains(&module.as_str())).cloned();
    Image::of(data.chain(others).collect::<Vec<_>>())
}

#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
fn read(path: &std::path::Path) -> Option<Vec<ImportSet>> {
    use std::io::Read as _;
    let mut text = Vec::new();
    std::fs::File::open(path).ok()?.take(MAX_FILE).read_to_end(&mut text).ok()?;
    let sets: Vec<ImportSet> = serde_json::from_slice(&text).ok()?;
    let name =
        |module: &String| module.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
    let sound = |set: &ImportSet| set.modules.len() <= MAX_MODULES && set.modules.iter().all(name);
    Some(sets.into_iter().filter(sound).take(MAX_SETS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(modules: &[&str]) -> BTreeSet<String> {
        modules.iter().map(|&module| module.to_owned()).collect()
    }

    #[test]
    fn what_is_imported_twice_gets_an_image() {
        let learned = LearnedImages::open(Builder::Here, None);
        assert_eq!(learned.note(names(&["sklearn", "numpy"])), None);
        assert_eq!(learned.note(names(&["networkx"])), None);
        let image = learned.note(names(&["numpy", "sklearn"])).expect("an image");
        assert_eq!(image, Image::of(["numpy", "sklearn"]));
        assert_eq!(learned.images(), []);
        assert_eq!(learned.finished(&image, true), None);
        assert_eq!(learned.images(), [image]);
        assert_eq!(learned.note(names(&["numpy", "sklearn"])), None, "it is there");
    }

    #[test]
    fn what_has_an_image_already_or_cannot_have_one_gets_none() {
        let learned = LearnedImages::open(Builder::Here, None);
        let many: BTreeSet<String> = (0..=MAX_MODULES).map(|number| format!("m{number}")).collect();
        for modules in [names(&[]), names(&["numpy"]), names(&["pandas", "matplotlib", "numpy"]), many] {
            for _ in 0..5 {
                assert_eq!(learned.note(modules.clone()), None, "{modules:?}");
            }
        }
        learned.note(names(&["broken"]));
        let broken = learned.note(names(&["broken"])).expect("an image");
        learned.finished(&broken, false);
        learned.known().began = None;
        assert_eq!(learned.note(names(&["broken"])), None);
        let nobody = LearnedImages::open(Builder::Nobody, None);
        assert_eq!((nobody.note(names(&["a"])), nobody.note(names(&["a"]))), (None, None));
    }

    #[test]
    fn images_and_sets_are_bounded() {
        let learned = LearnedImages::open(Builder::Here, None);
        let mut removed = Vec::new();
        for number in 0..MAX_IMAGES + 2 {
            let modules = BTreeSet::from([format!("m{number}")]);
            learned.known().began = None;
            learned.note(modules.clone());
            let image = learned.note(modules).expect("an image");
            removed.extend(learned.finished(&image, true));
        }
        assert_eq!(removed, [Image::of(["m0"]), Image::of(["m1"])]);
        for number in 0..1000 {
            learned.note(BTreeSet::from([format!("n{number}")]));
        }
        assert_eq!((learned.images().len(), learned.known().sets.len()), (MAX_IMAGES, MAX_SETS));
        // One build after the other, with a pause between them.
        learned.known().began = Some(Instant::now());
        learned.note(names(&["late"]));
        assert_eq!(learned.note(names(&["late"])), None);
    }

    #[test]
    fn scripts_that_run_during_a_build_start_no_other() {
        let learned = LearnedImages::open(Builder::Elsewhere, None);
        let mut wanted = Vec::new();
        for use_number in 1..=16 {
            learned.known().began = None;
            learned.note(names(&["sympy"]));
            wanted.extend(learned.take_wanted().map(|_| use_number));
        }
        assert_eq!(wanted, [2, 4, 8, 16]);
    }

    #[test]
    fn another_process_knows_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("imports.json");
        let first = LearnedImages::open(Builder::Elsewhere, Some(path.clone()));
        first.note(names(&["sympy"]));
        first.save();
        let second = LearnedImages::open(Builder::Elsewhere, Some(path.clone()));
        assert_eq!(second.note(names(&["sympy"])), None);
        let wanted = second.take_wanted().expect("an image");
        assert_eq!((&wanted, second.take_wanted()), (&Image::of(["sympy"]), None));
        second.finished(&wanted, true);
        second.save();
        assert_eq!(LearnedImages::open(Builder::Here, Some(path.clone())).images(), [wanted]);
        for text in ["", "{}", r#"[{"modules": ["../x"], "uses": 2, "status": "Built"}]"#] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(LearnedImages::open(Builder::Here, Some(path.clone())).images(), []);
        }
    }
}
