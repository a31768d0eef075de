//! Random programs: what ranks do with a file, where they are, and what goes wrong.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tributary::{Extent, Extents, FileView};

use crate::virtual_time::file::Faults;
use crate::virtual_time::{Delays, Place};

/// A program of all ranks, which follows from its seed; a shrunk one has less of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Seed of the order of events.
    pub seed: u64,
    /// Host of each rank.
    pub hosts: Vec<usize>,
    /// Hints of the file.
    pub hints: Vec<String>,
    /// Longest times of a message, of a call on the file and of computing, in nanoseconds.
    pub delays: [u64; 3],
    /// How often a task loses its core for a while, in a thousand turns.
    pub lost_cores: u64,
    /// True if ranks of a host share memory.
    pub shares_memory: bool,
    /// Servers and stripe of the file, if they limit its rate and not the hosts.
    pub servers: Option<(usize, u64)>,
    /// What goes wrong.
    pub faults: Faults,
    /// Number of turns after which all ranks are killed.
    pub killed_after: Option<u64>,
    /// The calls, in the order in which every rank makes its own.
    pub calls: Vec<Call>,
}

/// What one rank writes or reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Access {
    /// Pieces (offset, length), ascending.
    Pieces(Vec<(u64, u64)>),
    /// A part of a file view.
    View(View),
}

/// A file view, and the part of it that a call accesses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    displacement: u64,
    /// Pieces (offset, length) of a tile, ascending.
    tile: Vec<(u64, u64)>,
    /// Distance of tiles.
    extent: u64,
    /// Number of bytes of the view before the first byte of the access.
    skip: u64,
    /// Number of bytes of the access.
    len: u64,
}

impl Access {
    /// Returns the pieces (offset, length), ascending.
    pub fn pieces(&self) -> Vec<(u64, u64)> {
        let view = match self {
            Self::Pieces(pieces) => return pieces.clone(),
            Self::View(view) => view,
        };
        let (mut pieces, mut skip, mut left) = (Vec::new(), view.skip, view.len);
        let tiles = (0..).map(|tile| view.displacement + tile * view.extent);
        for (offset, len) in tiles.flat_map(|from| view.tile.iter().map(move |(offset, len)| (from + offset, *len))) {
            let skipped = skip.min(len);
            skip -= skipped;
            let taken = left.min(len - skipped);
            if taken > 0 {
                pieces.push((offset + skipped, taken));
            }
            left -= taken;
            if left == 0 {
                break;
            }
        }
        pieces
    }

    /// Returns what the engine gets.
    pub fn extents(&self) -> Extents {
        match self {
            Self::Pieces(pieces) => extents(pieces),
            Self::View(View { displacement, tile, extent, skip, len }) => {
                let view = FileView::new(*displacement, extents(tile), *extent).expect("a tile with data");
                view.select(*skip, *len).expect("small offsets")
            }
        }
    }

    /// Moves the access by some bytes; the access through a view, by some tiles.
    fn shift(&mut self, by: u64, tiles: u64) {
        match self {
            Self::Pieces(pieces) => pieces.iter_mut().for_each(|(offset, _)| *offset += by),
            Self::View(view) if tiles > 0 => {
                view.skip += tiles * view.tile.iter().map(|piece| piece.1).sum::<u64>();
            }
            Self::View(view) => view.displacement += by,
        }
    }
}

/// Returns the extents of ascending pieces.
pub fn extents(pieces: &[(u64, u64)]) -> Extents {
    Extents::from_list(pieces.iter().map(|&(offset, len)| Extent { offset, len })).expect("ascending pieces")
}

