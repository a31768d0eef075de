//! Makes the command of a launcher with environment variables for its ranks.

use std::fmt::{self, Write};
use std::process::Command;

use super::{Launcher, VariableForm, srun};
use crate::Failure;

/// Command that is ready to run.
#[derive(Debug, PartialEq, Eq)]
pub struct Ready {
    /// Words of the command.
    pub words: Vec<String>,
    /// Environment variables of the command in addition to this process's variables.
    pub environment: Vec<(String, String)>,
    /// Launcher option that sets the ranks' variables; none if the environment sets them.
    pub option: Option<&'static str>,
}

impl Ready {
    /// Creates the command of `words`, whose ranks get the `variables`. `own` reads this process's environment.
    ///
    /// # Errors
    /// A variable that the launcher cannot set.
    pub fn new(
        launcher: Option<&'static Launcher>,
        words: &[String],
        variables: &[(String, String)],
        own: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let from = launcher.and_then(|launcher| launcher.options_from(words));
        let (Some(launcher), Some(from)) = (launcher, from) else {
            return Ok(Self { words: words.to_vec(), environment: variables.to_vec(), option: None });
        };
        let (head, rest) = words.split_at(from);
        let parts: Vec<&[String]> = match launcher.each {
            true => rest.split(|word| word == ":").collect(),
            false => vec![rest],
        };
        let (mut all, mut environment) = (head.to_vec(), Vec::new());
        for (number, part) in parts.into_iter().enumerate() {
            all.extend((number > 0).then(|| ":".to_string()));
            let part = match launcher.way {
                VariableForm::Export => {
                    let (part, others) = srun::export(part, variables, own("SLURM_EXPORT_ENV").as_deref())?;
                    environment = others;
                    part
                }
                way => {
                    let options = variables.iter().flat_map(|(name, value)| way.words(name, value));
                    options.chain(part.iter().cloned()).collect()
                }
            };
            all.extend(part);
        }
        Ok(Self { words: all, environment, option: Some(launcher.way.option()) })
    }

    /// Returns the command for the operating system.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Launcher {
    /// Returns the position of the first option in a command of this launcher; none if the command starts no ranks.
    fn options_from(&self, words: &[String]) -> Option<usize> {
        const THAT_RUN: [&str; 3] = ["run", "submit", "alloc"];
        match self.way {
            VariableForm::Flux => {
                let at = (1..words.len()).find(|&at| !words[at].starts_with('-') && words[at] != "mini")?;
                THAT_RUN.contains(&words[at].as_str()).then_some(at + 1)
            }
            _ => Some(1),
        }
    }

    /// Returns the variables of this process with names that begin with `prefix`, if ranks on other hosts do not get
    /// them by themselves.
    pub fn kept_back(&self, prefix: &str) -> Vec<(String, String)> {
        let all =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        all.filter(|(name, _)| !self.hands_on && name.starts_with(prefix)).collect()
    }
}

/// Prints the command as a user would type it in a shell.
impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let words = self.words.iter().map(|word| quoted(word));
        for (number, word) in set.chain(words).enumerate() {
            f.write_str(if number > 0 { " " } else { "" })?;
            f.write_str(&word)?;
        }
        Ok(())
    }
}

