//! Tests the library as a component of Open MPI, which nothing preloads. (`TRIB_TEST_DOOR=component` runs the other
//! tests of this program so, too.)

use std::path::Path;
use std::process::Command;

use tributary_testing::launcher;

use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, components, library};
use crate::common::programs::{compile, preloadable};
use crate::common::report::accelerated;

const RANKS: usize = 3;
/// Functions of `small.c` that the library runs.
const CALLS: [&str; 4] = ["iwrite_at_all", "write_all", "write_at_all_begin", "read_at_all"];

fn is_open_mpi() -> bool {
    ours() == Family::OpenMpi
}

fn small() -> Launch {
    Launch::new(RANKS, &compile("small.c")).arg("small")
}

#[test]
fn open_mpi_loads_it() {
    if !is_open_mpi() {
        return;
    }
    let (plain, with) = (small().run(), small().by_component().env("TRIB_REPORT", "json").run());
    assert_eq!((&with.stdout, &with.files), (&plain.stdout, &plain.files), "{}", with.stderr);
    assert_eq!(CALLS.map(|call| accelerated(&with.reports, call)), [1; 4], "{}", with.stderr);
}

/// Open MPI 4 cannot create a file whose name is one letter, and gives a component a code of its own, for which MPI has no text.
#[test]
fn a_code_of_open_mpi_s_own_ends_nothing() {
    if is_open_mpi() {
        let outcome = Launch::new(1, &compile("unopened.c")).arg("g").arg("create").by_component().run();
        assert!(!outcome.stderr.contains("MPI_Error_string"), "{}", outcome.stderr);
    }
}

/// Open MPI's own settings and ours switch it off; where it cannot work, it says why.
#[test]
fn it_stands_aside() {
    if !is_open_mpi() {
        return;
    }
    for (settings, due) in [
        (&[("OMPI_MCA_io", "ompio")][..], None),
        (&[("OMPI_MCA_io", "^tributary")], None),
        (&[("OMPI_MCA_io", "romio321,tributary")], Some("the MCA parameter io does not select ompio")),
        (&[("TRIB_DISABLE", "1")], None),
        // A user who prefers another component to ompio prefers it to this one.
        (&[("OMPI_MCA_io_romio321_priority", "90")], None),
    ] {
        // Open MPI's ROMIO crashes in small.c.
        let program = Launch::new(RANKS, &compile("names.c")).arg("plain").by_component().env("TRIB_REPORT", "json");
        let outcome = settings.iter().fold(program, |launch, (name, value)| launch.env(name, *value)).run();
        assert_eq!(outcome.stdout.matches("plain\n").count(), RANKS, "{settings:?}: {}", outcome.stdout);
        assert!(outcome.reports.is_empty(), "{settings:?}: {}", outcome.stderr);
        let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("leaves its files to MPI")).collect();
        assert_eq!(lines.len(), usize::from(due.is_some()), "{settings:?}: {}", outcome.stderr);
        assert!(due.is_none_or(|due| lines[0].contains(due)), "{settings:?}: {lines:?}");
    }
}

/// The preloaded library runs the calls if both are there: as one file, and as two copies.
#[test]
fn the_preloaded_library_goes_before_it() {
    if !is_open_mpi() {
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(library(), copy.path().join("mca_io_tributary.so")).unwrap();
    for folder in [components(), copy.path()] {
        let path = format!("{}:SYSTEM_DEFAULT", folder.display());
        let launch = small().env("TRIB_REPORT", "json").also_preload(&library());
        let outcome = launch.env("OMPI_MCA_mca_base_component_path", path).run();
        let said = format!("{}: {}", folder.display(), outcome.stderr);
        assert_eq!(outcome.reports.len(), 1, "{said}");
        assert_eq!(CALLS.map(|call| accelerated(&outcome.reports, call)), [1; 4], "{said}");
        assert_eq!(said.matches("the preloaded library runs the calls of this program").count(), 1, "{said}");
    }
}

/// A folder in the home directory needs no variable.
#[test]
fn a_file_in_the_home_directory_is_enough() {
    if !is_open_mpi() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".openmpi/components");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(library(), folder.join("mca_io_tributary.so")).unwrap();
    let launch = small().by_component_with("HOME", home.path().display().to_string());
    let outcome = launch.env("TRIB_REPORT", "json").run();
    assert_eq!(accelerated(&outcome.reports, "write_all"), 1, "{}", outcome.stderr);
}

#[test]
fn ompi_info_lists_it() {
    if !is_open_mpi() {
        return;
    }
    let mut command = Command::new(["ompi_info", "ompi_info.openmpi"][usize::from(!is_there("ompi_info"))]);
    command.env("OMPI_MCA_mca_base_component_path", format!("{}:SYSTEM_DEFAULT", components().display()));
    let home = tempfile::tempdir().unwrap();
    command.envs(launcher::open_mpi(home.path()));
    let output = command.output().unwrap_or_else(|cause| panic!("{command:?}: {cause}; install openmpi-bin"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find(|line| line.contains("MCA io: tributary"));
    let due = format!("API v2.0.0, Component v{}", env!("CARGO_PKG_VERSION"));
    assert!(line.is_some_and(|line| line.contains(&due)), "{said}");
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).exists())
}

/// The program sees the hints that the library sets by itself; OMPIO gets only the program's, as without the library. (With
/// several aggregators it loses bytes of its own writes.)
#[test]
fn ompio_gets_the_hints_of_the_program_only() {
    if !is_open_mpi() {
        return;
    }
    let program = Launch::new(4, &compile("ordered.c")).arg("small").also_preload(&preloadable("infos"));
    // OMPIO with three aggregators loses bytes in about one run of five.
    let with = program.clone().by_component().env("TRIB_REPORT", "json").hints("cb_nodes=3");
    let ours = "opened: cb_nodes 3\nwritten: cb_nodes 3\nviewed: cb_nodes 3\n0 lost\n";
    for _ in 0..8 {
        let outcome = with.run();
        assert!(outcome.stdout.starts_with(&format!("rank 0\n{ours}")), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(given(&outcome.stderr), ["-"], "{}", outcome.stderr);
    }
    let set = |launch: &Launch| given(&launch.clone().arg("cb_nodes").arg("1").run().stderr);
    assert_eq!((set(&with), set(&program)), (vec!["1".to_string()], vec!["1".to_string()]));
}

/// Returns the different values of the hint that OMPIO got.
fn given(stderr: &str) -> Vec<String> {
    let mut all: Vec<_> = stderr.lines().filter_map(|line| line.strip_prefix("infos: cb_nodes ")).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(String::from).collect()
}