/// A call of all ranks, or of one. Accesses are by rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// A collective write.
    Write(Vec<Access>, How),
    /// A collective read.
    Read(Vec<Access>, How),
    /// A collective write that another library makes through handles of its own, as MPI writes in the order of ranks.
    ByOther(Vec<Access>),
    /// A change of the atomic mode, in which another library makes all collective writes and reads.
    Atomic(bool),
    /// An independent write of a rank.
    WriteAt(usize, (u64, u64)),
    /// An independent read of a rank.
    ReadAt(usize, (u64, u64)),
    /// A rank waits until its buffered bytes are in the file.
    Flush(usize),
    /// A collective sync.
    Sync,
    /// A collective call that sets the size.
    SetLen(u64),
    /// An agreement, after which each rank sees what others have written before it.
    Agree,
    /// A close, and an opening with the same hints.
    Reopen,
    /// A close, and an opening for reading only.
    ReopenToRead,
    /// A collective write that is started and dropped at once; then a close and an opening.
    Drop(Vec<Access>),
    /// Ranks in different calls: this rank makes the second one.
    Apart(usize, Box<[Call; 2]>),
}

/// How a collective call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// It blocks.
    Blocks,
    /// It is started, and waited for.
    Waits,
    /// It is the two halves of a split call.
    Splits,
    /// It is started, and tested until it has ended; the rank computes in between.
    Tests,
}

/// Numbers that follow from a seed.
pub struct Random(u64);

impl Random {
    /// Returns the numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `limit`, or 0 if that is 0 (SplitMix64, see [`virtual_time::tasks`](crate::virtual_time::tasks)).
    pub fn below(&mut self, limit: u64) -> u64 {
        let mixed = crate::virtual_time::tasks::split_mix(&mut self.0);
        if limit == 0 { 0 } else { mixed % limit }
    }

    /// Returns true in one of `of` cases.
    fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn one_of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }
}

/// Hints of a program, one of each row at most.
const HINTS: &[&[&str]] = &[
    &["cb_nodes=1", "cb_nodes=2", "cb_nodes=3", "cb_nodes=5"],
    &["cb_buffer_size=64", "cb_buffer_size=1000", "cb_buffer_size=4096", "cb_buffer_size=65536"],
    &["romio_cb_write=enable", "romio_cb_write=disable"],
    &["romio_cb_read=enable", "romio_cb_read=disable"],
    &["romio_ds_write=enable", "romio_ds_write=disable"],
    &["romio_ds_read=enable", "romio_ds_read=disable"],
    &[
        "trib_kernel=ascending_isend",
        "trib_kernel=ascending_issend",
        "trib_kernel=spread_out",
        "trib_kernel=balanced",
        "trib_kernel=pairwise",
        "trib_kernel=two_layer",
    ],
    &["trib_throttle=1", "trib_throttle=2", "trib_throttle=none"],
    &["trib_shared_memory=enable", "trib_shared_memory=disable"],
    &["trib_host_domains=enable", "trib_host_domains=disable"],
    &["trib_tiny_call=0", "trib_tiny_call=100"],
    &["trib_direct_min=1", "trib_direct_min=500"],
    &["trib_write_behind=1M", "trib_write_behind=auto"],
    &["trib_write_buffers=1", "trib_write_buffers=2", "trib_write_buffers=4"],
    &["trib_placement=spread", "trib_placement=lowest_per_node"],
    &["trib_driver=nfs"],
    &["trib_overlap=rank_order"],
    &["striping_unit=512", "striping_unit=4096"],
    &["trib_aggregators_fixed=true"],
];

