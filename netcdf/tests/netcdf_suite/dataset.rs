//! Tests datasets with ranks as threads: calls refuse wrong arguments, and ranks agree on errors.

use tributary::fabric::threads;
use tributary::{Endpoint, Error, Hints, Result};
use tributary_netcdf::{Alignment, Dataset, DimensionId, Format, Type, UNLIMITED, VariableId};

/// Runs `program` on a new file on every rank. Returns the file's bytes, and the result of each rank.
fn run<T: Send>(ranks: usize, program: impl Fn(Dataset, usize) -> Result<T> + Sync) -> (Vec<u8>, Vec<Result<T>>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.nc");
    let outcomes = threads::run(ranks, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank();
        program(Dataset::create(endpoint, &path, Format::Cdf2, Hints::default())?, rank)
    });
    (std::fs::read(&path).unwrap(), outcomes.unwrap())
}

/// Defines a fixed-size variable and a record variable of shorts, both of 6 elements.
fn define(file: &mut Dataset) -> Result<(VariableId, VariableId)> {
    file.set_alignment(Alignment::PACKED)?;
    let time = file.define_dimension("time", UNLIMITED)?;
    let x = file.define_dimension("x", 6)?;
    Ok((file.define_variable("fixed", Type::Int, &[x])?, file.define_variable("record", Type::Short, &[time, x])?))
}

fn said<T>(outcome: Result<T>) -> String {
    outcome.map(drop).unwrap_err().to_string()
}

#[test]
fn modes_are_kept_apart() {
    let (_, outcomes) = run(2, |mut file, _| {
        let (fixed, _) = define(&mut file)?;
        assert!(said(file.iput_vara(fixed, &[0], &[1], &[1])).contains("before end_define"));
        assert!(said(file.wait_all()).contains("before end_define"));
        assert!(said(file.fill_record(fixed, 0)).contains("before end_define"));
        file.end_define()?;
        assert!(said(file.end_define()).contains("after end_define"));
        assert!(said(file.define_dimension("y", 2)).contains("after end_define"));
        assert!(said(file.put_attribute(fixed, "a", 1i32)).contains("after end_define"));
        assert!(said(file.set_fill(true)).contains("after end_define"));
        assert!(said(file.fill_record(fixed, 0)).contains("has no records"));
        file.close().map(drop)
    });
    outcomes.into_iter().for_each(|outcome| outcome.unwrap());
}

#[test]
fn bad_requests_queue_nothing() {
    let (bytes, outcomes) = run(1, |mut file, _| {
        let (fixed, record) = define(&mut file)?;
        file.end_define()?;
        assert!(said(file.iput_vara(fixed, &[5], &[2], &[1, 2])).contains("dimension 0 of variable fixed"));
        assert!(said(file.iput_vara(fixed, &[0], &[2], &[1])).contains("values for variable fixed: 1; allowed: 2"));
        assert!(said(file.iput_vara(record, &[0, 0], &[1, 2], &[1, 40_000])).contains("value 1 for variable record"));
        assert!(said(file.iput_vara_external(record, &[0, 0], &[1, 2], &[0; 3])).contains("bytes for variable record"));
        assert!(said(file.iput_varn(record, [([0, 0], [1, 7])], &[0; 7])).contains("dimension 1"));
        assert!(said(file.iput_vara(VariableId(2), &[0], &[1], &[1])).contains("2 defined variables"));
        file.iput_vara(fixed, &[0], &[6], &[7; 6])?;
        let report = file.wait_all()?;
        assert_eq!(report.bytes, file.layout().unwrap().header_bytes() + 24);
        assert_eq!(file.records(), 0);
        file.close().map(drop)
    });
    outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    assert_eq!(bytes[bytes.len() - 24..], [0, 0, 0, 7].repeat(6));
}

