//! Lists every pattern at a size that runs quickly, and makes the input files that some patterns need.

use std::path::Path;

/// Number of ranks of all these patterns: a square.
pub const RANKS: usize = 4;

/// Text of the lists of four ranks: unsorted, one of them empty, with a hole.
const LISTS: &str =
    "ranks 4\nrank 0\n4096 512 # offset, length\n0 100\nrank 1\n100 3000\nrank 2\nrank 3\n9000 7\n5000 1\n";

/// Returns the command lines of all patterns that write a file, after `trib replay`.
pub fn patterns(directory: &Path) -> Vec<Vec<String>> {
    let lists = directory.join("lists.txt");
    std::fs::write(&lists, LISTS).unwrap();
    let lists = lists.display();
    let lines = [
        "e3sm-f --fold --history h1 --records 2".to_string(),
        "e3sm-g --records 2".to_string(),
        "e3sm-i --type float".to_string(),
        "flash --blocks 2 --block-size 3x2x2".to_string(),
        "flash --blocks 3 --block-size 2 --part plot-corner --even".to_string(),
        "btio --grid 7 --iterations 3".to_string(),
        "ior -t 512 -b 1024 -s 3".to_string(),
        "ior -t 1KiB -b 1KiB -s 5 -l offset --one-call".to_string(),
        "s3d --points 8x6x4 --call-per-array".to_string(),
        "block4d --lattice 5x4x3x2 --site 24".to_string(),
        format!("list --lists {lists}"),
    ];
    let words = |line: &String| line.split_whitespace().map(str::to_string).collect();
    lines.iter().map(words).collect()
}

/// Returns the bytes of a trace of four ranks and two rounds, in the form of the recorded one: 32-bit little-endian
/// integers. Every rank sends to rank 0, then to ranks 1 and 2.
pub fn trace() -> Vec<u8> {
    let bytes = |from: i32, to: i32| 1000 * (from + 1) + to;
    let rounds: [&[i32]; 2] = [&[0], &[1, 2]];
    let blocks: Vec<Vec<i32>> = (0..4)
        .map(|rank| {
            let sends = rounds.map(|to| to.iter().map(|&to| (to, bytes(rank, to))).collect::<Vec<_>>());
            let receives = rounds.map(|to| match to.contains(&rank) {
                true => (0..4).map(|from| (from, bytes(from, rank))).collect::<Vec<_>>(),
                false => Vec::new(),
            });
            [sends, receives].iter().flat_map(half).collect()
        })
        .collect();
    let lengths = blocks.iter().map(|block| block.len() as i32);
    let all = [4, 2].into_iter().chain(lengths).chain(blocks.iter().flatten().copied());
    all.flat_map(i32::to_le_bytes).collect()
}

/// Returns one direction of a block: numbers of peers, then for every round the peers and then their bytes.
fn half(rounds: &[Vec<(i32, i32)>; 2]) -> Vec<i32> {
    let counts = rounds.iter().map(|round| round.len() as i32);
    let peers = |round: &Vec<(i32, i32)>| round.iter().map(|(peer, _)| *peer).collect::<Vec<_>>();
    let sizes = |round: &Vec<(i32, i32)>| round.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>();
    counts.chain(rounds.iter().flat_map(|round| [peers(round), sizes(round)].concat())).collect()
}
