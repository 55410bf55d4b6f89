//! Directories of the host that code in the sandbox gets: which ones may be granted, and where.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use brumate_engine_api::Mount;
use brumate_session::PRINCIPAL;

/// Directories of the sandbox that belong to the interpreter, so nothing can be mounted there.
const RESERVED: [&str; 4] = ["dev", "lib", "proc", "usr"];

/// Parses `HOST:GUEST` or `HOST:GUEST:ro`. Host paths may contain colons, guest paths may not.
///
/// # Errors
///
/// A text with the value, and what is possible.
pub fn parse(text: &OsStr) -> Result<Mount, String> {
    let shown = text.to_string_lossy();
    let bytes = text.as_bytes();
    let (bytes, read_only) = match bytes.strip_suffix(b":ro") {
        Some(rest) => (rest, true),
        None => (bytes.strip_suffix(b":rw").unwrap_or(bytes), false),
    };
    let colon = bytes.iter().rposition(|byte| *byte == b':').filter(|index| *index > 0);
    let Some(colon) = colon else {
        return Err(format!("`--mount {shown}` is not HOST:GUEST or HOST:GUEST:ro"));
    };
    let host = Path::new(OsStr::from_bytes(&bytes[..colon]));
    let guest = String::from_utf8(bytes[colon + 1..].to_vec()).unwrap_or_default();
    mount(host, &guest, read_only).map_err(|reason| format!("`--mount {shown}`: {reason}"))
}

/// Makes a mount with the absolute path of the host. The directory has to exist. Of a path with [`PRINCIPAL`], the part before it has to.
///
/// # Errors
///
/// A text that says which of the paths is wrong.
pub fn mount(host: &Path, guest: &str, read_only: bool) -> Result<Mount, String> {
    check_guest(guest)?;
    let fixed = before_principal(host);
    let kind =
        std::fs::metadata(fixed).map_err(|error| format!("cannot use {}: {}", fixed.display(), plain(&error)))?;
    if !kind.is_dir() {
        return Err(format!("{} is not a directory", fixed.display()));
    }
    let host =
        std::path::absolute(host).map_err(|error| format!("cannot use {}: {}", host.display(), plain(&error)))?;
    Ok(Mount { host, guest: guest.to_owned(), read_only })
}

fn check_guest(guest: &str) -> Result<(), String> {
    if !guest.starts_with('/') || guest.split('/').any(|part| part == "..") || guest.contains('\0') {
        return Err("the path in the sandbox must be absolute, without `..`".to_owned());
    }
    match guest.split('/').find(|part| !part.is_empty()) {
        None => Err("the sandbox's root cannot be replaced; choose another path, such as /data".to_owned()),
        Some(first) if RESERVED.contains(&first) => {
            Err(format!("/{first} belongs to the interpreter; choose another path, such as /data"))
        }
        Some(_) => Ok(()),
    }
}

/// Returns the part of a path before the first name with [`PRINCIPAL`]; the whole path if there is none.
fn before_principal(host: &Path) -> &Path {
    let named = host.ancestors().filter(|path| path.file_name().is_some_and(contains_principal));
    match named.last().and_then(Path::parent) {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => host,
    }
}

fn contains_principal(text: &OsStr) -> bool {
    text.as_bytes().windows(PRINCIPAL.len()).any(|window| window == PRINCIPAL.as_bytes())
}