/// Returns a word quoted for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    let mut quoted = String::new();
    let _ = write!(quoted, "'{}'", word.replace('\'', r"'\''"));
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher;

    /// Returns the text of the command that a line becomes with these variables.
    fn ready(line: &str, variables: &[(&str, &str)], slurm: Option<&str>) -> Result<String, Failure> {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let launcher = launcher::of(&words[0]).unwrap();
        Ready::new(launcher, &words, &variables, |_| slurm.map(str::to_string)).map(|ready| ready.to_string())
    }

    #[test]
    fn every_launcher_is_told_in_its_own_way() {
        let variables = [("LD_PRELOAD", "/d.so:/t.so"), ("TRIB_HINTS", "cb_nodes=2;trib_driver=$x")];
        for (line, due) in [
            (
                "mpiexec.hydra -n 2 ./a : -n 1 ./b",
                "mpiexec.hydra -genv LD_PRELOAD /d.so:/t.so -genv TRIB_HINTS 'cb_nodes=2;trib_driver=$x' -n 2 ./a : -n 1 ./b",
            ),
            (
                "orterun -n 2 ./a : ./b",
                "orterun -x LD_PRELOAD=/d.so:/t.so -x 'TRIB_HINTS=cb_nodes=2;trib_driver=$x' -n 2 ./a : \
                 -x LD_PRELOAD=/d.so:/t.so -x 'TRIB_HINTS=cb_nodes=2;trib_driver=$x' ./b",
            ),
            (
                "srun -n 2 ./a",
                "srun '--export=ALL,LD_PRELOAD=/d.so:/t.so,TRIB_HINTS=cb_nodes=2;trib_driver=$x' -n 2 ./a",
            ),
            (
                "flux run -n 2 ./a",
                "flux run --env=LD_PRELOAD=/d.so:/t.so '--env=TRIB_HINTS=cb_nodes=2;trib_driver=$$x' -n 2 ./a",
            ),
            ("jsrun -n 2 ./a", "jsrun -E LD_PRELOAD=/d.so:/t.so -E 'TRIB_HINTS=cb_nodes=2;trib_driver=$x' -n 2 ./a"),
            ("aprun -n 2 ./a", "aprun -e LD_PRELOAD=/d.so:/t.so -e 'TRIB_HINTS=cb_nodes=2;trib_driver=$x' -n 2 ./a"),
            ("./a it's", "LD_PRELOAD=/d.so:/t.so TRIB_HINTS='cb_nodes=2;trib_driver=$x' ./a 'it'\\''s'"),
            ("flux jobs", "LD_PRELOAD=/d.so:/t.so TRIB_HINTS='cb_nodes=2;trib_driver=$x' flux jobs"),
        ] {
            assert_eq!(ready(line, &variables, None).unwrap(), due);
        }
    }

    #[test]
    fn the_one_list_of_srun_keeps_what_it_has() {
        let variables = [("LD_PRELOAD", "/e.so:/t.so"), ("TRIB_HINTS", "trib_rank_list=1,0")];
        for (line, slurm, due) in [
            ("srun ./a", None, "srun --export=ALL,LD_PRELOAD=/e.so:/t.so ./a"),
            ("srun ./a", Some("A,B=1"), "srun --export=A,B=1,LD_PRELOAD=/e.so:/t.so,TRIB_HINTS ./a"),
            ("srun -n 2 --export=A ./a", Some("B"), "srun -n 2 --export=A,LD_PRELOAD=/e.so:/t.so,TRIB_HINTS ./a"),
            ("srun --export NONE -l ./a", None, "srun --export=LD_PRELOAD=/e.so:/t.so,TRIB_HINTS -l ./a"),
            ("srun --export=ALL,LD_PRELOAD=/d.so,C=2 ./a", None, "srun --export=ALL,C=2,LD_PRELOAD=/d.so:/t.so ./a"),
            // An option of the program is not srun's.
            (
                "srun -n 2 /bin/sh --export=csv",
                None,
                "srun --export=ALL,LD_PRELOAD=/e.so:/t.so -n 2 /bin/sh --export=csv",
            ),
            (
                "srun -n 1 /bin/sh : --export=A -n 1 /bin/sh",
                None,
                "srun --export=ALL,LD_PRELOAD=/e.so:/t.so -n 1 /bin/sh : --export=A,LD_PRELOAD=/e.so:/t.so,TRIB_HINTS -n 1 /bin/sh",
            ),
        ] {
            assert_eq!(ready(line, &variables, slurm).unwrap(), format!("TRIB_HINTS=trib_rank_list=1,0 {due}"));
        }
        let said = ready("srun ./a", &[("LD_PRELOAD", "/a,b/t.so")], None).unwrap_err().to_string();
        assert!(said.starts_with("library: /a,b/t.so; allowed: paths without a comma"), "{said}");
    }
}