impl Program {
    /// Returns the program of a seed, of at most `most` ranks.
    pub fn of(seed: u64, most: usize) -> Self {
        let mut random = Random::new(seed ^ 0x7472_6962);
        let ranks = 1 + random.below(most.clamp(1, 12) as u64) as usize;
        let hosts = 1 + random.below(4.min(ranks as u64)) as usize;
        let hosts = match random.below(3) {
            0 => (0..ranks).map(|rank| rank * hosts / ranks).collect(),
            1 => (0..ranks).map(|rank| rank % hosts).collect(),
            _ => (0..ranks).map(|_| random.below(hosts as u64) as usize).collect(),
        };
        let mut hints = Vec::new();
        for row in HINTS {
            if random.once_in(3) {
                hints.push(random.one_of(row).to_string());
            }
        }
        // Ranks that write by themselves leave bytes of one place behind: the order in which these are written must not matter.
        if hints.iter().any(|hint| hint.starts_with("trib_write_behind")) && random.once_in(3) {
            hints.retain(|hint| !hint.starts_with("romio_cb_write") && !hint.starts_with("trib_overlap"));
            hints.push("romio_cb_write=disable".to_string());
        }
        // It has a limit of its own.
        if hints.contains(&"trib_kernel=pairwise".to_string()) {
            hints.retain(|hint| !hint.starts_with("trib_throttle"));
        }
        let delays = [0; 3].map(|_| 1 << random.below(24));
        let lost_cores = if random.once_in(3) { random.below(50) } else { 0 };
        let shares_memory = !random.once_in(4);
        let mut faults = Faults::default();
        if random.once_in(2) {
            (faults.short, faults.interrupted) = (random.below(100), random.below(100));
            faults.slow = random.below(20);
        }
        if random.once_in(3) {
            let often = random.one_of(&[1, 5, 30]);
            let kinds = [&mut faults.io, &mut faults.space, &mut faults.open, &mut faults.memory];
            for kind in kinds {
                if random.once_in(2) {
                    *kind = often;
                }
            }
        }
        if random.once_in(3) {
            faults.rank = Some(random.below(ranks as u64) as usize);
        }
        // Seldom: what a killed program has is never freed.
        let servers =
            if random.once_in(3) { Some((1 + random.below(4) as usize, 100 << random.below(10))) } else { None };
        let killed_after = if random.once_in(100) { Some(random.below(1000)) } else { None };
        let span = if random.once_in(300) { 3_000_000 } else { random.one_of(&[200, 2000, 20_000]) };
        let mut calls: Vec<Call> = Vec::new();
        for _ in 0..1 + random.below(39) {
            let mut call = Call::random(&mut random, ranks, span);
            call.resemble(&calls, &mut random, span);
            calls.push(call);
        }
        Self { seed, hosts, hints, delays, lost_cores, shares_memory, servers, faults, killed_after, calls }
    }

    /// Returns the pieces that are written after call `number` and before an agreement: a rank that makes the call alone may come
    /// after them.
    pub fn unordered(&self, number: usize) -> impl Iterator<Item = (u64, u64)> {
        let later = self.calls[number + 1..].iter().take_while(|call| !call.orders());
        later.flat_map(Call::touched)
    }

    /// Returns the place of its ranks.
    pub fn place(&self) -> Place {
        let [message, file, compute] = self.delays.map(Duration::from_nanos);
        let delays = Delays { message, file, compute, rate: 1_000_000_000 };
        let (lost_cores, shares_memory) = (self.lost_cores, self.shares_memory);
        Place {
            hosts: self.hosts.clone(),
            delays,
            lost_cores,
            shares_memory,
            servers: self.servers,
            faults: self.faults,
            killed_after: self.killed_after,
        }
    }
}

