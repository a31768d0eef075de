//! Four ranks write records in turn to one shared file: together, and each record by itself. Then they read them back.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode, Result, mpi, threads};

const RECORD: u64 = 64; // bytes
const RECORDS: u64 = 100_000; // of each rank

/// Every rank calls this, with an endpoint of its own and the same path.
fn write_and_read(endpoint: Endpoint, path: &Path) -> Result<()> {
    let (rank, ranks) = (endpoint.rank() as u64, endpoint.ranks() as u64);
    // The bytes of the file that are this rank's: from where on, bytes of a piece, from piece to piece, pieces.
    let pieces = Extents::strided(rank * RECORD, RECORD, (ranks * RECORD) as i64, RECORDS)?;
    let values = vec![rank as u8 + 1; pieces.bytes() as usize];
    let mut back = vec![0; values.len()];

    let mut file = File::open(endpoint, path, Mode::Create, Hints::from_env()?)?; // collective, as all that follows
    let begin = Instant::now();
    let report = file.write_all(&pieces, &BufferLayout::Contiguous, &values)?;
    let seconds = begin.elapsed().as_secs_f64();
    file.read_all(&pieces, &BufferLayout::Contiguous, &mut back)?;
    file.close()?;
    assert!(back == values, "rank {rank} has read other bytes than it has written");
    if rank == 0 {
        say("together", report.bytes_written, seconds); // of all ranks
    }
    Ok(())
}

/// The same file without the library: every rank, a thread as before, writes its records one by one.
fn write_one_by_one(ranks: u64, path: &Path) -> std::io::Result<()> {
    let file = &std::fs::File::create(path)?;
    let write = move |rank| -> std::io::Result<()> {
        let record = [rank as u8 + 1; RECORD as usize];
        (0..RECORDS).try_for_each(|index| file.write_all_at(&record, (index * ranks + rank) * RECORD))
    };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || write(rank))).collect();
        running.into_iter().try_for_each(|rank| rank.join().expect("no rank panics"))
    })?;
    say("one by one", ranks * RECORDS * RECORD, begin.elapsed().as_secs_f64());
    Ok(())
}

fn say(how: &str, bytes: u64, seconds: f64) {
    let mib = bytes as f64 / 1024.0 / 1024.0;
    println!("{how:<10}  {mib:.1} MiB in {seconds:.3} s: {:.0} MiB/s", mib / seconds);
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // With a file's name the ranks are those that mpiexec has started.
    if let Some(path) = std::env::args().nth(1) {
        let world = mpi::initialise()?; // MPI_Init, if nobody has called it yet
        let endpoint = Endpoint::new(Box::new(world.endpoint()?));
        return Ok(write_and_read(endpoint, Path::new(&path))?);
    }
    let folder = std::env::temp_dir().join(format!("tributary-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let [together, one_by_one] = ["together", "one-by-one"].map(|name| folder.join(name));
    for rank in threads::run(4, |transport| write_and_read(Endpoint::new(transport), &together))? {
        rank?;
    }
    write_one_by_one(4, &one_by_one)?;
    let same = std::fs::read(&together)? == std::fs::read(&one_by_one)?;
    println!("the files are {}", if same { "the same" } else { "different" });
    std::fs::remove_dir_all(&folder)?;
    if same { Ok(()) } else { Err("the library has written other bytes".into()) }
}
