//! Independent simulations, on all cores.

use std::cmp::Reverse;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Failure;

/// Runs every task and returns the results in the order of the tasks. Those of the greatest `weight` begin first, so that
/// no core ends long before another.
///
/// # Errors
/// The first of any task; the others are run nevertheless.
pub fn on_all_cores<T: Sync, R: Send>(
    tasks: &[T],
    weight: impl Fn(&T) -> usize,
    run: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&task| Reverse(weight(&tasks[task])));
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<R, Failure>>>> = Mutex::new(tasks.iter().map(|_| None).collect());
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(tasks.len()) {
            scope.spawn(|| {
                while let Some(&task) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = run(&tasks[task]);
                    if let Ok(mut results) = results.lock() {
                        results[task] = Some(result);
                    }
                }
            });
        }
    });
    let results = results.into_inner().map_err(|_| Failure::new("a simulation panicked"))?;
    results.into_iter().flatten().collect()
}
