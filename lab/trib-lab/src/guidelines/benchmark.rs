//! Measures MPI's operations and ours in alternation, on every rank of the program.
//!
//! As in section 5 of the paper, the root is rank floor(p / 2), an MPI_Barrier precedes each measurement, and the time
//! is the slowest rank's. Unlike in the paper, implementations alternate, so that a pair of measurements has the same
//! load.

use std::pin::pin;
use std::time::Instant;

use tributary::collectives::{FIRST_FREE_TAG, agree};
use tributary::fabric::Buffers;
use tributary::fabric::mpi::World;
use tributary::schedule::{Buffer, ReduceOp};
use tributary::{Endpoint, Error};
use tributary_lab::collectives::gatherv::construct::build;
use tributary_lab::collectives::gatherv::part::GatherPart;
use tributary_lab::collectives::{gatherv, scatterv};
use tributary_lab::mpi::Native;

use super::judge::{Implementation, ImplementationTimes};
use super::sizes::BlockSizes;
use crate::cli::guidelines::Irregular;

/// Number of runs before the measurements. The result of the first is checked.
const WARM_UP: usize = 2;

/// Ranks of the program: MPI's communicator, and our endpoint.
pub struct Benchmark<'world> {
    native: Native<'world>,
    endpoint: Endpoint,
}

/// One rank's inputs of one problem.
struct Inputs<'a> {
    operation: Irregular,
    problem: &'a BlockSizes,
    root: usize,
    /// Tree of the problem, as our gather uses it.
    part: GatherPart,
    /// This rank's input: for a gather its block, for a scatter all blocks at the root.
    given: Vec<u8>,
    /// The same input with all blocks padded to the largest.
    padded: Vec<u8>,
}

impl<'world> Benchmark<'world> {
    /// Makes the endpoint over all ranks. Collective.
    ///
    /// # Errors
    /// Errors of the fabric.
    pub fn new(world: &'world World) -> Result<Self, Error> {
        Ok(Self { native: Native::new(world)?, endpoint: Endpoint::new(Box::new(world.endpoint()?)) })
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.endpoint.ranks()
    }

    /// Returns the root of all operations.
    pub fn root(&self) -> usize {
        self.ranks() / 2
    }

    /// Returns true if this rank prints the results.
    pub fn prints(&self) -> bool {
        self.endpoint.rank() == 0
    }

    /// Makes `repetitions` measurements of every implementation. Collective.
    ///
    /// # Errors
    /// Blocks too large for MPI, or a wrong result, are errors on all ranks alike; errors of the fabric.
    pub fn measure(
        &mut self,
        operation: Irregular,
        problem: &BlockSizes,
        repetitions: usize,
    ) -> Result<ImplementationTimes, Error> {
        if problem.padded() > i32::MAX as u64 {
            return Err(Error::argument(
                "padded bytes in all",
                problem.padded(),
                "2^31 - 1 or less: MPI counts in int",
            ));
        }
        let inputs = self.inputs(operation, problem)?;
        for implementation in Implementation::ALL {
            let got = self.run_once(implementation, &inputs)?;
            let right = self.check(implementation, &inputs, &got);
            let waiting = self.endpoint.waiting().clone();
            waiting.wait(pin!(agree(&mut self.endpoint, right)))?;
        }
        let mut nanoseconds = Vec::with_capacity(repetitions * Implementation::ALL.len());
        for repetition in 0..WARM_UP - 1 + repetitions {
            for implementation in Implementation::ALL {
                self.native.barrier()?;
                let begin = Instant::now();
                let got = self.run_once(implementation, &inputs)?;
                let time = begin.elapsed().as_nanos() as u64;
                drop(got);
                if repetition + 1 >= WARM_UP {
                    nanoseconds.push(time);
                }
            }
        }
        let slowest = self.native.allreduce(&nanoseconds, ReduceOp::Max)?;
        let of = |index: usize| slowest.iter().skip(index).step_by(Implementation::ALL.len());
        Ok(std::array::from_fn(|index| of(index).map(|&time| time as f64 / 1e9).collect()))
    }

