//! Measures MPI's operations and ours in turn, on every rank of the program.
//!
//! As in section 5 of the paper: the root is rank floor(p / 2), an MPI_Barrier stands before each measurement, and its time
//! is that of the slowest rank. Unlike there, contestants alternate, so that a pair of measurements is made under one load.

use std::pin::pin;
use std::time::Instant;

use tributary::collectives::gatherv::construct::build;
use tributary::collectives::gatherv::part::Part;
use tributary::collectives::{FIRST_FREE_TAG, agree, gatherv, scatterv};
use tributary::fabric::Buffers;
use tributary::fabric::mpi::{Native, World};
use tributary::schedule::{Buffer, ReduceOp};
use tributary::{Endpoint, Error};

use super::judge::{Contestant, Times};
use super::sizes::Problem;
use crate::cli::guidelines::Irregular;

/// Runs before the measurements, of which the first is checked.
const WARM_UP: usize = 2;

/// The ranks of the program, with both ways to talk.
pub struct Contest {
    native: Native,
    endpoint: Endpoint,
}

/// One rank's side of one problem.
struct Bout<'a> {
    operation: Irregular,
    problem: &'a Problem,
    root: usize,
    /// The tree of the problem.
    part: Part,
    /// What this rank brings: for a gather its block, for a scatter at the root all blocks.
    given: Vec<u8>,
    /// The same, padded.
    padded: Vec<u8>,
}

impl Contest {
    /// All ranks. Collective.
    ///
    /// # Errors
    /// The fabric's.
    pub fn new(world: &World) -> Result<Self, Error> {
        Ok(Self { native: world.native()?, endpoint: Endpoint::new(Box::new(world.endpoint()?)) })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.endpoint.ranks()
    }

    /// Where blocks are gathered.
    pub fn root(&self) -> usize {
        self.ranks() / 2
    }

    /// Whether this rank reports.
    pub fn speaks(&self) -> bool {
        self.endpoint.rank() == 0
    }

    /// So many measurements of every contestant. Collective.
    ///
    /// # Errors
    /// Blocks that are too large for MPI, a wrong result: alike on all ranks. The fabric's.
    pub fn measure(&mut self, operation: Irregular, problem: &Problem, repetitions: usize) -> Result<Times, Error> {
        if problem.padded() > i32::MAX as u64 {
            return Err(Error::argument(
                "padded bytes in all",
                problem.padded(),
                "2^31 - 1 or less: MPI counts in int",
            ));
        }
        let bout = self.bout(operation, problem)?;
        for contestant in Contestant::ALL {
            let got = self.play(contestant, &bout)?;
            let right = self.check(contestant, &bout, &got);
            let waiting = self.endpoint.waiting().clone();
            waiting.wait(pin!(agree(&mut self.endpoint, right)))?;
        }
        let mut nanoseconds = Vec::with_capacity(repetitions * Contestant::ALL.len());
        for repetition in 0..WARM_UP - 1 + repetitions {
            for contestant in Contestant::ALL {
                self.native.barrier()?;
                let begin = Instant::now();
                let got = self.play(contestant, &bout)?;
                let time = begin.elapsed().as_nanos() as u64;
                drop(got);
                if repetition + 1 >= WARM_UP {
                    nanoseconds.push(time);
                }
            }
        }
        let slowest = self.native.allreduce(&nanoseconds, ReduceOp::Max)?;
        let of = |index: usize| slowest.iter().skip(index).step_by(Contestant::ALL.len());
        Ok(std::array::from_fn(|index| of(index).map(|&time| time as f64 / 1e9).collect()))
    }

    fn bout<'a>(&mut self, operation: Irregular, problem: &'a Problem) -> Result<Bout<'a>, Error> {
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
        Ok(Bout { operation, problem, root, part, given, padded })
    }

    /// One run of one contestant; what this rank got.
    fn play(&mut self, contestant: Contestant, bout: &Bout<'_>) -> Result<Vec<u8>, Error> {
        match contestant {
            Contestant::Regular => self.regular(bout, bout.problem.largest()),
            Contestant::Padded => {
                let own = [bout.problem.sizes[self.endpoint.rank()]];
                let largest = self.native.allreduce(&own, ReduceOp::Max)?;
                self.regular(bout, largest[0])
            }
            Contestant::Irregular => self.irregular(bout),
            Contestant::Ours => self.ours(bout),
            Contestant::OursAgain => {
                let mut buffers = Buffers::default();
                buffers.set(Buffer::Send, bout.given.clone());
                let schedule = match bout.operation {
                    Irregular::Gatherv => bout.part.gather(),
                    Irregular::Scatterv => bout.part.scatter(),
                };
                self.endpoint.run_and_wait(schedule, &mut buffers, FIRST_FREE_TAG)?;
                Ok(buffers.take(Buffer::Receive))
            }
        }
    }

    fn regular(&self, bout: &Bout<'_>, block: u64) -> Result<Vec<u8>, Error> {
        let (block, is_root) = (block as usize, self.endpoint.rank() == bout.root);
        match bout.operation {
            Irregular::Gatherv => {
                let mut all = vec![0; if is_root { block * self.ranks() } else { 0 }];
                self.native.gather(bout.root, &bout.padded, &mut all)?;
                Ok(all)
            }
            Irregular::Scatterv => {
                let mut own = vec![0; block];
                self.native.scatter(bout.root, &bout.padded, &mut own)?;
                Ok(own)
            }
        }
    }

    fn irregular(&self, bout: &Bout<'_>) -> Result<Vec<u8>, Error> {
        let (rank, sizes) = (self.endpoint.rank(), &bout.problem.sizes);
        match bout.operation {
            Irregular::Gatherv => {
                let mut all = vec![0; if rank == bout.root { bout.problem.bytes() as usize } else { 0 }];
                self.native.gatherv(bout.root, &bout.given, sizes, &mut all)?;
                Ok(all)
            }
            Irregular::Scatterv => {
                let mut own = vec![0; sizes[rank] as usize];
                self.native.scatterv(bout.root, &bout.given, sizes, &mut own)?;
                Ok(own)
            }
        }
    }

    fn ours(&mut self, bout: &Bout<'_>) -> Result<Vec<u8>, Error> {
        let waiting = self.endpoint.waiting().clone();
        let len = bout.problem.sizes[self.endpoint.rank()];
        let given = bout.given.clone();
        match bout.operation {
            Irregular::Gatherv => waiting.wait(pin!(gatherv(&mut self.endpoint, bout.root, given, None))),
            Irregular::Scatterv => waiting.wait(pin!(scatterv(&mut self.endpoint, bout.root, given, len, None))),
        }
    }

    /// Whether this rank got what it should.
    fn check(&self, contestant: Contestant, bout: &Bout<'_>, got: &[u8]) -> Result<(), Error> {
        let (rank, problem) = (self.endpoint.rank(), bout.problem);
        let pads = matches!(contestant, Contestant::Regular | Contestant::Padded);
        let gets = |from: usize| match bout.operation {
            Irregular::Gatherv => rank == bout.root,
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
        let what = format!("{} gave other bytes than it was given", contestant.name(bout.operation));
        Err(Error::Internal { rank, what })
    }
}

fn block(rank: usize, len: u64) -> Vec<u8> {
    (0..len).map(|i| (rank as u64 * 131 + i * 7 + 1) as u8).collect()
}
