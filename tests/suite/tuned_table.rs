//! Tuned tables, which a hint names to files.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use crate::watchdog::Watchdog;
use tributary::collectives::Operation;
use tributary::fabric::threads;
use tributary::tuned::{Chosen, Entry, Table, load};
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode, Result};

fn entry(operation: Operation, ranks: usize, bytes: u64, groups: usize, name: &str) -> Entry {
    Entry {
        operation,
        ranks,
        bytes,
        groups,
        inner: name.to_string(),
        outer: name.to_string(),
        segment: 1024,
        seconds: 1e-5,
        error: 0.01,
        repetitions: 5,
    }
}

fn write(directory: &Path, text: &str) -> String {
    let path = directory.join("tuned.json");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn the_nearest_entry_by_ranks_then_by_bytes() {
    let entries = [(4, 8), (4, 4096), (64, 8), (64, 4096)];
    let entries = entries.map(|(ranks, bytes)| entry(Operation::Broadcast, ranks, bytes, 1, "flat"));
    let chosen = Chosen::new(&Table::new("threads", entries.to_vec())).unwrap();
    let nearest = |ranks, bytes| {
        let (entry, _) = chosen.nearest(Operation::Broadcast, ranks, bytes).unwrap();
        (entry.ranks, entry.bytes)
    };
    assert_eq!((nearest(5, 0), nearest(1, 1000)), ((4, 8), (4, 4096)));
    assert_eq!((nearest(17, 8), nearest(10_000, u64::MAX)), ((64, 8), (64, 4096)));
    assert!(chosen.nearest(Operation::Gather, 4, 8).is_none());
}

/// Every rank writes two strided extents and reads them back.
fn write_and_read(endpoint: Endpoint, path: &Path, hints: &Hints) -> Result<u64> {
    let (rank, ranks) = (endpoint.rank() as u64, endpoint.ranks() as u64);
    let extents = Extents::strided(rank * 100, 100, ranks as i64 * 100, 30)?;
    let buffer = vec![rank as u8 + 1; 3000];
    let mut file = File::open(endpoint, path, Mode::Create, hints.clone())?;
    file.write_all(&extents, &BufferLayout::Contiguous, &buffer)?;
    let mut back = vec![0; 3000];
    file.read_all(&extents, &BufferLayout::Contiguous, &mut back)?;
    assert_eq!(back, buffer);
    let rounds = file.fan_in()?.max;
    let endpoint = file.close()?;
    assert!(endpoint.agreements().is_none());
    Ok(u64::from(rounds))
}

#[test]
fn a_file_agrees_by_its_table() {
    let _watchdog = Watchdog::new("a_file_agrees_by_its_table", 120);
    let directory = tempfile::tempdir().unwrap();
    let algorithms = [
        ("binomial", "recursive_doubling", "linear_synchronized", 1),
        ("scatter_ring_allgather", "segmented_ring", "minimum_spanning_tree", 3),
        ("split_binary", "rabenseifner", "linear", 8),
    ];
    for ranks in [1, 2, 5, 8] {
        let mut seen = Vec::new();
        // One way for all: without a table, a call begins with a sweep, in which little data may be written.
        let mut hints = Hints::parse("trib_tiny_call=0;romio_cb_write=enable;romio_cb_read=enable").unwrap();
        for (broadcast, allreduce, gather, groups) in [("", "", "", 0)].into_iter().chain(algorithms) {
            if groups > 0 {
                // A table for more ranks than there are: the number of groups is reduced.
                let entries = vec![
                    entry(Operation::Broadcast, 8, 64, groups, broadcast),
                    entry(Operation::Allreduce, 8, 64, groups, allreduce),
                    entry(Operation::Gather, 8, 64, groups, gather),
                ];
                hints.tuned_table = write(directory.path(), &Table::new("threads", entries).text());
            }
            let path = directory.path().join("data");
            let all = threads::run(ranks, |t| write_and_read(Endpoint::new(t), &path, &hints)).unwrap();
            let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
            seen.push((all, std::fs::read(&path).unwrap()));
        }
        assert!(seen.iter().all(|outcome| *outcome == seen[0]), "{ranks} ranks");
    }
}

#[test]
fn an_endpoint_uses_what_the_table_names() {
    let directory = tempfile::tempdir().unwrap();
    let table = Table::new("threads", vec![entry(Operation::Broadcast, 6, 64, 1, "flat")]);
    let path = write(directory.path(), &table.text());
    let sent = threads::run(6, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let waiting = endpoint.waiting().clone();
        let chosen = waiting.wait(pin!(load(&mut endpoint, &path))).unwrap();
        endpoint.use_agreements(Some(Arc::new(chosen)));
        let agreements = endpoint.agreements().unwrap();
        assert!(agreements.allreduce(endpoint.rank(), 6, &[]).is_none());
        agreements.broadcast(endpoint.rank(), 6, 2, 100).unwrap().sends()
    });
    assert_eq!(sent.unwrap(), [0, 0, 5, 0, 0, 0]);
}

/// A table that cannot be used is an error of `File::open`, the same on all ranks; no file is created.
#[test]
fn a_bad_table_is_named_alike_on_all_ranks_before_anything_is_written() {
    let _watchdog = Watchdog::new("a_bad_table_is_named_alike", 60);
    let directory = tempfile::tempdir().unwrap();
    let good = Table::new("threads", vec![entry(Operation::Reduce, 4, 8, 2, "binomial")]).text();
    let cases = [
        (good.replace("\"version\": 1", "\"version\": 7"), "version 7; allowed: a table of version 1"),
        (good.replace("\"binomial\"", "\"binomal\""), "entry 1, inner: binomal; allowed: flat|"),
        (good[..good.len() - 40].to_string(), "line 5: EOF while parsing"),
        (String::new(), "line 1: EOF while parsing"),
        ("version = 1\nfabric = \"threads\"\n".to_string(), "text in TOML, as earlier versions wrote it; allowed: "),
    ];
    let open = |table: String| {
        let hints = Hints { tuned_table: table, ..Hints::default() };
        let path = directory.path().join("data");
        let opened = threads::run(3, |t| File::open(Endpoint::new(t), &path, Mode::Create, hints.clone()).err());
        assert!(!path.exists());
        let errors: Vec<Error> = opened.unwrap().into_iter().map(Option::unwrap).collect();
        assert!(errors.iter().all(|error| *error == errors[0]));
        errors[0].to_string()
    };
    for (text, expected) in cases {
        let said = open(write(directory.path(), &text));
        assert!(said.contains("tuned.json") && said.contains(expected), "{said}");
    }
    let missing = open("nowhere/tuned.json".to_string());
    assert!(missing.contains("read of nowhere/tuned.json failed") && missing.contains("No such file"), "{missing}");
}
