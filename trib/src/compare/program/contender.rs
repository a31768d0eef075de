//! Contenders: ways to run a program that cannot be changed. Hints reach the program by its environment.

use std::path::Path;

use super::super::variant::Variant;
use crate::Failure;

/// Environment variables by which ROMIO (a file of hints) and PnetCDF (a line of hints) take hints in addition to the
/// program's.
pub const FOR_HINTS: [&str; 2] = ["ROMIO_HINTS", "PNETCDF_HINTS"];

/// Way to run the command, which is compared with others.
#[derive(Debug)]
pub struct Contender {
    /// Name of the contender in results.
    pub name: String,
    /// Text with the differences from the MPI library's defaults.
    pub setting: String,
    /// Environment variables of the ranks.
    pub variables: Vec<(String, String)>,
    /// Command that is run instead of the user's, if it is another one.
    pub command: Option<Vec<String>>,
}

impl Contender {
    /// Creates a contender called `name`, with the defaults.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_string(), setting: "defaults".to_string(), variables: Vec::new(), command: None }
    }

    /// Creates the contender for another library (`--peer`), with its own command.
    pub fn peer(name: &str, command: &str) -> Self {
        let command = Some(command.split_whitespace().map(str::to_string).collect());
        Self { setting: "as given".to_string(), command, ..Self::new(name) }
    }

    /// Adds an environment variable, also to the setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.setting = format!("{name}={value}");
        self.variables.push((name.to_string(), value.to_string()));
        self
    }

    /// Returns lines for a shell that set the contender's variables. A file of hints is made in the current folder.
    pub fn exports(&self) -> String {
        let line = |(name, value): &(String, String)| match name == FOR_HINTS[0] {
            true => {
                let hints = std::fs::read_to_string(value).unwrap_or_default();
                format!("printf '%s\\n'{} > romio-hints\nexport {name}=$PWD/romio-hints", quoted(hints.lines()))
            }
            false => format!("export {name}={}", quoted([value.as_str()]).trim_start()),
        };
        self.variables.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Creates a contender from a variant's hints and launcher arguments, as environment variables. ROMIO reads hints
    /// from a file, which is made in `folder`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn from_variant(name: &str, variant: &Variant, number: usize, folder: &Path) -> Result<Self, Failure> {
        let mut contender = Self { setting: variant.setting.clone(), ..Self::new(name) };
        let mut hints: Vec<&str> = variant.hints.iter().flatten().map(String::as_str).collect();
        hints.sort_unstable();
        hints.dedup();
        if !hints.is_empty() {
            let lines: Vec<String> = hints.iter().map(|hint| hint.replacen('=', " ", 1) + "\n").collect();
            let path = folder.join(format!("hints-{name}-{number}"));
            std::fs::write(&path, lines.concat())?;
            let values = [path.display().to_string(), hints.join(";")];
            contender.variables.extend(FOR_HINTS.map(str::to_string).into_iter().zip(values));
        }
        // Triples of `--mca`, a parameter and its value.
        for parameter in variant.launcher.chunks_exact(3) {
            contender.variables.push((format!("OMPI_MCA_{}", parameter[1]), parameter[2].clone()));
        }
        Ok(contender)
    }
}

/// Returns words for a shell, each in quotes and after a blank.
fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|word| format!(" '{}'", word.replace('\'', "'\\''"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::variant::ProgramRunner;
    use super::*;

    #[test]
    fn hints_are_a_file_and_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        let variant = Variant {
            setting: "io=romio321 cb_nodes=4".to_string(),
            hints: [words("cb_nodes=4 romio_cb_write=enable"), words("cb_nodes=4 romio_cb_read=enable")],
            launcher: words("--mca io romio321"),
            runner: ProgramRunner::Plain,
        };
        let contender = Contender::from_variant("best", &variant, 3, folder.path()).unwrap();
        let file = folder.path().join("hints-best-3");
        let due = [
            ("ROMIO_HINTS", file.display().to_string()),
            ("PNETCDF_HINTS", "cb_nodes=4;romio_cb_read=enable;romio_cb_write=enable".to_string()),
            ("OMPI_MCA_io", "romio321".to_string()),
        ];
        assert_eq!(contender.variables, due.map(|(name, value)| (name.to_string(), value)));
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(text, "cb_nodes 4\nromio_cb_read enable\nromio_cb_write enable\n");
        assert_eq!(contender.setting, variant.setting);
        let due = "printf '%s\\n' 'cb_nodes 4' 'romio_cb_read enable' 'romio_cb_write enable' > romio-hints\n\
                   export ROMIO_HINTS=$PWD/romio-hints\n\
                   export PNETCDF_HINTS='cb_nodes=4;romio_cb_read=enable;romio_cb_write=enable'\n\
                   export OMPI_MCA_io='romio321'";
        assert_eq!(contender.exports(), due);
        let shell = std::process::Command::new("sh")
            .args(["-c", &format!("{due}\ncat $ROMIO_HINTS")])
            .current_dir(&folder)
            .output();
        assert_eq!(String::from_utf8(shell.unwrap().stdout).unwrap(), text);
    }
}
