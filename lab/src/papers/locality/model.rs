//! Section 4: evaluates equations 3 and 4 for Lassen, where a socket is a region.
//!
//! The parameters are from the same hardware and library as the paper's: intra-socket and inter-node messages of Power9
//! CPUs with Spectrum MPI (Bienz et al., arXiv 2010.10378). The paper does not print them; the values here are
//! least-squares fits to the logs that those authors published (BenchPress, Summit).

use serde::Deserialize;

use crate::papers::{Axis, Context, Drawing, PapersError, Parameters, Values};

/// Postal model of a message: `alpha` seconds a message, `beta` seconds a byte.
struct Postal {
    alpha: f64,
    beta: f64,
}

/// Postal models of the two protocols: eager, then rendezvous.
struct Protocols([Postal; 2]);

/// Size in bytes from which messages are modelled as rendezvous (section 4).
const RENDEZVOUS: f64 = 8192.0;

/// Messages inside a socket: 8.4 GB/s eager, 15.2 GB/s rendezvous.
const LOCAL: Protocols =
    Protocols([Postal { alpha: 0.61e-6, beta: 1.0 / 8.4e9 }, Postal { alpha: 2.8e-6, beta: 1.0 / 15.2e9 }]);
/// Messages between nodes: 2.4 GB/s eager, 11.0 GB/s rendezvous.
const FAR: Protocols =
    Protocols([Postal { alpha: 1.9e-6, beta: 1.0 / 2.4e9 }, Postal { alpha: 6.2e-6, beta: 1.0 / 11.0e9 }]);

impl Protocols {
    fn of(&self, bytes: f64) -> &Postal {
        &self.0[usize::from(bytes >= RENDEZVOUS)]
    }

    fn message(&self, bytes: f64) -> f64 {
        let postal = self.of(bytes);
        postal.alpha + bytes * postal.beta
    }
}

/// Reading of the equations.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// Adds up message by message, each with its own protocol, as the text in front of the equations counts them. With
    /// one protocol this is equation 3; in equation 4 the local messages are log2(p_l) as many as printed.
    #[default]
    Messages,
    /// Evaluates the equation as printed. Each term has the protocol of its largest message.
    Printed,
}

/// Allgather that the equations describe: regions, ranks and block size.
#[derive(Debug, Clone, Copy)]
struct Gathered {
    regions: f64,
    /// p_l: number of ranks in a region.
    per_region: f64,
    /// m/p: number of bytes of a rank's block.
    block: f64,
    form: Form,
}

impl Gathered {
    fn ranks(&self) -> f64 {
        self.regions * self.per_region
    }

    /// Returns b, the number of bytes of all blocks.
    fn all(&self) -> f64 {
        self.ranks() * self.block
    }

    /// Returns the seconds of a Bruck allgather by equation 3. In step i every rank sends 2^i blocks to another region.
    fn bruck(&self) -> f64 {
        match self.form {
            Form::Messages => doublings(self.ranks(), self.block, self.all(), &FAR),
            Form::Printed => {
                let largest = FAR.of(self.all() / 2.0);
                self.ranks().log2() * largest.alpha + (self.all() - 1.0) * largest.beta
            }
        }
    }

    /// Returns the seconds of the locality-aware allgather by equation 4: an allgather inside the regions; then, until
    /// a rank has all blocks, a message between regions with the blocks that it has, and an allgather inside.
    fn locality_bruck(&self) -> f64 {
        if let Form::Printed = self.form {
            let steps = self.regions.ln() / self.per_region.ln();
            let (far, near) = (FAR.of(self.all() / self.per_region), LOCAL.of(self.all() / 2.0));
            let outside = steps * far.alpha + self.all() / self.per_region * far.beta;
            return outside + (steps + 1.0) * near.alpha + (self.all() - 1.0) * near.beta;
        }
        let mut held = self.block * self.per_region;
        let mut time = doublings(self.per_region, self.block, held, &LOCAL);
        while held < self.all() {
            let then = (held * self.per_region).min(self.all());
            time += FAR.message(held) + doublings(self.per_region, held, then, &LOCAL);
            held = then;
        }
        time
    }

    fn improvement(&self) -> f64 {
        self.bruck() / self.locality_bruck()
    }
}

