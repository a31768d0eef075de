use Direction::{Read, Write};

use crate::engine::choose::rules::*;

const MANY: AccessStats =
    AccessStats { start: 0, end: 1 << 21, bytes: 1 << 20, requests: 1 << 14, most: 1 << 12, touched: 0 };
const CALL: CallShape = CallShape {
    all: MANY,
    left: MANY,
    disjoint: Some(true),
    apart: None,
    is_inline: false,
    slow_call: None,
    no_memory: false,
    transferred: 0,
};

fn left(left: AccessStats) -> CallShape {
    CallShape { left, ..CALL }
}

fn overlapping(left: AccessStats) -> CallShape {
    CallShape { left, disjoint: Some(false), ..CALL }
}

type Case = (Direction, &'static str, CallShape, Path, Reason);

fn check(cases: &[Case], in_memory: bool) {
    for (direction, hints, shape, path, reason) in cases {
        let found = with(*direction, hints, |rules| Rules { in_memory, ..rules }.choose(shape));
        assert_eq!(found, (*path, *reason), "{direction:?} with {hints:?}: {shape:?}");
    }
}

#[test]
fn paths_of_all_ranks() {
    let (none, past_end) =
        (CallShape { all: AccessStats::NONE, ..left(AccessStats::NONE) }, left(AccessStats { end: 0, ..MANY }));
    let independent = left(AccessStats::NONE);
    for in_memory in [false, true] {
        let cases = [
            (Write, "", none, Path::Nothing, Reason::NoData),
            (Read, "romio_cb_read=disable", past_end, Path::Nothing, Reason::PastEnd),
            (Write, "", independent, Path::Independent, Reason::WroteItself),
            (Read, "", independent, Path::Independent, Reason::ReadItself),
        ];
        check(&cases, in_memory);
    }
}

#[test]
fn paths_by_messages() {
    let small = Reason::SmallRequests { mean: 64, large: 16_384 };
    let (large, direct_min) = (Reason::LargeRequests { mean: 16_384 }, "locks;trib_direct_min=8192");
    let only_aggregators = Reason::OnlyAggregators;
    let half = AccessStats { bytes: 1 << 19, requests: 32, ..MANY };
    let switched = |direction, on| Reason::Switch { direction, on };
    let some_large = AccessStats { requests: 64, ..MANY };
    let (larges, apart) = (left(some_large), CallShape { apart: Some(Expected::default()), ..overlapping(MANY) });
    let tiny = AccessStats { bytes: 999, ..MANY };
    let along = |left| CallShape { left, is_inline: true, ..CALL };
    let cases = [
        (Write, "", CALL, Path::Exchange, small),
        (Read, "", CALL, Path::Exchange, small),
        (Write, "", along(tiny), Path::Root, Reason::Inline),
        (Write, "", along(MANY), Path::Exchange, small),
        (Write, "", apart, Path::Hosts, Reason::HostsApart),
        (Write, "", larges, Path::Direct, large),
        (Write, "", CallShape { disjoint: None, ..larges }, Path::Direct, large),
        (Write, direct_min, larges, Path::Direct, large),
        (Write, "locks;", larges, Path::Exchange, Reason::SmallRequests { mean: 16_384, large: 4 << 20 }),
        (Write, "", overlapping(some_large), Path::Exchange, Reason::RangesOverlap),
        (Write, "", CallShape { left: tiny, ..apart }, Path::Exchange, Reason::Small { bytes: 999 }),
        (Write, "romio_no_indep_rw=true", larges, Path::Direct, large),
        (Write, "romio_no_indep_rw=true", left(half), Path::Exchange, only_aggregators),
        (Write, "romio_no_indep_rw=true", overlapping(some_large), Path::Exchange, Reason::RangesOverlap),
        (Write, "romio_no_indep_rw=true; trib_overlap=rank_order", larges, Path::Exchange, Reason::RankOrder),
        (Write, "romio_no_indep_rw=true; romio_cb_write=disable", larges, Path::Exchange, only_aggregators),
        (Write, "trib_overlap=rank_order", larges, Path::Exchange, Reason::RankOrder),
        (Read, "trib_overlap=rank_order", larges, Path::Direct, large),
        (Write, "romio_cb_write=enable", larges, Path::Exchange, switched(Write, true)),
        (Read, "romio_cb_read=enable", apart, Path::Hosts, Reason::HostsApart),
        (Read, "romio_cb_read=disable", left(tiny), Path::Direct, switched(Read, false)),
        (Read, "romio_cb_write=disable", CALL, Path::Exchange, small),
    ];
    check(&cases, false);
    let few = |call: CallShape| CallShape { all: AccessStats { most: 4, ..MANY }, disjoint: Some(true), ..call };
    let cases = [
        (Read, "", few(CALL), Path::Direct, Reason::FewApart),
        (Read, "", few(apart), Path::Direct, Reason::FewApart),
        (Read, "", CallShape { disjoint: Some(false), ..few(CALL) }, Path::Exchange, small),
        (Write, "", few(CALL), Path::Exchange, small),
        (Read, "romio_cb_read=enable", few(CALL), Path::Exchange, switched(Read, true)),
    ];
    check(&cases, false);
    assert_eq!(with(Read, "locks;", |rules| rules.choose(&few(CALL))).0, Path::Exchange);
}

/// If it is unknown whether ranges overlap, a write finds out before it counts bytes that were written directly, and before
/// it writes directly.
#[test]
fn writes_look_whether_ranges_overlap() {
    let unknown =
        |requests, transferred| CallShape { disjoint: None, transferred, ..left(AccessStats { requests, ..MANY }) };
    let looks = |direction, hints, shape: CallShape| {
        with(direction, hints, |rules| rules.needs_overlap_check(&shape, rules.decide(&shape).path))
    };
    assert!(looks(Write, "", unknown(64, 0)) && looks(Write, "", unknown(1 << 14, 9)));
    assert!(!looks(Write, "", unknown(1 << 14, 0)) && !looks(Read, "", unknown(64, 9)));
    assert!(!looks(Write, "", CALL) && !looks(Write, "romio_cb_write=disable", unknown(64, 0)));
}

#[test]
fn paths_through_memory() {
    let (in_slots, in_order) =
        (CallShape { is_inline: true, ..CALL }, "romio_cb_write=disable; trib_overlap=rank_order");
    let large = AccessStats { requests: 64, most: 64, ..MANY };
    let few = AccessStats { requests: 256, most: 8, end: 1 << 26, ..MANY };
    let takes = |nanos, all| CallShape { slow_call: Some(nanos), ..left(all) };
    let cases = [
        (Write, "", CALL, Path::Windows, Reason::SmallPieces),
        (Write, "", CallShape { no_memory: true, ..CALL }, Path::Direct, Reason::NoMemory),
        (Write, "", in_slots, Path::Slots, Reason::FitsSlots),
        (Write, "romio_cb_write=enable", in_slots, Path::Slots, Reason::FitsSlots),
        (Write, "romio_cb_write=disable", in_slots, Path::Direct, Reason::Disabled),
        (Write, "romio_cb_write=enable", left(large), Path::Windows, Reason::Enabled),
        (Read, "romio_cb_read=disable", CALL, Path::Direct, Reason::Disabled),
        (Write, "romio_cb_write=disable", overlapping(MANY), Path::Direct, Reason::Disabled),
        (Write, in_order, overlapping(MANY), Path::Windows, Reason::MayOverlap),
        (Write, in_order, CALL, Path::Direct, Reason::Disabled),
        (Write, "", overlapping(large), Path::Windows, Reason::MayOverlap),
        (Read, "", overlapping(large), Path::Direct, Reason::LargePieces),
        (Write, "", left(large), Path::Direct, Reason::LargePieces),
        (Write, "", takes(20_000_000, large), Path::Windows, Reason::Faster),
        (Write, "", takes(20_000_000, AccessStats { most: 1, ..large }), Path::Direct, Reason::LargePieces),
        (Read, "", takes(20_000_000, large), Path::Direct, Reason::LargePieces),
        (Write, "locks;", left(large), Path::Windows, Reason::SmallPieces),
        (Write, "", left(few), Path::Direct, Reason::FarApart),
        (Write, "", left(AccessStats { most: 9, ..few }), Path::Windows, Reason::SmallPieces),
        (Write, "", left(AccessStats { end: 1 << 25, ..few }), Path::Windows, Reason::SmallPieces),
    ];
    check(&cases, true);
}

/// Calls `by` with the rules of hints on a file system that locks single bytes, or 1 MiB with the prefix `locks;`.
fn with<T>(direction: Direction, hints: &str, by: impl FnOnce(Rules<'_>) -> T) -> T {
    let (unit, hints) = hints.strip_prefix("locks;").map_or((1, hints), |hints| (1 << 20, hints));
    let windows = WindowPlanner { memory: 1 << 24, memory_if_slow: 1 << 24, lock_unit: unit, direct_from: None };
    by(Rules {
        hints: &Hints::parse(hints).unwrap(),
        windows: &windows,
        direction,
        in_memory: false,
        ranks: 1,
        slow_call: None,
    })
}

fn through_memory(rules: Rules<'_>) -> Rules<'_> {
    Rules { in_memory: true, ..rules }
}

/// Pieces that a rank writes or reads before the ranks agree: without shared memory, and with it, on a core of its
/// own.
#[test]
fn pieces_that_go_before_the_ranks_meet() {
    let cases = [
        (Write, "", 4, 4096, true, true),
        (Write, "", 5, 4096, false, true),
        (Write, "", 9, 4096, false, false),
        (Write, "", 1, 4095, false, false),
        (Write, "", 99, 16_384, true, true),
        (Write, "trib_direct_min=99", 99, 99, true, true),
        (Write, "locks;", 1, 16_384, false, false),
        (Write, "romio_cb_write=enable", 1, 1 << 20, false, false),
        (Write, "romio_no_indep_rw=true", 1, 1 << 19, false, true),
        (Write, "romio_no_indep_rw=true", 1, 1 << 20, true, true),
        (Read, "", 4, 1, true, true),
        (Read, "", 5, 1, false, true),
        (Read, "locks;", 4, 1, false, true),
        (Read, "", 99, 16_384, true, true),
    ];
    for (direction, hints, count, len, by_messages, in_memory) in cases {
        let file = Extents::strided(0, len, 1 << 21, count).unwrap();
        let found = with(direction, hints, |rules| match direction {
            Write => (
                rules.can_write_before_agreement(&file, false),
                through_memory(rules).can_write_before_agreement(&file, true),
            ),
            Read => (
                rules.can_read_before_agreement(&file, true),
                through_memory(rules).can_read_before_agreement(&file, true),
            ),
        });
        assert_eq!(found, (by_messages, in_memory), "{direction:?} of {count} x {len} with {hints:?}");
    }
    let reads = |hints, len, stride, count| {
        let file = Extents::strided(4096, len, stride, count).unwrap();
        with(Read, hints, |rules| rules.reads_itself(&file))
    };
    assert!(!reads("", 100, 400, 99) && reads("", 400, 401, 99) && reads("", 100, 9000, 99), "gaps");
    assert!(reads("", 32_768, 100_000, 99) && reads("romio_cb_read=disable", 100, 400, 99));
    assert!(!reads("romio_cb_read=enable", 1 << 20, 1 << 21, 99) && reads("romio_cb_read=enable", 4, -8, 99));
}

#[test]
fn writes_are_early_after_an_agreement_until_another_library_sieves() {
    let mut early = EarlyWrites::default();
    assert!(early.are_allowed() && !early.are_agreed_on(), "no other library");
    early.set(WritersBeside { all_are_here: true, ..WritersBeside::default() });
    assert!(early.are_allowed(), "the call that opens the file");
    early.set(WritersBeside::default());
    early.learn(false, false);
    assert!(!early.are_allowed(), "no rank wanted it");
    early.learn(true, false);
    early.learn(false, false);
    assert!(early.are_allowed() && early.are_agreed_on());
    early.learn(true, true);
    assert!(!early.are_allowed() && !early.are_agreed_on());
}
