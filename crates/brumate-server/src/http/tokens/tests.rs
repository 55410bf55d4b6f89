//! Tests of the tokens file and of new tokens.

use std::fs;

use super::*;

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tokens.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (directory, path)
}

#[test]
fn a_token_is_known_by_its_hash_and_leads_to_its_principal() {
    let (ada, bob) = (NewToken::make("ada@example.org").unwrap(), NewToken::make("bob").unwrap());
    assert!(!ada.entry.contains(&ada.token) && ada.token.len() > 40);
    let (_directory, path) = file(&format!("{}\n{}", ada.entry, bob.entry));
    let tokens = Tokens::open(&path).unwrap();
    assert_eq!(tokens.verify(&ada.token), Some(Principal::new("ada@example.org")));
    assert_eq!(tokens.verify(&bob.token), Some(Principal::new("bob")));
    for wrong in ["", "brumate_", &ada.token[..ada.token.len() - 1], &format!("{}x", ada.token), &ada.entry] {
        assert_eq!(tokens.verify(wrong), None, "{wrong}");
    }
    assert_eq!(tokens.principals(), ["ada@example.org", "bob"]);
}

#[test]
fn a_changed_file_counts_and_a_broken_one_does_not() {
    let (ada, bob) = (NewToken::make("ada").unwrap(), NewToken::make("bob").unwrap());
    let (_directory, path) = file(&ada.entry);
    let tokens = Tokens::open(&path).unwrap();
    assert_eq!(tokens.reload(false).unwrap(), None);
    fs::write(&path, &bob.entry).unwrap();
    assert_eq!(tokens.reload(true).unwrap(), Some(vec!["ada".to_owned()]));
    assert_eq!(tokens.reload(true).unwrap(), Some(vec![]));
    assert_eq!((tokens.verify(&ada.token), tokens.verify(&bob.token)), (None, Some(Principal::new("bob"))));
    fs::write(&path, "[principal.eve]\ntokens = [\"eve\"]\n").unwrap();
    let error = tokens.reload(true).unwrap_err().to_string();
    assert!(error.contains("brumate token eve"), "{error}");
    assert_eq!(tokens.verify(&bob.token), Some(Principal::new("bob")));
}

#[test]
fn limits_are_those_of_the_principal_or_of_all() {
    let entry = NewToken::make("a").unwrap().entry;
    let (_directory, path) = file(&format!(
        "[defaults]\nruns = 2\ncpu_per_hour = \"30m\"\n{entry}\nruns = 4\ndisk = \"1GiB\"\nsessions = 3\n{}\n[principal.c]\ntokens = []\n",
        NewToken::make("b").unwrap().entry
    ));
    let tokens = Tokens::open(&path).unwrap();
    let allowances = tokens.allowances();
    let cpu_per_hour = Some(std::time::Duration::from_secs(1800));
    let own = Allowance { runs: Some(4), sessions: Some(3), disk_bytes: Some(1 << 30), cpu_per_hour, revoked: false };
    assert_eq!(allowances.of("a"), own);
    let of_all = Allowance { runs: Some(2), cpu_per_hour, ..Allowance::default() };
    assert_eq!(allowances.of("b"), of_all);
    // A principal without tokens may use nothing, also one that is not in the file.
    for name in ["c", "d"] {
        assert_eq!(allowances.of(name), Allowance { revoked: true, ..of_all }, "{name}");
    }
    assert_eq!(tokens.principals(), ["a", "b"]);
}

#[test]
fn subjects_of_access_tokens_have_limits_of_their_own() {
    let (_directory, path) = file(
        "[defaults]\nruns = 2\n[subject.\"auth0|ada\"]\nruns = 4\n[subject.eve]\nblocked = true\n\
         [principal.bob]\ntokens = []\n",
    );
    let tokens = Tokens::open(&path).unwrap();
    let allowances = tokens.allowances();
    let name = |subject: &str| format!("7:https:/{}:{subject}3:app", subject.len());
    assert_eq!(allowances.of(&name("auth0|ada")).runs, Some(4));
    // Names of principals and subjects are separate.
    assert_eq!(allowances.of(&name("bob")), Allowance { runs: Some(2), ..Allowance::default() });
    assert!(allowances.of("auth0|ada").revoked && allowances.of(&name("eve")).revoked);
    assert!(tokens.blocks("eve") && !tokens.blocks("auth0|ada") && !tokens.blocks("bob"));
}

#[test]
fn an_invalid_file_is_rejected_with_the_reason() {
    for (text, part) in [
        ("[principal.local]\ntokens = []", "reserved for clients without a token"),
        ("[principal.\"a b\"]\ntokens = []", "is not a valid name"),
        ("[principal.a]\ntoken = \"x\"", "token"),
        ("principals = 3", "principals"),
        ("[defaults]\nruns = 0", "at least 1"),
        ("[principal.a]\ntokens = []\ndisk = \"much\"", "`disk`"),
        ("[principal.a]\ntokens = [\"sha256:zz\"]", "64 hexadecimal digits"),
    ] {
        let (_directory, path) = file(text);
        let error = Tokens::open(&path).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let twice = NewToken::make("a").unwrap().entry;
    let (_directory, path) = file(&format!("{twice}{}", twice.replace("principal.a", "principal.b")));
    assert!(Tokens::open(&path).unwrap_err().to_string().contains("in the file twice"));
}

#[test]
fn a_file_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, path) = file("");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
    assert!(Tokens::open(&path).unwrap_err().to_string().contains("chmod go-w"));
}
