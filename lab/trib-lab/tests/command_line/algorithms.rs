//! Tests `trib-lab algorithms`.

use tributary::exchange::KERNELS;

use crate::program::{error, json, said};

#[test]
fn algorithms_are_listed_and_counted() {
    let listed = said(&["algorithms"]);
    for word in ["allgather", "locality_bruck", "ordered_tree", "two_layer", "16 ranks, 4 per node", "1,024 bytes"] {
        assert!(listed.contains(word), "{word} in\n{listed}");
    }
    let rows = json(&["algorithms", "--json"]);
    let rows = rows.as_array().unwrap();
    let registered = tributary_lab::collectives::ALGORITHMS.len() + KERNELS.len();
    assert_eq!(rows.len(), registered + 1, "and two_layer");
    for row in rows {
        for key in ["operation", "name", "about", "paper", "equation", "source", "cost", "when"] {
            assert!(!row[key].as_str().unwrap().is_empty(), "{key} in {row}");
        }
        assert!(["rounds", "messages", "bytes"].iter().all(|key| row[key].as_u64().unwrap() > 0), "{row}");
    }
    let find = |operation: &str, name: &str| {
        rows.iter().find(|row| row["operation"] == operation && row["name"] == name).unwrap()
    };
    // Bienz et al. 2022, example 2.1: 4 messages and 15 values a rank; one message and 4 values between nodes.
    let bruck = find("allgather", "bruck");
    assert_eq!((&bruck["rounds"], &bruck["messages"], &bruck["bytes"]), (&4.into(), &64.into(), &(240 * 1024).into()));
    let between = &find("allgather", "locality_bruck")["between_nodes"];
    // Rank 0 of a node fetches nothing.
    assert_eq!((&between["messages"], &between["bytes"]), (&12.into(), &(48 * 1024).into()));
    assert_eq!(bruck["paper"], "Bienz et al. 2022");
}

#[test]
fn algorithms_are_counted_for_other_ranks_and_bytes() {
    let rows = json(&["algorithms", "--json", "--ranks", "6", "--ranks-per-node", "3", "--bytes", "80"]);
    let ring = &rows[0];
    assert_eq!((&ring["name"], &ring["rounds"], &ring["messages"]), (&"ring".into(), &5.into(), &30.into()));
    assert_eq!((&ring["bytes"], &ring["between_nodes"]["messages"]), (&2400.into(), &10.into()));
    let alone = json(&["algorithms", "--json", "--ranks", "1"]);
    assert!(alone.as_array().unwrap().iter().all(|row| row["rounds"] == 0 && row["messages"] == 0));
    for (arguments, words) in [
        (&["algorithms", "--ranks", "0"][..], &["ranks: 0", "1 to 512"][..]),
        (&["algorithms", "--ranks", "100000"], &["ranks: 100000", "1 to 512"]),
        (&["algorithms", "--ranks-per-node", "0"], &["ranks per node", "0", "1 or more"]),
        (&["algorithms", "--bytes", "0"], &["--bytes", "0"]),
        (&["algorithms", "--bytes", "12"], &["bytes: 12", "multiple of 8"]),
        (&["algorithms", "show"], &["NAME"]),
        (&["algorithms", "show", "brick"], &["brick", "bruck", "ring", "two_layer"]),
        (&["algorithms", "show", "brick", "--operation", "reduce"], &["brick", "allowed: binary, binomial, chain"]),
        (&["algorithms", "show", "ring", "--operation", "sort"], &["sort", "allgather, gather"]),
        (&["algorithms", "show", "ring"], &["operation: none given", "ring", "allgather", "allreduce"]),
        (&["algorithms", "show", "bruck", "--ranks", "0"], &["ranks", "0", "1 or more"]),
        (&["algorithms", "show", "bruck", "--ranks", "33"], &["ranks: 33", "1 to 32"]),
        (&["algorithms", "show", "bruck", "--ranks-per-node", "0"], &["ranks per node", "0", "1 or more"]),
        (&["algorithms", "show", "flat", "--operation", "reduce", "--root", "8"], &["root: 8", "0 to 7"]),
        (&["algorithms", "show", "ring", "--operation", "allreduce", "--ranks", "32"], &["62 rounds", "40"]),
        (&["algorithms", "show", "bruck", "-o", "/nowhere/bruck.svg"], &["/nowhere/bruck.svg", "No such file"]),
    ] {
        let line = error(arguments);
        assert!(words.iter().all(|word| line.contains(word)), "{arguments:?}: {line}");
    }
}

#[test]
fn an_algorithm_is_drawn_for_any_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bruck.svg").display().to_string();
    let told = said(&["algorithms", "show", "bruck", "--ranks", "5", "--ranks-per-node", "2", "-o", &file]);
    assert!(told.contains("allgather: bruck") && told.contains(&file), "{told}");
    let drawn = std::fs::read_to_string(&file).unwrap();
    for word in ["<svg", "5 ranks on 3 nodes", "3 rounds, 15 messages, 20m in all", "node 2", "</svg>"] {
        assert!(drawn.contains(word), "{word}");
    }
    let printed = said(&["algorithms", "show", "balanced", "--ranks", "1"]);
    assert!(printed.starts_with("<svg") && printed.contains("0 rounds"), "{printed}");
}
