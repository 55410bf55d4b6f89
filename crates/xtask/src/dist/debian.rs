//! The Debian package: the binary, a systemd unit for the HTTP server, and its documents (deb(5)).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::archive::{Entry, gzip, tar};
use super::{Release, SUMMARY};

/// The unit of the server: nothing that it does not need. It makes processes and namespaces of its own for the sandbox.
const UNIT: &str = "\
[Unit]
Description=Brumate: Python for AI agents in a sandbox, over MCP
Documentation=file:///usr/share/doc/brumate/README.md
After=network.target

[Service]
ExecStart=/usr/bin/brumate streamable-http --tools all --auth-tokens /etc/brumate/tokens.toml
EnvironmentFile=-/etc/default/brumate
Environment=BRUMATE_CACHE_DIR=/var/cache/brumate BRUMATE_DATA_DIR=/var/lib/brumate
DynamicUser=yes
StateDirectory=brumate
CacheDirectory=brumate
ConfigurationDirectory=brumate
StateDirectoryMode=0700
CacheDirectoryMode=0700
UMask=0077
Restart=on-failure
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectClock=yes
ProtectHostname=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
";

/// Makes the package.
pub(super) fn make(release: &Release, out: &Path) -> Result<PathBuf> {
    let arch = release.architecture.debian();
    let mut data = vec![
        Entry { path: "./usr/bin/brumate".to_owned(), bytes: &release.binary, executable: true },
        Entry {
            path: "./usr/lib/systemd/system/brumate.service".to_owned(),
            bytes: UNIT.as_bytes(),
            executable: false,
        },
    ];
    let copyright = copyright(release);
    data.push(Entry {
        path: "./usr/share/doc/brumate/copyright".to_owned(),
        bytes: copyright.as_bytes(),
        executable: false,
    });
    for (document, bytes) in release.documents.iter().filter(|(name, _)| !name.starts_with("LICENSE")) {
        data.push(Entry { path: format!("./usr/share/doc/brumate/{document}"), bytes, executable: false });
    }
    for (path, bytes) in &release.completions {
        data.push(Entry { path: format!("./{path}"), bytes, executable: false });
    }
    let pages: Vec<(String, Vec<u8>)> =
        release.manual.iter().map(|(page, text)| Ok((page.clone(), gzip(text)?))).collect::<Result<_>>()?;
    for (page, bytes) in &pages {
        data.push(Entry { path: format!("./usr/share/man/man1/{page}.gz"), bytes, executable: false });
    }
    let size: usize = data.iter().map(|entry| entry.bytes.len().div_ceil(1024)).sum();
    let control = format!(
        "Package: brumate\nVersion: {}\nArchitecture: {arch}\nMaintainer: The Brumate authors <brumate@localhost>\n\
         Installed-Size: {size}\nSection: interpreters\nPriority: optional\nDescription: {SUMMARY}\n \
         One program that runs Python code of AI agents in a WebAssembly machine, and serves it over\n \
         the Model Context Protocol.\n",
        release.version
    );
    let control = [Entry { path: "./control".to_owned(), bytes: control.as_bytes(), executable: false }];
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&control, release.time)?)?),
        ("data.tar.gz", gzip(&tar(&data, release.time)?)?),
    ];
    let path = out.join(format!("brumate_{}_{arch}.deb", release.version));
    std::fs::write(&path, ar(&members, release.time)?)?;
    Ok(path)
}

fn copyright(release: &Release) -> String {
    let texts = release.documents.iter().filter(|(name, _)| name.starts_with("LICENSE"));
    texts.fold(
        "Brumate: Apache-2.0 OR MIT. What it contains of others: NOTICE in this directory.\n".to_owned(),
        |mut all, (name, text)| {
            let _ = write!(all, "\n{name}\n\n{}", String::from_utf8_lossy(text));
            all
        },
    )
}

/// Returns an archive in the format of ar(5).
fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Result<Vec<u8>> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        archive.extend(format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len()).bytes());
        archive.extend(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    Ok(archive)
}
