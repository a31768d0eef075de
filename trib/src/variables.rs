//! Environment variables that the library and this program read, and variables with similar names that nothing reads.

/// The environment variables that are read, with what each does; without a text, one that this program sets for its own processes.
const KNOWN: [(&str, &str); 10] = [
    ("TRIB_CAPTURE", "A directory: the collective calls of every file are recorded there."),
    ("TRIB_COMPARE_FILE", ""),
    ("TRIB_COMPARE_INSIDE", ""),
    ("TRIB_CONF", "A file that is read in place of tributary.conf."),
    ("TRIB_DISABLE", "If it is set, MPI runs all calls."),
    ("TRIB_HINTS", "Hints for all files: key=value, separated by a semicolon."),
    ("TRIB_HINTS_FILE", "A file with hints."),
    ("TRIB_LOG", "The messages of this program that are printed: error, warn (the default), info, debug."),
    ("TRIB_MPI", "The MPI library to load."),
    ("TRIB_REPORT", "1: a table for each file that is closed; json: a line of JSON."),
];

/// Variables of other programs that this one reads, too.
const OTHERS: [(&str, &str); 2] = [
    ("COLUMNS", "The width of the output, in place of that of the terminal."),
    ("NO_COLOR", "If it is set, messages have no colours."),
];

/// Returns the variables that users set, with what each does.
pub fn meanings() -> impl Iterator<Item = (&'static str, &'static str)> {
    KNOWN.into_iter().chain(OTHERS).filter(|(_, meaning)| !meaning.is_empty())
}

fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name)
}

/// Returns name and value of the known variables that are set, and of LD_PRELOAD.
pub fn set() -> Vec<(String, String)> {
    let all = all().filter(|(name, _)| is_known(name) || name == "LD_PRELOAD");
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
    let is_none = name.starts_with("TRIB") && !is_known(name);
    is_none.then(|| tributary::hints::similar(name, KNOWN.map(|(known, _)| known))).flatten()
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
