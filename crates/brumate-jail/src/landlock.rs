//! Landlock: the kernel's own refusal of files, TCP and signals, whatever the namespaces and filters let through.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::{Profile, Report, Wall};

/// Newest rules known to the `landlock` crate in use; older kernels enforce the part they know.
const NEWEST: ABI = ABI::V9;

/// Where each wall begins: files, TCP, scopes.
const WALLS: [(Wall, ABI); 3] =
    [(Wall::LandlockFiles, ABI::V1), (Wall::LandlockTcp, ABI::V4), (Wall::LandlockScopes, ABI::V6)];

/// Denies every file, every TCP port and every signal or abstract socket that leads out of the jail. Descriptors
/// opened before keep working. A gateway may connect to TCP ports, and listen on none.
pub(super) fn enforce(profile: Profile, report: &mut Report) {
    let outcome = restrict(profile);
    for (wall, since) in WALLS {
        match &outcome {
            Err(reason) => report.missing(wall, reason),
            Ok(abi) if *abi as i32 >= since as i32 => {
                report.active(wall, format!("ABI {}", *abi as i32));
            }
            Ok(abi) => report
                .missing(wall, format!("the kernel's Landlock ABI is {}, this needs {}", *abi as i32, since as i32)),
        }
    }
}

fn restrict(profile: Profile) -> Result<ABI, String> {
    let network = match profile {
        Profile::Gateway => AccessNet::BindTcp.into(),
        Profile::Zygote | Profile::Compile | Profile::Native => AccessNet::from_all(NEWEST),
    };
    let text = |error: landlock::RulesetError| error.to_string();
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(network))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.restrict_self())
        .map_err(text)?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            Err("Landlock is not enabled in this kernel".into())
        }
        (RulesetStatus::NotEnforced, _) => Err("this kernel has no Landlock".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi),
        (_, other) => Err(format!("contradictory answer: {other:?}")),
    }
}

/// Makes rules for a native program: it may read and execute all files of its root, and change those below `writable`. TCP ports are
/// refused unless `network`. Signals and abstract sockets stay in the jail. Returns the rules, which a process puts on itself, or the
/// reason why there are none.
pub(super) fn native_rules(writable: &[&str], network: bool) -> Result<OwnedFd, String> {
    let text = |error: landlock::RulesetError| error.to_string();
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(text)?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST)).map_err(text)?;
    }
    let mut rules = rules.scope(Scope::from_all(NEWEST)).and_then(|rules| rules.create()).map_err(text)?;
    let beneath = |path: &str, access| match PathFd::new(path) {
        Ok(path) => Ok(PathBeneath::new(path, access)),
        Err(error) => Err(format!("{path}: {error}")),
    };
    rules = rules.add_rule(beneath("/", AccessFs::from_read(NEWEST))?).map_err(text)?;
    for path in writable {
        rules = rules.add_rule(beneath(path, AccessFs::from_all(NEWEST))?).map_err(text)?;
    }
    let made: Option<OwnedFd> = rules.into();
    made.ok_or_else(|| "this kernel has no Landlock".to_owned())
}
