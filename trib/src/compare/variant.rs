//! Variants of a comparison: the MPI library's own I/O, also with hints, our library, and other libraries.

use crate::Failure;
use crate::launcher::Family;

/// Way to run a pattern or program in a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Differences from the MPI library's defaults, as text.
    pub setting: String,
    /// Hints for MPI_File_open: first the hints for the write, then the hints for the read.
    pub hints: [Vec<String>; 2],
    /// Arguments of the launcher.
    pub launcher: Vec<String>,
    /// Library or command that runs the pattern.
    pub runner: ProgramRunner,
}

/// Library or command that runs a pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramRunner {
    /// The program with the MPI library's own I/O.
    Plain,
    /// The program with our library preloaded.
    Ours,
    /// A shell command that runs another library.
    Peer(String),
}

impl Variant {
    /// Creates the variant of the MPI library's own I/O with its defaults.
    pub fn plain() -> Self {
        Self::with(ProgramRunner::Plain, "defaults")
    }

    /// Creates the variant of our library with its defaults.
    pub fn ours() -> Self {
        Self::with(ProgramRunner::Ours, "defaults")
    }

    fn with(runner: ProgramRunner, setting: &str) -> Self {
        Self { setting: setting.to_string(), hints: [vec![], vec![]], launcher: vec![], runner }
    }

    /// Creates a variant with hints for ROMIO; `{}` in a hint stands for write and for read.
    fn romio(hints: &[String], launcher: &[&str]) -> Self {
        let words = |operation: &str| hints.iter().map(|hint| hint.replace("{}", operation)).collect();
        let setting: Vec<String> = launcher.iter().map(ToString::to_string).chain(hints.iter().cloned()).collect();
        Self {
            setting: setting.join(" ").replace("--mca ", "").replace("{}", "*"),
            hints: [words("write"), words("read")],
            launcher: launcher.iter().map(ToString::to_string).collect(),
            runner: ProgramRunner::Plain,
        }
    }
}

/// Returns the name and the variant of another library from the text of `--peer`.
///
/// # Errors
/// The text is not NAME=COMMAND, or the name is reserved.
pub fn peer(text: &str) -> Result<(String, Variant), Failure> {
    let (name, command) = named_peer(text)?;
    Ok((name.to_string(), Variant::with(ProgramRunner::Peer(command.to_string()), "as given")))
}

/// Returns the name and the command of another library from the text of `--peer`.
///
/// # Errors
/// The errors of [`peer`].
pub fn named_peer(text: &str) -> Result<(&str, &str), Failure> {
    let wrong = || {
        Failure::new(format!(
            "peer: {text}; allowed: NAME=COMMAND, with a name other than default, best, ours, {}",
            BESIDE.join(", ")
        ))
    };
    let (name, command) = text.split_once('=').ok_or_else(wrong)?;
    if name.is_empty()
        || command.trim().is_empty()
        || ["default", "best", "ours"].contains(&name)
        || BESIDE.contains(&name)
    {
        return Err(wrong());
    }
    Ok((name, command))
}

/// Returns the numbers of aggregators to try, each with the maximum number on a host. On one host: 1, 4 and all ranks;
/// on several: 1, one for every second host, 1 and 2 a host, and all ranks.
fn aggregators(hosts: u64, ranks: u64) -> Vec<(u64, u64)> {
    let here = ranks.div_ceil(hosts);
    let mut counts = match hosts {
        1 => vec![(1, 1), (4.min(ranks), 4.min(ranks)), (ranks, ranks)],
        _ => vec![(1, 1), (hosts.div_ceil(2), 1), (hosts, 1), (2.min(here) * hosts, 2.min(here)), (ranks, here)],
    };
    counts.dedup();
    counts
}

/// Returns the settings to try on `ranks` ranks of `hosts` hosts: several numbers of aggregators with collective
/// buffering always on; with Open MPI, whose launcher is `mpiexec`, also its other I/O components.
pub fn candidates(family: Family, mpiexec: &str, ranks: u64, hosts: u64) -> Vec<Variant> {
    let counts = aggregators(hosts, ranks);
    let enable = "romio_cb_{}=enable".to_string();
    let romio = |launcher: &[&str]| {
        let spread = |(count, here): &(u64, u64)| {
            [format!("cb_nodes={count}"), format!("cb_config_list=*:{here}"), enable.clone()]
        };
        let mut all = vec![Variant::romio(std::slice::from_ref(&enable), launcher)];
        all.extend(counts.iter().map(|count| Variant::romio(&spread(count), launcher)));
        all
    };
    if family == Family::Mpich {
        return romio(&[]);
    }
    let mut all: Vec<Variant> = counts
        .iter()
        .map(|(count, _)| Variant::romio(&[], &["--mca", "io_ompio_num_aggregators", &count.to_string()]))
        .chain([Variant::romio(&[], &["--mca", "fcoll", "two_phase"])])
        .collect();
    if let Some(component) = romio_of(mpiexec) {
        all.push(Variant::romio(&[], &["--mca", "io", &component]));
        all.extend(romio(&["--mca", "io", &component]));
    }
    all
}

