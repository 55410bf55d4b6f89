//! Images of what code imports: packages that are imported together twice get an image, and later runs are forked from
//! it.
//!
//! A file in the cache keeps the counts for the next process. They only decide how long imports take: a lost or
//! damaged file is started anew.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use brumate_engine_api::Image;
use parking_lot::{Mutex, MutexGuard};
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
pub enum ImageBuilder {
    /// No process. Imports are not counted.
    #[default]
    Disabled,
    /// This process, in the background.
    ThisProcess,
    /// Another process, for the image that [`Runner::image_to_build`](crate::Runner::image_to_build) returns.
    OtherProcess,
}

/// A set of modules that code imports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ImportSet {
    modules: Vec<String>,
    uses: u32,
    status: ImportSetStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ImportSetStatus {
    Counted,
    Built,
    /// The image could not be built. It is not tried again.
    Failed,
}

/// Counts of the sets of modules that runs import, and the images that were built of them.
#[derive(Debug)]
pub(crate) struct LearnedImages {
    builder: ImageBuilder,
    path: Option<PathBuf>,
    counts: Mutex<ImportCounts>,
}

#[derive(Debug, Default)]
struct ImportCounts {
    /// Sorted by their last imports, the latest last.
    sets: Vec<ImportSet>,
    /// Start of the last build.
    build_started: Option<Instant>,
    /// Image that another process is asked to build.
    image_to_build: Option<Image>,
    /// Whether the file lacks a change.
    changed: bool,
}

impl LearnedImages {
    /// Reads the counts of earlier processes from the file `path`.
    pub(crate) fn open(builder: ImageBuilder, path: Option<PathBuf>) -> LearnedImages {
        let sets = path.as_deref().filter(|_| builder != ImageBuilder::Disabled).and_then(read).unwrap_or_default();
        LearnedImages { builder, path, counts: Mutex::new(ImportCounts { sets, ..ImportCounts::default() }) }
    }

