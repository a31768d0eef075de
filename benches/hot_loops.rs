//! Times the hot loops: `cargo bench -p tributary-benches`.

use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use tributary_benches::LOOPS;

fn hot_loops(criterion: &mut Criterion) {
    for hot in LOOPS {
        criterion.bench_function(hot.name, |bencher| {
            bencher.iter_custom(|calls| {
                (hot.run)(&|call| {
                    // The first one takes memory that the others reuse.
                    call();
                    let begin = Instant::now();
                    (0..calls).for_each(|_| call());
                    begin.elapsed()
                })
            });
        });
    }
}

criterion_group!(benches, hot_loops);
criterion_main!(benches);
