//! Tests ranks that are in different collective calls, which is a mistake of the program. All ranks get one error
//! that names both calls, and the file stays usable. No rank waits for ever, and none reads data that another rank
//! passed to another call.

use tributary::engine::CallForm::{Blocking, NonBlocking, Split};
use tributary::engine::Direction::Read;
use tributary::engine::binding;
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};
use tributary_testing::watchdog::on_threads;

const LAYOUT: BufferLayout = BufferLayout::Contiguous;
/// Hints for one host, for several hosts, and for messages only.
const MEMORY: [&str; 4] = [
    "trib_shared_memory=enable",
    "trib_shared_memory=enable; trib_ranks_per_node=2",
    "trib_shared_memory=disable; trib_ranks_per_node=2",
    "",
];

/// The call of one rank while the others are in a write: its name, and the function that makes it.
type Other = (&'static str, fn(&mut File, &Extents) -> Result<(), Error>);

const OTHERS: [Other; 6] = [
    ("a collective read", |file, own| {
        let mut bytes = vec![0; own.bytes() as usize];
        file.read_all(own, &LAYOUT, &mut bytes).map(drop)
    }),
    ("a collective read", |file, _| Err(binding::refuse(file, Read, Error::argument("count", -1, "0 or more")))),
    ("a sync", |file, _| file.sync()),
    ("a change of the size", |file, _| file.set_len(5)),
    ("a count of the fan-in", |file, _| file.fan_in().map(drop)),
    ("an agreement", |file, _| file.agree(Err(Error::argument("a", "b", "c")))),
];

/// Returns a rank's pieces, which interleave with other ranks': `count` pieces of `len` bytes.
fn strided(rank: usize, ranks: usize, len: u64, count: u64) -> Extents {
    Extents::strided(rank as u64 * len, len, (ranks as u64 * len) as i64, count).unwrap()
}

fn write(file: &mut File, own: &Extents, with: u8) -> Result<(), Error> {
    file.write_all(own, &LAYOUT, &vec![with; own.bytes() as usize]).map(drop)
}

fn opened(endpoint: Endpoint, path: &std::path::Path, hints: &str) -> File {
    File::open(endpoint, path, Mode::Create, Hints::parse(hints).unwrap()).unwrap()
}

/// Checks the error of all ranks when rank `odd` is in the call `other`.
fn names_both(error: &Error, odd: usize, other: &str, what: &str) {
    assert!(matches!(error, Error::CallsDiffer { .. }), "{what}: {error}");
    let writes = "a collective write";
    let expected = match odd {
        0 => format!("rank 1 is in {writes}, rank 0 in {other} of "),
        odd => format!("rank {odd} is in {other}, rank 0 in {writes} of "),
    };
    assert!(error.to_string().contains(&expected), "{what}: {error}");
}

#[test]
fn a_rank_in_another_call_is_an_error_on_all_ranks_and_the_file_stays_usable() {
    // Slots and little data; windows and an exchange; written early.
    let sizes = [(8, 3), (100, 600), (1 << 20, 1)];
    for (hints, ranks) in MEMORY.into_iter().flat_map(|hints| [2, 3, 5].map(|ranks| (hints, ranks))) {
        on_threads("a_rank_in_another_call", ranks, |endpoint, directory| {
            let rank = endpoint.rank();
            let mut file = opened(endpoint, &directory.join("file"), hints);
            for ((len, count), odd) in sizes.into_iter().zip([1, 0, ranks - 1]) {
                let own = strided(rank, ranks, len, count);
                for (number, (name, other)) in OTHERS.into_iter().enumerate() {
                    let what = format!("{hints}, {ranks} ranks, {len} x {count}, {name}");
                    let outcome = if rank == odd { other(&mut file, &own) } else { write(&mut file, &own, 1) };
                    names_both(&outcome.unwrap_err(), odd, name, &what);
                    write(&mut file, &own, number as u8).unwrap();
                    let mut back = vec![77; own.bytes() as usize];
                    file.read_all(&own, &LAYOUT, &mut back).unwrap();
                    assert!(back.iter().all(|byte| *byte == number as u8), "{what}");
                }
            }
            binding::call_them(&mut file, "MPI_File_write_all");
            let outcome = match rank {
                1 => {
                    binding::call_them(&mut file, "MPI_File_read_all");
                    file.read_all(&Extents::empty(), &LAYOUT, &mut []).map(drop)
                }
                _ => write(&mut file, &Extents::empty(), 1),
            };
            let text = outcome.unwrap_err().to_string();
            assert!(text.contains("rank 1 is in MPI_File_read_all, rank 0 in MPI_File_write_all of /"), "{text}");
            file.close().unwrap();
        });
    }
}

/// No rank waits for a rank that has closed the file, which cannot make a further call.
#[test]
fn a_rank_that_closes_the_file_leaves_it_to_be_closed_by_the_others() {
    for (hints, ranks) in MEMORY.into_iter().flat_map(|hints| [2, 5].map(|ranks| (hints, ranks))) {
        on_threads("a_rank_that_closes", ranks, |endpoint, directory| {
            let rank = endpoint.rank();
            let mut file = opened(endpoint, &directory.join("file"), hints);
            let own = strided(rank, ranks, 8, 3);
            write(&mut file, &own, 1).unwrap();
            if rank == 1 {
                names_both(&file.close().map(drop).unwrap_err(), 1, "the closing", hints);
                return;
            }
            names_both(&write(&mut file, &own, 2).unwrap_err(), 1, "the closing", hints);
            let closed = |error: Error| {
                assert!(error.to_string().starts_with("rank 1 closed the file"), "{error}");
            };
            closed(write(&mut file, &own, 2).unwrap_err());
            closed(file.sync().unwrap_err());
            closed(file.close().map(drop).unwrap_err());
        });
    }
}

/// An operation that is only tested gets the error too, and the error about a rank's arguments has lower precedence.
#[test]
fn an_operation_in_another_call() {
    for hints in MEMORY {
        on_threads("an_operation_in_another_call", 3, |endpoint, directory| {
            let rank = endpoint.rank();
            let mut file = opened(endpoint, &directory.join("file"), hints);
            let own = strided(rank, 3, 8, 3);
            let mut bytes = vec![1; own.bytes() as usize];
            let error = match rank {
                2 => {
                    let mut operation = file.start_read_all(&own, &LAYOUT, &mut bytes);
                    std::iter::repeat_with(|| operation.test()).find_map(|outcome| outcome).unwrap().unwrap_err()
                }
                1 => file.write_all(&own, &LAYOUT, &bytes[..5]).unwrap_err(),
                _ => write(&mut file, &own, 1).unwrap_err(),
            };
            names_both(&error, 2, "a collective read", hints);
            file.close().unwrap();
        });
    }
}

/// A caller may give its calls forms, as MPI's functions have; calls of different forms do not match.
#[test]
fn calls_of_different_forms_are_an_error_on_all_ranks() {
    for (hints, ranks) in MEMORY.into_iter().flat_map(|hints| [2, 3].map(|ranks| (hints, ranks))) {
        on_threads("calls_of_different_forms", ranks, |endpoint, directory| {
            let rank = endpoint.rank();
            let mut file = opened(endpoint, &directory.join("file"), hints);
            for (len, count) in [(8, 3), (1 << 20, 1)] {
                let own = strided(rank, ranks, len, count);
                for (one, other) in [(Blocking, NonBlocking), (NonBlocking, Split), (Split, Blocking)] {
                    let form = if rank == 1 { one } else { other };
                    binding::call_as(&mut file, if rank == 1 { "one" } else { "other" }, form);
                    let error = write(&mut file, &own, 1).unwrap_err();
                    let Error::CallsDiffer { calls, .. } = &error else { panic!("{hints}: {error}") };
                    let others = if ranks == 2 { "rank 0 was in other" } else { "ranks 0 and 2 were in other" };
                    assert_eq!(
                        calls.after_failure("one"),
                        format!("rank 1 is in one; {others}, which failed"),
                        "{hints}"
                    );
                    binding::call_as(&mut file, "the same", other);
                    write(&mut file, &own, 1).unwrap();
                }
            }
            file.close().unwrap();
        });
    }
}
