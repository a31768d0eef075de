//! Environment variables that the library and this program read, and variables with similar names that nothing reads.

/// Names of the environment variables that are read.
const KNOWN: [&str; 10] = [
    "TRIB_CAPTURE",
    "TRIB_COMPARE_FILE",
    "TRIB_COMPARE_INSIDE",
    "TRIB_CONF",
    "TRIB_DISABLE",
    "TRIB_HINTS",
    "TRIB_HINTS_FILE",
    "TRIB_LOG",
    "TRIB_MPI",
    "TRIB_REPORT",
];

/// Returns name and value of the known variables that are set, and of LD_PRELOAD.
pub fn set() -> Vec<(String, String)> {
    let all = all().filter(|(name, _)| KNOWN.contains(&name.as_str()) || name == "LD_PRELOAD");
    all.collect()
}

/// Returns a line for each variable that is set and whose name is similar to a known one.
pub fn unknown() -> Vec<String> {
    let said = |(name, value): (String, String)| {
        let meant = meant(&name)?;
        Some(format!("variable {name}: `{value}` is not read; did you mean {meant}?"))
    };
    all().filter_map(said).collect()
}

/// Returns the known variable that an unknown one may have been meant for.
fn meant(name: &str) -> Option<&'static str> {
    let is_none = name.starts_with("TRIB") && !KNOWN.contains(&name);
    is_none.then(|| tributary::hints::similar(name, KNOWN)).flatten()
}

fn all() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn what_looks_like_a_variable() {
        for (name, due) in [
            ("TRIB_HINT", Some("TRIB_HINTS")),
            ("TRIB_REPROT", Some("TRIB_REPORT")),
            ("TRIB_CAPTURES", Some("TRIB_CAPTURE")),
            ("TRIB_HINTS", None),
            ("TRIB_INNER_RANKS", None),
            ("TRIB_HOSTS_COUNT", None),
            ("HOME", None),
        ] {
            assert_eq!(meant(name), due, "{name}");
        }
    }
}
