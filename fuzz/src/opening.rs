//! Messages of the opening of a call: what ranks bring, and what rank 0 tells. They come from ranks of the same job, but also
//! from one whose memory is damaged, or that another version of the library runs on.

use tributary::engine::opening_messages::{answer, contribution, merged, pieces};

pub fn check(bytes: &[u8]) {
    // What is understood is a message again, which is understood alike.
    let once = contribution(bytes);
    assert_eq!(contribution(&once), once);
    let told = answer(bytes);
    assert_eq!(answer(&told), told);
    // All data is there, and no more of it than came.
    let pieces = pieces(bytes);
    assert!(pieces.iter().map(|(_, extent, data)| extent.len as usize + data.len()).sum::<usize>() <= 2 * bytes.len());
    assert!(pieces.iter().all(|(_, extent, data)| extent.end() <= i64::MAX as u64 && data.len() as u64 == extent.len));
    // Who comes first does not matter but for the order of the data.
    let (one, other) = bytes.split_at(bytes.len() / 2 / 8 * 8);
    let [ours, theirs] = [merged(one, other), merged(other, one)];
    assert_eq!(ours.len(), theirs.len());
    // Of a message without anything it is not known what its host holds, so only that may be lost.
    assert!(merged(&ours, &contribution(&[])).len() <= ours.len());
    assert_eq!(contribution(&ours), ours);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // Rank 2 writes; nobody has failed; two amounts; the same access as before; limit, tiles; moved, time; the data comes along, or not; one
    // range; a cover that is not known; a block of rank 2 with two extents.
    let amount = [100, 220, 20, 2, 2, 2];
    // The kind in the upper bits of both halves; the rank, and what is left to the highest one.
    let write = (1 << 28 | 2) << 32 | (1 << 28 | ((1 << 28) - 1 - 2));
    let facts = |along| [&[write, 0, 0][..], &amount, &amount, &[1, 0, 0], &[u64::MAX, 1, 77], &[0, 0, along]].concat();
    let head = |along| [words(&facts(along)), words(&[1, 100, 220]), vec![1, 0]].concat();
    let small = [head(1), words(&[2, 2, 100, 10, 210, 10]), vec![7; 20]].concat();
    let large = head(0);
    assert_eq!(pieces(&small).len(), 2);
    let twice = [small.clone(), small.clone()].concat();
    let told = words(&[&[0, 0][..], &amount, &amount, &[1, 5, 1, 1], &[1, 1, 0, 0], &[30, 8]].concat());
    vec![small, large, twice, told]
}
