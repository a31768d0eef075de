//! The words that hints take as values, as enums: each spells itself, and nothing else spells it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::values::{Codec, list};
use crate::collectives::{Algorithm, allgather};
use crate::error::{Error, Result};
use crate::exchange::Flat;
use crate::schedule::ThrottleMode;
use crate::topology::Rank;

/// An enum whose variants are words: `Display`, `FromStr`, serde and the hint's codec all come from the one list.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $what:literal, $allowed:literal:
     $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every one, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            pub(super) const CODEC: Codec<Self> =
                Codec { parse: |text| text.parse().ok(), print: |value| value.to_string(), allowed: $allowed };
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $word,)+ })
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                match text.to_ascii_lowercase().as_str() {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(Error::argument($what, text, $allowed)),
                }
            }
        }
    };
}

words! {
    /// Whether something is done.
    Switch, "switch", "enable|disable|automatic":
    /// Always.
    Enable = "enable",
    /// Never.
    Disable = "disable",
    /// Where it is expected to pay.
    Automatic = "automatic",
}

words! {
    /// What a rank does with a failure that the other ranks cannot be told of.
    OnFailure, "failure policy", "abort|return":
    /// It ends the job.
    Abort = "abort",
    /// It returns the error; the others may wait for ever.
    Return = "return",
}

words! {
    /// What the pairwise kernel does in a step that has nothing to exchange.
    PairwiseEmpty, "pairwise step", "skip|send":
    /// No message.
    Skip = "skip",
    /// A message of no bytes, as a plain loop of `MPI_Sendrecv` would.
    Send = "send",
}

words! {
    /// A file-system driver.
    DriverName, "driver", "auto|posix|lustre|gpfs":
    /// By the file system that the file is on.
    Auto = "auto",
    /// Any POSIX file system: ranges of equal bytes.
    Posix = "posix",
    /// Stripe-cyclic domains.
    Lustre = "lustre",
    /// Equal ranges of whole blocks.
    Gpfs = "gpfs",
}

words! {
    /// How much one Lustre aggregator takes in a round.
    LustreRound, "round", "buffer|stripe":
    /// As many stripes as `cb_buffer_size` holds.
    Buffer = "buffer",
    /// One stripe, as in the paper.
    Stripe = "stripe",
}

words! {
    /// Which rank's bytes stay where several ranks write.
    Overlap, "overlap", "any|rank_order":
    /// Those of any one of them, the same throughout two extents that overlap.
    Any = "any",
    /// Those of the highest rank.
    RankOrder = "rank_order",
}

words! {
    /// How members' lists and bytes come to their local aggregator, and back.
    TwoLayerInner, "inner layer", "direct|ordered_tree":
    /// Every member sends to it.
    Direct = "direct",
    /// Along an ordered gather tree, built from the sizes.
    OrderedTree = "ordered_tree",
}

words! {
    /// An algorithm by which every rank gets the blocks of all; a test holds the words to the registry.
    AllgatherName, "allgather", "ring|recursive_doubling|dissemination|bruck|hierarchical|multi_lane|locality_bruck":
    /// Blocks go round.
    Ring = "ring",
    /// With partners at doubling distances; any rank count.
    RecursiveDoubling = "recursive_doubling",
    /// With partners at doubling distances, round the ring.
    Dissemination = "dissemination",
    /// The same with blocks in order of distance.
    Bruck = "bruck",
    /// Through one leader a node.
    Hierarchical = "hierarchical",
    /// Every rank of a node carries a lane between nodes.
    MultiLane = "multi_lane",
    /// Bruck's between nodes, whose ranks share the messages.
    LocalityBruck = "locality_bruck",
}

impl AllgatherName {
    /// The algorithm of that name.
    pub fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::Ring => &allgather::RING,
            Self::RecursiveDoubling => &allgather::RECURSIVE_DOUBLING,
            Self::Dissemination => &allgather::DISSEMINATION,
            Self::Bruck => &allgather::BRUCK,
            Self::Hierarchical => &allgather::HIERARCHICAL,
            Self::MultiLane => &allgather::MULTI_LANE,
            Self::LocalityBruck => &allgather::LOCALITY_BRUCK,
        }
    }
}

/// The codec of a flat kernel; a test holds the words to the registry.
pub(super) const FLAT: Codec<Flat> = Codec {
    parse: |text| text.parse().ok(),
    print: Flat::to_string,
    allowed: "ascending_isend|ascending_issend|spread_out|balanced|pairwise",
};

/// An exchange kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KernelName {
    /// One layer.
    Flat(Flat),
    /// Local aggregators first; they use the kernel of the hint `trib_two_layer_outer` among themselves (TAM).
    TwoLayer,
}

