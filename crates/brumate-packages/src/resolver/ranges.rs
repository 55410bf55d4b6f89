//! Version specifiers (PEP 440) as sets of versions.

use std::collections::Bound;

use pep440_rs::{LocalSegment, Operator, Prerelease, Version, VersionSpecifier, VersionSpecifiers};
use pubgrub::Ranges;

/// Set of versions.
pub(crate) type Versions = Ranges<Version>;

/// Bound after every local version: no index serves a local version that ends so (see [`is_reserved`]).
const LAST_LOCAL: LocalSegment = LocalSegment::Number(u64::MAX);

/// Returns whether a version cannot be published, because [`after_locals`] uses it as a bound.
pub(crate) fn is_reserved(version: &Version) -> bool {
    version.local().contains(&LAST_LOCAL)
}

/// Returns a bound after `version` and all its local versions, before everything else.
fn after_locals(version: Version) -> Version {
    version.with_local(vec![LAST_LOCAL])
}

/// Returns the versions that meet all `specifiers`. Prereleases within the bounds are included.
pub(crate) fn versions(specifiers: &VersionSpecifiers) -> Versions {
    specifiers.iter().fold(Versions::full(), |versions, specifier| versions.intersection(&one(specifier)))
}

fn one(specifier: &VersionSpecifier) -> Versions {
    let version = specifier.version().clone();
    match specifier.operator() {
        Operator::ExactEqual => Versions::singleton(version),
        Operator::Equal if version.is_local() => Versions::singleton(version),
        // `==1.0` has 1.0 and 1.0+anything.
        Operator::Equal => Versions::between(version.clone(), after_locals(version)),
        Operator::NotEqual if version.is_local() => Versions::singleton(version).complement(),
        Operator::NotEqual => Versions::between(version.clone(), after_locals(version)).complement(),
        Operator::EqualStar => prefix(version),
        Operator::NotEqualStar => prefix(version).complement(),
        Operator::TildeEqual => {
            let (Some((_, kept)), epoch) = (version.release().split_last(), version.epoch()) else {
                return Versions::empty();
            };
            let mut release = kept.to_vec();
            if let Some(last) = release.last_mut() {
                *last = last.saturating_add(1);
            }
            let end = Version::new(release).with_epoch(epoch).with_dev(Some(0));
            Versions::between(version, end)
        }
        Operator::GreaterThanEqual => Versions::higher_than(version),
        Operator::LessThanEqual => Versions::lower_than(after_locals(version)),
        // `<1.0` excludes prereleases of 1.0, unless 1.0 is a prerelease itself.
        Operator::LessThan if version.any_prerelease() => Versions::strictly_lower_than(version),
        Operator::LessThan if version.is_post() => Versions::strictly_lower_than(version.with_dev(Some(0))),
        Operator::LessThan => Versions::strictly_lower_than(version.with_min(Some(0))),
        // `>1.0` excludes 1.0.post1 and 1.0+local, unless 1.0 is such a version itself.
        Operator::GreaterThan => match version.dev() {
            Some(dev) => Versions::higher_than(version.with_dev(Some(dev.saturating_add(1)))),
            None if version.is_post() => Versions::strictly_higher_than(after_locals(version)),
            None => Versions::strictly_higher_than(version.with_max(Some(0))),
        },
    }
}

/// Returns the range of `==1.0.*`: from 1.0.dev0 to the bound after every version that starts with 1.0.
fn prefix(version: Version) -> Versions {
    let first = version.with_dev(Some(0));
    let end = match (first.post(), first.pre()) {
        (Some(post), _) => first.clone().with_post(Some(post.saturating_add(1))),
        (None, Some(Prerelease { kind, number })) => {
            first.clone().with_pre(Some(Prerelease { kind, number: number.saturating_add(1) }))
        }
        (None, None) => {
            let mut release = first.release().to_vec();
            if let Some(last) = release.last_mut() {
                *last = last.saturating_add(1);
            }
            first.clone().with_release(release)
        }
    };
    Versions::between(first, end)
}

/// Returns whether a range is one version, except for local versions (`==1.0`).
pub(crate) fn is_pin(versions: &Versions) -> bool {
    versions.as_singleton().is_some()
        || !versions.is_empty()
            && versions.iter().all(|bounds| match bounds {
                (Bound::Included(low), Bound::Excluded(high)) => {
                    !low.is_local() && is_reserved(high) && *low == high.clone().without_local()
                }
                _ => false,
            })
}

