//! The seed of random tests: the same for one commit, another for the next.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// The variable that tests read the seed from.
pub(super) const VARIABLE: &str = "BRUMATE_TEST_SEED";

/// Digits of the commit's hash that make the seed: what any reader of a number can hold.
const DIGITS: usize = 12;

/// Returns the seed that the caller's environment names, otherwise that of the commit; 1 outside a repository.
pub(super) fn of_commit() -> Result<String> {
    if let Ok(seed) = std::env::var(VARIABLE) {
        return Ok(seed);
    }
    let mut git = Command::new("git");
    let Ok(hash) = process::output(git.args(["rev-parse", "HEAD"]).current_dir(workspace::root())) else {
        return Ok("1".to_owned());
    };
    from_hash(hash.trim())
}

fn from_hash(hash: &str) -> Result<String> {
    let digits = hash.get(..DIGITS).with_context(|| format!("`{hash}` is no commit"))?;
    let number = u64::from_str_radix(digits, 16).with_context(|| format!("`{hash}` is no commit"))?;
    Ok(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::from_hash;

    #[test]
    fn commits_have_seeds_of_their_own() {
        assert_eq!(from_hash("0000000000ff3d6a").expect("a seed"), "255");
        assert_ne!(from_hash("c35c4d5aaaaa1").expect("a seed"), from_hash("c35c4d5aaaab1").expect("a seed"));
        from_hash("none").expect_err("no commit");
        from_hash("not a commit at all").expect_err("no commit");
    }
}
