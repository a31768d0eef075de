//! Tests FLASH-IO: the benchmark's definitions, its numbers, and the paper's statements about fan-in.

use crate::common;
use std::collections::BTreeSet;

use crate::common::every::{Met, RANKS, check, meet};
use proptest::prelude::*;
use tributary::access::Extents;
use tributary::drivers::Domains;
use tributary_benchmarks::{Division, Flash, FlashFile, FlashOptions, Pattern, RankAccess};

const FILES: [FlashFile; 3] = [FlashFile::Checkpoint, FlashFile::PlotCenter, FlashFile::PlotCorner];
const CORI: Division = Division::Stripes { stripe: 1 << 20, aggregators: 64 };
const SUMMIT: Division = Division::Ranges { window: 16 << 20, aggregators: 512 };

#[test]
fn every_world_size_and_file() {
    for ranks in RANKS {
        for file in FILES {
            for uneven in [false, true] {
                let options = FlashOptions { file, cells: [2, 3, 1], blocks: 2, uneven, alignment: 64 };
                check(&Flash::new(ranks, options).unwrap());
            }
        }
    }
}

/// Dimensions, variables and attributes are those that `ncdump -h` shows of the benchmark's file.
#[test]
fn definitions() {
    let text = |file| {
        let flash = Flash::new(4, FlashOptions { file, ..FlashOptions::default() }).unwrap();
        let schema = flash.netcdf().unwrap().schema();
        let dimensions: Vec<_> = schema.dimensions().iter().map(|d| format!("{}={}", d.name, d.length)).collect();
        let name = |id: &tributary_netcdf::DimensionId| schema.dimensions()[id.0].name.clone();
        let variable = |v: &tributary_netcdf::Variable| {
            format!("{} {}({})", v.kind, v.name, v.dimensions.iter().map(name).collect::<Vec<_>>().join(","))
        };
        let attributes: Vec<_> = schema.attributes().iter().map(|a| a.name.clone()).collect();
        (dimensions.join(" "), schema.variables().iter().map(variable).collect::<Vec<_>>(), attributes.join(" "))
    };
    let (dimensions, variables, attributes) = text(FlashFile::Checkpoint);
    let rest = "dim_nxb=8 dim_nyb=8 dim_nzb=8 dim_NGID=15 dim_NDIM=3 dim_2=2";
    assert_eq!(dimensions, format!("dim_tot_blocks=323 {rest}"), "80 + 81 + 82 + 80 blocks");
    assert_eq!(attributes, "file_creation_time flash_version total_blocks nsteps nxb nyb nzb time");
    let tree = [
        "int lrefine(dim_tot_blocks)",
        "int nodetype(dim_tot_blocks)",
        "int gid(dim_tot_blocks,dim_NGID)",
        "double coordinates(dim_tot_blocks,dim_NDIM)",
        "double blocksize(dim_tot_blocks,dim_NDIM)",
        "double bndbox(dim_tot_blocks,dim_NDIM,dim_2)",
    ];
    assert_eq!(variables[..6], tree);
    assert_eq!(variables.len(), 30);
    assert_eq!(variables[6], "double dens(dim_tot_blocks,dim_nzb,dim_nyb,dim_nxb)");
    assert_eq!(variables[29], "double f13_(dim_tot_blocks,dim_nzb,dim_nyb,dim_nxb)");
    let (dimensions, variables, _) = text(FlashFile::PlotCorner);
    assert!(dimensions.contains("dim_nxb=9 dim_nyb=9 dim_nzb=9"), "{dimensions}");
    let names: Vec<_> = variables[6..].iter().map(|v| v.split('(').next().unwrap()).collect();
    assert_eq!(names, ["float dens", "float temp", "float pres", "float f1__"]);
    assert_eq!(variables[5], "float bndbox(dim_tot_blocks,dim_NDIM,dim_2)");
}

/// There are 24 p requests for the unknowns, with 8 * 80 * 8^3 p bytes in each variable; with the tree variables 30 p
/// requests, in each plot file 10 p.
#[test]
fn requests_and_bytes() {
    for ranks in [1, 16, 21_504] {
        let p = ranks as u64;
        let flash = Flash::new(ranks, FlashOptions { uneven: false, ..FlashOptions::default() }).unwrap();
        let unknowns = flash.unknowns_form(CORI);
        assert_eq!((unknowns.requests, unknowns.bytes), (24 * p, 24 * 8 * 80 * 512 * p));
        assert_eq!(flash.totals().requests, 30 * p);
        assert_eq!(flash.totals().bytes, unknowns.bytes + 80 * p * (4 + 4 + 4 * 15 + 24 + 24 + 48));
        for file in [FlashFile::PlotCenter, FlashFile::PlotCorner] {
            let flash = Flash::new(ranks, FlashOptions { file, ..FlashOptions::default() }).unwrap();
            assert_eq!((flash.totals().requests, flash.unknowns_form(CORI).requests), (10 * p, 4 * p));
        }
    }
}

