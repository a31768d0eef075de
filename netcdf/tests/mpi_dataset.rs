//! Tests datasets on MPI: the same program writes the same file as on threads, and ranks agree on errors.

use std::path::Path;

use tributary::fabric::threads;
use tributary::{Endpoint, Hints, Result};
use tributary_netcdf::{Dataset, Format, Type, UNLIMITED};
use tributary_testing::mpiexec;
use tributary_testing::netcdf_tools as tools;

const COLUMNS: u64 = 50;

/// Writes three records, of which each rank has some columns, and a filled fixed-size variable of which rank 0 writes
/// a part.
fn program(endpoint: Endpoint, path: &Path) -> Result<Endpoint> {
    let (rank, ranks) = (endpoint.rank() as u64, endpoint.ranks());
    let hints = Hints::parse("cb_nodes=2; cb_buffer_size=4KiB")?;
    let mut file = Dataset::create(endpoint, path, Format::Cdf5, hints)?;
    let time = file.define_dimension("time", UNLIMITED)?;
    let column = file.define_dimension("column", COLUMNS)?;
    let fixed = file.define_variable("fixed", Type::UShort, &[column])?;
    let heat = file.define_variable("heat", Type::Double, &[time, column])?;
    file.put_attribute(fixed, "_FillValue", 9u16)?;
    file.set_fill(true)?;
    file.end_define()?;
    for record in 0..3 {
        let mine = || (rank..COLUMNS).step_by(ranks);
        let values: Vec<f64> = mine().map(|column| (record * COLUMNS + column) as f64).collect();
        file.iput_varn(heat, mine().map(|column| ([record, column], [1, 1])), &values)?;
        if rank == 0 {
            file.iput_vara(fixed, &[record * 2], &[1], &[record])?;
        }
        file.wait_all()?;
    }
    assert_eq!(file.records(), 3);
    // One rank's error is every rank's.
    let wrong = if rank + 1 == ranks as u64 { file.iput_vara(fixed, &[COLUMNS], &[1], &[1]) } else { Ok(()) };
    assert!(file.agree(wrong).unwrap_err().to_string().contains("dimension 0 of variable fixed"));
    file.close()
}

#[test]
fn mpi_writes_what_threads_write() {
    mpiexec::under_mpiexec("mpi_writes_what_threads_write", &[1, 3, 8], || {
        let (_world, endpoint) = mpiexec::world();
        let (path, other) = (mpiexec::directory().join("mpi.nc"), mpiexec::directory().join("threads.nc"));
        let endpoint = program(Endpoint::new(Box::new(endpoint)), &path).unwrap();
        if endpoint.rank() == 0 {
            let outcomes =
                threads::run(endpoint.ranks(), |transport| program(Endpoint::new(transport), &other).map(drop));
            outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
            assert!(std::fs::read(&path).unwrap() == std::fs::read(&other).unwrap());
            tools::validate(&path);
        }
    });
}
