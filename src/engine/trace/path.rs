//! The path of a call's bytes and the reason for it, the layers of messages, and the kernel that `auto` chose.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};
use tributary_base::wire;

use crate::access::Direction;
use crate::exchange::BALANCED;

/// The path of a call's bytes between the ranks and the file. Reports and JSON have five names for the eight paths
/// ([`Path::name`]): a path that is read from JSON is the first one with its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// The two-phase exchange: by messages through aggregators.
    Exchange,
    /// The bytes go through windows in memory that all ranks share.
    #[serde(rename = "shared")]
    Windows,
    /// The ranks of every host write or read the bytes of this host, without other hosts.
    #[serde(rename(serialize = "shared"), skip_deserializing)]
    Hosts,
    /// The data came in the slots of shared memory with the first agreement, and the last rank to arrive wrote it.
    #[serde(rename(serialize = "shared"), skip_deserializing)]
    Slots,
    /// The data came in messages with the first agreement, and rank 0 wrote it.
    Root,
    /// Every rank writes or reads its own extents after the first agreement.
    Direct,
    /// Every rank wrote or read its own extents before the first agreement.
    #[serde(rename(serialize = "direct"), skip_deserializing)]
    Independent,
    /// No rank had bytes to write or read.
    #[default]
    Nothing,
}

wire::fields!(enum Path { 0 Exchange, 1 Windows, 2 Hosts, 3 Slots, 4 Root, 5 Direct, 6 Independent, 7 Nothing, });

impl Path {
    /// Returns how the bytes went, as a phrase for reports.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Exchange => "through aggregators",
            Self::Windows | Self::Hosts | Self::Slots => "through shared memory",
            Self::Root => "by rank 0",
            Self::Direct | Self::Independent => "each rank by itself",
            Self::Nothing => "without data",
        }
    }

    /// Returns the name of the path in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Windows | Self::Hosts | Self::Slots => "shared",
            Self::Root => "root",
            Self::Direct | Self::Independent => "direct",
            Self::Nothing => "nothing",
        }
    }

    /// Returns true if the call ends with its first agreement.
    pub fn ends_at_once(self) -> bool {
        matches!(self, Self::Nothing | Self::Independent | Self::Root | Self::Slots)
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Reason for the path of a call. In JSON an object whose `name` is the variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// No rank has data.
    NoData,
    /// The read starts at or after the end of the file.
    PastEnd,
    /// The hint `romio_no_indep_rw` forbids I/O of other ranks than aggregators.
    OnlyAggregators,
    /// The hint `trib_overlap=rank_order` demands the order of ranks, and the ranks share no memory.
    RankOrder,
    /// The hint `romio_cb_write` or `romio_cb_read` decides, and the ranks share no memory.
    Switch {
        /// Direction, which determines the hint. Write: `romio_cb_write`; read: `romio_cb_read`.
        direction: Direction,
        /// True if the hint is `enable`, false if it is `disable`.
        on: bool,
    },
    /// All ranks together have at most `trib_tiny_call` bytes.
    Small {
        /// Number of bytes of all ranks.
        bytes: u64,
    },
    /// The requests are small: sending them costs less than writing or reading them one by one.
    SmallRequests {
        /// Mean size of the requests in bytes.
        mean: u64,
        /// The mean size in bytes from which each rank accesses the file by itself.
        large: u64,
    },
    /// The byte ranges of ranks overlap.
    RangesOverlap,
    /// The requests are large: writing or reading them costs less than sending them to aggregators.
    LargeRequests {
        /// Mean size of the requests in bytes.
        mean: u64,
    },
    /// No two hosts have bytes in the same range of the file.
    HostsApart,
    /// Each host has its own part of the file, but an exchange is expected to be faster.
    Faster,
    /// A read of few requests; no two ranks want the same byte.
    FewApart,
    /// The data was piggybacked on the first agreement.
    Inline,
    /// Every rank wrote its large requests before the first agreement.
    WroteItself,
    /// Every rank read its requests before the first agreement.
    ReadItself,
    /// One rank has the file, and it read or wrote one piece of it.
    SingleRank,
    /// The ranks share memory, and the data of each rank fits in its slot of the first agreement.
    FitsSlots,
    /// The ranks share memory, and the hint `romio_cb_write` or `romio_cb_read` is `enable`.
    Enabled,
    /// The ranks share memory, and the hint `romio_cb_write` or `romio_cb_read` is `disable`.
    Disabled,
    /// The ranks share memory and may write the same bytes; windows keep these writes in rank order.
    MayOverlap,
    /// The ranks share memory, and the requests are large; in a write, they do not overlap.
    LargePieces,
    /// The ranks share memory; requests are few, and so far apart that windows would be mostly empty.
    FarApart,
    /// The ranks share memory, and the requests are small or no other reason applies.
    SmallPieces,
    /// The ranks share memory, but there is no memory for windows.
    NoMemory,
    /// Unknown: a sum of reports, or a report of an older capture without the reason.
    #[default]
    #[serde(other)]
    Unknown,
}

wire::fields!(enum Reason {
    0 NoData, 1 PastEnd, 2 OnlyAggregators, 3 RankOrder, 4 Switch { direction, on }, 5 Small { bytes },
    6 SmallRequests { mean, large }, 7 RangesOverlap, 8 LargeRequests { mean }, 9 HostsApart, 10 FewApart,
    11 Inline, 12 WroteItself, 13 ReadItself, 14 SingleRank, 15 FitsSlots, 16 Enabled, 17 Disabled, 18 MayOverlap,
    19 LargePieces, 20 FarApart, 21 SmallPieces, 22 NoMemory, 23 Unknown, 24 Faster,
});

