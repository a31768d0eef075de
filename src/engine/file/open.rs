//! Opens a file.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use crate::drivers::Mode;
use crate::engine::capture::target::CaptureTarget;
use crate::engine::file::{File, stall_timeout_of};
use crate::engine::setup::Setup;
use crate::engine::setup::terms::FirstAgreement;
use crate::engine::storage::OpenStorage;
use crate::engine::watchdog::StallWatchdog;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::hints::{Hints, OnFailure};

/// What a rank asks of an opening; the same on all ranks.
pub struct Opening {
    pub path: PathBuf,
    pub mode: Mode,
    pub hints: Hints,
    /// The storage that has the file.
    pub files: Arc<dyn OpenStorage>,
}

impl File {
    /// Opens a file on all ranks. Collective.
    ///
    /// # Errors
    /// The errors of [`File::open`].
    pub(super) async fn opened(endpoint: Endpoint, opening: Opening) -> Result<Self> {
        let opened = Self::opened_after(endpoint, opening, "the opening", &mut FirstAgreement::none()).await?;
        opened.map_err(|endpoint| Error::internal(endpoint.rank(), "no first agreement has stopped"))
    }

    /// Opens a file like [`File::opened`], if the agreement on `first_agreement` allows it; otherwise returns the endpoint.
    /// `name` is the name of the call for the stall watchdog. Collective.
    ///
    /// # Errors
    /// The errors of [`File::open`].
    pub(super) async fn opened_after(
        mut endpoint: Endpoint,
        Opening { path, mode, hints, files }: Opening,
        name: &'static str,
        first_agreement: &mut FirstAgreement<'_>,
    ) -> Result<std::result::Result<Self, Endpoint>> {
        let waiting = endpoint.waiting().clone();
        waiting.failure().set_returning(hints.on_failure == OnFailure::Return);
        let target = CaptureTarget::of_process();
        let known = endpoint.hosts().and_then(|hosts| hosts.here()).cloned();
        let watchdog = StallWatchdog::new(&path, endpoint.rank(), stall_timeout_of(&endpoint, &hints), (known, None));
        watchdog.begin_in(&waiting, name);
        let setup =
            waiting.call(pin!(Setup::open(&mut endpoint, &*files, path, mode, hints, target, first_agreement))).await;
        watchdog.end();
        watchdog.leave(setup.is_err());
        let Some(setup) = setup? else { return Ok(Err(endpoint)) };
        let target = target.filter(|_| setup.is_captured);
        endpoint.count_between(setup.topology.clone());
        Ok(Ok(Self::from_setup(endpoint, setup, files, target)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::file::binding;
    use crate::fabric::threads;
    use crate::schedule::ReduceOp::{Max, Sum};

    /// Ranks whose first agreement forbids the open make no file, know the agreed words, and get their endpoint back;
    /// ranks that open the file after that work too. On one host, on several pretended hosts, and without shared
    /// memory.
    #[test]
    fn a_first_agreement_opens_the_file_or_gives_the_endpoint_back() {
        let directory = tempfile::tempdir().unwrap();
        for (number, hints) in ["", "trib_ranks_per_node=2", "trib_shared_memory=disable"].into_iter().enumerate() {
            let memory = if number < 2 { "trib_shared_memory=enable" } else { "" };
            let hints = Hints::parse(&format!("{memory};{hints}")).unwrap();
            let path = directory.path().join(format!("{number}"));
            threads::run(5, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let waiting = endpoint.waiting().clone();
                waiting.wait(pin!(async {
                    let is_alike = |words: &[u64]| words[0] == 4;
                    // Rounds before and after the hosts are known, and after the file was made.
                    for (round, last) in [(0, 3), (1, 3), (2, 4), (3, 3), (4, 4)] {
                        let mut words = [(endpoint.rank() as u64).min(last), 1];
                        let mut first_agreement =
                            FirstAgreement { ops: &[Max, Sum], words: &mut words, goes_on: is_alike, opens: true };
                        let (of, hints) = ((path.as_path(), "a test"), hints.clone());
                        let opened =
                            binding::open_after(endpoint, of, Mode::Create, hints, &mut first_agreement).await.unwrap();
                        assert_eq!((words, opened.is_ok()), ([last, 5], last == 4), "round {round}");
                        endpoint = match opened {
                            Ok(file) => binding::close_after(file, Ok(())).await.unwrap(),
                            Err(endpoint) => endpoint,
                        };
                        assert_eq!(path.exists(), round >= 2);
                    }
                }));
            })
            .unwrap();
        }
    }
}
