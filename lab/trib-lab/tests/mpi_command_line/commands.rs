//! Tests `trib-lab` under mpiexec.

use std::path::Path;
use std::process::Output;

use tributary::exchange::KERNELS;
use tributary_testing::mpiexec as launch;

fn mpiexec(ranks: usize, arguments: &[&str]) -> Output {
    launch::start(ranks, Path::new(env!("CARGO_BIN_EXE_trib-lab")), arguments, &[])
}

/// Checks the command that compares every choice's bytes with those of a serial write before it measures.
#[test]
fn kernels_are_measured_on_pretended_nodes() {
    let small = ["tune", "kernels", "--measure", "mpi", "--pattern", "btio --grid 7 --iterations 2", "--turns", "2"];
    let output = mpiexec(4, &[&small[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = all["rows"].as_array().unwrap();
    let nodes: Vec<_> = rows.iter().map(|row| row["nodes"].as_u64().unwrap()).collect();
    assert_eq!(nodes, [1, 2, 4]);
    // Besides the kernels: auto, two throttles, and two layers, which want two ranks on a node for each local aggregator.
    for (row, more) in rows.iter().zip([5, 4, 3]) {
        let choices = KERNELS.len() + more;
        let times = row["first"].as_object().unwrap();
        assert_eq!((times.len(), times["auto"].as_array().unwrap().len()), (choices, 2), "{row}");
        assert!(
            times.values().flat_map(|all| all.as_array().unwrap()).all(|time| time.as_f64().unwrap() > 0.0),
            "{row}"
        );
        assert!(["MPICH", "Open MPI"].iter().any(|name| row["library"].as_str().unwrap().starts_with(name)), "{row}");
    }
    let refused = mpiexec(3, &[&small[..], &["--ranks-per-node", "2"]].concat());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("a divisor of 3") && said.matches("trib-lab: ").count() == 1,
        "{said}"
    );
}

#[test]
fn hsumma_on_mpi_is_right() {
    let output = mpiexec(4, &["hsumma", "--fabric", "mpi", "--n", "32", "--block", "4", "--groups", "2x1", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&all["hsumma"]["verified"], &all["fabric"]), (&true.into(), &"mpi".into()));
    let refused = mpiexec(3, &["hsumma", "--fabric", "mpi", "--n", "32"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.matches("trib-lab: ").count() == 1, "{said}");
}

/// Runs small problems. The command itself checks every result; the test checks that all implementations are reported.
#[test]
fn gather_and_scatter_are_held_to_the_guidelines() {
    let small = ["guidelines", "--op", "gatherv", "--op", "scatterv", "--blocks", "4,300", "--repetitions", "7"];
    let output = mpiexec(3, &[&small[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&all["ranks"], &all["root"], &all["repetitions"]), (&3.into(), &1.into(), &7.into()));
    let problems = all["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2 * 2 * 6);
    for problem in problems {
        let seconds = problem["median_seconds"].as_object().unwrap();
        assert_eq!(seconds.len(), 5);
        assert!(seconds.values().all(|time| time.as_f64().unwrap() > 0.0), "{problem}");
        assert!(problem["bytes"].as_u64().unwrap() <= problem["padded_bytes"].as_u64().unwrap());
        for violation in problem["violations"].as_array().unwrap() {
            assert!(violation["guideline"] == 2 || problem["blocks"] == "same", "{problem}");
            assert!(violation["ratio"].as_f64().unwrap() > 1.0, "{problem}");
        }
    }
    let table = mpiexec(2, &["guidelines", "--blocks", "8", "--repetitions", "7"]);
    let said = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.status.success() && said.contains("two blocks") && said.contains("2 ranks, root 1"), "{said}");

    let output = mpiexec(2, &["guidelines", "--blocks", "2000000000"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("padded bytes in all"), "{said}");
    assert_eq!(said.matches("trib-lab: ").count(), 1, "{said}");
}
