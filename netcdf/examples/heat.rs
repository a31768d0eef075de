//! A model that writes a record after every step, as a climate model does: four ranks of one process, a block of columns
//! each, NetCDF at the end. Look at the file with `ncdump`.
//!
//! ```text
//! cargo run -p tributary-netcdf --example heat -- heat.nc
//! ncdump -h heat.nc
//! ```

use std::path::PathBuf;

use tributary::fabric::threads;
use tributary::{Endpoint, Hints, Result};
use tributary_netcdf::{Alignment, Dataset, Format, Type, UNLIMITED};

const RANKS: usize = 4;
const LEVELS: u64 = 5;
const COLUMNS: u64 = 96;
const STEPS: u64 = 10;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "heat.nc".to_string()));
    let text = "cb_nodes=2; nc_var_align_size=1024";
    let (hints, alignment) = (Hints::parse(text)?, Alignment::parse(text)?);
    let outcomes = threads::run(RANKS, |transport| model(Endpoint::new(transport), &path, &hints, alignment))?;
    for seconds in outcomes.into_iter().take(1) {
        println!("{}: {STEPS} records, {:.4} s in collective writes", path.display(), seconds?);
    }
    Ok(())
}

/// Runs the model on one rank; returns the seconds that writing took.
fn model(endpoint: Endpoint, path: &std::path::Path, hints: &Hints, alignment: Alignment) -> Result<f64> {
    let (rank, ranks) = (endpoint.rank() as u64, endpoint.ranks() as u64);
    let mut file = Dataset::create(endpoint, path, Format::Cdf5, hints.clone())?;
    file.set_alignment(alignment)?;
    let time = file.define_dimension("time", UNLIMITED)?;
    let level = file.define_dimension("level", LEVELS)?;
    let column = file.define_dimension("column", COLUMNS)?;
    let longitude = file.define_variable("longitude", Type::Double, &[column])?;
    let seconds = file.define_variable("seconds", Type::Double, &[time])?;
    let heat = file.define_variable("heat", Type::Float, &[time, level, column])?;
    file.put_attribute(longitude, "units", "degrees_east")?;
    file.put_attribute(heat, "units", "K")?;
    file.put_global_attribute("title", "an example of tributary-netcdf")?;
    file.end_define()?;

    // This rank's columns, and where they are.
    let (first, mine) = (rank * COLUMNS / ranks, COLUMNS / ranks);
    let degrees: Vec<f64> = (first..first + mine).map(|column| column as f64 * 360.0 / COLUMNS as f64).collect();
    file.iput_vara(longitude, &[first], &[mine], &degrees)?;

    let mut spent = 0.0;
    for step in 0..STEPS {
        let warmer = step as f64;
        let field: Vec<f64> = (0..LEVELS)
            .flat_map(|level| degrees.iter().map(move |x| 280.0 + warmer - level as f64 + x.sin()))
            .collect();
        file.iput_vara(heat, &[step, 0, first], &[1, LEVELS, mine], &field)?;
        if rank == 0 {
            file.iput_vara(seconds, &[step], &[1], &[3600.0 * warmer])?;
        }
        // One collective write a step; the first takes the header and the longitudes along.
        spent += file.wait_all()?.seconds.total;
    }
    file.close()?;
    Ok(spent)
}
