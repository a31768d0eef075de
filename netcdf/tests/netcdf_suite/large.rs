//! Tests variables and offsets beyond 2 and 4 GiB, in files that are mostly holes, with the usual NetCDF tools.

use std::path::Path;

use tributary::fabric::threads;
use tributary::{Endpoint, Hints, Result};
use tributary_netcdf::{Dataset, Format, Type, UNLIMITED};
use tributary_testing::netcdf_tools as tools;

/// NetCDF-C reads offsets beyond 2 and 4 GiB, in files that are mostly holes.
#[test]
fn variables_beyond_two_gibibytes() {
    let directory = tempfile::tempdir().unwrap();
    let cdl = "netcdf y { dimensions: time = UNLIMITED; k = 1310720; x = 2048; y = 3; \
               variables: byte large(x, k); int small(y); short r(time, y); byte q(time, y); \
               data: small = 1, 2, 3; r = 4, 5, 6, 7, 8, 9; q = 1, 1, 1, 2, 2, 2; }";
    for format in [Format::Cdf2, Format::Cdf5] {
        let (ours, theirs) = (directory.path().join("x.nc"), directory.path().join("y.nc"));
        let outcomes = threads::run(3, |transport| -> Result<u64> {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            let mut file = Dataset::create(endpoint, &ours, format, Hints::default())?;
            let time = file.define_dimension("time", UNLIMITED)?;
            let [k, x, y] = [("k", 1_310_720), ("x", 2048), ("y", 3)];
            let k = file.define_dimension(k.0, k.1)?;
            let x = file.define_dimension(x.0, x.1)?;
            let y = file.define_dimension(y.0, y.1)?;
            file.define_variable("large", Type::Byte, &[x, k])?;
            let small = file.define_variable("small", Type::Int, &[y])?;
            let r = file.define_variable("r", Type::Short, &[time, y])?;
            let q = file.define_variable("q", Type::Byte, &[time, y])?;
            file.end_define()?;
            file.iput_vara(small, &[rank], &[1], &[1 + rank])?;
            file.iput_vara(r, &[0, rank], &[2, 1], &[4 + rank, 7 + rank])?;
            file.iput_vara(q, &[0, rank], &[2, 1], &[1, 2])?;
            file.wait_all()?;
            let begin = file.layout().unwrap().begin(small);
            file.close()?;
            Ok(begin)
        });
        let begins: Vec<u64> = outcomes.unwrap().into_iter().map(|outcome| outcome.unwrap()).collect();
        assert!(begins.iter().all(|&begin| begin > 5 << 29), "{begins:?}");
        tools::generate(cdl, format.version(), false, &theirs);
        tools::validate(&ours);
        for name in ["small", "r", "q"] {
            tools::same(&ours, &theirs, Some(name));
            let data = |path: &Path| tools::dump(path, Some(name)).split_once("data:").unwrap().1.to_string();
            assert_eq!(data(&ours), data(&theirs));
        }
    }
}

/// The last variable of CDF-2 may take more than 32 bits can state; the header says 2^32 - 1 then.
#[test]
fn a_last_variable_beyond_four_gibibytes() {
    let directory = tempfile::tempdir().unwrap();
    for record in [false, true] {
        let path = directory.path().join("x.nc");
        let outcomes = threads::run(2, |transport| -> Result<()> {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            let mut file = Dataset::create(endpoint, &path, Format::Cdf2, Hints::default())?;
            let time = file.define_dimension("time", UNLIMITED)?;
            let [x, y] = [file.define_dimension("x", 1 << 16)?, file.define_dimension("y", (1 << 15) + 1)?];
            // With the unlimited dimension, or without.
            let (dimensions, corner) = ([time, x, y], [0, (1 << 16) - 1, (1 << 15) - rank]);
            let skip = usize::from(!record);
            file.define_variable("first", Type::Int, &dimensions[skip..1])?;
            let last = file.define_variable("last", Type::Short, &dimensions[skip..])?;
            file.end_define()?;
            file.iput_vara(last, &corner[skip..], &[1; 3][skip..], &[7])?;
            file.wait_all()?;
            file.close().map(drop)
        });
        outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
        tools::validate(&path);
        assert!(std::fs::metadata(&path).unwrap().len() > 1 << 32);
        assert!(tools::dump(&path, Some("first")).contains("first = 0 ;"), "a hole reads as zero");
    }
}