/// A run of the benchmark on 16 ranks reports 146 MiB in its three files.
#[test]
fn a_run_on_16_ranks() {
    let bytes = |file| Flash::new(16, FlashOptions { file, ..FlashOptions::default() }).unwrap().totals().bytes;
    assert_eq!(FILES.map(bytes).iter().sum::<u64>() >> 20, 146);
}

#[test]
fn blocks_of_ranks_vary() {
    let flash = Flash::new(7, FlashOptions::default()).unwrap();
    let first = |rank| flash.rank_access(rank, 0).unwrap().file.iter().next().unwrap();
    let blocks: Vec<u64> = (0..7).map(|rank| first(rank).len / 4).collect();
    assert_eq!(blocks, [80, 81, 82, 80, 81, 82, 80]);
    assert!((1..7).all(|rank| first(rank).offset == first(rank - 1).end()));
}

/// Returns the accesses of all ranks to the unknowns.
fn unknowns(flash: &Flash) -> Vec<Vec<RankAccess>> {
    let begin = flash.begin_of_unknowns();
    let of = |rank| {
        let access = flash.rank_access(rank, 0).unwrap();
        let file = Extents::from_list(access.file.iter().filter(|extent| extent.offset >= begin)).unwrap();
        RankAccess { file, ..access }
    };
    vec![(0..flash.ranks()).map(of).collect()]
}

/// The paper: on Lustre with stripes of 1 MiB, at most ceil(1 MiB / 327,680 B) = 4 senders a round. That holds where
/// the unknowns begin at a multiple of 64 KiB, which 1 MiB and 327,680 B are multiples of: then it is always exactly 4.
/// Anywhere else some stripes begin and end within a rank's piece, and it is 5.
#[test]
fn senders_on_lustre() {
    let options = FlashOptions { uneven: false, alignment: 1 << 16, ..FlashOptions::default() };
    let aligned = Flash::new(1024, options).unwrap();
    assert_eq!(aligned.begin_of_unknowns() % (1 << 16), 0);
    assert_eq!(aligned.unknowns_form(CORI).data_fan_in, Some((1u64 << 20).div_ceil(327_680)));
    assert_eq!(meet(&unknowns(&aligned), CORI, 1).data, 4);
    let packed = Flash::new(1024, FlashOptions { uneven: false, ..FlashOptions::default() }).unwrap();
    assert_eq!(packed.unknowns_form(CORI).data_fan_in, Some(5));
    assert_eq!(meet(&unknowns(&packed), CORI, 1).data, 5);
    let uneven = Flash::new(1024, FlashOptions::default()).unwrap();
    assert_eq!(uneven.unknowns_form(CORI).data_fan_in, Some(5));
    assert!((4..=5).contains(&meet(&unknowns(&uneven), CORI, 1).data));
}

/// The paper: 53 senders into a window of 16 MiB on GPFS. Its formula, ceil(16 MiB / 327,680 B), gives 52; 53 are met
/// where windows do not begin with a rank's piece.
#[test]
fn senders_on_gpfs() {
    let flash = Flash::new(1024, FlashOptions { uneven: false, ..FlashOptions::default() }).unwrap();
    assert_eq!((16u64 << 20).div_ceil(327_680), 52);
    assert_eq!(flash.unknowns_form(SUMMIT).data_fan_in, Some(53));
    // As many aggregators as give each of them several windows of these fewer ranks.
    assert_eq!(meet(&unknowns(&flash), Division::Ranges { window: 16 << 20, aggregators: 16 }, 1 << 20).data, 53);
}

/// The tree variables, which the paper leaves out: a window holds the few bytes of many ranks.
#[test]
fn tree_variables_meet_many() {
    let flash = Flash::new(512, FlashOptions::default()).unwrap();
    let all = vec![(0..512).map(|rank| flash.rank_access(rank, 0).unwrap()).collect()];
    let form = flash.closed_form(CORI);
    assert_eq!(meet(&all, CORI, 1).data, 512);
    assert_eq!((form.metadata_fan_in, form.data_fan_in), (Some(512), Some(512)));
}

/// The paper: on 512 nodes of Summit (42 ranks each) 1,260 ranks tell an aggregator of their extents, on average. That
/// is 30 * 42, every extent counted, but a rank that has several for one aggregator is one rank. What is exact: a
/// variable is longer than a range, so a rank's 24 pieces of the unknowns have 24 aggregators at least; and at most the
/// 30 extents and the 511 cuts between ranges are told.
#[test]
fn metadata_on_summit() {
    let flash = Flash::new(512 * 42, FlashOptions::default()).unwrap();
    let files: Vec<_> = (0..flash.ranks()).map(|rank| flash.rank_access(rank, 0).unwrap().file).collect();
    let start = files.iter().map(|file| file.span().unwrap().0).min().unwrap();
    let domains = Domains::equal_blocks(start, flash.totals().file_size, 1 << 20, 512, 16 << 20);
    let mut told = vec![0u64; 512];
    for file in &files {
        let owners = file.iter().flat_map(|extent| [extent.offset, extent.end() - 1]).map(|at| domains.owner(at).0);
        owners.collect::<BTreeSet<_>>().into_iter().for_each(|aggregator| told[aggregator] += 1);
    }
    let average = told.iter().sum::<u64>() / 512;
    assert!((24 * 42..=30 * 42).contains(&average), "{average}");
    assert!(flash.totals().file_size / 512 < flash.unknowns_form(SUMMIT).bytes / 24);
    assert!(*told.iter().max().unwrap() <= flash.closed_form(SUMMIT).metadata_fan_in.unwrap());
    assert!(told[1..].iter().max() <= flash.unknowns_form(SUMMIT).metadata_fan_in.as_ref());
}

