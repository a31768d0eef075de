//! Defines the keywords that hints take as values, as enums with their spelling.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::values::{Codec, list};
pub use crate::drivers::{DriverName, Placement as PlacementHint};
use crate::error::{Error, Result};
use crate::exchange::{KERNELS, Kernel, RankList, two_layer};
use crate::schedule::ThrottleMode;
use crate::topology::{Rank, Topology};
use crate::world::process::per_process;

/// Defines an enum whose variants are keywords: `Display`, `FromStr`, serde and the hint's codec all come from one list.
macro_rules! keyword_enum {
    ($(#[$meta:meta])* $name:ident, $what:literal, $allowed:literal:
     $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All values, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            pub(super) const CODEC: Codec<Self> =
                Codec { parse: |text| text.parse().ok(), print: |value| value.to_string(), allowed: || $allowed };
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

keyword_enum! {
    /// The value of a hint that turns something on or off.
    Switch, "switch", "enable|disable|automatic":
    /// The feature that the hint controls is always used.
    Enable = "enable",
    /// The feature that the hint controls is never used.
    Disable = "disable",
    /// The library uses the feature if that is expected to save time.
    Automatic = "automatic",
}

keyword_enum! {
    /// The action of a rank after a failure of which the other ranks cannot be informed.
    OnFailure, "failure policy", "abort|return":
    /// The rank ends the job.
    Abort = "abort",
    /// The rank returns the error; the other ranks may wait for ever.
    Return = "return",
}

keyword_enum! {
    /// The rank whose bytes are in the file if several ranks write the same bytes.
    Overlap, "overlap", "any|rank_order":
    /// The bytes of any one of the ranks; the same rank wherever two extents overlap.
    Any = "any",
    /// The bytes of the highest rank.
    RankOrder = "rank_order",
}

/// Codec of a hint whose value is the name of a kernel.
pub(super) const KERNEL: Codec<&'static Kernel> = Codec {
    parse: |text| text.parse().ok(),
    print: |kernel| kernel.to_string(),
    allowed: || {
        per_process! {
            static NAMES: LazyLock<String> = LazyLock::new(Kernel::names);
        }
        &NAMES
    },
};

/// Value of a hint that leaves the choice to the library.
const AUTO: &str = "auto";

/// The choice of the kernel of a phase (metadata or data).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KernelHint {
    /// The library chooses `balanced` or `two_layer` for each call, by the expected time.
    Auto,
    /// Every rank sends to the aggregators, by this kernel.
    Flat(&'static Kernel),
    /// Ranks send to local aggregators, which use the kernel of the hint `trib_two_layer_outer` to send to the
    /// aggregators (TAM).
    TwoLayer,
}

impl KernelHint {
    /// Returns all choices other than `auto`, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        KERNELS.iter().map(|kernel| Self::Flat(kernel)).chain([Self::TwoLayer])
    }

    /// Returns the allowed values of the hint `trib_kernel`, separated by `|`.
    pub fn allowed() -> &'static str {
        per_process! {
            static ALLOWED: LazyLock<String> = LazyLock::new(|| format!("{AUTO}|{}|{}", Kernel::names(), two_layer::NAME));
        }
        &ALLOWED
    }

    pub(super) const CODEC: Codec<Self> =
        Codec { parse: |text| text.parse().ok(), print: |value| value.to_string(), allowed: Self::allowed };
}

/// Value of a phase's hint that stands for the hint of both phases.
const COMMON: &str = "common";

/// Codec of the kernel of a phase, or `common`.
pub(super) const KERNEL_OR_COMMON: Codec<Option<KernelHint>> = Codec {
    parse: |text| common_or(text, &KernelHint::CODEC),
    print: |value| print_common(value, &KernelHint::CODEC),
    allowed: || {
        per_process! {
            static ALLOWED: LazyLock<String> = LazyLock::new(|| format!("{COMMON}|{}", KernelHint::allowed()));
        }
        &ALLOWED
    },
};

/// Codec of the limit of a phase, or `common`.
pub(super) const LIMIT_OR_COMMON: Codec<Option<Limit>> = Codec {
    parse: |text| common_or(text, &Limit::CODEC),
    print: |value| print_common(value, &Limit::CODEC),
    allowed: || "common|default|none|0 (as none)|1 to 4294967295",
};

