//! The wheels of a machine, and the plan for changing them.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{OFlags, fcntl_getfl};

use crate::api::{
    EngineError, InstallAnswer, InstallRequest, Layer, LayerId, MAX_LAYER_BYTES, MAX_LAYER_NAME, MAX_LAYERS,
    MAX_REFUSAL, MAX_REQUIREMENT,
};
use crate::bundle::distribution;
use crate::wire::{InstallReply, LAYERS_AT_ONCE, LayerInfo, MAX_LIST, MachineRequest};

/// The wheels of one machine. Shared by the machine and its interrupters.
#[derive(Debug, Clone, Default)]
pub(super) struct Mounted(Arc<MountedState>);

#[derive(Debug, Default)]
struct MountedState {
    layers: Mutex<Vec<Layer>>,
    /// Whether the crash snapshot names other layers as well.
    wide: AtomicBool,
}

impl Mounted {
    pub(super) fn get(&self) -> Vec<Layer> {
        self.layers().clone()
    }

    fn layers(&self) -> MutexGuard<'_, Vec<Layer>> {
        self.0.layers.lock()
    }

    /// Marks that the crash snapshot names other layers as well.
    pub(super) fn header_lists_superset(&self) {
        self.0.wide.store(true, Ordering::Relaxed);
    }

    /// Returns whether the crash snapshot names other layers, and clears the mark.
    pub(super) fn take_wide(&self) -> bool {
        self.0.wide.swap(false, Ordering::Relaxed)
    }

    pub(super) fn set(&self, layers: Vec<Layer>) {
        *self.layers() = layers;
    }

    pub(super) fn find(&self, id: &LayerId) -> Option<Layer> {
        self.layers().iter().find(|layer| layer.sha256 == id.sha256 && layer.name == id.name).cloned()
    }
}

/// Changes that give a machine the wanted wheels.
#[derive(Debug, Default)]
pub(super) struct RemountPlan {
    add: Vec<Layer>,
    pub(super) remove: Vec<LayerId>,
    /// Layers of the machine afterwards.
    pub(super) after: Vec<Layer>,
}

impl RemountPlan {
    /// Mounts `wanted` in addition to `present`; another version of a package is replaced.
    ///
    /// # Errors
    /// [`EngineError::Layer`] for one that cannot be mounted, or is one too many.
    pub(super) fn new(present: &[Layer], wanted: &[Layer]) -> Result<RemountPlan, EngineError> {
        let mut plan = RemountPlan { after: present.to_vec(), ..RemountPlan::default() };
        for layer in wanted {
            if plan.after.contains(layer) {
                continue;
            }
            check(layer)?;
            let package = distribution(&layer.name);
            let is_other = |other: &Layer| distribution(&other.name) == package;
            if plan.add.iter().any(is_other) {
                return Err(problem(layer, "two versions of one package cannot be mounted"));
            }
            plan.remove.extend(plan.after.extract_if(.., |other| is_other(other)).map(|layer| layer.id()));
            plan.add.push(layer.clone());
            plan.after.push(layer.clone());
            if plan.after.len() > MAX_LAYERS {
                return Err(problem(layer, &format!("a machine has at most {MAX_LAYERS} packages")));
            }
        }
        let mut bytes = 0_u64;
        for layer in &plan.after {
            let length = layer.archive.metadata().map_err(|error| problem(layer, &error.to_string()))?.len();
            bytes = bytes.saturating_add(length);
            if bytes > MAX_LAYER_BYTES {
                return Err(problem(layer, &format!("packages of more than {MAX_LAYER_BYTES} bytes in all")));
            }
        }
        Ok(plan)
    }

    /// Unmounts the packages with these names (normalised, PEP 503).
    pub(super) fn without(present: &[Layer], packages: &[String]) -> RemountPlan {
        let goes = |layer: &Layer| packages.contains(&distribution(&layer.name));
        let mut after = present.to_vec();
        let remove = after.extract_if(.., |layer| goes(layer)).map(|layer| layer.id()).collect();
        RemountPlan { add: Vec::new(), remove, after }
    }

    /// Whether nothing changes.
    pub(super) fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    /// Returns the messages that send the machine its new layers, with their descriptors.
    pub(super) fn messages(
        &self,
        guest_request: Option<u64>,
    ) -> impl Iterator<Item = (MachineRequest, Vec<BorrowedFd<'_>>)> {
        messages(&self.add).map(move |(layers, fds)| (MachineRequest::Layers { guest_request, layers }, fds))
    }

    /// Returns every wheel that the machine may have during the change.
    pub(super) fn before_and_after(&self) -> Vec<LayerId> {
        self.remove.iter().cloned().chain(self.after.iter().map(Layer::id)).collect()
    }
}

/// Returns the messages that send layers, with their descriptors.
pub(super) fn messages(layers: &[Layer]) -> impl Iterator<Item = (Vec<LayerInfo>, Vec<BorrowedFd<'_>>)> {
    layers.chunks(LAYERS_AT_ONCE).map(|layers| {
        let infos = layers.iter().map(|layer| LayerInfo { id: layer.id(), bytecode: layer.bytecode.is_some() });
        let files = layers.iter().flat_map(|layer| std::iter::once(&layer.archive).chain(&layer.bytecode));
        (infos.collect(), files.map(|file| file.as_fd()).collect())
    })
}

fn problem(layer: &Layer, reason: &str) -> EngineError {
    EngineError::Layer { name: layer.name.clone(), reason: reason.to_owned() }
}