/// Formats a range as people write it after a name: `>=1,<2`, `==1.0`, `<1 or >2`; empty for all versions.
pub(crate) fn specifiers(versions: &Versions) -> String {
    let clean = |version: &Version| {
        let version = if is_reserved(version) { version.clone().without_local() } else { version.clone() };
        // These must not be set on such versions, not even to `None`.
        let version = if Version::min(&version).is_some() { version.with_min(None) } else { version };
        if Version::max(&version).is_some() { version.with_max(None) } else { version }
    };
    let parts = versions.iter().map(|bounds| match bounds {
        (Bound::Unbounded, Bound::Unbounded) => String::new(),
        (Bound::Included(low), Bound::Excluded(high)) if is_reserved(high) && *low == clean(high) => format!("=={low}"),
        (Bound::Included(low), Bound::Included(high)) if low == high => format!("=={low}"),
        (low, high) => {
            let low = match low {
                Bound::Unbounded => String::new(),
                Bound::Included(version) if !is_reserved(version) => format!(">={}", clean(version)),
                Bound::Included(version) | Bound::Excluded(version) => format!(">{}", clean(version)),
            };
            let high = match high {
                Bound::Unbounded => String::new(),
                Bound::Excluded(version) if is_reserved(version) => format!("<={}", clean(version)),
                Bound::Included(version) => format!("<={}", clean(version)),
                Bound::Excluded(version) => format!("<{}", clean(version)),
            };
            if low.is_empty() || high.is_empty() { format!("{low}{high}") } else { format!("{low},{high}") }
        }
    });
    parts.collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn set(text: &str) -> Versions {
        versions(&VersionSpecifiers::from_str(text).expect("specifiers"))
    }

    fn version(text: &str) -> Version {
        Version::from_str(text).expect("a version")
    }

    /// Expected results are those of `packaging` 26.3.
    #[test]
    fn agree_with_packaging() {
        let all = [
            "0.9",
            "1.0.dev1",
            "1.0a1",
            "1.0rc1",
            "1.0",
            "1.0+local",
            "1.0.post1",
            "1.0.1.dev0",
            "1.0.1",
            "1.1a1",
            "1.1",
            "1.2",
            "2.0.dev0",
            "2.0a1",
            "2.0",
            "1!0.1",
        ];
        let after_1 = "1.0.1.dev0 1.0.1 1.1a1 1.1 1.2 2.0.dev0 2.0a1 2.0 1!0.1";
        for (text, expected) in [
            ("==1.0", "1.0 1.0+local"),
            ("!=1.0", &format!("0.9 1.0.dev1 1.0a1 1.0rc1 1.0.post1 {after_1}")),
            ("===1.0", "1.0"),
            ("==1.0+local", "1.0+local"),
            ("!=1.0+local", &format!("0.9 1.0.dev1 1.0a1 1.0rc1 1.0 1.0.post1 {after_1}")),
            ("==1.0.*", "1.0.dev1 1.0a1 1.0rc1 1.0 1.0+local 1.0.post1 1.0.1.dev0 1.0.1"),
            ("!=1.0.*", "0.9 1.1a1 1.1 1.2 2.0.dev0 2.0a1 2.0 1!0.1"),
            ("~=1.0", "1.0 1.0+local 1.0.post1 1.0.1.dev0 1.0.1 1.1a1 1.1 1.2"),
            ("~=1.0.1", "1.0.1"),
            (">=1.0", &format!("1.0 1.0+local 1.0.post1 {after_1}")),
            ("<=1.0", "0.9 1.0.dev1 1.0a1 1.0rc1 1.0 1.0+local"),
            ("<1.0", "0.9"),
            (">1.0", after_1),
            ("<1.0rc1", "0.9 1.0.dev1 1.0a1"),
            (">1.0a1", &format!("1.0rc1 1.0 1.0+local 1.0.post1 {after_1}")),
            (">1.0.dev1", &format!("1.0a1 1.0rc1 1.0 1.0+local 1.0.post1 {after_1}")),
            ("<1.0.post1", "0.9 1.0.dev1 1.0a1 1.0rc1 1.0 1.0+local"),
            (">1.0.post1", after_1),
            (">=1.0,<2.0,!=1.1", "1.0 1.0+local 1.0.post1 1.0.1.dev0 1.0.1 1.1a1 1.2"),
            (">=1!0", "1!0.1"),
        ] {
            let set = set(text);
            // Prereleases are within the bounds; other code decides whether they are used.
            let found: Vec<&str> = all.into_iter().filter(|given| set.contains(&version(given))).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn pins_are_seen() {
        for (text, pin) in [("==1.0", true), ("===1.0", true), ("==1.0.*", false), (">=1.0", false), ("==1,==2", false)]
        {
            assert_eq!(is_pin(&set(text)), pin, "{text}");
        }
    }

    #[test]
    fn are_shown_as_written() {
        for text in ["==1.0", ">=1.0", "<1.0", ">1.0", "<=1.0", ">=1.0,<2.0", "==1.0+local", "<1.0rc1", ">1.0a1"] {
            assert_eq!(specifiers(&set(text)), text);
        }
        assert_eq!(specifiers(&set("!=1.0")), "<1.0 or >1.0");
        assert_eq!(specifiers(&Versions::full()), "");
    }
}
