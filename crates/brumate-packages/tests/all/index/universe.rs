//! Random worlds of packages: conflicts, extras, markers, withdrawn versions and prereleases, wheels for other
//! systems.

use std::collections::BTreeMap;

use brumate_test_support::Random;
use sha2::{Digest, Sha256};

use super::server::{Reply, Request};

/// Platform of the sandbox, and the nearest that uv knows: uv gets wheels for the first as wheels for the second.
pub(crate) const PLATFORM: &str = "pyemscripten_2026_0_wasm32";
pub(crate) const PLATFORM_OF_UV: &str = "pyodide_2025_0_wasm32";

const EXTRAS: [&str; 3] = ["fast", "all", "x-y"];
const MARKERS: [&str; 10] = [
    "python_version >= '3.8'",
    "python_version < '3.9'",
    "python_full_version >= '3.14.1'",
    "sys_platform == 'emscripten'",
    "sys_platform == 'win32'",
    "platform_system != 'Windows'",
    "os_name == 'posix' and platform_machine == 'wasm32'",
    "platform_machine in 'x86_64 arm64'",
    "implementation_name == 'cpython' or sys_platform == 'linux'",
    "platform_python_implementation != 'CPython'",
];
/// Lower bounds only: uv's `--python-version` means that version and later ones, so it ignores upper bounds, which
/// this resolver (like pip) checks against the sandbox's Python.
const REQUIRES_PYTHON: [&str; 5] = [">=3.8", ">=3.8,<4", ">=3.15", ">=3.14.3", "~=3.10"];

/// Files and metadata of one version.
struct Release {
    metadata: String,
    wheel_tag: Option<&'static str>,
    yanked: bool,
    requires_python: Option<&'static str>,
    /// Whether the page states the Pythons that it is for, or only the metadata.
    python_on_page: bool,
    day: usize,
}

/// Index of random packages.
pub(crate) struct Universe {
    packages: BTreeMap<String, BTreeMap<String, Release>>,
    names: Vec<String>,
}