/// The paper: on 64 nodes of Cori (64 aggregators) 21 messages reach an aggregator in the metadata phase, on average. A
/// variable of 4,096 ranks is 1,280 stripes, 20 for each aggregator, or 21 where it does not begin with a stripe; each
/// stripe holds 4 or 5 ranks' pieces. With 80 blocks on every rank all variables lie alike on the aggregators, and an
/// aggregator hears of 80 ranks. As the benchmark has it, with 80 to 82, each variable lies a little further on than the
/// one before, and up to 361 ranks tell an aggregator; the form only knows that it is no more than 24 variables' ranks.
#[test]
fn metadata_on_cori() {
    let even = FlashOptions { uneven: false, alignment: 1 << 20, ..FlashOptions::default() };
    let flash = Flash::new(4096, even).unwrap();
    // The tree variables of so many ranks are some stripes more or less; without them, every variable begins alike.
    assert_eq!(flash.begin_of_unknowns() % (1 << 16), 0);
    let met = meet(&unknowns(&flash), CORI, 1);
    let form = flash.unknowns_form(CORI);
    assert!((80..=84).contains(&met.metadata) && form.metadata_fan_in <= Some(21 * 4), "{met:?} {form:?}");
    let flash = Flash::new(4096, FlashOptions::default()).unwrap();
    let (met, form) = (meet(&unknowns(&flash), CORI, 1), flash.unknowns_form(CORI));
    assert_eq!(met.metadata, 361);
    assert!((Some(361)..=Some(24 * 21 * 5)).contains(&form.metadata_fan_in), "{form:?}");
}

/// The closed form of the unknowns bounds the fan-in of small files under any division.
#[test]
fn forms_of_unknowns_bound() {
    for ranks in RANKS {
        for uneven in [false, true] {
            let flash = Flash::new(ranks, FlashOptions { cells: [2; 3], blocks: 3, uneven, ..FlashOptions::default() });
            let flash = flash.unwrap();
            for division in common::every::divisions() {
                let (form, Met { metadata, data }) =
                    (flash.unknowns_form(division), meet(&unknowns(&flash), division, 1));
                assert!(form.metadata_fan_in >= Some(metadata) && form.data_fan_in >= Some(data), "{division:?}");
            }
        }
    }
}

#[test]
fn files_by_name() {
    assert!(FILES.iter().all(|file| file.to_string().parse() == Ok(*file)));
    let error = "plot".parse::<FlashFile>().unwrap_err().to_string();
    assert_eq!(error, "file: plot; allowed: checkpoint, plot-center, plot-corner");
}

#[test]
fn refusals() {
    let refused = |ranks, options: FlashOptions| Flash::new(ranks, options).unwrap_err().to_string();
    let good = FlashOptions::default();
    assert!(refused(0, good).starts_with("ranks: 0;"));
    assert!(refused(3, FlashOptions { blocks: 0, ..good }).starts_with("blocks: 0;"));
    assert!(refused(3, FlashOptions { blocks: u64::MAX, ..good }).contains("2147483647 in all"));
    assert!(refused(3, FlashOptions { blocks: i32::MAX as u64 / 3, ..good }).contains("2147483647 in all"));
    assert!(refused(3, FlashOptions { cells: [8, 0, 8], ..good }).starts_with("cells of a block: 0;"));
    assert!(refused(3, FlashOptions { cells: [8, 8, u64::MAX], ..good }).contains("1 to 2^31 - 2"));
    assert!(refused(3, FlashOptions { cells: [i32::MAX as u64 - 1; 3], ..good }).contains("2^63"));
    assert!(refused(3, FlashOptions { cells: [1 << 18; 3], ..good }).contains("2^63"));
    assert!(refused(3, FlashOptions { alignment: u64::MAX, ..good }).contains("alignment"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_parameters(
        ranks in 1usize..12, cells in prop::array::uniform3(1u64..4), blocks in 1u64..5, uneven: bool,
        alignment in 1u64..600, file in prop::sample::select(FILES.to_vec())
    ) {
        check(&Flash::new(ranks, FlashOptions { file, cells, blocks, uneven, alignment }).unwrap());
    }
}
