//! Why a call took its path: a value, which reports print as a phrase.

use std::fmt::{Display, Formatter, Result};

use serde::{Deserialize, Serialize};

use crate::engine::direction::Direction;

/// Why a call took its path. In JSON an object whose `name` says which of these it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// No rank has data.
    NoData,
    /// A read of bytes behind the end of the file.
    BehindEnd,
    /// The hint `romio_no_indep_rw`.
    OnlyAggregators,
    /// The hint `trib_overlap=rank_order`, without shared memory: ranges may overlap.
    RankOrder,
    /// The hint `romio_cb_write` or `romio_cb_read`, without shared memory.
    Switch {
        /// Which of them.
        direction: Direction,
        /// `enable`; otherwise `disable`.
        on: bool,
    },
    /// At most `trib_tiny_call` bytes of all ranks.
    Small {
        /// How many.
        bytes: u64,
    },
    /// Requests that are cheaper to send than to write or read one by one.
    SmallRequests {
        /// Their mean size in bytes.
        mean: u64,
        /// The mean size from which they go directly.
        large: u64,
    },
    /// Ranges overlap.
    RangesOverlap,
    /// Requests that are cheaper to write or read than to send.
    LargeRequests {
        /// Their mean size in bytes.
        mean: u64,
    },
    /// No host holds bytes of another.
    HostsApart,
    /// A read of few pieces, of which no two ranks want the same byte.
    FewApart,
    /// The data came with the first agreement.
    CameAlong,
    /// Every rank had written its large pieces before the ranks met.
    WroteItself,
    /// Every rank had read its pieces before the ranks met.
    ReadItself,
    /// In shared memory: the data fits in the slots of a meeting.
    FitsSlots,
    /// In shared memory: the hint `romio_cb_write` or `romio_cb_read` says `enable`.
    Enabled,
    /// In shared memory: it says `disable`.
    Disabled,
    /// In shared memory: it is not certain that ranks do not overlap.
    MayOverlap,
    /// In shared memory: large pieces that do not overlap.
    LargePieces,
    /// In shared memory: few pieces, so far apart that windows would be mostly empty.
    FarApart,
    /// In shared memory: anything else.
    SmallPieces,
    /// In shared memory: there is no memory for windows.
    NoMemory,
    /// Not known: a sum of reports, or a report of a capture that does not say it.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Reason {
    /// Whether it is not known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match *self {
            Self::Switch { direction, on } => {
                return write!(f, "{}={}", direction.switch_key(), if on { "enable" } else { "disable" });
            }
            Self::Small { bytes } => return write!(f, "{bytes} bytes in all: the first aggregator takes them"),
            Self::SmallRequests { mean, large } => {
                return write!(f, "requests of {mean} bytes on average; {large} and more go directly");
            }
            Self::LargeRequests { mean } => {
                return write!(f, "requests of {mean} bytes on average in ranges that do not overlap");
            }
            Self::NoData => "no rank has data",
            Self::BehindEnd => "the file ends before the first byte",
            Self::OnlyAggregators => "romio_no_indep_rw=true",
            Self::RankOrder => "trib_overlap=rank_order",
            Self::RangesOverlap => "the ranges of ranks overlap",
            Self::HostsApart => "every host its own: no host holds bytes of another",
            Self::FewApart => "few pieces that do not overlap",
            Self::CameAlong => "little data, which came with the agreement",
            Self::WroteItself => "every rank its own, large pieces that do not overlap",
            Self::ReadItself => "every rank reads its own",
            Self::FitsSlots => "small enough for the slots of a meeting",
            Self::Enabled => "collective buffering is enabled by hint",
            Self::Disabled => "collective buffering is disabled by hint",
            Self::MayOverlap => "ranks may overlap",
            Self::LargePieces => "large pieces that do not overlap",
            Self::FarApart => "few pieces far apart",
            Self::SmallPieces => "small pieces",
            Self::NoMemory => "no memory for windows",
            Self::Unknown => "",
        })
    }
}