fn common_or<T>(text: &str, codec: &Codec<T>) -> Option<Option<T>> {
    if text.eq_ignore_ascii_case(COMMON) { Some(None) } else { (codec.parse)(text).map(Some) }
}

fn print_common<T>(value: &Option<T>, codec: &Codec<T>) -> String {
    value.as_ref().map_or_else(|| COMMON.into(), codec.print)
}

impl fmt::Display for KernelHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad(AUTO),
            Self::Flat(kernel) => kernel.fmt(f),
            Self::TwoLayer => f.pad(two_layer::NAME),
        }
    }
}

impl FromStr for KernelHint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case(AUTO) {
            return Ok(Self::Auto);
        }
        if text.eq_ignore_ascii_case(two_layer::NAME) {
            return Ok(Self::TwoLayer);
        }
        text.parse().map(Self::Flat).map_err(|_| Error::argument("kernel", text, Self::allowed()))
    }
}

impl TryFrom<String> for KernelHint {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<KernelHint> for String {
    fn from(hint: KernelHint) -> Self {
        hint.to_string()
    }
}

/// The order in which the balanced kernel divides the ranks into groups.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankListHint {
    /// Ranks in ascending order: `0, 1, 2, ...`
    Identity,
    /// The first rank of every node, then the second of every node, and so on.
    NodeRoundRobin,
    /// The order of this list; [`super::Hints::check`] checks that the list is a permutation of all ranks.
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
        allowed: || "identity|node_round_robin|every rank once, separated by commas",
    };

    /// Returns the rank list for the ranks of `topology`. O(ranks log nodes).
    ///
    /// # Errors
    /// The list is no permutation of all ranks.
    pub fn list(&self, topology: &Topology) -> Result<RankList> {
        match self {
            Self::Identity => Ok(RankList::Identity),
            Self::NodeRoundRobin => Ok(RankList::node_round_robin(topology)),
            Self::Explicit(list) => RankList::explicit(list.clone()),
        }
    }
}

/// Codec of the name of a file-system driver.
pub(super) const DRIVER: Codec<DriverName> =
    Codec { parse: |text| text.parse().ok(), print: |value| value.to_string(), allowed: || DriverName::ALLOWED };

/// Codec of the choice which ranks are aggregators.
pub(super) const PLACEMENT: Codec<PlacementHint> = Codec {
    parse: |text| match text.to_ascii_lowercase().as_str() {
        "default" => Some(PlacementHint::Default),
        "spread" => Some(PlacementHint::Spread),
        "lowest_per_node" => Some(PlacementHint::LowestPerNode),
        text => match text.split_once(':')? {
            ("stride", stride) => stride.parse().ok().filter(|&stride| stride > 0).map(PlacementHint::Stride),
            ("list", ranks) => list(ranks).map(PlacementHint::List),
            _ => None,
        },
    },
    print: |value| match value {
        PlacementHint::Default => "default".into(),
        PlacementHint::Stride(stride) => format!("stride:{stride}"),
        PlacementHint::Spread => "spread".into(),
        PlacementHint::LowestPerNode => "lowest_per_node".into(),
        PlacementHint::List(ranks) => format!("list:{}", join(ranks)),
    },
    allowed: || "default|stride:K with K >= 1|spread|lowest_per_node|list:R,R,...",
};

/// The value of a hint that limits a rank's outstanding messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The kernel's own limit (`Kernel::default_throttle`).
    Default,
    /// There is no limit on outstanding messages.
    None,
    /// Maximum number of messages; never 0.
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
        allowed: || "default|none|0 (as none)|1 to 4294967295",
    };
}

pub(super) const THROTTLE_MODE: Codec<Option<ThrottleMode>> = Codec {
    parse: |text| match text.to_ascii_lowercase().as_str() {
        AUTO => Some(None),
        "batch" => Some(Some(ThrottleMode::Batch)),
        "window" => Some(Some(ThrottleMode::Sliding)),
        _ => None,
    },
    print: |value| match value {
        None => AUTO.into(),
        Some(ThrottleMode::Batch) => "batch".into(),
        Some(ThrottleMode::Sliding) => "window".into(),
    },
    allowed: || "auto|batch|window",
};

fn join(ranks: &[Rank]) -> String {
    ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