    fn inputs<'a>(&mut self, operation: Irregular, problem: &'a BlockSizes) -> Result<Inputs<'a>, Error> {
        let (rank, root) = (self.endpoint.rank(), self.root());
        let waiting = self.endpoint.waiting().clone();
        let part = waiting.wait(pin!(build(&mut self.endpoint, root, problem.sizes[rank], None)))?;
        let brings = |brought: usize| match operation {
            Irregular::Gatherv => brought == rank,
            Irregular::Scatterv => rank == root,
        };
        let (mut given, mut padded) = (Vec::new(), Vec::new());
        for from in (0..problem.sizes.len()).filter(|&from| brings(from)) {
            let block = block(from, problem.sizes[from]);
            padded.extend(&block);
            padded.resize(padded.len() + problem.largest() as usize - block.len(), 0);
            given.extend(block);
        }
        Ok(Inputs { operation, problem, root, part, given, padded })
    }

    /// Runs one implementation once; returns this rank's result.
    fn run_once(&mut self, implementation: Implementation, inputs: &Inputs<'_>) -> Result<Vec<u8>, Error> {
        match implementation {
            Implementation::Regular => self.regular(inputs, inputs.problem.largest()),
            Implementation::Padded => {
                let own = [inputs.problem.sizes[self.endpoint.rank()]];
                let largest = self.native.allreduce(&own, ReduceOp::Max)?;
                self.regular(inputs, largest[0])
            }
            Implementation::Irregular => self.irregular(inputs),
            Implementation::Ours => self.ours(inputs),
            Implementation::OursAgain => {
                let mut buffers = Buffers::default();
                buffers.set(Buffer::Send, inputs.given.clone());
                let schedule = match inputs.operation {
                    Irregular::Gatherv => inputs.part.gather(),
                    Irregular::Scatterv => inputs.part.scatter(),
                };
                self.endpoint.run_and_wait(schedule, &mut buffers, FIRST_FREE_TAG)?;
                Ok(buffers.take(Buffer::Receive))
            }
        }
    }

    fn regular(&self, inputs: &Inputs<'_>, block: u64) -> Result<Vec<u8>, Error> {
        let (block, is_root) = (block as usize, self.endpoint.rank() == inputs.root);
        match inputs.operation {
            Irregular::Gatherv => {
                let mut all = vec![0; if is_root { block * self.ranks() } else { 0 }];
                self.native.gather(inputs.root, &inputs.padded, &mut all)?;
                Ok(all)
            }
            Irregular::Scatterv => {
                let mut own = vec![0; block];
                self.native.scatter(inputs.root, &inputs.padded, &mut own)?;
                Ok(own)
            }
        }
    }

    fn irregular(&self, inputs: &Inputs<'_>) -> Result<Vec<u8>, Error> {
        let (rank, sizes) = (self.endpoint.rank(), &inputs.problem.sizes);
        match inputs.operation {
            Irregular::Gatherv => {
                let mut all = vec![0; if rank == inputs.root { inputs.problem.bytes() as usize } else { 0 }];
                self.native.gatherv(inputs.root, &inputs.given, sizes, &mut all)?;
                Ok(all)
            }
            Irregular::Scatterv => {
                let mut own = vec![0; sizes[rank] as usize];
                self.native.scatterv(inputs.root, &inputs.given, sizes, &mut own)?;
                Ok(own)
            }
        }
    }

    fn ours(&mut self, inputs: &Inputs<'_>) -> Result<Vec<u8>, Error> {
        let waiting = self.endpoint.waiting().clone();
        let len = inputs.problem.sizes[self.endpoint.rank()];
        let given = inputs.given.clone();
        match inputs.operation {
            Irregular::Gatherv => waiting.wait(pin!(gatherv(&mut self.endpoint, inputs.root, given, None))),
            Irregular::Scatterv => waiting.wait(pin!(scatterv(&mut self.endpoint, inputs.root, given, len, None))),
        }
    }

    /// Checks this rank's result.
    fn check(&self, implementation: Implementation, inputs: &Inputs<'_>, got: &[u8]) -> Result<(), Error> {
        let (rank, problem) = (self.endpoint.rank(), inputs.problem);
        let pads = matches!(implementation, Implementation::Regular | Implementation::Padded);
        let gets = |from: usize| match inputs.operation {
            Irregular::Gatherv => rank == inputs.root,
            Irregular::Scatterv => from == rank,
        };
        let mut wanted = Vec::new();
        for from in (0..problem.sizes.len()).filter(|&from| gets(from)) {
            let own = block(from, problem.sizes[from]);
            let pad = if pads { problem.largest() as usize - own.len() } else { 0 };
            wanted.extend(own);
            wanted.resize(wanted.len() + pad, 0);
        }
        if got == wanted {
            return Ok(());
        }
        let what = format!("{} delivered wrong bytes", implementation.name(inputs.operation));
        Err(Error::internal(rank, what))
    }
}

fn block(rank: usize, len: u64) -> Vec<u8> {
    (0..len).map(|i| (rank as u64 * 131 + i * 7 + 1) as u8).collect()
}
