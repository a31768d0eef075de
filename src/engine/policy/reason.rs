//! The reason for the path of a call. Reports print it as a phrase.

use std::fmt::{Display, Formatter, Result};

use serde::{Deserialize, Serialize};

use crate::access::Direction;

/// Reason for the path of a call. In JSON an object whose `name` is the variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// No rank has data.
    NoData,
    /// The read starts at or after the end of the file.
    BehindEnd,
    /// The hint `romio_no_indep_rw` forbids I/O of other ranks than aggregators.
    OnlyAggregators,
    /// The hint `trib_overlap=rank_order` demands the order of ranks, without shared memory.
    RankOrder,
    /// The hint `romio_cb_write` or `romio_cb_read` decides, without shared memory.
    Switch {
        /// Direction, which tells the hint. Write: `romio_cb_write`; read: `romio_cb_read`.
        direction: Direction,
        /// True if the hint is `enable`, false if it is `disable`.
        on: bool,
    },
    /// All ranks together have at most `trib_tiny_call` bytes.
    Small {
        /// Number of bytes of all ranks.
        bytes: u64,
    },
    /// Small requests: sending them costs less than writing or reading them one by one.
    SmallRequests {
        /// Mean size of the requests in bytes.
        mean: u64,
        /// The mean size in bytes from which each rank accesses the file by itself.
        large: u64,
    },
    /// The byte ranges of ranks overlap.
    RangesOverlap,
    /// Large requests: writing or reading them costs less than to send them.
    LargeRequests {
        /// Mean size of the requests in bytes.
        mean: u64,
    },
    /// No two hosts have bytes in the same range of the file.
    HostsApart,
    /// A read of few requests; no two ranks want the same byte.
    FewApart,
    /// The data came with the first agreement.
    CameAlong,
    /// Every rank wrote its large requests before the first agreement.
    WroteItself,
    /// Every rank read its requests before the first agreement.
    ReadItself,
    /// One rank has the file, and it read or wrote one piece of it.
    SingleRank,
    /// In shared memory: the data of a rank fits in its slot of the first agreement.
    FitsSlots,
    /// In shared memory: the hint `romio_cb_write` or `romio_cb_read` says `enable`.
    Enabled,
    /// In shared memory: the hint `romio_cb_write` or `romio_cb_read` says `disable`.
    Disabled,
    /// In shared memory: ranks may write the same bytes; the windows keep them in order.
    MayOverlap,
    /// In shared memory: large requests; in a write, they do not overlap.
    LargePieces,
    /// In shared memory: few requests, so far apart that windows would be mostly empty.
    FarApart,
    /// In shared memory: small requests, and all other cases.
    SmallPieces,
    /// In shared memory: there is no memory for windows.
    NoMemory,
    /// Unknown: a sum of reports, or a report of an older capture without the reason.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Reason {
    /// Returns true if the reason is unknown.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
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
            Self::BehindEnd => "the file ends before the first byte to read",
            Self::OnlyAggregators => "romio_no_indep_rw=true",
            Self::RankOrder => "trib_overlap=rank_order",
            Self::RangesOverlap => "the byte ranges of ranks overlap",
            Self::HostsApart => "each host has its own part of the file",
            Self::FewApart => "few requests that do not overlap",
            Self::CameAlong => "little data, sent with the first agreement",
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
