//! The translation of the modules we ship: the main module and every wheel's shared objects, and on request of more wheels
//! (`BRUMATE_TEST_EXTRA_WHEELS`).

use crate::exceptions::inspect::{Counts, bodies, count, sections, validate};
use crate::exceptions::modules::{main_module, shared_objects};
use brumate_module::{Options, dylink, exceptions::translate, translate as prepare};

const TYPE: u8 = 1;
const CODE: u8 = 10;

/// Checks everything that must hold between a module and its translation, and returns the counts of both.
fn check(name: &str, legacy: &[u8]) -> (Counts, Counts) {
    let new = translate(legacy).unwrap_or_else(|error| panic!("{name}: {error}"));
    validate(&new).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (old_counts, new_counts) = (count(legacy), count(&new));
    let Counts { tries, catches, catch_alls, delegates, rethrows, .. } = new_counts;
    assert_eq!([tries, catches, catch_alls, delegates, rethrows], [0; 5], "{name}: legacy instructions are left");
    assert_eq!(new_counts.try_tables, old_counts.tries, "{name}: one try_table per try");
    assert_eq!(new_counts.throws, old_counts.throws, "{name}");
    assert_eq!(new_counts.throw_refs, old_counts.rethrows + new_counts.wrapped, "{name}: one throw_ref per rethrow");
    assert!(new_counts.clauses >= old_counts.catches + old_counts.catch_alls, "{name}: every clause");
    if old_counts.tries == 0 {
        assert!(new == legacy, "{name}: nothing to translate, so not a bit changes");
    }

    let (old_bodies, new_bodies) = (bodies(legacy), bodies(&new));
    assert_eq!(old_bodies.len(), new_bodies.len(), "{name}");
    let changed = old_bodies.iter().zip(&new_bodies).filter(|(old, new)| old != new).count();
    assert!(changed <= old_counts.tries, "{name}: {changed} functions changed for {} try", old_counts.tries);
    let (old_sections, new_sections) = (sections(legacy), sections(&new));
    assert_eq!(old_sections.len(), new_sections.len(), "{name}: no section is lost");
    for (old, new) in old_sections.iter().zip(&new_sections) {
        assert_eq!((old.0, &old.1), (new.0, &new.1), "{name}: sections keep their order");
        assert!(matches!(old.0, TYPE | CODE) || old.2 == new.2, "{name}: section {} {} changed", old.0, old.1);
    }
    (old_counts, new_counts)
}

#[test]
fn the_main_module() {
    let main = main_module();
    let (old, new) = check("main module", &main);
    // The bundle pins this very file; what was counted in it by other tools shows that we count right.
    let Counts { tries, catches, catch_alls, delegates, rethrows, .. } = old;
    assert_eq!([tries, catches, catch_alls, delegates, rethrows], [1018, 99, 798, 121, 638]);
    assert!(new.wrapped > 0 && new.wrapped <= delegates);
    let prepared = prepare(&main, &Options { main: true, threads: true }).expect("the main module can be prepared");
    validate(&prepared).expect("the prepared main module is valid");
}

#[test]
fn the_shared_objects_of_all_wheels() {
    let mut total = Counts::default();
    let objects = shared_objects(&[]);
    for object in &objects {
        let (counts, _) = check(&object.name, &object.bytes);
        let prepared = prepare(&object.bytes, &Options::default());
        let prepared = prepared.unwrap_or_else(|error| panic!("{}: {error}", object.name));
        validate(&prepared).unwrap_or_else(|error| panic!("{}: {error}", object.name));
        let info = dylink::parse(&prepared).unwrap_or_else(|error| panic!("{}: {error}", object.name));
        assert_eq!(info, dylink::parse(&object.bytes).expect("parsed above"), "{}", object.name);
        total.tries += counts.tries;
        total.delegates += counts.delegates;
        total.rethrows += counts.rethrows;
    }
    eprintln!("{} shared objects, {total:?}", objects.len());
    assert!(total.tries > 1000 && total.delegates > 100 && total.rethrows > 1000, "{total:?}");
}
