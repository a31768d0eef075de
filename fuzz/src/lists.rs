//! Target: files of lists of extents, in text and in binary.

use tributary_benchmarks::list::{Lists, write_binary};
use tributary_benchmarks::{ListPattern, Pattern};

use crate::one_line;

/// Maximum number of ranks whose lists are read.
const ASKED: usize = 64;

pub fn check(bytes: &[u8]) {
    let Some(lists) = one_line(Lists::from_bytes("lists", bytes.to_vec())) else { return };
    let list = ListPattern::new(lists);
    let ranks = list.ranks();
    assert!(ranks > 0);
    let (mut requests, mut moved) = (0, 0);
    for rank in 0..ranks {
        let sums = list.lists().sums(rank);
        let own = list.lists().extents(rank).map(|extent| extent.expect("checked when it was opened"));
        let own: Vec<_> = own.filter(|extent| extent.len > 0).collect();
        assert_eq!(own.len() as u64, sums.requests);
        assert_eq!(own.iter().map(|extent| extent.len).sum::<u64>(), sums.bytes);
        assert_eq!(own.iter().map(|extent| extent.end()).max().unwrap_or(0), sums.end);
        (requests, moved) = (requests + sums.requests, moved + sums.bytes);
    }
    assert_eq!((list.totals().requests, list.totals().bytes), (requests, moved));
    if ranks > ASKED {
        return;
    }
    // Written and read again, it is the same.
    let mut binary = Vec::new();
    let accesses: Option<Vec<_>> = (0..ranks).map(|rank| one_line(list.rank_access(rank, 0))).collect();
    let Some(accesses) = accesses else { return };
    write_binary(&mut binary, ranks, &mut |rank| Ok(accesses[rank].file.clone())).expect("memory takes all");
    let again = ListPattern::new(Lists::from_bytes("again", binary).expect("what was written"));
    assert_eq!(again.totals(), list.totals());
    for (rank, access) in accesses.iter().enumerate() {
        let back = again.rank_access(rank, 0).expect("what was written");
        assert!(back.file.iter().eq(access.file.iter()), "rank {rank}");
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let text = include_bytes!("../../benchmarks/data/example_lists.txt").to_vec();
    let list = ListPattern::new(Lists::from_bytes("lists", text.clone()).expect("a good file"));
    let mut binary = Vec::new();
    write_binary(&mut binary, list.ranks(), &mut |rank| Ok(list.rank_access(rank, 0)?.file)).expect("memory takes all");
    vec![text, binary]
}
