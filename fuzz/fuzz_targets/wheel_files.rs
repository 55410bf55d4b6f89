//! Any bytes as the text files of a wheel, as a file name, as a policy, and as a script with inline metadata (PEP 723): reading
//! never panics.
#![no_main]

use brumate_packages::ScriptMetadata;
use brumate_packages::policy::{Origin, PackagePattern, PolicyLayer};
use brumate_packages::wheel::{Metadata, Record, WheelFileName, WheelInfo, parse_entry_points};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Metadata::parse(bytes);
    let _ = WheelInfo::parse(bytes);
    let _ = Record::parse(bytes);
    let _ = parse_entry_points(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(name) = text.parse::<WheelFileName>() {
        assert!(name.tags().count() >= 1 && name.to_string() == text);
    }
    if let Ok(pattern) = text.parse::<PackagePattern>() {
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
    }
    let _ = PolicyLayer::from_toml(text, Origin::CommandLine);
    if let Ok(Some(metadata)) = ScriptMetadata::parse(text) {
        let _ = metadata.allows_sandbox_python();
    }
});
