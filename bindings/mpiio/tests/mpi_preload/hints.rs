//! Tests hints that users have already: from infos, files and variables of other MPI libraries; hints that are not
//! used, and damaged ones.

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;
use crate::common::report::{NotUsed, Report};

const RANKS: usize = 3;

fn launch() -> Launch {
    Launch::new(RANKS, &compile("hints.c")).with_library()
}

fn only_report(outcome: &Outcome) -> &Report {
    let [report] = &outcome.reports[..] else { panic!("not one report: {}", outcome.stderr) };
    report
}

/// Returns the lines that all ranks printed in one stage.
fn stage<'a>(outcome: &'a Outcome, name: &str) -> Vec<&'a str> {
    let lines: Vec<_> = outcome.stdout.lines().filter_map(|line| line.strip_prefix(&format!("{name}: "))).collect();
    assert!(!lines.is_empty() && lines.len() % RANKS == 0, "{name}: {}", outcome.stdout);
    lines
}

/// Returns the values of a hint that were not used, with source and reason.
fn not_used<'a>(report: &'a Report, key: &str) -> Vec<(&'a str, &'a str, &'a str)> {
    let all = report.hints_not_used.iter().filter(|all| all.key == key);
    all.map(|NotUsed { value, source, why, .. }| (value.as_str(), source.as_str(), why.as_str())).collect()
}

/// Hints that make collective calls exchange data by messages, as between several hosts.
const EXCHANGE: &str = "trib_shared_memory=disable; trib_tiny_call=0";

#[test]
fn an_info_is_kept_and_what_is_not_used_is_told() {
    let outcome = launch().run();
    let is = |name: &str, due: &str| {
        for line in stage(&outcome, name) {
            assert!(line.starts_with(due), "{name}: {}", outcome.stdout);
            assert!(line.contains("cb_buffer_size=1048576") && line.ends_with("romio_cb_write=automatic"), "{line}");
        }
    };
    is("open", "colour=blue shade=none");
    is("view", "colour=blue shade=dark");
    is("info", "colour=red shade=dark");
    is("written", "colour=red shade=dark");
    let report = only_report(&outcome);
    assert_eq!(not_used(report, "colour").len(), 2, "{report:?}");
    assert_eq!(not_used(report, "colour")[1], ("red", "MPI_Info of MPI_File_set_info", "unknown key"));
    assert_eq!(not_used(report, "shade"), [("dark", "MPI_Info of MPI_File_set_view", "unknown key")]);
    let allowed = "not allowed; allowed: enable|disable|automatic";
    assert_eq!(not_used(report, "romio_cb_write"), [("perhaps", "MPI_Info of MPI_File_open", allowed)]);
    assert_eq!(not_used(report, "cb_buffer_size"), []);
    assert_eq!(outcome.stderr.matches("`perhaps` is not allowed").count(), 1, "{}", outcome.stderr);
}

#[test]
fn variables_and_files_of_other_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("romio");
    std::fs::write(&file, "# of the site\ncb_nodes 1\nstriping_unit 4096\nromio_no_indep_rw true\n").unwrap();
    let program = launch()
        .hints(EXCHANGE)
        .env("ROMIO_HINTS", file.display().to_string())
        .env("OMPI_MCA_io_ompio_num_aggregators", "2")
        .env("OMPI_MCA_io_ompio_cycle_buffer_size", "1")
        .env("I_MPI_EXTRA_FILESYSTEM_FORCE", "gpfs")
        .env("MPICH_MPIIO_HINTS", "other*:cb_nodes=3,*.nc:cb_buffer_size=2097152,*:cb_nodes=3");
    let outcome = program.run();
    assert_eq!(stage(&outcome, "write"), ["SUCCESS"; 2 * RANKS]);
    let report = only_report(&outcome);
    for (key, value) in [
        ("cb_nodes", "2"),
        ("striping_unit", "4096"),
        ("romio_no_indep_rw", "true"),
        ("trib_driver", "gpfs"),
        ("cb_buffer_size", "2097152"),
    ] {
        assert_eq!(report.hints.get(key).map(String::as_str), Some(value), "{key}: {report:?}");
    }
    assert_eq!(report.driver.as_deref(), Some("gpfs"));
    let overruled = "overruled by OMPI_MCA_io_ompio_num_aggregators";
    let line = format!("ROMIO_HINTS={}, line 2", file.display());
    assert_eq!(not_used(report, "cb_nodes"), [("1", line.as_str(), overruled)]);
    let info = "MPI_Info of MPI_File_open";
    assert_eq!(not_used(report, "cb_buffer_size"), [("1048576", info, "overruled by MPICH_MPIIO_HINTS")]);
    assert_eq!(not_used(report, "OMPI_MCA_io_ompio_cycle_buffer_size").len(), 1);
    let written: Vec<_> = stage(&outcome, "written");
    assert!(written.iter().all(|line| line.contains("cb_nodes=2 cb_buffer_size=2097152")), "{}", outcome.stdout);
}

