//! Edits the list of LD_PRELOAD: existing entries stay, and our library comes last
//! (docs/reference/preload-library.md#with-darshan).

use std::path::Path;

use super::{file_name, library};
use crate::Failure;

/// Environment variable with the list of libraries to preload.
pub const NAME: &str = "LD_PRELOAD";

/// Returns the path of the library in a form for LD_PRELOAD.
///
/// # Errors
/// The dynamic linker would take the path for several.
pub fn word(library: &Path) -> Result<String, Failure> {
    let named = library.to_str().filter(|path| !path.contains([':', ' ', '\n', '\t']));
    named.map(str::to_string).ok_or_else(|| {
        Failure::new(format!(
            "library: {}; allowed: a path that LD_PRELOAD can name, in UTF-8 without a colon or a blank",
            library.display()
        ))
    })
}

/// Returns a list in which the library `first` comes before all others, and only there.
pub fn before(first: &str, list: &str) -> String {
    let others =
        list.split([':', ' ', '\t', '\n']).filter(|word| !word.is_empty() && file_name(word) != file_name(first));
    [first].into_iter().chain(others).collect::<Vec<_>>().join(":")
}

/// Returns a list in which `library` comes after all others, and only there.
pub fn behind(before: &str, library: &str) -> String {
    let others = others(before).into_iter().chain([library]);
    others.collect::<Vec<_>>().join(":")
}

/// Returns the first library of a list with the name of ours and another path, in whose place `library` is preloaded.
pub fn replaced<'a>(list: &'a str, library: &str) -> Option<&'a str> {
    list.split([':', ' ', '\t', '\n']).find(|word| file_name(word) == library::FILE && *word != library)
}

/// Returns the libraries of a list other than ours.
pub fn others(list: &str) -> Vec<&str> {
    let words = list.split([':', ' ', '\t', '\n']).filter(|word| !word.is_empty());
    words.filter(|word| file_name(word) != library::FILE).collect()
}

/// Adds the library to the lists that a command sets itself, as in `-genv LD_PRELOAD libdarshan.so`, or `-x
/// LD_PRELOAD`, which takes the value `inherited` of the environment; and puts the library `first`, if any, in front.
/// Returns the libraries before ours, if the command sets such a list.
pub fn into(words: &mut [String], library: &str, first: Option<&str>, inherited: &str) -> Option<Vec<String>> {
    let mut found = None;
    let mut took = |list: &str| {
        found = Some(others(list).into_iter().map(str::to_string).collect::<Vec<_>>());
        let list = behind(list, library);
        first.map_or(list.clone(), |first| before(first, &list))
    };
    for at in 1..words.len() {
        let before = words[at - 1].clone();
        if words[at] == NAME && ["-x", "-E", "-e", "--export-env"].contains(&before.as_str()) {
            words[at] = format!("{NAME}={}", took(inherited));
        } else if before == NAME && at > 1 && words[at - 2].starts_with('-') && words[at - 2].ends_with("env") {
            words[at] = took(&words[at]);
        } else if let Some((option, list)) = set(&words[at]) {
            words[at] = format!("{option}{NAME}={}", took(list));
        }
    }
    found
}

/// Returns the text before the name of LD_PRELOAD in a word, and the list, if the word sets one. The option of srun,
/// which may set other variables after the list, is handled in `srun`.
fn set(word: &str) -> Option<(&str, &str)> {
    let (option, list) = word.split_once("LD_PRELOAD=")?;
    let is_option = option.starts_with('-') && !option.contains(char::is_whitespace) && !option.contains("export");
    (option.is_empty() || is_option).then_some((option, list))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "/lib/libtributary_mpiio.so";

    #[test]
    fn the_library_is_last_and_once() {
        for (before, after) in [
            ("", "/lib/libtributary_mpiio.so"),
            ("/d/libdarshan.so", "/d/libdarshan.so:/lib/libtributary_mpiio.so"),
            ("/old/libtributary_mpiio.so:/d/libdarshan.so a.so", "/d/libdarshan.so:a.so:/lib/libtributary_mpiio.so"),
        ] {
            assert_eq!(behind(before, OURS), after);
        }
        let old = "/old/libtributary_mpiio.so";
        assert_eq!(replaced(&format!("a.so:{old}"), OURS), Some(old));
        assert_eq!(replaced(&format!("a.so:{OURS}"), OURS), None);
    }

    #[test]
    fn what_must_come_first_is_first_and_once() {
        assert_eq!(before("/gcc/libasan.so.8", OURS), format!("/gcc/libasan.so.8:{OURS}"));
        assert_eq!(
            before("/gcc/libasan.so.8", &format!("d.so:libasan.so.8:{OURS}")),
            format!("/gcc/libasan.so.8:d.so:{OURS}")
        );
        let mut words = ["mpiexec", "-x", "LD_PRELOAD=d.so", "./a"].map(String::from);
        into(&mut words, OURS, Some("/gcc/libasan.so.8"), "");
        assert_eq!(words[2], format!("LD_PRELOAD=/gcc/libasan.so.8:d.so:{OURS}"));
    }

    #[test]
    fn a_command_that_preloads_by_itself_keeps_what_it_preloads() {
        for (line, due) in [
            ("mpiexec -n 2 -genv LD_PRELOAD d.so ./a", Some("mpiexec -n 2 -genv LD_PRELOAD d.so:OURS ./a")),
            ("mpiexec -x LD_PRELOAD=d.so ./a", Some("mpiexec -x LD_PRELOAD=d.so:OURS ./a")),
            ("mpiexec -x LD_PRELOAD ./a", Some("mpiexec -x LD_PRELOAD=of_environment.so:OURS ./a")),
            ("mpiexec -n 2 env LD_PRELOAD=d.so ./a", Some("mpiexec -n 2 env LD_PRELOAD=d.so:OURS ./a")),
            ("flux run --env=LD_PRELOAD=d.so ./a", Some("flux run --env=LD_PRELOAD=d.so:OURS ./a")),
            ("srun --export=LD_PRELOAD=d.so,A=1 ./a", None),
            ("mpiexec -n 2 ./a LD_PRELOAD", None),
        ] {
            let mut words: Vec<String> = line.split(' ').map(str::to_string).collect();
            let found = into(&mut words, OURS, None, "of_environment.so").is_some();
            assert_eq!((words.join(" "), found), (due.unwrap_or(line).replace("OURS", OURS), due.is_some()));
        }
    }

    #[test]
    fn a_path_that_cannot_be_preloaded_is_refused() {
        for bad in ["/a b/l.so", "/a:b/l.so"] {
            let said = word(Path::new(bad)).unwrap_err().to_string();
            assert!(said.starts_with(&format!("library: {bad}; allowed: ")), "{said}");
        }
    }
}
