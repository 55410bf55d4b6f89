//! Shared libraries: needed ones by their run-time path, and symbols that one module shares with all later ones; in layers and in
//! files, in images, forks and hibernated sessions.

use std::path::Path;

use brumate_engine::api::Session as _;
use brumate_engine::api::{Image, Layer, MachineSpec};

use crate::support::modules::{asking, sharing, using};
use crate::support::sessions::{sandbox, say};
use crate::support::wheels::layer;

/// A package with a shared library and modules that use it: `near` needs it, `far` and `later` take what is global.
fn linked(directory: &Path, code: &str) -> Layer {
    let (shared, near, far) = (sharing(), using(&["libshared.so"], &["$ORIGIN/.libs"]), using(&[], &[]));
    let lost = using(&["libnowhere.so"], &["$ORIGIN/.libs", "$ORIGIN/../lib"]);
    let chain = using(&["near.so"], &["$ORIGIN"]);
    let files: [(&str, &[u8]); 7] = [
        ("linked/__init__.py", code.as_bytes()),
        ("linked/.libs/libshared.so", &shared),
        ("linked/near.so", &near),
        ("linked/far.so", &far),
        ("linked/later.so", &[&far[..], b"\x00\x02\x01x"].concat()),
        ("linked/lost.so", &lost),
        ("linked/chain.so", &chain),
    ];
    layer(directory, "linked", "1.0", &files, "")
}

const OPEN: &str = "
import ctypes, os
def open_library(name, **how):
    return ctypes.CDLL(os.path.join(os.path.dirname(__file__), name), **how)
def share():
    return open_library('.libs/libshared.so', mode=ctypes.RTLD_GLOBAL)
";

#[tokio::test]
async fn needed_libraries_are_found_and_kept_apart() {
    let sandbox = sandbox(1).await;
    let directory = tempfile::tempdir().unwrap();
    let spec = MachineSpec { layers: vec![linked(directory.path(), OPEN)], ..MachineSpec::default() };
    let session = sandbox.session(spec).await.unwrap();
    let code = "
import linked
near = linked.open_library('near.so')
print(near.add(2, 3), near.add_by_pointer(4, 5), near.count(), near.total())
def refused(name):
    try:
        linked.open_library(name)
    except OSError as error:
        print(error)
refused('far.so')
refused('lost.so')
";
    let expected = "5 9 1 1\n/usr/lib/python3.14/dist-packages/linked/far.so: undefined symbol: shared_total\n\
                    /usr/lib/python3.14/dist-packages/linked/lost.so: needs `libnowhere.so`, which was not found\n";
    assert_eq!(say(&session, code).await, expected);
    // What a needed library needs is there as well.
    assert_eq!(say(&session, "print(linked.open_library('chain.so').count())").await, "2\n");
    // Shared by name from now on: the same instance, and one address per function.
    let code = "
shared = linked.share()
far = linked.open_library('far.so')
print(far.count(), near.total(), shared.shared_count(), far.total(), far.pointer() == near.pointer())
";
    assert_eq!(say(&session, code).await, "3 3 4 4 True\n");
    // The same out of files that the guest wrote.
    let code = "
import os, shutil, ctypes
os.makedirs('own/.libs')
for name in ['near.so', '.libs/libshared.so']:
    shutil.copy(os.path.join(os.path.dirname(linked.__file__), name), 'own/' + name)
own = ctypes.CDLL('own/near.so')
print(own.count(), near.count())
";
    // Both resolve the name to the global library: the first that is global wins.
    assert_eq!(say(&session, code).await, "5 6\n");
}

#[tokio::test]
async fn global_symbols_outlive_forks_sleep_and_images() {
    let sandbox = sandbox(1).await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let code = format!("{OPEN}\nshared = share()\nfar = open_library('far.so')\nfar.count()\n");
    let layers = vec![linked(here, &code)];
    let check = "
import linked
later = linked.open_library('later.so')
print(later.count(), linked.far.total(), linked.shared.shared_add(1, 2), later.add_by_pointer(3, 4), later.pointer() == linked.far.pointer())
";
    // Out of an image in which it is loaded, and out of one in which it is not.
    let image = Image::of(["linked"]).with_layers(layers.clone());
    sandbox.build_image(&image).await.unwrap();
    for image in [image, Image::plain()] {
        let spec = || MachineSpec { image: image.clone(), layers: layers.clone(), ..MachineSpec::default() };
        let session = sandbox.session(spec()).await.unwrap();
        say(&session, "import linked").await;
        let fork = session.fork().await.unwrap();
        let file = here.join("session");
        session.write_to(&file).await.unwrap();
        let (resumed, _) = sandbox.resume_session(&file, spec()).await.unwrap();
        for session in [&fork, &resumed, &session] {
            assert_eq!(say(session, check).await, "2 2 3 7 True\n");
        }
        // Once more, with what was loaded after the first sleep.
        resumed.write_to(&file).await.unwrap();
        let (again, _) = sandbox.resume_session(&file, spec()).await.unwrap();
        assert_eq!(say(&again, "print(later.count(), linked.far.add(1, 1))").await, "3 2\n");
    }
}

#[tokio::test]
async fn weak_functions_may_be_missing_and_the_host_has_some_that_only_modules_ask_for() {
    let sandbox = sandbox(1).await;
    let directory = tempfile::tempdir().unwrap();
    let (weak, strong) = (asking("nobody_has_it", true), asking("nobody_has_it", false));
    let host = asking("_Unwind_GetIPInfo", false);
    let files: [(&str, &[u8]); 4] = [
        ("asking/__init__.py", OPEN.as_bytes()),
        ("asking/weak.so", &weak),
        ("asking/strong.so", &strong),
        ("asking/host.so", &host),
    ];
    let layers = vec![layer(directory.path(), "asking", "1.0", &files, "")];
    let spec = || MachineSpec { layers: layers.clone(), ..MachineSpec::default() };
    let session = sandbox.session(spec()).await.unwrap();
    let code = "
import asking
print(asking.open_library('weak.so').address())
try:
    asking.open_library('strong.so')
except OSError as error:
    print(error)
host = asking.open_library('host.so')
print(host.address() != 0, host.call(1, 2))
";
    let expected = "0\n/usr/lib/python3.14/dist-packages/asking/strong.so: undefined symbol: nobody_has_it\nTrue 0\n";
    assert_eq!(say(&session, code).await, expected);
    // And after sleeping: functions are found again by their names.
    let file = directory.path().join("asleep");
    session.write_to(&file).await.unwrap();
    let (resumed, _) = sandbox.resume_session(&file, spec()).await.unwrap();
    assert_eq!(say(&resumed, "print(host.address() != 0, host.call(1, 2))").await, "True 0\n");
}