impl Call {
    /// Returns the name of the call in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Write(..) => "Write",
            Self::Read(..) => "Read",
            Self::ByOther(_) => "ByOther",
            Self::Atomic(_) => "Atomic",
            Self::WriteAt(..) => "WriteAt",
            Self::ReadAt(..) => "ReadAt",
            Self::Flush(_) => "Flush",
            Self::Sync => "Sync",
            Self::SetLen(_) => "SetLen",
            Self::Agree => "Agree",
            Self::Reopen => "Reopen",
            Self::ReopenToRead => "ReopenToRead",
            Self::Drop(_) => "Drop",
            Self::Apart(..) => "Apart",
        }
    }

    /// Returns true if no rank returns before all have called.
    pub fn orders(&self) -> bool {
        matches!(
            self,
            Self::Sync
                | Self::SetLen(_)
                | Self::Agree
                | Self::Reopen
                | Self::ReopenToRead
                | Self::Drop(_)
                | Self::ByOther(_)
                | Self::Atomic(_)
        )
    }

    /// Returns true if all bytes are in the file when the call has returned.
    pub fn waits_for_all(&self) -> bool {
        matches!(self, Self::Sync | Self::Reopen | Self::ReopenToRead)
    }

    /// Returns the pieces that all ranks write.
    pub fn written(&self) -> Vec<(u64, u64)> {
        match self {
            Self::Write(all, _) | Self::Drop(all) | Self::ByOther(all) => all.iter().flat_map(Access::pieces).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the pieces that any rank writes, together or alone.
    pub fn touched(&self) -> Vec<(u64, u64)> {
        match self {
            Self::WriteAt(_, piece) => vec![*piece],
            Self::Apart(_, calls) => calls.iter().flat_map(Self::written).collect(),
            call => call.written(),
        }
    }

    /// Leaves the last rank out. One rank alone is in no other call than itself.
    pub fn without(&mut self, last: usize) {
        match self {
            Self::Write(all, _) | Self::Read(all, _) | Self::Drop(all) | Self::ByOther(all) => all.truncate(last),
            Self::WriteAt(rank, _) | Self::ReadAt(rank, _) | Self::Flush(rank) if *rank == last => *self = Self::Agree,
            Self::Apart(..) if last == 1 => *self = Self::Agree,
            Self::Apart(rank, calls) => {
                *rank = (*rank).min(last - 1);
                calls.iter_mut().for_each(|call| call.without(last));
            }
            _ => {}
        }
    }

    /// Returns the size that the call sets.
    pub fn new_size(&self) -> Option<u64> {
        if let Self::SetLen(len) = self { Some(*len) } else { None }
    }

    /// Gives a collective write or read, in one of three cases, the pieces of an earlier one: the same, shifted, those of another
    /// rank for each, or those of one rank only; and an independent one a piece of an earlier one. So plans fit again, or nearly, reads
    /// find what was just written, and one rank writes where several have.
    fn resemble(&mut self, earlier: &[Self], random: &mut Random, span: u64) {
        if !matches!(self, Self::Write(..) | Self::Read(..) | Self::WriteAt(..) | Self::ReadAt(..))
            || !random.once_in(3)
        {
            return;
        }
        let accesses = earlier.iter().filter_map(|call| match call {
            Self::Write(all, _) | Self::Read(all, _) => Some(all),
            _ => None,
        });
        let Some(found) = accesses.rev().nth(random.below(3) as usize) else { return };
        let all = match self {
            Self::Write(all, _) | Self::Read(all, _) => all,
            Self::WriteAt(rank, piece) | Self::ReadAt(rank, piece) => {
                let of = if random.once_in(2) { *rank } else { random.below(found.len() as u64) as usize };
                let pieces = found[of].pieces();
                *piece = if pieces.is_empty() { *piece } else { random.one_of(&pieces) };
                return;
            }
            _ => return,
        };
        all.clone_from(found);
        match random.below(7) {
            0 => {
                let (by, tiles) = (random.one_of(&[1, 512, span / 3]), random.below(3));
                all.iter_mut().for_each(|own| own.shift(by, tiles));
            }
            1 => all.rotate_left(1),
            2 => {
                let own = random.below(all.len() as u64) as usize;
                all[own].shift(1, 0);
            }
            3 | 4 => {
                let only = random.below(all.len() as u64) as usize;
                let others = all.iter_mut().enumerate().filter(|(rank, _)| *rank != only);
                others.for_each(|(_, own)| *own = Access::Pieces(Vec::new()));
            }
            _ => {}
        }
    }

    fn collective(random: &mut Random, ranks: usize, span: u64) -> Self {
        let how = random.one_of(&[How::Blocks, How::Waits, How::Splits, How::Tests]);
        match random.below(5) {
            0 => Self::Write(accessed(random, ranks, span), how),
            1 => Self::Read(accessed(random, ranks, span), how),
            2 => Self::Sync,
            3 => Self::SetLen(random.below(span)),
            _ => Self::Agree,
        }
    }

    fn random(random: &mut Random, ranks: usize, span: u64) -> Self {
        let how = random.one_of(&[How::Blocks, How::Blocks, How::Waits, How::Splits, How::Tests]);
        let rank = random.below(ranks as u64) as usize;
        match random.below(24) {
            20 if random.once_in(3) => Self::ReopenToRead,
            20 => Self::Drop(accessed(random, ranks, span)),
            21 if ranks > 1 => {
                let first = Self::collective(random, ranks, span);
                let other = loop {
                    let other = Self::collective(random, ranks, span);
                    if std::mem::discriminant(&other) != std::mem::discriminant(&first) {
                        break other;
                    }
                };
                Self::Apart(rank, Box::new([first, other]))
            }
            0..9 => Self::Write(accessed(random, ranks, span), how),
            9..14 => Self::Read(accessed(random, ranks, span), how),
            14 => Self::WriteAt(rank, piece(random, span)),
            15 => Self::ReadAt(rank, piece(random, span)),
            16 => Self::Sync,
            17 => Self::SetLen(random.below(span)),
            18 => Self::Agree,
            22 => match random.below(4) {
                0 => Self::Atomic(true),
                1 => Self::Atomic(false),
                _ => Self::ByOther(accessed(random, ranks, span)),
            },
            23 => Self::Flush(rank),
            _ => Self::Reopen,
        }
    }
}

/// Returns accesses by rank: pieces, or parts of file views whose tiles are such pieces.
fn accessed(random: &mut Random, ranks: usize, span: u64) -> Vec<Access> {
    if !random.once_in(4) {
        return divided(random, ranks, span).into_iter().map(Access::Pieces).collect();
    }
    let tiles = divided(random, ranks, span / 8);
    let end = tiles.iter().flatten().map(|(offset, len)| offset + len).max().unwrap_or(0);
    let (displacement, extent) = (random.below(span), end + random.below(end + 1));
    let (skipped, tiles_each) = (random.below(4), 1 + random.below(6));
    let cuts = random.once_in(2);
    let view = |tile: Vec<(u64, u64)>, random: &mut Random| {
        let bytes: u64 = tile.iter().map(|piece| piece.1).sum();
        if bytes == 0 {
            return Access::Pieces(Vec::new());
        }
        let cut = if cuts { random.below(bytes) } else { 0 };
        let (skip, len) = (skipped * bytes + cut, tiles_each * bytes - cut / 2);
        Access::View(View { displacement, tile, extent, skip, len })
    };
    tiles.into_iter().map(|tile| view(tile, random)).collect()
}

fn piece(random: &mut Random, span: u64) -> (u64, u64) {
    (random.below(span), 1 + random.below(span / 8))
}

/// Returns pieces by rank; now and then, pieces of different ranks overlap.
fn divided(random: &mut Random, ranks: usize, span: u64) -> Vec<Vec<(u64, u64)>> {
    let mut all = vec![Vec::new(); ranks];
    let begin = random.below(span);
    match random.below(10) / 2 {
        // A block each.
        0 => {
            let len = 1 + random.below(span / ranks as u64);
            all.iter_mut().enumerate().for_each(|(rank, own)| own.push((begin + len * rank as u64, len)));
        }
        // In turns.
        1 => {
            let (len, times) = (1 + random.below(span / 50), 1 + random.below(8));
            let gap = if random.once_in(2) { 0 } else { random.below(len) };
            for turn in 0..times {
                for (rank, own) in all.iter_mut().enumerate() {
                    own.push((begin + (turn * ranks as u64 + rank as u64) * (len + gap), len));
                }
            }
        }
        // Pieces of any size for anybody, and holes.
        2 => {
            let mut at = begin;
            for _ in 0..random.below(30) {
                let len = 1 + random.below(span / 30);
                let rank = random.below(ranks as u64 + 1) as usize;
                if let Some(own) = all.get_mut(rank) {
                    own.push((at, len));
                }
                at += len;
            }
        }
        // Pieces that overlap those of others.
        4 => {
            for own in &mut all {
                let mut at = begin + random.below(span / 4);
                for _ in 0..random.below(6) {
                    let len = 1 + random.below(span / 20);
                    own.push((at, len));
                    at += len + random.below(span / 20);
                }
            }
        }
        // One rank alone.
        _ => {
            let rank = random.below(ranks as u64) as usize;
            all[rank].push((begin, 1 + random.below(span / 4)));
        }
    }
    all
}
