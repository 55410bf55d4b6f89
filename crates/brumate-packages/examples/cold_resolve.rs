//! Cold resolutions beside uv's, turn by turn: both as processes, without a cache, on the same index.
//!
//! `cargo build --release -p brumate-packages --examples`, then
//! `BRUMATE_TEST_PYTHON_UV=… target/release/examples/cold_resolve [ROUNDS]`

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SETS: [&[&str]; 5] = [&["rich<13"], &["fastapi[standard]"], &["langchain-core"], &["boto3"], &["sphinx", "furo"]];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let python = std::env::var("BRUMATE_TEST_PYTHON_UV")?;
    let uv = Path::new(&python).with_file_name("uv");
    let ours = std::env::current_exe()?.with_file_name("resolve");
    let mut out = std::io::stdout();
    writeln!(out, "| requirements | ours, ms | uv, ms | ratio |\n|---|---|---|---|")?;
    for set in SETS {
        let (mut own, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let ours = timed(Command::new(&ours).args(set).env_remove("PIP_FIND_LINKS"), "")?;
            let mut uv = Command::new(&uv);
            uv.args([
                "pip",
                "compile",
                "-",
                "--no-config",
                "--no-cache",
                "--quiet",
                "--only-binary",
                ":all:",
                "--python",
            ])
            .arg(&python)
            .args(["--python-version", "3.14.2", "--python-platform", "wasm32-pyodide2025"]);
            let uv = timed(&mut uv, &set.join("\n"))?;
            ratios.push(ours.as_secs_f64() / uv.as_secs_f64());
            own.push(ours.as_secs_f64() * 1e3);
            theirs.push(uv.as_secs_f64() * 1e3);
        }
        let (own, theirs, ratio) = (median(own), median(theirs), median(ratios));
        writeln!(out, "| {} | {own:.0} | {theirs:.0} | {ratio:.2} |", set.join(" "))?;
    }
    Ok(())
}

fn timed(command: &mut Command, input: &str) -> Result<Duration, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("piped")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let elapsed = start.elapsed();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(elapsed)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
