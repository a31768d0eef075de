//! Compares the messages on threads, on MPI and in the simulator: they have the same sizes, between the same ranks, in
//! the same order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::collectives::FIRST_FREE_TAG;
use tributary::error::Error;
use tributary::exchange::{KERNELS, Kernel};
use tributary::fabric::Transport;
use tributary::hints::KernelHint;
use tributary::schedule::Action;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode, Rank, Topology};
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts, MetadataForm, SharedFile,
};
use tributary_lab::sim::machine::Machine;
use tributary_lab::sim::{WorkPart, Workload};
use tributary_testing::around::{Around, Surrounded};

/// Content of a message to an aggregator: access lists, or data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Lists,
    Data,
}

/// For each kind of content, sender and receiver: the number of bytes of each message, in the order in which they are
/// sent.
type Sent = BTreeMap<(What, Rank, Rank), Vec<u64>>;

pub const RANKS: usize = 12;
const BYTES: u64 = 60_000;
/// Hints for stripes and windows of 1,000 bytes over 4 aggregators: 15 rounds.
const LUSTRE: &str = "trib_driver=lustre; striping_unit=1000; striping_factor=4; cb_buffer_size=1000; trib_placement=spread; \
                      trib_tiny_call=0; romio_cb_write=enable; trib_ranks_per_node=3; nc_num_aggrs_per_node=1";
/// Tags of the fabric for each of the engine's.
const STAGES: u16 = 4;

/// Cuts the file into pieces of up to 300 bytes and distributes them over the ranks: rank 5 gets none.
fn access(seed: u64, rank: Rank) -> Extents {
    let mut random = SmallRng::seed_from_u64(seed);
    let (mut at, mut own) = (0, Vec::new());
    while at < BYTES {
        let len = random.random_range(1..300).min(BYTES - at);
        let owner = random.random_range(0..RANKS);
        if owner == rank && owner != 5 {
            own.push(Extent { offset: at, len });
        }
        at += len;
    }
    Extents::from_extents(own).unwrap()
}

/// Returns the hints of each write, and a seed for its access: every kernel, with a throttle if it has one, and in two
/// layers.
fn writes() -> impl Iterator<Item = (Hints, u64)> {
    let flat = |kernel: &Kernel| {
        let throttle = if kernel.coupled { "" } else { "; trib_throttle_data=2; trib_throttle_meta=3" };
        format!("{LUSTRE}; trib_kernel_meta={kernel}; trib_kernel_data={kernel}{throttle}")
    };
    let layered = format!("{LUSTRE}; trib_kernel_meta=two_layer; trib_kernel_data=two_layer");
    KERNELS.iter().map(move |kernel| flat(kernel)).chain([layered]).map(|hints| Hints::parse(&hints).unwrap()).zip(1..)
}

/// Wrapper of a fabric that records what a rank sends.
struct Noting(Arc<Mutex<Sent>>);

impl Around for Noting {
    fn sends(&mut self, from: Rank, to: Rank, tag: u16, bytes: u64) {
        let kinds = [(1, What::Lists), (2, What::Data)];
        if let Some((_, what)) = kinds.into_iter().find(|(more, _)| tag / STAGES == FIRST_FREE_TAG + more) {
            self.0.lock().unwrap().entry((what, from, to)).or_default().push(bytes);
        }
    }
}

/// Returns the messages that a rank sends in a write by the engine. Collective.
fn by_engine(transport: Box<dyn Transport>, directory: &Path, (hints, seed): (Hints, u64)) -> Sent {
    let sent = Arc::new(Mutex::new(Sent::new()));
    let extents = access(seed, transport.rank());
    let endpoint = Endpoint::new(Box::new(Surrounded { inner: transport, around: Noting(sent.clone()) }));
    let mut file = File::open(endpoint, directory.join(format!("{seed}")), Mode::Create, hints).unwrap();
    file.write_all(&extents, &BufferLayout::Contiguous, &vec![7; extents.bytes() as usize]).unwrap();
    file.close().unwrap();
    let sent = sent.lock().unwrap();
    sent.clone()
}

/// Returns the messages that all ranks send in the simulator.
fn by_simulator((hints, seed): (Hints, u64)) -> Sent {
    let topology = Topology::blocks(RANKS, 3).unwrap();
    let file = SharedFile::of(&topology, &hints, (0, BYTES)).unwrap();
    let division = FileDivision { file, sample: 0, lists: MetadataForm::Packed };
    let counts = MessageCounts::gather(RANKS, division, |rank| Ok::<_, Error>(access(seed, rank)), || ()).unwrap();
    let options =
        CollectiveWriteOptions { topology, hints, io: false, write_behind: false, blocks: false, empty_steps: false };
    let write = CollectiveWrite::new(&Machine::free(), options, Arc::new(counts)).unwrap();
    let mut sent = Sent::new();
    for rank in 0..RANKS {
        for (number, part) in (0..).map_while(|number| Some((number, write.part(rank, number)?))) {
            let what = match write.phase(number) {
                Some(1) => What::Lists,
                Some(2) => What::Data,
                _ => continue,
            };
            let schedule = match part {
                WorkPart::Schedule(schedule) => schedule,
                WorkPart::Chains(chains) => chains.schedule(&write, rank, number),
                WorkPart::Step(_) => continue,
            };
            for op in schedule.ops() {
                if let Action::Send { to, .. } = op.action {
                    sent.entry((what, rank, to)).or_default().push(op.span.len);
                }
            }
        }
    }
    sent
}

/// Compares the messages that this rank sends with the simulated ones, in every write. Collective.
///
/// In two layers the simulator sends messages inside nodes too; the engine passes those bytes in shared memory. The simulator adds the
/// lists of members, where local aggregators merge them: those are shorter.
pub fn sends_what_is_simulated(mut transport: Box<dyn Transport>, directory: &Path) {
    let rank = transport.rank();
    for write in writes() {
        let sent = by_engine(transport.duplicate().unwrap(), directory, write.clone());
        let mut simulated = by_simulator(write.clone());
        let is_layered = write.0.data_kernel() == KernelHint::TwoLayer;
        let leads = rank.is_multiple_of(write.0.ranks_per_node);
        simulated.retain(|(_, sender, _), _| *sender == rank && (leads || !is_layered));
        let what = format!("rank {rank}, {}", write.0.data_kernel());
        assert!(simulated.keys().eq(sent.keys()), "{what}: {sent:?} to {simulated:?}");
        for (key, bytes) in &sent {
            let merged = is_layered && key.0 == What::Lists;
            let pairs = || bytes.iter().zip(&simulated[key]);
            let alike = pairs().all(|(sent, simulated)| if merged { sent <= simulated } else { sent == simulated });
            let alike = alike && bytes.len() == simulated[key].len();
            assert!(alike, "{what}, {key:?}: {bytes:?} to {:?}", simulated[key]);
        }
    }
}