/// Returns the seconds of log2(ranks) messages of one block, two, four, ..., until a rank has `all` bytes.
fn doublings(ranks: f64, block: f64, all: f64, path: &Protocols) -> f64 {
    let steps = ranks.log2().round() as i32;
    let message = |step| {
        let held = block * 2f64.powi(step);
        path.message(held.min((all - held).max(0.0)))
    };
    (0..steps).map(message).sum()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelCase {
    /// Numbers of regions, and of ranks in a region: powers of two.
    regions: Vec<u32>,
    ranks_per_region: Vec<u32>,
    /// Numbers of bytes of a rank's block.
    bytes: Vec<u32>,
    #[serde(default)]
    form: Form,
}

impl ModelCase {
    fn read(with: &Parameters) -> Result<Self, PapersError> {
        let case: Self = with.read()?;
        let all = case.regions.iter().chain(&case.ranks_per_region).chain(&case.bytes);
        match all.copied().find(|number| !number.is_power_of_two()) {
            Some(other) => Err(PapersError::new(format!("{other}; allowed: powers of two"))),
            None => Ok(case),
        }
    }

    /// Returns all combinations of the numbers; the bytes change fastest.
    fn gathered(&self) -> impl Iterator<Item = Gathered> + '_ {
        let of = |regions: u32, per_region: u32, block: u32| Gathered {
            regions: f64::from(regions),
            per_region: f64::from(per_region),
            block: f64::from(block),
            form: self.form,
        };
        let of_regions = move |per_region, regions| self.bytes.iter().map(move |&bytes| of(regions, per_region, bytes));
        let of_ranks = move |ranks| self.regions.iter().flat_map(move |&regions| of_regions(ranks, regions));
        self.ranks_per_region.iter().flat_map(move |&ranks| of_ranks(ranks))
    }
}

/// Computes both equations for one case.
pub(super) fn times(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let case = ModelCase::read(with)?;
    let both = |gathered: Gathered| {
        let named = [("bruck", gathered.bruck()), ("locality_bruck", gathered.locality_bruck())];
        named.map(|(name, seconds)| (name.to_string(), seconds * 1e6))
    };
    Ok(case.gathered().flat_map(both).collect())
}

/// Computes the improvements for one number of regions and one block size, by ranks in a region.
pub(super) fn by_region_size(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let case = ModelCase::read(with)?;
    Ok(case.gathered().map(|gathered| (format!("{} a region", gathered.per_region), gathered.improvement())).collect())
}

/// Computes the improvements for one number of ranks and regions, by block size.
pub(super) fn by_message_size(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let case = ModelCase::read(with)?;
    Ok(case.gathered().map(|gathered| (format!("{} B", gathered.block), gathered.improvement())).collect())
}

fn pairs(case: &ModelCase, per_region: u32, x: fn(&Gathered) -> f64) -> [(String, Vec<(f64, f64)>); 2] {
    let points = |time: fn(&Gathered) -> f64| {
        let of_region = case.gathered().filter(|gathered| gathered.per_region == f64::from(per_region));
        of_region.map(|gathered| (x(&gathered), time(&gathered) * 1e6)).collect()
    };
    [
        (format!("Bruck, {per_region} a region"), points(Gathered::bruck)),
        (format!("locality-aware, {per_region} a region"), points(Gathered::locality_bruck)),
    ]
}

/// Draws figure 7: times over the number of regions, two curves for each number of ranks in a region.
pub(super) fn figure_7(with: &Parameters, _: &Context) -> Result<Drawing, PapersError> {
    let case = ModelCase::read(with)?;
    let curves =
        case.ranks_per_region.iter().flat_map(|&ranks| pairs(&case, ranks, |gathered| gathered.regions)).collect();
    Ok(Drawing::Curves { x: Axis::log("regions"), y: Axis::log("microseconds"), curves })
}

/// Draws figure 8: times over the number of bytes of a rank.
pub(super) fn figure_8(with: &Parameters, _: &Context) -> Result<Drawing, PapersError> {
    let case = ModelCase::read(with)?;
    let curves =
        case.ranks_per_region.iter().flat_map(|&ranks| pairs(&case, ranks, |gathered| gathered.block)).collect();
    Ok(Drawing::Curves { x: Axis::log("bytes of a rank"), y: Axis::log("microseconds"), curves })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that, with one protocol, the sum over messages is equation 3; and equation 4 with log2(p_l) as many local
    /// messages and the outer bytes of all steps.
    #[test]
    fn messages_add_up_to_the_equations() {
        let gathered = |form| Gathered { regions: 16.0, per_region: 4.0, block: 4.0, form };
        let (ours, printed) = (gathered(Form::Messages), gathered(Form::Printed));
        // 64 ranks of 4 bytes; the equation has b - 1 for b minus a block.
        let short = 3.0 * FAR.0[0].beta;
        assert!((ours.bruck() + short - printed.bruck()).abs() < 1e-15);
        let messages = 3.0 * LOCAL.0[0].alpha - 3.0 * LOCAL.0[0].beta;
        let outside = 16.0 * FAR.0[0].beta;
        assert!((ours.locality_bruck() - printed.locality_bruck() - messages - outside).abs() < 1e-15);
    }
}
