//! Tests the paper's statements about the F case, as far as they are exactly true.

use std::collections::BTreeMap;

use crate::common::{every, real_map};
use tributary::drivers::Domains;
use tributary_benchmarks::{Division, E3sm, ElementType, GeneratorOptions, Pattern};

const MIB: u64 = 1 << 20;

/// Returns the production run: 21,600 ranks, fields as floats: 14.09 GiB, published as 14.08.
fn production() -> E3sm {
    E3sm::generated(21_600, GeneratorOptions::default(), ElementType::Float).unwrap()
}

/// Returns the number of windows that each aggregator has between two offsets of the file, all of which are written
/// to.
fn windows(domains: &Domains, start: u64, end: u64) -> Vec<u64> {
    let mut windows = vec![0; domains.aggregators()];
    let mut offset = start;
    while offset < end {
        let (aggregator, until) = domains.owner(offset);
        windows[aggregator] += 1;
        offset = until.min(domains.window(aggregator, offset).end);
    }
    windows
}

/// "225 rounds" on 64 stripes of 1 MiB: the whole rounds of 64 MiB in 14.09 GiB. What is left makes one more, begun by
/// no aggregator but the first ones.
#[test]
fn on_cori_225_whole_rounds_and_a_part_of_one() {
    let case = production();
    let (bytes, end) = (case.totals().bytes, case.totals().file_size);
    assert_eq!(bytes / (64 * MIB), 225);
    let domains = Domains::Cyclic { stripe: MIB, aggregators: 64, stripes: 1 };
    let windows = windows(&domains, case.layout().header, end);
    assert_eq!((windows.iter().min(), windows.iter().max()), (Some(&225), Some(&226)));
    assert_eq!(windows.iter().filter(|&&count| count == 226).count() as u64, end.div_ceil(MIB) - 225 * 64);
}

/// An aggregator on each of 512 nodes, windows of 16 MiB: 2 rounds, wherever the ranges are cut.
#[test]
fn on_512_nodes_of_summit_2_rounds() {
    let case = production();
    let (start, end) = (case.layout().header, case.totals().file_size);
    for block in [1, MIB, 16 * MIB] {
        let windows = windows(&Domains::equal_blocks(start, end, block, 512, 16 * MIB), start, end);
        assert_eq!(windows.iter().max(), Some(&2), "ranges of whole blocks of {block} bytes");
        assert!(windows.iter().all(|&count| count > 0));
    }
}

/// "Every process sends to every aggregator in every round": exactly, but for the windows that hold what only rank 0
/// writes or where the file ends. On Cori's layout a window of 1 MiB is four of the 13 bands in which each rank owns a
/// run; here 54 ranks on stripes of a 400th, so that it is the same number of windows.
#[test]
fn every_rank_sends_into_every_window() {
    let case = E3sm::generated(54, GeneratorOptions::default(), ElementType::Float).unwrap();
    let domains = Domains::Cyclic { stripe: MIB / 400, aggregators: 64, stripes: 1 };
    let mut senders = BTreeMap::<u64, u64>::new();
    for rank in 0..54 {
        for extent in case.rank_access(rank, 0).unwrap().file.iter() {
            let mut offset = extent.offset;
            while offset < extent.end() {
                let (aggregator, until) = domains.owner(offset);
                *senders.entry(domains.window(aggregator, offset).start).or_default() |= 1 << rank;
                offset = until.min(extent.end());
            }
        }
    }
    let all = (1 << 54) - 1;
    let layout = case.layout();
    let inside = |start: u64| start >= layout.begin_of_records + 256 && start + MIB / 400 <= layout.end;
    let checked = senders.iter().filter(|(start, _)| inside(**start));
    assert!(checked.clone().all(|(_, &ranks)| ranks == all));
    assert!(checked.count() > 225 * 63);
    let form = case.closed_form(Division::Stripes { stripe: MIB / 400, aggregators: 64 });
    assert_eq!((form.metadata_fan_in, form.data_fan_in), (Some(54), Some(54)));
}

#[test]
fn on_the_real_map_the_closed_form_is_what_happens() {
    let Some(path) = real_map() else { return };
    let case = E3sm::from_map_file(&path, ElementType::Float).unwrap();
    let stripes = Division::Stripes { stripe: MIB, aggregators: 4 };
    let ranges = Division::Ranges { window: MIB, aggregators: 4 };
    for division in [stripes, ranges] {
        assert_eq!(every::assert_met(&case, division, 1), every::Met { metadata: 16, data: 16 });
    }
}
