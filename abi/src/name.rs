//! Names of MPI's functions. All names that this project looks up are in one section of the object files, so that a tool can
//! list them exactly: a static program has no dynamic linker that finds functions by name, and
//! `bindings/mpiio/package/static-library` makes a table of them.

use std::ffi::CStr;

/// Name of a function of MPI, such as `PMPI_Type_size`. [`function_name!`](crate::function_name) makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionName(&'static CStr);

impl FunctionName {
    /// Creates the name from its text with a terminating 0, which [`function_name!`](crate::function_name) has put into the
    /// section of names.
    #[doc(hidden)]
    pub const fn from_section(bytes: &'static [u8]) -> Self {
        match CStr::from_bytes_with_nul(bytes) {
            Ok(name) => Self(name),
            // Evaluated at compile time only: this is used in statics.
            Err(_) => panic!("the name has a 0 inside"),
        }
    }

    /// Returns the text of the name.
    pub const fn text(self) -> &'static CStr {
        self.0
    }
}

/// Makes the [`FunctionName`] of the text that the literals make together.
#[macro_export]
macro_rules! function_name {
    ($($part:expr),+) => {{
        const TEXT: &str = concat!($($part,)+ "\0");
        #[used]
        #[unsafe(link_section = "tributary_names")]
        static BYTES: [u8; TEXT.len()] = match TEXT.as_bytes().first_chunk() {
            Some(bytes) => *bytes,
            // Evaluated at compile time only.
            None => panic!("a text has its own length"),
        };
        $crate::FunctionName::from_section(&BYTES)
    }};
}
