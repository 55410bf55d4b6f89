//! Requirements in Poetry's tables, as requirements of PEP 508.

use toml::{Table, Value};

/// Returns the requirements of a table of dependencies. Those that are `optional` are left out: they belong to extras.
///
/// An inner error is a text about a requirement that has no other form: a path, a repository, a URL.
pub(super) fn requirements(table: &Table) -> Vec<Result<String, String>> {
    let wanted = table.iter().filter(|(name, value)| name.as_str() != "python" && !is_optional(value));
    wanted.flat_map(|(name, value)| of_entry(name, value)).collect()
}

/// Returns the requirements of one name in a table of dependencies, also if it is `optional`.
pub(super) fn named(table: &Table, name: &str) -> Vec<Result<String, String>> {
    table.get(name).map_or_else(|| vec![Ok(name.to_owned())], |value| of_entry(name, value))
}

fn is_optional(value: &Value) -> bool {
    value.get("optional").and_then(Value::as_bool).unwrap_or(false)
}

/// An entry is a version, a table, or a list of tables with markers.
fn of_entry(name: &str, value: &Value) -> Vec<Result<String, String>> {
    match value {
        Value::Array(several) => several.iter().map(|value| requirement(name, value)).collect(),
        value => vec![requirement(name, value)],
    }
}

fn requirement(name: &str, value: &Value) -> Result<String, String> {
    let version = value.as_str().or_else(|| value.get("version")?.as_str());
    let Some(version) = version else {
        return Err(format!(
            "`{name}` of Poetry's tables has no version; name a wheel of it with `--find-links` and `--deps`"
        ));
    };
    let extras: Vec<&str> = super::strings(value.get("extras")).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let mut markers: Vec<String> =
        value.get("markers").and_then(Value::as_str).map(|text| format!("({text})")).into_iter().collect();
    if let Some(python) = value.get("python").and_then(Value::as_str) {
        markers.extend(
            specifiers(python).iter().map(|(operator, version)| format!("python_version {operator} '{version}'")),
        );
    }
    let platform = value.get("platform").and_then(Value::as_str);
    markers.extend(platform.map(|platform| format!("sys_platform == '{platform}'")));
    let versions: Vec<String> =
        specifiers(version).into_iter().map(|(operator, version)| format!("{operator}{version}")).collect();
    let marker = if markers.is_empty() { String::new() } else { format!("; {}", markers.join(" and ")) };
    Ok(format!("{name}{extras}{}{marker}", versions.join(",")))
}

/// Returns a constraint of Poetry (`^1.2`, `~1.2`, `1.*`, `>=1,<2`) as operators and versions of PEP 440.
fn specifiers(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |operator: &str, version: String| found.push((operator.to_owned(), version));
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "*") {
        let operator: String = part.chars().take_while(|character| "^~<>=!".contains(*character)).collect();
        let version = part[operator.len()..].trim().to_owned();
        match operator.as_str() {
            "^" => {
                add(">=", version.clone());
                let parts: Vec<&str> = version.split('.').collect();
                // The first part that is not zero stays; of zeros only the last.
                let kept = parts.iter().position(|part| *part != "0").unwrap_or(parts.len() - 1);
                add("<", next(&parts[..=kept]));
            }
            "~" => {
                add(">=", version.clone());
                let parts: Vec<&str> = version.split('.').collect();
                add("<", next(&parts[..parts.len().min(2)]));
            }
            "" | "=" => add("==", version),
            other => add(other, version),
        }
    }
    found
}

/// Returns the version after all that begin with `parts`.
fn next(parts: &[&str]) -> String {
    let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
    if let Some(last) = parts.last_mut() {
        let digits: String = last.chars().take_while(char::is_ascii_digit).collect();
        *last = digits.parse::<u64>().unwrap_or(0).saturating_add(1).to_string();
    }
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_become_those_of_pep_440() {
        for (text, expected) in [
            ("'^1.2.3'", "x>=1.2.3,<2"),
            ("'^0.2.3'", "x>=0.2.3,<0.3"),
            ("'^0.0.3'", "x>=0.0.3,<0.0.4"),
            ("'^0'", "x>=0,<1"),
            ("'~1.2.3'", "x>=1.2.3,<1.3"),
            ("'~1'", "x>=1,<2"),
            ("'1.2.*'", "x==1.2.*"),
            ("'1.2'", "x==1.2"),
            ("'*'", "x"),
            ("'>=1, <2, != 1.5'", "x>=1,<2,!=1.5"),
            ("{version = '^2', extras = ['a', 'b']}", "x[a,b]>=2,<3"),
            (
                "{version = '2', python = '>=3.9', markers = \"os_name == 'nt' or 1 == 1\"}",
                "x==2; (os_name == 'nt' or 1 == 1) and python_version >= '3.9'",
            ),
        ] {
            let table: Table = format!("python = '^3'\nx = {text}\n").parse().unwrap();
            let found = requirements(&table);
            assert_eq!(found, [Ok(expected.to_owned())], "{text}");
        }
        let table: Table =
            "a = {version = '1', optional = true}\nb = {git = 'https://x'}\nc = [{version = '1'}, {version = '2'}]"
                .parse()
                .unwrap();
        let found = requirements(&table);
        assert!(found[0].as_ref().unwrap_err().contains("`b` of Poetry's tables has no version"), "{found:?}");
        assert_eq!(found[1..], [Ok("c==1".to_owned()), Ok("c==2".to_owned())]);
        assert_eq!(named(&table, "a"), [Ok("a==1".to_owned())]);
    }
}
