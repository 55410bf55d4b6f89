//! Landlock: the kernel's own refusal of files, TCP and signals, whatever the namespaces and filters let through.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr, RulesetStatus,
    Scope,
};

use super::{Report, Wall};

/// Newest rules known to the `landlock` crate in use; older kernels enforce the part they know.
const NEWEST: ABI = ABI::V9;

/// Where each wall begins: files, TCP, scopes.
const WALLS: [(Wall, ABI); 3] =
    [(Wall::LandlockFiles, ABI::V1), (Wall::LandlockTcp, ABI::V4), (Wall::LandlockScopes, ABI::V6)];

/// Denies every file, every TCP port and every signal or abstract socket that leads out of the jail. Descriptors
/// opened before keep working.
pub(super) fn enforce(report: &mut Report) {
    let outcome = restrict();
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

fn restrict() -> Result<ABI, String> {
    let text = |error: landlock::RulesetError| error.to_string();
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
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
