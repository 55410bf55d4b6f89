//! Any bytes as the text files of a wheel, a wheel's file name, a policy, or a script with inline metadata (PEP 723).

use brumate_packages::ScriptMetadata;
use brumate_packages::policy::{PackagePattern, PolicyLayer, RuleOrigin};
use brumate_packages::wheel::{Metadata, Record, WheelFileName, WheelInfo, parse_entry_points};

/// Gives the bytes to every reader of such texts.
///
/// None panics, and names and patterns are shown as they were written. Returns whether one accepted the bytes.
pub fn run(bytes: &[u8]) -> bool {
    let mut accepted = Metadata::parse(bytes).is_ok();
    accepted |= WheelInfo::parse(bytes).is_ok();
    accepted |= Record::parse(bytes).is_ok();
    accepted |= parse_entry_points(bytes).is_ok();
    let Ok(text) = std::str::from_utf8(bytes) else { return accepted };
    if let Ok(name) = text.parse::<WheelFileName>() {
        assert!(name.tags().count() >= 1 && name.to_string() == text);
        accepted = true;
    }
    if let Ok(pattern) = text.parse::<PackagePattern>() {
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
        accepted = true;
    }
    accepted |= PolicyLayer::from_toml(text, RuleOrigin::CommandLine).is_ok();
    if let Ok(Some(metadata)) = ScriptMetadata::parse(text) {
        let _ = metadata.allows_sandbox_python();
        accepted = true;
    }
    accepted
}