impl KernelName {
    pub(super) const ALLOWED: &str = "ascending_isend|ascending_issend|spread_out|balanced|pairwise|two_layer";
    const TWO_LAYER: &str = "two_layer";

    /// Every kernel, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        Flat::all().map(Self::Flat).chain([Self::TwoLayer])
    }

    pub(super) const CODEC: Codec<Self> =
        Codec { parse: |text| text.parse().ok(), print: |value| value.to_string(), allowed: Self::ALLOWED };
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat(flat) => flat.fmt(f),
            Self::TwoLayer => f.pad(Self::TWO_LAYER),
        }
    }
}

impl FromStr for KernelName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case(Self::TWO_LAYER) {
            return Ok(Self::TwoLayer);
        }
        text.parse().map(Self::Flat).map_err(|_| Error::argument("kernel", text, Self::ALLOWED))
    }
}

impl TryFrom<String> for KernelName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<KernelName> for String {
    fn from(name: KernelName) -> Self {
        name.to_string()
    }
}

/// The order in which the balanced kernel divides the ranks into groups.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankListHint {
    /// `0, 1, 2, ...`
    Identity,
    /// One rank of every node, then the next of every node, ...
    NodeRoundRobin,
    /// As given; [`super::Hints::check`] makes sure that it is a permutation of all ranks.
    Explicit(Vec<Rank>),
}

impl RankListHint {
    pub(super) const CODEC: Codec<Self> = Codec {
        parse: |text| match text.to_ascii_lowercase().as_str() {
            "identity" => Some(Self::Identity),
            "node_round_robin" => Some(Self::NodeRoundRobin),
            text => list(text).map(Self::Explicit),
        },
        print: |value| match value {
            Self::Identity => "identity".into(),
            Self::NodeRoundRobin => "node_round_robin".into(),
            Self::Explicit(ranks) => join(ranks),
        },
        allowed: "identity|node_round_robin|every rank once, separated by commas",
    };
}

/// Which ranks are aggregators.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementHint {
    /// The driver's own placement.
    Default,
    /// Ranks `0, K, 2 K, ...` (the paper's default on Cori with K = 64).
    Stride(usize),
    /// As far apart as there are nodes (the paper's `AGGREGATOR_PLACEMENT_STRIDE=-1`).
    Spread,
    /// The lowest rank of every node (the GPFS default).
    LowestPerNode,
    /// These ranks, whatever the driver would like.
    List(Vec<Rank>),
}

impl PlacementHint {
    pub(super) const CODEC: Codec<Self> = Codec {
        parse: |text| match text.to_ascii_lowercase().as_str() {
            "default" => Some(Self::Default),
            "spread" => Some(Self::Spread),
            "lowest_per_node" => Some(Self::LowestPerNode),
            text => match text.split_once(':')? {
                ("stride", stride) => stride.parse().ok().filter(|&stride| stride > 0).map(Self::Stride),
                ("list", ranks) => list(ranks).map(Self::List),
                _ => None,
            },
        },
        print: |value| match value {
            Self::Default => "default".into(),
            Self::Stride(stride) => format!("stride:{stride}"),
            Self::Spread => "spread".into(),
            Self::LowestPerNode => "lowest_per_node".into(),
            Self::List(ranks) => format!("list:{}", join(ranks)),
        },
        allowed: "default|stride:K with K >= 1|spread|lowest_per_node|list:R,R,...",
    };
}

/// A limit on outstanding requests as hinted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The kernel's own: 32 for `spread_out` and `balanced`, 1 for `pairwise`, none for the ascending ones.
    Default,
    /// Everything at once.
    None,
    /// At most so many; never 0.
    At(u32),
}

impl Limit {
    pub(super) const CODEC: Codec<Self> = Codec {
        parse: |text| match text.to_ascii_lowercase().as_str() {
            "default" => Some(Self::Default),
            "none" => Some(Self::None),
            text => text.parse().ok().map(|limit| if limit == 0 { Self::None } else { Self::At(limit) }),
        },
        print: |value| match value {
            Self::Default => "default".into(),
            Self::None => "none".into(),
            Self::At(limit) => limit.to_string(),
        },
        allowed: "default|none|0 (as none)|1 to 4294967295",
    };
}

pub(super) const THROTTLE_MODE: Codec<ThrottleMode> = Codec {
    parse: |text| match text.to_ascii_lowercase().as_str() {
        "batch" => Some(ThrottleMode::Batch),
        "window" => Some(ThrottleMode::Window),
        _ => None,
    },
    print: |value| match value {
        ThrottleMode::Batch => "batch".into(),
        ThrottleMode::Window => "window".into(),
    },
    allowed: "batch|window",
};

fn join(ranks: &[Rank]) -> String {
    ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
