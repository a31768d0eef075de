//! Makes srun's option `--export`: one list of variables that the ranks get, divided by commas. The last option
//! replaces earlier ones.

use super::preload::{self, NAME};
use super::{Variables, program};
use crate::Failure;

/// Returns the words with an `--export` option that has all variables, in place of the user's own or in front; and the
/// variables that must be in srun's environment. `own` is SLURM_EXPORT_ENV. The first of `words` is an option or the
/// program.
///
/// # Errors
/// A list of libraries with a comma.
pub fn export(
    words: &[String],
    variables: &[(String, String)],
    own: Option<&str>,
) -> Result<(Vec<String>, Variables), Failure> {
    let options = &words[..program::place(words, 0).unwrap_or(words.len())];
    let joined = options.iter().rposition(|word| word.starts_with("--export="));
    let apart = options.iter().rposition(|word| word == "--export").filter(|&at| at + 1 < words.len());
    let (at, length, list) = match (joined, apart) {
        (joined, Some(at)) if joined < Some(at) => (at, 2, words[at + 1].as_str()),
        (Some(at), _) => (at, 1, words[at].trim_start_matches("--export=")),
        (None, _) => (0, 0, own.filter(|list| !list.is_empty()).unwrap_or("ALL")),
    };
    // `NONE` and `NIL` mean an empty list: a list without `ALL` exports only the variables that it names.
    let is_nothing = ["NONE", "NIL"].iter().any(|word| list.eq_ignore_ascii_case(word));
    let mut items: Vec<String> = if is_nothing { vec![] } else { list.split(',').map(str::to_string).collect() };
    let has_all = items.iter().any(|item| item.eq_ignore_ascii_case("ALL"));
    let mut environment = Vec::new();
    for (name, value) in variables {
        let there = items.iter().position(|item| item.split('=').next() == Some(name));
        let before = there.map(|at| items.remove(at));
        // The list of the user's own option comes before ours.
        let theirs = before.as_deref().and_then(|item| Some(item.split_once('=')?.1)).filter(|_| name == NAME);
        let value = match (theirs, value.rsplit(':').next()) {
            (Some(theirs), Some(library)) => preload::behind(theirs, library),
            _ => value.clone(),
        };
        match (value.contains(','), name == NAME) {
            (false, _) => items.push(format!("{name}={value}")),
            (true, true) => {
                return Err(Failure::new(format!(
                    "library: {value}; allowed: paths without a comma, which divides the list of srun's --export"
                )));
            }
            (true, false) => {
                items.extend((!has_all).then(|| name.clone()));
                environment.push((name.clone(), value));
            }
        }
    }
    let mut words = words.to_vec();
    words.splice(at..at + length, [format!("--export={}", items.join(","))]);
    Ok((words, environment))
}
