//! Tests collective writes in the simulator: the messages, chains against schedules, the phases, sampling, and the
//! lockstep form of the pairwise kernel against single messages.

use std::sync::Arc;

use crate::costly_paths::costly_paths;
use crate::same_messages::{self, sends_what_is_simulated};
use tributary::access::Extents;
use tributary::exchange::{Exchange, KERNELS, PAIRWISE, RankList, ReceiverIndex, Transfer as Piece};
use tributary::hints::DriverName;
use tributary::schedule::{Action, Buffer, Span, Throttle};
use tributary::{Error, Hints, Topology};
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts, MetadataForm, SharedFile, Written,
};
use tributary_lab::sim::machine::{Connection, Machine, Requests};
use tributary_lab::sim::storage::Storage;
use tributary_lab::sim::{Schedules, SimOutcome, WorkPart, Workload, run};

const RANKS: usize = 24;
/// Number of bytes of a request.
const PIECE: u64 = 50;
/// Number of requests of a rank.
const PIECES: u64 = 64;

/// Returns the extents of a rank: pieces r, r + RANKS, ..., so that every rank writes into every stripe.
fn strided(rank: usize) -> Result<Extents, Error> {
    Extents::strided(rank as u64 * PIECE, PIECE, (RANKS as u64 * PIECE) as i64, PIECES)
}

const BYTES: u64 = RANKS as u64 * PIECE * PIECES;

/// Hints for stripes of 2,400 bytes, two pieces of every rank, over 4 aggregators: 8 rounds.
const LUSTRE: &str = "trib_kernel_meta=balanced; trib_kernel_data=balanced; trib_driver=lustre; striping_unit=2400; \
                      striping_factor=4; cb_buffer_size=2400; trib_placement=stride:6";

fn topology() -> Topology {
    Topology::blocks(RANKS, 6).unwrap()
}

fn machine() -> Machine {
    let mut machine = Machine::free();
    machine.paths = costly_paths();
    machine.eager_limit = 200;
    (machine.host.send, machine.host.post_receive, machine.host.receive) = (3e5, 2e5, 4e5);
    (machine.host.control, machine.host.copy_byte) = (1e5, 50.0);
    machine.requests = Requests { visit: 1e4, merge: 2e3 };
    let driver = DriverName::Lustre;
    machine.storage = Some(Storage {
        driver,
        servers: 8,
        byte: 1e3,
        latency: 1e7,
        client_byte: 5e2,
        read_byte: 1e3,
        writers: 1,
        lock: 0.0,
        by_node: false,
    });
    machine
}

struct Case {
    hints: String,
    lists: MetadataForm,
    sample: usize,
    io: bool,
    write_behind: bool,
    blocks: bool,
    empty_steps: bool,
}

impl Case {
    fn of(hints: &str) -> Self {
        let hints = format!("{LUSTRE}; {hints}");
        Self {
            hints,
            lists: MetadataForm::Pairs,
            sample: 0,
            io: true,
            write_behind: false,
            blocks: false,
            empty_steps: false,
        }
    }

    fn workload(&self, machine: &Machine) -> CollectiveWrite {
        let hints = Hints::parse(&self.hints).unwrap();
        let file = SharedFile::of(&topology(), &hints, (0, BYTES)).unwrap();
        let division = FileDivision { file, sample: self.sample, lists: self.lists };
        let census = Arc::new(MessageCounts::gather(RANKS, division, strided, || ()).unwrap());
        assert_eq!((census.rounds(), census.fan_in()), (8, (RANKS as f64, RANKS as f64)));
        assert_eq!(census.requests(), RANKS as u64 * PIECES);
        let Self { io, write_behind, blocks, empty_steps, .. } = *self;
        let options = CollectiveWriteOptions { topology: topology(), hints, io, write_behind, blocks, empty_steps };
        CollectiveWrite::new(machine, options, census).unwrap()
    }

    fn written(&self, machine: &Machine) -> Written {
        let workload = self.workload(machine);
        workload.outcome(&simulate(machine, &workload).phases)
    }
}

fn simulate(machine: &Machine, workload: &impl Workload) -> SimOutcome {
    run(machine, &topology(), workload, 0, |_| ()).unwrap()
}

/// Workload of the same write, with its chains as the schedules that executors run.
struct AsSchedules<'a>(&'a CollectiveWrite);

impl Workload for AsSchedules<'_> {
    fn part(&self, rank: usize, part: u32) -> Option<WorkPart> {
        Some(match self.0.part(rank, part)? {
            WorkPart::Chains(chains) => WorkPart::Schedule(chains.schedule(self.0, rank, part)),
            other => other,
        })
    }

    fn phase(&self, part: u32) -> Option<usize> {
        self.0.phase(part)
    }
}