#[test]
fn errors_of_one_rank_are_errors_of_all() {
    // Different definitions.
    let (_, outcomes) = run(3, |mut file, rank| {
        define(&mut file)?;
        if rank == 2 {
            file.put_global_attribute("rank", 2i32)?;
        }
        file.end_define()
    });
    outcomes.into_iter().for_each(|outcome| assert!(said(outcome).contains("differ between ranks")));
    // A layout that only one rank cannot make.
    let (_, outcomes) = run(3, |mut file, rank| {
        let x = file.define_dimension("x", 1 << 30)?;
        for number in 0..if rank == 1 { 9 } else { 1 } {
            file.define_variable(&format!("v{number}"), Type::Double, &[x])?;
        }
        file.end_define()
    });
    outcomes.into_iter().for_each(|outcome| assert!(said(outcome).contains("bytes of variable v0")));
    // A local error, agreed by the program.
    let (_, outcomes) = run(3, |mut file, rank| {
        let (fixed, _) = define(&mut file)?;
        file.end_define()?;
        let queued = file.iput_vara(fixed, &[rank as u64 * 3], &[1], &[1]);
        file.agree(queued)?;
        file.wait_all()
    });
    outcomes.into_iter().for_each(|outcome| assert!(said(outcome).contains("dimension 0 of variable fixed: start 6")));
    // Requests that nobody flushed, on one rank only.
    let (_, outcomes) = run(3, |mut file, rank| {
        let (fixed, _) = define(&mut file)?;
        file.end_define()?;
        if rank == 1 {
            file.iput_vara(fixed, &[0], &[1], &[1])?;
        }
        file.close().map(drop)
    });
    outcomes.into_iter().for_each(|outcome| assert!(said(outcome).contains("requests are queued")));
}

#[test]
fn records_are_counted_over_all_ranks() {
    let (bytes, outcomes) = run(5, |mut file, rank| {
        let (_, record) = define(&mut file)?;
        file.end_define()?;
        let mut counts = Vec::new();
        for call in 0..3u64 {
            // Only rank `call` writes, the record of twice its number; the last call adds none.
            if rank as u64 == call && call < 2 {
                file.iput_vara(record, &[2 * call, 0], &[1, 6], &[call as i64; 6])?;
            }
            file.wait_all()?;
            counts.push(file.records());
        }
        file.close()?;
        Ok::<_, Error>(counts)
    });
    outcomes.into_iter().for_each(|outcome| assert_eq!(outcome.unwrap(), [1, 3, 3]));
    assert_eq!(bytes[4..8], [0, 0, 0, 3]);
    assert_eq!(bytes[bytes.len() - 12..], [0, 1].repeat(6));
}

#[test]
fn a_file_without_data_has_its_full_length() {
    let (bytes, outcomes) = run(2, |mut file, _| {
        define(&mut file)?;
        file.close().map(drop)
    });
    outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    let zeros = bytes.len() - 24;
    assert_eq!(bytes[zeros..], [0; 24]);
    assert_eq!(&bytes[..4], b"CDF\x02");
    // No dimensions, no variables: the header alone.
    let (bytes, _) = run(2, |file, _| file.close().map(drop));
    assert_eq!(bytes, [&b"CDF\x02"[..], &[0; 28]].concat());
}

#[test]
fn one_flush_is_one_collective_write() {
    let (_, outcomes) = run(4, |mut file, rank| {
        let (fixed, record) = define(&mut file)?;
        assert!(file.end_define()?.is_none(), "the header waits for the first flush");
        if rank < 3 {
            file.iput_vara(record, &[1, 2 * rank as u64], &[1, 2], &[1i16; 2])?;
            file.iput_vara(fixed, &[2 * rank as u64], &[2], &[1u64; 2])?;
        }
        let report = file.wait_all()?;
        // The header and the fixed variable; two records of padded size are 12 bytes each.
        assert_eq!(report.bytes, file.layout().unwrap().header_bytes() + 24 + 12);
        file.close().map(drop)
    });
    outcomes.into_iter().for_each(|outcome| outcome.unwrap());
}

#[test]
fn what_is_not_there_is_named() {
    let (_, outcomes) = run(1, |mut file, _| {
        assert!(said(file.define_variable("v", Type::Int, &[DimensionId(3)])).contains("dimension 0 of variable v: 3"));
        file.close().map(drop)
    });
    outcomes.into_iter().for_each(|outcome| outcome.unwrap());
}

/// If the disk is full, every rank gets the error, at once and in every later call.
#[test]
fn a_failed_write_fails_everywhere() {
    let outcomes = threads::run(3, |transport| -> Result<[String; 2]> {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let mut file = Dataset::create(endpoint, "/dev/full", Format::Cdf2, Hints::default())?;
        let (fixed, _) = define(&mut file)?;
        file.end_define()?;
        file.iput_vara(fixed, &[rank], &[1], &[1])?;
        let first = said(file.wait_all());
        // The request is gone, the header still is not written: closing tries that once more.
        Ok([first, said(file.close())])
    });
    let outcomes: Vec<_> = outcomes.unwrap().into_iter().map(|outcome| outcome.unwrap()).collect();
    for outcome in &outcomes {
        assert!(outcome.iter().all(|error| error.contains("No space left on device")), "{outcome:?}");
        assert_eq!(outcome, &outcomes[0]);
    }
}
