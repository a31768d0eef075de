//! Sets a time limit for tests that might hang: `cargo test` has none.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tributary::Endpoint;
use tributary::fabric::threads;

/// A timer that ends the test program with a message, unless it is dropped in time.
#[must_use = "the limit holds as long as the watchdog lives"]
pub struct Watchdog {
    _alive: Sender<()>,
    started: Instant,
}

impl Watchdog {
    /// Starts a timer of this number of seconds. `what` names the test in the message.
    pub fn new(what: &str, seconds: u64) -> Self {
        let (alive, gone) = channel::<()>();
        let what = what.to_string();
        std::thread::spawn(move || {
            if gone.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{what}: not done after {seconds} s; a rank hangs. The test program ends here.");
                std::process::abort();
            }
        });
        Self { _alive: alive, started: Instant::now() }
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Runs `program` on all ranks, which are threads, in a temporary directory, with a time limit of two minutes.
pub fn on_threads<T: Send>(test: &str, ranks: usize, program: impl Fn(Endpoint, &Path) -> T + Sync) -> Vec<T> {
    let _watchdog = Watchdog::new(test, 120);
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| program(Endpoint::new(transport), directory.path())).unwrap()
}