#[test]
fn chains_are_schedules_in_every_kernel() {
    for kernel in KERNELS {
        for lists in [MetadataForm::Pairs, MetadataForm::Packed] {
            for write_behind in [false, true] {
                let hints = format!("trib_kernel_meta={0}; trib_kernel_data={0}", kernel.name);
                let case = Case { lists, write_behind, ..Case::of(&hints) };
                let workload = case.workload(&machine());
                let (chains, schedules) =
                    (simulate(&machine(), &workload), simulate(&machine(), &AsSchedules(&workload)));
                assert_eq!(chains.phases, schedules.phases, "{} {lists:?}", kernel.name);
                assert_eq!(chains.messages, schedules.messages);
                // Between ranks: lists and 8 rounds, and the agreement of 24 ranks after pairs.
                let exchanged = (RANKS as u64 - 1) * 4 * 9;
                assert!(
                    chains.messages >= exchanged && chains.messages <= exchanged + 2 * 24 * 5,
                    "{}",
                    chains.messages
                );
            }
        }
    }
}

#[test]
fn parts_add_up_and_the_last_aggregator_ends_last() {
    for kernels in ["trib_kernel_data=two_layer; trib_kernel_meta=two_layer; nc_num_aggrs_per_node=2", ""] {
        let written = Case::of(kernels).written(&machine());
        for parts in [written.last, written.mean] {
            let sum = parts.metadata + parts.data + parts.file + parts.other;
            assert!((sum - parts.total).abs() < 1e-12, "{parts:?}");
            assert!(parts.metadata > 0.0 && parts.data > 0.0);
        }
        assert_eq!(written.last.total, written.most.total);
    }
}

#[test]
fn nothing_but_the_file_takes_what_its_servers_take() {
    // 4 aggregators, each its own server of 1 ns a byte 10 us away, 2,400 bytes in each of 8 rounds.
    let machine = Machine { storage: machine().storage, ..Machine::free() };
    let expected = 8.0 * (10e-6 + 2400.0 * 1e-9);
    for write_behind in [false, true] {
        let written = Case { write_behind, ..Case::of("") }.written(&machine);
        assert!((written.last.total - expected).abs() < 1e-12, "{written:?}");
        assert_eq!(written.last.file, written.last.total);
    }
    assert_eq!(Case { io: false, ..Case::of("") }.written(&machine).last.total, 0.0);
}

#[test]
fn computing_is_what_requests_and_bytes_take() {
    let (visit, merge, copy) = (1e-8, 2e-9, 5e-11);
    let mut machine = Machine { requests: machine().requests, ..Machine::free() };
    machine.host.copy_byte = 50.0;
    // A rank: 64 requests. A window: 48 requests of 24 senders, a heap of 5 levels, 2,400 bytes; 8 rounds.
    let flatten = 64.0 * visit;
    let pairs = flatten + 8.0 * (48.0 * 5.0 * merge + 2400.0 * copy);
    let packed = flatten + 8.0 * (48.0 * visit + 2400.0 * copy);
    for (lists, expected) in [(MetadataForm::Pairs, pairs), (MetadataForm::Packed, packed)] {
        let written = Case { lists, ..Case::of("") }.written(&machine);
        assert!((written.last.other - expected).abs() < 1e-11, "{lists:?}: {written:?}, {expected}");
    }
}

#[test]
fn write_behind_is_never_slower_and_hides_the_shorter() {
    let (turns, behind) = (Case::of(""), Case { write_behind: true, ..Case::of("") });
    let (turns, behind) = (turns.written(&machine()).last, behind.written(&machine()).last);
    assert!(behind.total < turns.total && behind.total >= turns.total - turns.file, "{turns:?} {behind:?}");
}

#[test]
fn a_sample_of_equal_rounds_is_all_of_them() {
    let all = Case { lists: MetadataForm::Pairs, ..Case::of("") }.written(&machine()).last;
    let some = Case { sample: 3, ..Case::of("") }.written(&machine()).last;
    assert!((some.total / all.total - 1.0).abs() < 0.02, "{some:?} {all:?}");
}

/// Returns the maximum number of receives, and of sends, that are outstanding at a time.
fn largest_batch(part: WorkPart) -> (usize, usize) {
    let WorkPart::Schedule(schedule) = part else { panic!("a schedule") };
    let mut most = (0, 0);
    let mut batch = (0, 0);
    for op in schedule.ops() {
        match op.action {
            Action::Send { .. } => batch.0 += 1,
            Action::Receive { .. } => batch.1 += 1,
            _ => batch = (0, 0),
        }
        most = (most.0.max(batch.0), most.1.max(batch.1));
    }
    most
}

#[test]
fn a_throttle_of_blocks_counts_steps() {
    // 24 ranks, 4 aggregators: a rank's sends are 6 steps apart.
    for (limit, sends) in [(6, 1), (12, 2), (24, 4)] {
        let case =
            Case { blocks: true, ..Case::of(&format!("trib_throttle_meta={limit}; trib_throttle_data={limit}")) };
        let workload = case.workload(&machine());
        // Part 1 of rank 6, an aggregator, has the lists: 24 receives and 4 sends, without the message to itself.
        let (sent, received) = largest_batch(workload.part(6, 1).unwrap());
        assert!(sent <= sends && (limit - 1..=limit).contains(&received), "{limit}: {sent}, {received}");
        match workload.part(7, 1).unwrap() {
            WorkPart::Chains(chains) => {
                assert!(sends == 1 && chains.sends == 4 && chains.throttle == Throttle::batch(1))
            }
            part => assert_eq!(largest_batch(part), (sends, 0)),
        }
        let outcome = simulate(&machine(), &workload);
        assert_eq!(outcome.messages, simulate(&machine(), &Case::of("").workload(&machine())).messages);
        assert!(outcome.longest_posted <= limit);
    }
}

