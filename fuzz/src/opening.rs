//! Target: messages at the opening of a call, which ranks send to rank 0 and rank 0 sends to them. They come from
//! ranks of the same job, but also from a rank whose memory is damaged, or that runs another version of the library.

use tributary::Extents;
use tributary::engine::opening_messages::{
    answer, answer_to_write, contribution, contribution_to_write, merged, pieces,
};

pub fn check(bytes: &[u8]) {
    // What is understood is a message again, which is understood alike.
    if let Some(once) = contribution(bytes) {
        assert_eq!(contribution(&once), Some(once));
    }
    if let Some(once) = answer(bytes) {
        assert_eq!(answer(&once), Some(once));
    }
    // All data is there, and no more of it than came.
    let pieces = pieces(bytes);
    assert!(pieces.iter().map(|(_, extent, data)| extent.len as usize + data.len()).sum::<usize>() <= 2 * bytes.len());
    assert!(pieces.iter().all(|(_, extent, data)| extent.end() <= i64::MAX as u64 && data.len() as u64 == extent.len));
    // Who comes first does not matter but for the order of the data.
    let (one, other) = bytes.split_at(bytes.len() / 2);
    let (Some(ours), Some(theirs)) = (merged(one, other), merged(other, one)) else { return };
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(contribution(&ours), Some(ours));
}

pub fn seeds() -> Vec<Vec<u8>> {
    let file = Extents::from_arrays(&[100, 210], &[10, 10], 0).expect("two extents");
    let small = contribution_to_write(2, &file, Some(&[7; 20]));
    assert_eq!(pieces(&small).len(), 2);
    let twice = [small.clone(), small.clone()].concat();
    vec![small, contribution_to_write(2, &file, None), twice, answer_to_write(2, &file)]
}