/// Names of the variants that may be measured in addition to the defaults and the best hints.
pub const BESIDE: [&str; 2] = [INDEPENDENT, VULCAN];
/// Name of the variant in which ROMIO's ranks write by themselves.
pub const INDEPENDENT: &str = "independent";
/// Name of the variant in which OMPIO does collective I/O, with the component of this name.
pub const VULCAN: &str = "vulcan";
/// Environment variable of the ranks, and its value, that selects [`VULCAN`].
pub const WITH_VULCAN: (&str, &str) = ("OMPI_MCA_fcoll", VULCAN);

/// Note that is printed with comparisons that have [`VULCAN`].
pub const ABOUT_VULCAN: &str = "On 1 and 2 ranks OMPIO, the I/O of Open MPI, does no collective I/O by default: its component \
    `individual` lets every rank write by itself, and ranks do not even wait for each other. `vulcan` is OMPIO with the \
    component that it takes on more ranks (`--mca fcoll vulcan`).";

/// Returns true if OMPIO does no collective I/O by default on `ranks` ranks.
pub fn is_individual(family: Family, ranks: u64) -> bool {
    family == Family::OpenMpi && ranks <= 2
}

/// Returns the variant that is measured in addition to the defaults and the best hints, with its name. With MPICH on
/// several hosts, every rank writes by itself; this is not among the best hints, because emulated hosts share memory,
/// which each host reaches without a network. With Open MPI on few ranks, a collective component.
pub fn beside(family: Family, ranks: u64, hosts: u64) -> Option<(&'static str, Variant)> {
    if is_individual(family, ranks) {
        return Some((VULCAN, Variant::romio(&[], &["--mca", "fcoll", VULCAN])));
    }
    (family == Family::Mpich && hosts > 1).then(|| (INDEPENDENT, independent()))
}

/// Creates the variant in which ROMIO's ranks write and read by themselves.
pub fn independent() -> Variant {
    Variant::romio(&["romio_cb_{}=disable".to_string(), "romio_no_indep_rw=false".to_string()], &[])
}

/// Returns the name of Open MPI's ROMIO component.
fn romio_of(mpiexec: &str) -> Option<String> {
    let beside = mpiexec.replace("mpiexec", "ompi_info").replace(".openmpi", "");
    let output = ["ompi_info", &beside]
        .into_iter()
        .find_map(|name| std::process::Command::new(name).args(["--param", "io", "all", "--parsable"]).output().ok())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut names = said.lines().filter_map(|line| line.strip_prefix("mca:io:")?.split(':').next());
    names.find(|name| name.starts_with("romio")).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_different_and_ask_for_both_ways() {
        for (ranks, expected) in [(1, 2), (2, 3), (4, 3), (16, 4)] {
            let all = candidates(Family::Mpich, "mpiexec", ranks, 1);
            assert_eq!(all.len(), expected, "{ranks} ranks: {all:?}");
            for one in &all {
                assert_eq!(one.hints[0].len(), one.hints[1].len());
                assert!(one.hints[0].contains(&"romio_cb_write=enable".to_string()), "{one:?}");
                assert!(one.hints[1].contains(&"romio_cb_read=enable".to_string()), "{one:?}");
            }
        }
    }

    #[test]
    fn on_hosts_aggregators_are_spread() {
        assert_eq!(aggregators(1, 16), [(1, 1), (4, 4), (16, 16)]);
        assert_eq!(aggregators(4, 16), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)]);
        assert_eq!(aggregators(2, 2), [(1, 1), (2, 1)]);
        assert_eq!(aggregators(2, 4), [(1, 1), (2, 1), (4, 2)]);
    }

    #[test]
    fn ranks_write_by_themselves_on_several_hosts_only() {
        let on = |hosts| beside(Family::Mpich, 4, hosts);
        assert_eq!(on(1), None);
        assert_eq!(on(2).unwrap().1.hints[1], ["romio_cb_read=disable", "romio_no_indep_rw=false"]);
    }

    #[test]
    fn few_ranks_of_open_mpi_do_collective_io_beside_the_defaults() {
        let on = |family, ranks| beside(family, ranks, 1).map(|(name, variant)| (name, variant.launcher));
        let vulcan = ["--mca", "fcoll", "vulcan"].map(str::to_string).to_vec();
        assert_eq!(on(Family::OpenMpi, 1), Some(("vulcan", vulcan.clone())));
        assert_eq!(on(Family::OpenMpi, 2), Some(("vulcan", vulcan)));
        assert_eq!((on(Family::OpenMpi, 3), on(Family::Mpich, 2)), (None, None));
    }

    #[test]
    fn peers_have_names_of_their_own() {
        assert!(peer("gio=run {lists} {file}").is_ok_and(|(name, _)| name == "gio"));
        for bad in ["gio", "=run", "gio=", "gio= ", "ours=run", "vulcan=run"] {
            let said = peer(bad).unwrap_err().to_string();
            assert!(said.starts_with(&format!("peer: {bad}; allowed: ")), "{said}");
        }
    }
}