impl Universe {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 6 + random.index(14);
        let names: Vec<String> = (0..count).map(|number| format!("p{number:02}")).collect();
        // In dense worlds nearly every set of requirements has conflicts. Worlds of consecutive seeds alternate.
        let density = 1 + (seed % 4) as usize;
        let mut packages = BTreeMap::new();
        for name in &names {
            let mut releases = BTreeMap::new();
            for version in versions(&mut random) {
                let release = release(&mut random, name, &version, &names, density);
                releases.insert(version, release);
            }
            packages.insert(name.clone(), releases);
        }
        Self { packages, names }
    }

    /// Describes the versions of `names`, for people.
    pub(crate) fn describe(&self, names: &[&str]) -> String {
        let releases = names.iter().filter_map(|name| Some((name, self.packages.get(*name)?)));
        let lines = releases.flat_map(|(name, releases)| {
            releases.iter().map(move |(version, release)| {
                let requires: Vec<&str> =
                    release.metadata.lines().filter(|line| line.starts_with("Requires")).collect();
                let (tag, yanked) = (release.wheel_tag.unwrap_or("source"), release.yanked);
                format!("    {name} {version} {tag} yanked {yanked} {requires:?}")
            })
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns a user's requirements, sometimes for packages that do not exist.
    pub(crate) fn requirements(&self, random: &mut Random) -> Vec<String> {
        let count = 1 + random.index(4);
        (0..count).map(|_| requirement(random, &self.names, 60)).collect()
    }

    /// Returns a user's constraints.
    pub(crate) fn constraints(&self, random: &mut Random) -> Vec<String> {
        let count = random.index(3);
        (0..count)
            .map(|_| {
                let name = random.pick(&self.names).clone();
                format!("{name}{}", specifier(random))
            })
            .collect()
    }

    /// Answers `/simple/<name>/`, the same for uv as `/uv/<name>/`, and the metadata of wheels.
    pub(crate) fn answer(&self, request: &Request) -> Reply {
        let path = request.path.trim_start_matches('/');
        for (prefix, tag) in [("simple/", PLATFORM), ("uv/", PLATFORM_OF_UV)] {
            if let Some(name) = path.strip_prefix(prefix).map(|rest| rest.trim_end_matches('/')) {
                let page = self.packages.get(name).map(|releases| page(name, releases));
                return page.map_or(Reply::status(404), |page| Reply::json(&page.replace(PLATFORM, tag)));
            }
        }
        let found = path.strip_prefix("files/").and_then(|rest| rest.strip_suffix(".whl.metadata")).and_then(|stem| {
            let mut parts = stem.split('-');
            let (name, version) = (parts.next()?, parts.next()?);
            self.packages.get(name)?.get(version)
        });
        found
            .map_or(Reply::status(404), |release| Reply::new(200, "application/octet-stream", release.metadata.clone()))
    }
}

fn versions(random: &mut Random) -> Vec<String> {
    let count = 1 + random.index(7);
    let mut versions = Vec::new();
    for number in 0..count {
        let (major, minor) = (number / 3, number % 3);
        let suffix = match random.index(12) {
            0 => "a1",
            1 => "rc2",
            2 => ".dev3",
            3 => ".post1",
            _ => "",
        };
        versions.push(format!("{major}.{minor}{suffix}"));
    }
    versions
}

fn release(random: &mut Random, name: &str, version: &str, names: &[String], density: usize) -> Release {
    let mut metadata = format!("Metadata-Version: 2.3\nName: {name}\nVersion: {version}\n");
    let requires_python = random.chance(25).then(|| *random.pick(&REQUIRES_PYTHON));
    if let Some(required) = requires_python {
        metadata.push_str(&format!("Requires-Python: {required}\n"));
    }
    for extra in EXTRAS {
        metadata.push_str(&format!("Provides-Extra: {extra}\n"));
    }
    for _ in 0..random.index(density + 1) {
        let wanted = requirement(random, names, 70);
        let marker = match random.index(10) {
            0..4 => String::new(),
            4..7 => format!("; {}", random.pick(&MARKERS)),
            7..9 => format!("; extra == '{}'", random.pick(&EXTRAS)),
            _ => format!("; extra == '{}' and {}", random.pick(&EXTRAS), random.pick(&MARKERS)),
        };
        // The user's requirements have no marker of their own here, so there is never a second one.
        metadata.push_str(&format!("Requires-Dist: {wanted}{marker}\n"));
    }
    if random.chance(15) {
        let extra = random.pick(&EXTRAS[1..]);
        metadata.push_str(&format!("Requires-Dist: {name}[fast]; extra == '{extra}'\n"));
    }
    let wheel_tag = match random.index(12) {
        0 => None,
        1 => Some("cp314-cp314-manylinux_2_17_x86_64"),
        2 => Some("py2-none-any"),
        3 => Some("py2.py3-none-any"),
        4 => Some("cp314-none-any"),
        5 => Some("cp314-cp314-pyemscripten_2026_0_wasm32"),
        _ => Some("py3-none-any"),
    };
    Release {
        metadata,
        wheel_tag,
        yanked: random.chance(8),
        requires_python,
        python_on_page: random.chance(70),
        day: 1 + random.index(28),
    }
}

/// Formats `name[extra]specifier`.
fn requirement(random: &mut Random, names: &[String], with_versions: u64) -> String {
    let name = if random.chance(2) { "absent" } else { random.pick(names).as_str() };
    let extra = if random.chance(20) { format!("[{}]", random.pick(&EXTRAS)) } else { String::new() };
    let versions = if random.chance(with_versions) { specifier(random) } else { String::new() };
    format!("{name}{extra}{versions}")
}

fn specifier(random: &mut Random) -> String {
    let (major, minor) = (random.index(3), random.index(3));
    match random.index(9) {
        0 => format!("=={major}.{minor}"),
        1 => format!("=={major}.*"),
        2 => format!("<{major}.{minor}"),
        3 => format!("<={major}.{minor}"),
        4 => format!(">{major}.{minor}"),
        5 => format!("~={major}.{minor}"),
        6 => format!("!={major}.{minor}"),
        7 => format!(">={major}.{minor}a1"),
        _ => format!(">={major}.{minor}"),
    }
}

fn page(name: &str, releases: &BTreeMap<String, Release>) -> String {
    let mut files = Vec::new();
    for (version, release) in releases {
        let python = match release.requires_python.filter(|_| release.python_on_page) {
            Some(required) => format!(r#""requires-python": "{required}","#),
            None => String::new(),
        };
        let time = format!("2025-03-{:02}T00:00:00Z", release.day);
        // uv identifies files by their digests, so each has its own.
        let hex = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let common = |file: &str| {
            format!(
                r#""hashes": {{"sha256": "{}"}}, {python} "upload-time": "{time}", "size": 1, "yanked": {}"#,
                hex(file),
                release.yanked
            )
        };
        if let Some(tag) = release.wheel_tag {
            let digest = hex(&release.metadata);
            let file = format!("{name}-{version}-{tag}.whl");
            files.push(format!(
                r#"{{"filename": "{file}", "url": "/files/{file}", {}, "core-metadata": {{"sha256": "{digest}"}}}}"#,
                common(&file)
            ));
        }
        let file = format!("{name}-{version}.tar.gz");
        files.push(format!(r#"{{"filename": "{file}", "url": "/files/{file}", {}}}"#, common(&file)));
    }
    format!(r#"{{"meta": {{"api-version": "1.1"}}, "name": "{name}", "files": [{}]}}"#, files.join(","))
}
