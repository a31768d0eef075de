//! State that measurements share: machines, and results that several measurements need.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::sim::Machine;

use super::error::PapersError;
use crate::machines;

type Kept = Arc<OnceLock<Result<Arc<dyn Any + Send + Sync>, PapersError>>>;

/// State that all claims of a run share; claims run on several threads.
#[derive(Default)]
pub struct Context {
    kept: Mutex<HashMap<String, Kept>>,
}

impl Context {
    /// Returns the machine called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn machine(&self, name: &str) -> Result<Arc<Machine>, PapersError> {
        self.once(&format!("machine {name}"), || Ok(machines::named(name)?))
    }

    /// Returns the result of `make`, which runs once for each `key`. Other threads that ask for the same key wait.
    ///
    /// # Errors
    /// An error of `make`, for all callers; a key that was used for another type.
    pub fn once<T: Any + Send + Sync>(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, PapersError>,
    ) -> Result<Arc<T>, PapersError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).entry(key.to_string()).or_default().clone();
        let made = kept.get_or_init(|| Ok(Arc::new(make()?) as Arc<dyn Any + Send + Sync>));
        let any = made.clone()?;
        any.downcast().map_err(|_| PapersError::new(format!("{key}: kept as another type")))
    }
}