    fn counts(&self) -> MutexGuard<'_, ImportCounts> {
        self.counts.lock()
    }

    /// Returns the images that were built.
    pub(crate) fn images(&self) -> Vec<Image> {
        self.counts()
            .sets
            .iter()
            .filter(|set| set.status == ImportSetStatus::Built)
            .map(|set| image_of(&set.modules))
            .collect()
    }

    /// Counts an import of `modules`, all of the bundle. Returns the image that this process has to build now.
    pub(crate) fn count_import(&self, modules: BTreeSet<String>) -> Option<Image> {
        let is_data = modules.iter().all(|module| Image::DATA.contains(&module.as_str()));
        if self.builder == ImageBuilder::Disabled || is_data || modules.len() > MAX_MODULES {
            return None;
        }
        let modules: Vec<String> = modules.into_iter().collect();
        let mut counts = self.counts();
        let at = counts.sets.iter().position(|set| set.modules == modules);
        let mut set = match at {
            Some(at) => counts.sets.remove(at),
            None => ImportSet { modules, uses: 0, status: ImportSetStatus::Counted },
        };
        set.uses = set.uses.saturating_add(1);
        // The count does not matter any more once there is an image.
        counts.changed |= set.status == ImportSetStatus::Counted;
        let rested = counts.build_started.is_none_or(|build_started| build_started.elapsed() >= PAUSE);
        // Scripts that run while another process builds must not start further builds. Powers of two retry a build
        // that was killed.
        let asked = self.builder == ImageBuilder::OtherProcess && !set.uses.is_power_of_two();
        let due = set.status == ImportSetStatus::Counted && set.uses >= USES && rested && !asked;
        let image = due.then(|| image_of(&set.modules));
        counts.sets.push(set);
        if counts.sets.len() > MAX_SETS
            && let Some(oldest) = counts.sets.iter().position(|set| set.status != ImportSetStatus::Built)
        {
            counts.sets.remove(oldest);
        }
        let image = image?;
        counts.build_started = Some(Instant::now());
        if self.builder == ImageBuilder::OtherProcess {
            counts.image_to_build = Some(image);
            return None;
        }
        Some(image)
    }

    /// Returns the process that builds images.
    pub(crate) fn builder(&self) -> ImageBuilder {
        self.builder
    }

    /// Takes the image that another process has to build.
    pub(crate) fn take_image_to_build(&self) -> Option<Image> {
        self.counts().image_to_build.take()
    }

    /// Notes the result of a build. Returns an image that has to be removed because there are too many.
    pub(crate) fn record_build(&self, image: &Image, built: bool) -> Option<Image> {
        let mut counts = self.counts();
        for set in counts.sets.iter_mut().filter(|set| image_of(&set.modules) == *image) {
            set.status = if built { ImportSetStatus::Built } else { ImportSetStatus::Failed };
        }
        counts.changed = true;
        let count = counts.sets.iter().filter(|set| set.status == ImportSetStatus::Built).count();
        let oldest = counts.sets.iter().position(|set| set.status == ImportSetStatus::Built);
        let oldest = oldest.filter(|_| count > MAX_IMAGES)?;
        Some(image_of(&counts.sets.remove(oldest).modules))
    }

    /// Writes the counts for other processes. A failure only costs time later.
    pub(crate) fn save(&self) {
        let Some(path) = &self.path else { return };
        let sets = {
            let mut counts = self.counts();
            if !std::mem::take(&mut counts.changed) {
                return;
            }
            counts.sets.clone()
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
        let learned = LearnedImages::open(ImageBuilder::ThisProcess, None);
        assert_eq!(learned.count_import(names(&["sklearn", "numpy"])), None);
        assert_eq!(learned.count_import(names(&["networkx"])), None);
        let image = learned.count_import(names(&["numpy", "sklearn"])).expect("an image");
        assert_eq!(image, Image::of(["numpy", "sklearn"]));
        assert_eq!(learned.images(), []);
        assert_eq!(learned.record_build(&image, true), None);
        assert_eq!(learned.images(), [image]);
        assert_eq!(learned.count_import(names(&["numpy", "sklearn"])), None, "it is there");
    }

    #[test]
    fn what_has_an_image_already_or_cannot_have_one_gets_none() {
        let learned = LearnedImages::open(ImageBuilder::ThisProcess, None);
        let many: BTreeSet<String> = (0..=MAX_MODULES).map(|number| format!("m{number}")).collect();
        for modules in [names(&[]), names(&["numpy"]), names(&["pandas", "matplotlib", "numpy"]), many] {
            for _ in 0..5 {
                assert_eq!(learned.count_import(modules.clone()), None, "{modules:?}");
            }
        }
        learned.count_import(names(&["broken"]));
        let broken = learned.count_import(names(&["broken"])).expect("an image");
        learned.record_build(&broken, false);
        learned.counts().build_started = None;
        assert_eq!(learned.count_import(names(&["broken"])), None);
        let nobody = LearnedImages::open(ImageBuilder::Disabled, None);
        assert_eq!((nobody.count_import(names(&["a"])), nobody.count_import(names(&["a"]))), (None, None));
    }

    #[test]
    fn images_and_sets_are_bounded() {
        let learned = LearnedImages::open(ImageBuilder::ThisProcess, None);
        let mut removed = Vec::new();
        for number in 0..MAX_IMAGES + 2 {
            let modules = BTreeSet::from([format!("m{number}")]);
            learned.counts().build_started = None;
            learned.count_import(modules.clone());
            let image = learned.count_import(modules).expect("an image");
            removed.extend(learned.record_build(&image, true));
        }
        assert_eq!(removed, [Image::of(["m0"]), Image::of(["m1"])]);
        for number in 0..1000 {
            learned.count_import(BTreeSet::from([format!("n{number}")]));
        }
        assert_eq!((learned.images().len(), learned.counts().sets.len()), (MAX_IMAGES, MAX_SETS));
        // One build after the other, with a pause between them.
        learned.counts().build_started = Some(Instant::now());
        learned.count_import(names(&["late"]));
        assert_eq!(learned.count_import(names(&["late"])), None);
    }

    #[test]
    fn scripts_that_run_during_a_build_start_no_other() {
        let learned = LearnedImages::open(ImageBuilder::OtherProcess, None);
        let mut image_to_build = Vec::new();
        for use_number in 1..=16 {
            learned.counts().build_started = None;
            learned.count_import(names(&["sympy"]));
            image_to_build.extend(learned.take_image_to_build().map(|_| use_number));
        }
        assert_eq!(image_to_build, [2, 4, 8, 16]);
    }

    #[test]
    fn another_process_knows_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("imports.json");
        let first = LearnedImages::open(ImageBuilder::OtherProcess, Some(path.clone()));
        first.count_import(names(&["sympy"]));
        first.save();
        let second = LearnedImages::open(ImageBuilder::OtherProcess, Some(path.clone()));
        assert_eq!(second.count_import(names(&["sympy"])), None);
        let image_to_build = second.take_image_to_build().expect("an image");
        assert_eq!((&image_to_build, second.take_image_to_build()), (&Image::of(["sympy"]), None));
        second.record_build(&image_to_build, true);
        second.save();
        assert_eq!(LearnedImages::open(ImageBuilder::ThisProcess, Some(path.clone())).images(), [image_to_build]);
        for text in ["", "{}", r#"[{"modules": ["../x"], "uses": 2, "status": "Built"}]"#] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(LearnedImages::open(ImageBuilder::ThisProcess, Some(path.clone())).images(), []);
        }
    }
}
