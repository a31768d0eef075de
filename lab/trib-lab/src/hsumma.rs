//! `trib-lab hsumma`: runs SUMMA and hierarchical SUMMA side by side.

use std::pin::pin;

use serde_json::json;
use trib::cli::replay::Fabric;
use trib::{Failure, limits, listing, say};
use tributary::fabric::{mpi, threads};
use tributary::{Endpoint, Error};
use tributary_lab::hsumma::{ProductOutcome, Shape, multiply};

use crate::cli::hsumma::HsummaOptions;

/// Number of bytes for each element: three matrices, the broadcast blocks of two, and the serial product.
const BYTES: u64 = 8 * 6;

/// Default number of ranks on threads.
const RANKS: u64 = 16;

/// Name, shape and result of the two products.
type Products = [(&'static str, Shape, ProductOutcome); 2];

/// Multiplies matrices by SUMMA and by HSUMMA, and prints both costs.
pub fn run(options: &HsummaOptions) -> Result<(), Failure> {
    match options.fabric {
        Fabric::Threads => {
            let ranks = options.ranks.unwrap_or(RANKS) as usize;
            let shape = shape(options, ranks)?;
            let element = |n: u64| n.checked_mul(n)?.checked_mul(BYTES);
            limits::in_memory(&format!("n: {}", options.n), element(options.n))?;
            let program = |transport| both(&mut Endpoint::new(transport), &shape, options);
            let first = threads::run(ranks, program)?.into_iter().next().ok_or_else(|| Failure::new("no ranks"))?;
            finish(options, "threads", &first?)
        }
        Fabric::Mpi => on_mpi(options),
    }
}

/// Returns the shape that the options describe, if it is possible.
fn shape(options: &HsummaOptions, ranks: usize) -> Result<Shape, Failure> {
    let pair = |[a, b]: [u64; 2]| [a as usize, b as usize];
    let shape = Shape {
        n: options.n as usize,
        grid: options.grid.map_or_else(|| Shape::squarest(ranks), pair),
        groups: pair(options.groups),
        block: options.block as usize,
        outer: options.outer_block.unwrap_or(options.block) as usize,
    };
    shape.check(ranks)?;
    shape.summa().check(ranks)?;
    Ok(shape)
}

/// Runs the command on MPI, in every process.
fn on_mpi(options: &HsummaOptions) -> Result<(), Failure> {
    let world = mpi::initialise()?;
    let mut endpoint = Endpoint::new(Box::new(world.endpoint()?));
    let (ranks, prints) = (endpoint.ranks(), endpoint.rank() == 0);
    if options.ranks.is_some_and(|wanted| wanted != ranks as u64) {
        let failure = Failure::new(format!("ranks: mpiexec started {ranks}, but --ranks is another number"));
        return Err(failure.said_by(prints));
    }
    let shape = shape(options, ranks).map_err(|failure| failure.said_by(prints))?;
    let products = both(&mut endpoint, &shape, options).map_err(|error| Failure::new(error).said_by(prints))?;
    if prints { finish(options, "mpi", &products) } else { right(&products).map_err(|wrong| wrong.said_by(false)) }
}

/// Multiplies by both algorithms. Collective.
fn both(endpoint: &mut Endpoint, shape: &Shape, options: &HsummaOptions) -> Result<Products, Error> {
    let waiting = endpoint.waiting().clone();
    let mut one = |name, shape: Shape| {
        let product = waiting.wait(pin!(multiply(endpoint, &shape, options.broadcast, options.segment)))?;
        Ok((name, shape, product))
    };
    Ok([one("SUMMA", shape.summa())?, one("HSUMMA", *shape)?])
}

fn right(products: &Products) -> Result<(), Failure> {
    match products.iter().find(|(.., outcome)| outcome.wrong > 0) {
        Some((name, _, outcome)) => Err(Failure::new(format!(
            "not verified: {name}: {} elements differ from the serial product",
            outcome.wrong
        ))),
        None => Ok(()),
    }
}

fn finish(options: &HsummaOptions, fabric: &str, products: &Products) -> Result<(), Failure> {
    if options.json {
        say(serde_json::to_string_pretty(&json(options, fabric, products))?)?;
    } else {
        say(table(options, products))?;
    }
    right(products)
}

fn json(options: &HsummaOptions, fabric: &str, products: &Products) -> serde_json::Value {
    let product = |(name, shape, outcome): &(&str, Shape, ProductOutcome)| {
        let value = json!({
            "groups": shape.groups,
            "block": shape.block,
            "outer_block": shape.outer,
            "seconds": {
                "communication": outcome.communication,
                "computation": outcome.computation,
                "total": outcome.total,
            },
            "messages": outcome.messages,
            "bytes": outcome.bytes,
            "verified": outcome.wrong == 0,
        });
        (name.to_lowercase(), value)
    };
    let mut all: serde_json::Map<String, serde_json::Value> = products.iter().map(product).collect();
    let [(_, shape, _), _] = products;
    all.insert("fabric".into(), fabric.into());
    all.insert("grid".into(), shape.grid.into_iter().collect());
    all.insert("n".into(), shape.n.into());
    all.insert("broadcast".into(), options.broadcast.algorithm.name.into());
    all.into()
}

fn table(options: &HsummaOptions, products: &Products) -> String {
    let header =
        ["", "groups", "b", "M", "communication s", "computation s", "total s", "messages", "bytes", "verified"];
    let mut table = listing::table(header);
    for (name, shape, outcome) in products {
        let seconds = |seconds: f64| format!("{seconds:.6}");
        table.add_row([
            (*name).to_string(),
            format!("{}x{}", shape.groups[0], shape.groups[1]),
            shape.block.to_string(),
            shape.outer.to_string(),
            seconds(outcome.communication),
            seconds(outcome.computation),
            seconds(outcome.total),
            outcome.messages.to_string(),
            outcome.bytes.to_string(),
            (if outcome.wrong == 0 { "yes" } else { "NO" }).to_string(),
        ]);
    }
    let [(_, shape, _), _] = products;
    let (n, [rows, columns], name) = (shape.n, shape.grid, options.broadcast.algorithm.name);
    format!("C = A B, {n} x {n}, on {rows} x {columns} ranks, broadcast {name}\n{table}\nTimes are the slowest rank's.")
}