/// Checks that each of several clients gets what it may have. `has_principals`: the clients have tokens, and do not trust each other.
///
/// # Errors
///
/// A text with the wrong mount, and what is possible.
pub fn check_principals(mounts: &[Mount], has_principals: bool) -> Result<(), String> {
    for mount in mounts {
        let host = mount.host.display();
        match (contains_principal(mount.host.as_os_str()), has_principals) {
            (true, true) if mount.host.to_str().is_none() => {
                return Err(format!("{host}: a path with `{PRINCIPAL}` must be valid UTF-8"));
            }
            (true, false) => {
                return Err(format!(
                    "{host}: `{PRINCIPAL}` is the name of a client with a token; it needs an HTTP command with \
                     `--auth-tokens` or `--auth-issuer`"
                ));
            }
            (false, true) if !mount.read_only => {
                return Err(format!(
                    "all clients would write to {host}; write `{host}/{PRINCIPAL}:{0}` for one of each \
                     client, or `{host}:{0}:ro` for reading",
                    mount.guest
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the mounts of a server whose machines end and begin again: no directory may be below one that code may write to. By
/// renaming, code could choose the directory that the next machine gets.
///
/// # Errors
///
/// A text with the wrong mount, and what is possible.
pub fn check_apart(mounts: &[Mount]) -> Result<(), String> {
    let real: Vec<PathBuf> = mounts.iter().map(|mount| real(&mount.host)).collect();
    for (outer, mount) in real.iter().zip(mounts).filter(|(_, mount)| !mount.read_only) {
        let below = real.iter().zip(mounts).find(|(inner, _)| *inner != outer && inner.starts_with(outer));
        if let Some((_, inner)) = below {
            return Err(format!(
                "{0} is below {1}, which code may change; mount one of the two, or `{1}:{2}:ro`",
                inner.host.display(),
                mount.host.display(),
                mount.guest
            ));
        }
    }
    Ok(())
}

/// Returns a path of the host without symbolic links, as far as it names no principal.
fn real(host: &Path) -> PathBuf {
    let fixed = before_principal(host);
    let rest = host.strip_prefix(fixed).unwrap_or(Path::new(""));
    fixed.canonicalize().unwrap_or_else(|_| fixed.to_owned()).join(rest)
}

/// Returns an error's text without its number.
fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(text, _)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_parsed() {
        let directory = tempfile::tempdir().unwrap();
        let odd = directory.path().join("a:b");
        std::fs::create_dir(&odd).unwrap();
        let host = odd.to_str().unwrap();
        for (text, read_only) in
            [(format!("{host}:/data"), false), (format!("{host}:/data:ro"), true), (format!("{host}:/data:rw"), false)]
        {
            let mount = parse(OsStr::new(&text)).unwrap();
            assert_eq!(
                (mount.host.as_path(), mount.guest.as_str(), mount.read_only),
                (odd.as_path(), "/data", read_only)
            );
        }
        let template = parse(OsStr::new(&format!("{host}/of-{{principal}}/work:/work"))).unwrap();
        assert_eq!(template.host, odd.join("of-{principal}/work"));
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        for (text, part) in [
            ("nothing".to_owned(), "is not HOST:GUEST"),
            (":/data".to_owned(), "is not HOST:GUEST"),
            (format!("{host}:data"), "must be absolute"),
            (format!("{host}:/a/../etc"), "must be absolute"),
            (format!("{host}:/"), "sandbox's root"),
            (format!("{host}://lib"), "/lib belongs to the interpreter"),
            (format!("{host}:/lib/python3.14/extra"), "/lib belongs to the interpreter"),
            (format!("{host}:/usr/share"), "/usr belongs to the interpreter"),
            (format!("{host}:/dev:ro"), "/dev belongs to the interpreter"),
            (format!("{host}/missing:/data"), "cannot use"),
            (format!("{host}/missing/{{principal}}:/data"), "cannot use"),
            (format!("{}:/data", file.display()), "is not a directory"),
        ] {
            let error = parse(OsStr::new(&text)).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn clients_who_do_not_trust_each_other_share_nothing_that_can_be_changed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("data/inner")).unwrap();
        std::os::unix::fs::symlink(root.path().join("data/inner"), root.path().join("link")).unwrap();
        let mounts = |list: &[(&str, bool)]| {
            let made = list.iter().map(|(host, read_only)| mount(&root.path().join(host), "/work", *read_only));
            made.collect::<Result<Vec<_>, _>>().unwrap()
        };
        let check = |list: &[(&str, bool)], has_principals: bool| {
            check_principals(&mounts(list), has_principals).and_then(|()| check_apart(&mounts(list)))
        };
        for (list, has_principals) in [
            (&[("data", false)][..], false),
            (&[("data", true)], true),
            (&[("data/{principal}", false), ("link", true)], true),
            (&[("data", true), ("data/inner", false)], false),
            (&[("data", false), ("data", true)], false),
        ] {
            assert_eq!(check(list, has_principals), Ok(()), "{list:?}");
        }
        for (list, has_principals, part) in [
            (&[("data", false)][..], true, "data/{principal}:/work` for one of each client"),
            (&[("data/{principal}", true)], false, "it needs an HTTP command with `--auth-tokens`"),
            (&[("data", false), ("data/inner", true)], false, "which code may change"),
            (&[("link", true), ("data", false)], false, "which code may change"),
            (&[("data/{principal}", false), ("data/{principal}/x", true)], true, "which code may change"),
        ] {
            let error = check(list, has_principals).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