/// Refuses a layer that a machine must not get.
pub(super) fn check(layer: &Layer) -> Result<(), EngineError> {
    let is_name = !layer.name.is_empty() && layer.name.len() <= MAX_LAYER_NAME && !layer.name.contains(['/', '\0']);
    if !is_name {
        return Err(problem(layer, "that is no name of a wheel"));
    }
    for file in std::iter::once(&layer.archive).chain(&layer.bytecode) {
        let flags = fcntl_getfl(file).map_err(|errno| problem(layer, &errno.to_string()))?;
        if !(flags & OFlags::RWMODE).is_empty() {
            return Err(problem(layer, "its file is open for writing"));
        }
    }
    Ok(())
}

/// Whether a request of the guest may be passed to the caller.
pub(super) fn is_sound(request: &InstallRequest) -> bool {
    let texts = request.requirements.iter().chain(&request.constraints).chain(&request.uninstall);
    let modules = request.modules.iter().flat_map(|module| module.among.iter().chain([&module.name]));
    texts.chain(modules).all(|text| text.len() <= MAX_REQUIREMENT)
}

/// Answers an uninstall request. The caller is not asked.
pub(super) fn uninstall(present: &[Layer], packages: &[String]) -> (RemountPlan, InstallReply) {
    let plan = RemountPlan::without(present, packages);
    let version = |id: &LayerId| id.name.split('-').nth(1).unwrap_or_default().to_owned();
    let gone = plan.remove.iter().map(|id| (distribution(&id.name), version(id))).collect();
    (plan, InstallReply::Done { installed: Vec::new(), satisfied: gone })
}

/// Returns the plan for an install answer, and the reply to the guest.
pub(super) fn install(present: &[Layer], answer: Result<InstallAnswer, String>) -> (RemountPlan, InstallReply) {
    let refused = |mut text: String| {
        text.truncate(text.floor_char_boundary(MAX_REFUSAL));
        (RemountPlan { after: present.to_vec(), ..RemountPlan::default() }, InstallReply::Refused(text))
    };
    match answer {
        Err(text) => refused(text),
        Ok(InstallAnswer { layers, mut installed, mut satisfied }) => match RemountPlan::new(present, &layers) {
            Ok(plan) => {
                installed.truncate(MAX_LIST);
                satisfied.truncate(MAX_LIST);
                (plan, InstallReply::Done { installed, satisfied })
            }
            Err(error) => refused(error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn layer(name: &str, digest: u8) -> Layer {
        let archive = Arc::new(File::open("/dev/null").unwrap());
        Layer { name: name.to_owned(), sha256: [digest; 32], archive, bytecode: None }
    }

    fn names(layers: &[Layer]) -> Vec<&str> {
        layers.iter().map(|layer| &layer.name[..]).collect()
    }

    #[test]
    fn another_version_takes_the_place_of_the_one_there_is() {
        let present = [layer("rich-12-py3-none-any.whl", 1), layer("a-1-py3-none-any.whl", 2)];
        let wanted = [layer("a-1-py3-none-any.whl", 2), layer("Rich-13-py3-none-any.whl", 3)];
        let plan = RemountPlan::new(&present, &wanted).unwrap();
        assert_eq!(names(&plan.add), ["Rich-13-py3-none-any.whl"]);
        assert_eq!(plan.remove, [present[0].id()]);
        assert_eq!(names(&plan.after), ["a-1-py3-none-any.whl", "Rich-13-py3-none-any.whl"]);
        assert_eq!(plan.before_and_after().len(), 3);
        assert!(RemountPlan::new(&present, &present).unwrap().is_empty());
        assert!(RemountPlan::new(&[], &[layer("a-1-x.whl", 1), layer("a-2-x.whl", 2)]).is_err());
    }

    #[test]
    fn what_no_machine_must_be_given_is_refused() {
        for name in ["", "a/b", "a\0", &"x".repeat(MAX_LAYER_NAME + 1)] {
            assert!(RemountPlan::new(&[], &[layer(name, 1)]).is_err(), "{name:?}");
        }
        let mut writable = layer("a-1.whl", 1);
        writable.archive = Arc::new(tempfile::tempfile().unwrap());
        assert!(RemountPlan::new(&[], &[writable]).is_err());
        let many: Vec<_> = (0..=MAX_LAYERS).map(|number| layer(&format!("p{number}-1.whl"), 1)).collect();
        assert!(RemountPlan::new(&[], &many[1..]).is_ok() && RemountPlan::new(&[], &many).is_err());
    }

    #[test]
    fn layers_travel_with_their_descriptors() {
        let mut layers: Vec<_> = (0..2 * LAYERS_AT_ONCE).map(|number| layer(&format!("p{number}-1.whl"), 1)).collect();
        layers[1].bytecode = Some(layers[1].archive.clone());
        let plan = RemountPlan::new(&[], &layers).unwrap();
        let counts: Vec<_> = plan.messages(None).map(|(_, fds)| fds.len()).collect();
        assert_eq!(counts, [LAYERS_AT_ONCE + 1, LAYERS_AT_ONCE]);
    }

    #[test]
    fn packages_are_taken_away_by_name() {
        let present = [layer("ruamel.yaml-0.18-py3-none-any.whl", 1), layer("a-1-py3-none-any.whl", 2)];
        let (plan, reply) = uninstall(&present, &["ruamel-yaml".to_owned(), "b".to_owned()]);
        assert_eq!(names(&plan.after), ["a-1-py3-none-any.whl"]);
        let gone = vec![("ruamel-yaml".to_owned(), "0.18".to_owned())];
        assert_eq!(reply, InstallReply::Done { installed: Vec::new(), satisfied: gone });
    }
}
