use crate::documents::notice::{difference, render};
use crate::runtime::Lock;

fn lock(version: &str) -> Lock {
    let text = format!(
        "version = 1\n[[file]]\nname = \"demo\"\nversion = \"{version}\"\nkind = \"wheel\"\nfile = \"wheels/demo.whl\"\n\
         sha256 = \"ab\"\nsize = 1\nlicence = \"MIT AND Zlib\"\norigin = [{{ from = \"pypi\", file = \"demo.tar.gz\", sha256 = \"cd\" }}]\n"
    );
    toml::from_str(&text).expect("a lock")
}

#[test]
fn each_file_is_listed_with_version_licence_and_source() {
    let text = render(&lock("1.0"));
    let entry = "\ndemo 1.0\n    licence: MIT AND Zlib\n    file: wheels/demo.whl\n    made from: demo.tar.gz\n";
    assert!(text.contains(entry), "{text}");
}

#[test]
fn another_version_in_the_lock_is_a_fault() {
    let (old, new) = (render(&lock("1.0")), render(&lock("1.1")));
    assert_eq!(difference(&new, &new), None);
    let line = old.lines().position(|line| line == "demo 1.0").expect("its entry") + 1;
    let fault = difference(&old, &new).expect("a fault").to_string();
    assert!(fault.starts_with(&format!("NOTICE:{line}: ")), "{fault}");
    assert!(difference("", &new).is_some());
}