/// The ranks of this host share memory: nothing is exchanged, and the report says that hints of the exchange have no
/// effect.
#[test]
fn hints_without_effect_are_told() {
    let outcome = launch().hints("cb_nodes=2; trib_kernel_data=pairwise; trib_direct_min=1").run();
    let report = only_report(&outcome);
    let why = "no call exchanged data by messages";
    assert_eq!(not_used(report, "cb_nodes"), [("2", "TRIB_HINTS", why)]);
    assert_eq!(not_used(report, "trib_kernel_data"), [("pairwise", "TRIB_HINTS", why)]);
    assert_eq!(not_used(report, "trib_direct_min"), []);
    let table = launch().hints("cb_nodes=2").env("TRIB_REPORT", "1").run();
    assert!(table.stderr.contains("cb_nodes=2 of TRIB_HINTS: no call exchanged"), "{}", table.stderr);
}

/// A library opens a file with the info of another one, as PnetCDF does on each rank: nobody has set these hints.
#[test]
fn an_info_that_was_returned_sets_nothing() {
    let outcome = Launch::new(RANKS, &compile("passed_on.c")).arg("first").arg("second").with_library().run();
    let [first, second] = &outcome.reports[..] else { panic!("{}", outcome.stderr) };
    assert!(first.file.ends_with("first") && second.files == Some(RANKS as u64), "{}", outcome.stderr);
    assert!(second.hints_not_used.is_empty(), "{second:?}");
}

#[test]
fn the_first_ranks_environment_counts_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("romio");
    std::fs::write(&file, "cb_nodes 2\n").unwrap();
    let romio = format!("ROMIO_HINTS={}", file.display());
    let has = |outcome: &Outcome, nodes: &str| {
        assert_eq!(stage(outcome, "write"), ["SUCCESS"; 2 * RANKS]);
        for line in stage(outcome, "written") {
            assert!(line.contains(&format!("cb_nodes={nodes} cb_buffer_size=1048576")), "{}", outcome.stdout);
        }
    };
    has(&launch().hints(EXCHANGE).arg(&romio).run(), "2");
    has(&launch().hints(EXCHANGE).arg(format!("1:{romio}")).run(), "1");
    has(&launch().hints(EXCHANGE).arg("2:MPICH_MPIIO_HINTS=damaged").run(), "1");
}

#[test]
fn damage_is_an_error_of_all_ranks_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("romio");
    std::fs::write(&file, "cb_nodes 2\nstriping_unit\n").unwrap();
    let romio = format!("ROMIO_HINTS={}", file.display());
    for (variable, says) in [
        (romio.as_str(), format!("{romio}, line 2: `striping_unit`; allowed: a key and a value")),
        ("ROMIO_HINTS=/no/such/file", "ROMIO_HINTS: /no/such/file: No such file".to_string()),
        ("MPICH_MPIIO_HINTS=*:cb_nodes", "MPICH_MPIIO_HINTS: `cb_nodes` in `*:cb_nodes`".to_string()),
        ("MPICH_MPIIO_HINTS=x:cb_nodes=no", "hint cb_nodes of MPICH_MPIIO_HINTS: `no` is not allowed".to_string()),
        (
            "OMPI_MCA_io_ompio_bytes_per_agg=-5",
            "hint cb_buffer_size of OMPI_MCA_io_ompio_bytes_per_agg: `-5`".to_string(),
        ),
    ] {
        let outcome = launch().arg(variable).run();
        let told = stage(&outcome, "write");
        let (first, second): (Vec<_>, Vec<_>) = told.chunks(2).map(|both| (both[0], both[1])).unzip();
        assert!(first.iter().all(|class| *class == first[0] && *class != "SUCCESS"), "{variable}: {}", outcome.stdout);
        assert_eq!(second, ["SUCCESS"; RANKS], "{variable}: MPI runs the later calls");
        assert_eq!(outcome.lines_with(&says), 1, "{variable}: {}", outcome.stderr);
    }
}
