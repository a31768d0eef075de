//! A flat kernel by name: what hints hold and reports print.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{KERNELS, Kernel};
use crate::error::{Error, Result};

/// One of [`KERNELS`]. Two are equal when their names are.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Flat(&'static Kernel);

impl Flat {
    /// A handle on a kernel of the registry.
    pub const fn new(kernel: &'static Kernel) -> Self {
        Self(kernel)
    }

    /// All of them, in the registry's order.
    pub fn all() -> impl Iterator<Item = Self> {
        KERNELS.into_iter().map(Self)
    }

    /// The kernel.
    pub fn kernel(self) -> &'static Kernel {
        self.0
    }
}

impl PartialEq for Flat {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Flat {}

impl Hash for Flat {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl fmt::Debug for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name)
    }
}

impl FromStr for Flat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.to_ascii_lowercase();
        Self::all().find(|flat| flat.0.name == text).ok_or_else(|| {
            let names: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
            Error::argument("kernel", text, names.join("|"))
        })
    }
}

impl TryFrom<String> for Flat {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Flat> for String {
    fn from(flat: Flat) -> Self {
        flat.0.name.to_string()
    }
}
