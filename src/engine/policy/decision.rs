//! What one rank decides for all ranks of a call: the way of its bytes, and why. The decision is part of the answer
//! ([`Agreed`](crate::engine::facts::agreed::Agreed)), so no other rank decides again.

use super::call_windows::CallWindows;
use super::paths::Way;
use super::reason::Reason;
use crate::access::Direction;
use crate::engine::facts::words::{Words, one_word, words};

words! {
    /// How the bytes of a call go between the ranks and the file, and why.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Decision {
        /// The way.
        pub way: Way,
        /// Why this way.
        pub reason: Reason,
        /// The windows, if the way is [`Way::Windows`].
        pub windows: CallWindows,
    }
}

/// The ways, each at the place of its number in an answer.
const WAYS: [Way; 8] =
    [Way::Nothing, Way::Itself, Way::Root, Way::Slots, Way::Direct, Way::Windows, Way::Hosts, Way::Exchange];

one_word! {
    Way: value => WAYS.get(value as usize).copied().unwrap_or_default();
}

/// Implements [`Words`] for reasons: each has a number, by which an answer names it, and up to two values.
macro_rules! numbered_reasons {
    ($($number:literal $name:ident)+) => {
        impl Words for Reason {
            const COUNT: usize = 3;

            #[inline]
            fn encode(&self, next: &mut impl FnMut(u64)) {
                let [number, first, second] = match *self {
                    $(Self::$name => [$number, 0, 0],)+
                    Self::Switch { direction, on } => [100, u64::from(direction == Direction::Read), u64::from(on)],
                    Self::Small { bytes } => [101, bytes, 0],
                    Self::SmallRequests { mean, large } => [102, mean, large],
                    Self::LargeRequests { mean } => [103, mean, 0],
                };
                [number, first, second].encode(next);
            }

            #[inline]
            fn decode(next: &mut impl FnMut() -> u64) -> Self {
                let [number, first, second] = Words::decode(next);
                match number {
                    $($number => Self::$name,)+
                    100 => {
                        let direction = if first == 0 { Direction::Write } else { Direction::Read };
                        Self::Switch { direction, on: second != 0 }
                    }
                    101 => Self::Small { bytes: first },
                    102 => Self::SmallRequests { mean: first, large: second },
                    103 => Self::LargeRequests { mean: first },
                    _ => Self::Unknown,
                }
            }
        }
    };
}

numbered_reasons! {
    0 Unknown 1 NoData 2 BehindEnd 3 OnlyAggregators 4 RankOrder 5 RangesOverlap 6 HostsApart 7 FewApart 8 CameAlong 9 WroteItself
    10 ReadItself 11 FitsSlots 12 Enabled 13 Disabled 14 MayOverlap 15 LargePieces 16 FarApart 17 SmallPieces 18 NoMemory
    19 SingleRank
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::facts::words::{get, message};

    #[test]
    fn an_answer_names_way_and_reason() {
        let with_values = [
            Reason::Switch { direction: Direction::Read, on: false },
            Reason::Switch { direction: Direction::Write, on: true },
            Reason::Small { bytes: 7 },
            Reason::SmallRequests { mean: 8, large: 9 },
            Reason::LargeRequests { mean: 10 },
        ];
        let plain = (0..19u64).map(|number| get::<Reason>(&message(&[number, 0, 0])));
        for (reason, &way) in plain.chain(with_values).zip(WAYS.iter().cycle()) {
            let decision = Decision { way, reason, windows: CallWindows::over(10, 5000, 4096, 1) };
            assert_eq!(get::<Decision>(&message(&decision)), decision);
        }
    }
}