impl Reason {
    /// Returns true if the reason is unknown.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match *self {
            Self::Switch { direction, on } => {
                let key = match direction {
                    Direction::Write => "romio_cb_write",
                    Direction::Read => "romio_cb_read",
                };
                return write!(f, "{key}={}", if on { "enable" } else { "disable" });
            }
            Self::Small { bytes } => return write!(f, "only {bytes} bytes in total, so one aggregator does the I/O"),
            Self::SmallRequests { mean, large } => {
                return write!(f, "requests of {mean} bytes on average, less than {large}");
            }
            Self::LargeRequests { mean } => {
                return write!(f, "requests of {mean} bytes on average, in ranges that do not overlap");
            }
            Self::NoData => "no rank has data",
            Self::PastEnd => "the file ends before the first byte to read",
            Self::OnlyAggregators => "romio_no_indep_rw=true",
            Self::RankOrder => "trib_overlap=rank_order",
            Self::RangesOverlap => "the byte ranges of ranks overlap",
            Self::HostsApart => "each host has its own part of the file",
            Self::Faster => "expected to be faster than each host or rank by itself",
            Self::FewApart => "few requests that do not overlap",
            Self::Inline => "little data, sent with the first agreement",
            Self::WroteItself => "large requests that do not overlap",
            Self::ReadItself => "large, few or dense requests",
            Self::SingleRank => "one rank has the file",
            Self::FitsSlots => "little data, which one rank writes for all",
            Self::Enabled => "collective buffering is enabled by hint",
            Self::Disabled => "collective buffering is disabled by hint",
            Self::MayOverlap => "safe also if ranks write the same bytes",
            Self::LargePieces => "large requests",
            Self::FarApart => "few requests, far apart",
            Self::SmallPieces => "small requests",
            Self::NoMemory => "no shared memory is available for windows",
            Self::Unknown => "",
        })
    }
}

/// The phases that go through local aggregators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layered {
    /// True if the metadata phase goes through local aggregators.
    pub metadata: bool,
    /// True if the data phase goes through local aggregators.
    pub data: bool,
}

impl Layered {
    /// Returns true if any phase goes through local aggregators.
    pub fn any(self) -> bool {
        self.metadata || self.data
    }
}

/// Layers of messages of a call: which phases go through local aggregators, and how many of these a node has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layering {
    /// The phases through local aggregators.
    pub layered: Layered,
    /// Number of local aggregators on a node; 0 if no phase that `auto` decides has them.
    pub local: usize,
}

/// The kernel that `auto` chose for a call, in the phases for which the hints leave the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AutoChoice {
    /// Chosen kernel.
    pub kernel: AutoKernel,
    /// True if the metadata phase uses this kernel.
    pub metadata: bool,
    /// True if the data phase uses this kernel.
    pub data: bool,
}

impl AutoChoice {
    /// Returns true if the flat kernel was predicted to be the best, as for most calls. Reports do not mention the flat
    /// kernel.
    pub fn is_usual(&self) -> bool {
        self.kernel == AutoKernel::Flat
    }
}

impl Display for AutoChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let phases = match (self.metadata, self.data) {
            (true, false) => "metadata",
            (false, true) => "data",
            _ => "metadata and data",
        };
        match self.kernel {
            AutoKernel::NoNodeMemory | AutoKernel::NoMembers => write!(f, "no two_layer for {phases}: {}", self.kernel),
            kernel => write!(f, "{kernel} for {phases}, as predicted to be faster"),
        }
    }
}

/// A kernel between which `auto` chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoKernel {
    /// Every rank sends directly to every aggregator.
    #[default]
    Flat,
    /// Messages go through local aggregators.
    TwoLayer {
        /// Number of local aggregators on each node.
        per_node: usize,
    },
    /// Flat, although two layers were chosen, by `auto` or by a hint: the ranks of a node share no memory.
    NoNodeMemory,
    /// Flat, although a hint chose two layers: no local aggregator has members, because of the hint for their number or of
    /// the order of ranks on nodes.
    NoMembers,
}

impl Display for AutoKernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flat => f.write_str(BALANCED.name),
            Self::NoMembers => f.write_str("every rank is its own local aggregator"),
            Self::NoNodeMemory => f.write_str("the ranks of a node share no memory"),
            Self::TwoLayer { per_node } => write!(f, "two_layer with {per_node} local aggregators a node"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_the_same_on_another_rank() {
        let reasons = [
            Reason::NoData,
            Reason::Unknown,
            Reason::Switch { direction: Direction::Read, on: false },
            Reason::Small { bytes: 7 },
            Reason::SmallRequests { mean: 8, large: 9 },
        ];
        for reason in reasons {
            let bytes = wire::to_bytes(&reason);
            assert_eq!((bytes.len(), wire::from_bytes(&bytes)), (17, Some(reason)));
        }
        assert_eq!(wire::from_bytes::<Reason>(&[99; 17]), None, "no reason has this number");
        assert_eq!((wire::from_bytes(&[2]), wire::from_bytes::<Path>(&[8])), (Some(Path::Hosts), None));
    }

    #[test]
    fn json_has_the_names_of_reports() {
        for number in 0..8 {
            let path: Path = wire::from_bytes(&[number]).unwrap();
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(json, format!("\"{path}\""));
            assert_eq!(serde_json::from_str::<Path>(&json).unwrap().name(), path.name());
        }
    }
}
