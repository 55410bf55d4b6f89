use super::{Fixture, messages};
use crate::documents::changelog;

fn faults(changelog: &str) -> Vec<String> {
    let fixture = Fixture::new("CHANGELOG.md", changelog);
    messages(&changelog::check(&fixture.repository).expect("the files"))
}

#[test]
fn the_newest_version_is_that_of_all_packages() {
    assert_eq!(faults("# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-02\n\n- One.\n\n## [0.1.0]\n"), [""; 0]);
    let faults = faults("## [Unreleased]\n\n## [0.3.0] - 2026-01-02\n");
    assert_eq!(faults.len(), 5, "{faults:#?}");
    assert!(faults.iter().all(|fault| fault.starts_with("CHANGELOG.md:3: 0.3.0 is the newest version")), "{faults:#?}");
}

#[test]
fn a_version_is_short() {
    let long = format!("## [Unreleased]\n\n## [0.2.0]\n\n{}", "- One more.\n".repeat(16));
    assert_eq!(faults(&long), ["CHANGELOG.md:3: 0.2.0 has 16 entries, 15 are allowed"]);
    assert_eq!(faults("## [0.2.0]\n"), ["CHANGELOG.md:1: its first heading is not `## [Unreleased]`"]);
}