/// Returns the time of the paper's pairwise, simulated message by message: all ranks receive, most of them nothing.
fn pairwise_by_messages(machine: &Machine, bytes: impl Fn(usize, usize) -> u64) -> f64 {
    let everyone: Vec<usize> = (0..RANKS).collect();
    let schedule = |rank| {
        let span = |from: usize, to: usize| {
            let len = if from == to || !to.is_multiple_of(6) { 0 } else { bytes(from, to) };
            Span::new(Buffer::Send, 0, len)
        };
        let send = |to| Piece { peer: ReceiverIndex(to), span: span(rank, to) };
        let receive = |peer| Piece { peer, span: span(peer, rank) };
        let exchange = Exchange {
            rank,
            ranks: RANKS,
            receivers: &everyone,
            rank_list: &RankList::Identity,
            sends: &(0..RANKS).map(send).collect::<Vec<_>>(),
            receives: &(0..RANKS).map(receive).collect::<Vec<_>>(),
        };
        exchange.schedule(&PAIRWISE, Throttle::NONE)
    };
    let schedules = Schedules::new((0..RANKS).map(schedule).collect());
    simulate(machine, &schedules).end() as f64 * 1e-12
}

#[test]
fn lockstep_is_near_the_messages() {
    let kernels = format!("trib_kernel_meta={PAIRWISE}; trib_kernel_data={PAIRWISE}");
    let case = Case { io: false, empty_steps: true, ..Case::of(&kernels) };
    let connection = Connection { send: 4e6, receive: 1e6, held: 1e4 };
    for (name, change) in [
        ("eager", (|machine: &mut Machine| machine.eager_limit = u64::MAX) as fn(&mut Machine)),
        ("rendezvous", |machine| machine.eager_limit = 80),
        ("fast receivers", |machine| machine.host.receive = 0.0),
    ] {
        let mut machine = Machine { storage: None, ..machine() };
        (machine.requests, machine.host.copy_byte) = (Requests::default(), 0.0);
        change(&mut machine);
        for connection in [None, Some(connection)] {
            machine.connection = connection;
            let workload = case.workload(&machine);
            assert!(workload.is_in_lockstep());
            let parts = workload.in_lockstep(&machine, || ()).most;
            // Lists of 16 bytes a request and stripe; then rounds of two pieces a rank.
            let lists = pairwise_by_messages(&machine, |_, _| 16 * PIECES / 4);
            assert!((parts.metadata / lists - 1.0).abs() < 0.15, "{name} {connection:?}: {parts:?}, {lists}");
            machine.connection = None;
            let data = 8.0 * pairwise_by_messages(&machine, |_, _| 2 * PIECE);
            assert!((parts.data / data - 1.0).abs() < 0.15, "{name} {connection:?}: {parts:?}, {data}");
        }
    }
}

#[test]
fn a_folded_census_is_that_of_the_folded_ranks() {
    let hints = Hints::parse(LUSTRE).unwrap();
    let file = SharedFile::of(&topology(), &hints, (0, BYTES)).unwrap();
    let division = FileDivision { file, sample: 3, lists: MetadataForm::Pairs };
    let fine = MessageCounts::gather(RANKS, division.clone(), strided, || ()).unwrap();
    // 10 ranks: the first four take three each. Their requests adjoin in the file; apart, they stay requests.
    let folded = fine.folded(10).unwrap();
    let join = |rank: usize| {
        let first = rank * 2 + rank.min(4);
        let ranks = first..first + if rank < 4 { 3 } else { 2 };
        let all = ranks.flat_map(|rank| strided(rank).unwrap().iter().collect::<Vec<_>>()).collect::<Vec<_>>();
        Extents::from_list(all)
    };
    let whole = MessageCounts::gather(10, division, join, || ()).unwrap();
    assert_eq!((folded.rounds(), folded.fan_in()), (whole.rounds(), whole.fan_in()));
    assert_eq!(folded.requests(), fine.requests());
    assert!(folded.folded(11).is_err() && folded.folded(0).is_err());
}

#[test]
fn only_known_drivers_are_simulated() {
    for (hints, words) in [("trib_driver=auto", "lustre|gpfs|posix"), ("trib_driver=gpfs; cb_nodes=0", "cb_nodes")] {
        let error = Hints::parse(hints).and_then(|hints| SharedFile::of(&topology(), &hints, (0, 1))).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn threads_send_what_is_simulated() {
    let directory = tempfile::tempdir().unwrap();
    let rank = |transport| sends_what_is_simulated(transport, directory.path());
    tributary::fabric::threads::run(same_messages::RANKS, rank).unwrap();
}
