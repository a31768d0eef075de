//! Writes the synthetic trace that is shipped as `benchmarks/data/example_trace.dat`, in the format of the trace of WRF:
//! `cargo run -p tributary-benchmarks --example write_trace -- FILE`.

use std::error::Error;

use tributary_benchmarks::wrf::Synthetic;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path] = &arguments[..] else {
        return Err("usage: write_trace FILE".into());
    };
    std::fs::write(path, Synthetic::default().trace()?.to_bytes()?)?;
    Ok(())
}
