//! Wheels of the bundle at work: scipy, scikit-learn and statsmodels with the same numbers as natively, and the others.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `brumate exec` with these packages and no network, and time for a host that compiles all of it.
fn exec(dependencies: &str) -> Command {
    let cache = brumate_test_support::cache_directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    command.env_clear().env("BRUMATE_CACHE_DIR", cache).env("UV_NO_CONFIG", "1").env("PIP_CONFIG_FILE", "/dev/null");
    command.args(["exec", "--offline", "--timeout", "20m", "--cpu-timeout", "20m", "--deps", dependencies]);
    command
}

fn text(output: Output) -> (bool, String) {
    let all = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&all).into_owned())
}

#[test]
fn the_numbers_are_those_of_native_python() {
    let scripts = repository().join("tests/compat/science");
    let mut command = exec("scipy,scikit-learn,statsmodels");
    command.arg("--mount").arg(format!("{}:/science:ro", scripts.to_str().unwrap()));
    let (success, text) = text(command.arg(scripts.join("agreement.py")).arg("/science/native.json").output().unwrap());
    assert!(success, "{text}");
    let sources = ["agreement_scipy.py", "agreement_learning.py"];
    let sources = sources.map(|name| std::fs::read_to_string(scripts.join(name)).unwrap()).concat();
    let cases = sources.lines().filter(|line| line.starts_with("@case(")).count();
    assert!(cases >= 20);
    assert_eq!(text.lines().filter(|line| line.starts_with("same ")).count(), cases, "{text}");
}

#[test]
fn kernels_of_the_host_give_the_same_as_plain_sums() {
    let script = repository().join("tests/compat/science/kernels.py");
    let (success, text) = text(exec("scipy").arg(script).output().unwrap());
    assert!(success, "{text}");
    let groups = [
        "kernels of the host",
        "gemm",
        "vectors",
        "symmetric",
        "updates",
        "triangles",
        "factors",
        "cholesky",
        "norms",
        "long_sums",
    ];
    for group in groups {
        assert!(text.contains(&format!("right: {group}")), "{group}: {text}");
    }
}

#[test]
fn a_script_with_scikit_learn_runs_to_its_end() {
    let script = repository().join("bench/inside/machine_learning.py");
    let (success, text) = text(exec("scikit-learn").arg(script).output().unwrap());
    assert!(success, "{text}");
    assert!(text.contains("logistic regression: 0.97") && text.contains("worst_perimeter"), "{text}");
}

#[test]
fn several_workers_are_taken_as_one() {
    let code = "
import numpy
from scipy import optimize, spatial, stats
from scipy.stats import qmc
sample = qmc.Halton(2, seed=1).random(64)
print(numpy.array_equal(sample, qmc.Halton(2, seed=1).random(64, workers=3)))
print(all(qmc.discrepancy(sample, method=method, workers=4) == qmc.discrepancy(sample, method=method) > 0 for method in ('CD', 'MD', 'WD', 'L2-star')))
found = optimize.differential_evolution(optimize.rosen, [(-2, 2)] * 2, workers=2, updating='deferred', seed=1, tol=1e-8)
print(numpy.allclose(found.x, 1, atol=1e-3))
tree = spatial.KDTree(sample)
near, alone = (tree.query(sample + 0.01, k=3, workers=workers) for workers in (2, 1))
print(all(map(numpy.array_equal, near, alone)) and all(map(numpy.array_equal, *(tree.query_ball_point(sample, 0.2, workers=workers) for workers in (3, 1)))))
";
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("workers.py");
    std::fs::write(&script, code).unwrap();
    let (success, text) = text(exec("scipy").arg(script).output().unwrap());
    assert!(success, "{text}");
    assert_eq!(text, "True\nTrue\nTrue\nTrue\n");
}

#[test]
fn one_library_serves_all() {
    let code = "
import ctypes, os, sys
import numpy, scipy.linalg, sklearn
library = os.path.join(os.path.dirname(numpy.__file__), '.libs', 'libopenblas.so')
blas = ctypes.CDLL(library)
blas.openblas_get_num_threads.restype = ctypes.c_int
print(blas.openblas_get_num_threads(), numpy.show_config('dicts')['Build Dependencies']['blas']['name'])
# What scipy's wrappers call is what the library has.
address = ctypes.cast(blas.dgemm_, ctypes.c_void_p).value
print(address == ctypes.cast(ctypes.CDLL(library).dgemm_, ctypes.c_void_p).value != 0)
for wrong in (lambda: numpy.linalg.inv(numpy.zeros((2, 2))), lambda: scipy.linalg.cholesky(-numpy.eye(2))):
    try:
        wrong()
    except numpy.linalg.LinAlgError as error:
        print(type(error).__name__)
";
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("one.py");
    std::fs::write(&script, code).unwrap();
    let (success, text) = text(exec("scikit-learn").arg(script).output().unwrap());
    assert!(success, "{text}");
    assert_eq!(text, "1 openblas\nTrue\nLinAlgError\nLinAlgError\n");
}

#[test]
fn threadpoolctl_finds_the_one_library() {
    let code = "
import os, warnings
warnings.simplefilter('error')
import numpy, threadpoolctl
(library,) = threadpoolctl.threadpool_info()
print(library['internal_api'], library['version'], library['num_threads'], library['threading_layer'])
print(library['filepath'] == os.path.join(os.path.dirname(numpy.__file__), '.libs', 'libopenblas.so'))
with threadpoolctl.threadpool_limits(4, user_api='blas'):
    print([each['num_threads'] for each in threadpoolctl.threadpool_info()])
numpy.show_runtime()
";
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("pools.py");
    std::fs::write(&script, code).unwrap();
    let (success, text) = text(exec("threadpoolctl").arg(script).output().unwrap());
    assert!(success, "{text}");
    assert!(text.starts_with("openblas 0.3.34 1 disabled\nTrue\n[1]\n"), "{text}");
    assert!(text.contains("'prefix': 'libopenblas'"), "{text}");
}

/// Each script of the recipes tries what its package is for, damaged input too.
#[test]
fn the_other_wheels_do_what_they_are_for() {
    let scripts = repository().join("runtime/recipes/tests");
    let packages =
        ["zstandard", "lxml", "pywavelets", "fastparquet", "shapely", "h5py", "cryptography", "bcrypt", "brotli"];
    for package in packages {
        let (success, text) = text(exec(package).arg(scripts.join(format!("try_{package}.py"))).output().unwrap());
        // Behind it stands which files are gone.
        assert!(success && text.contains(&format!("{package}: all of it works\n")), "{package}: {text}");
    }
}
