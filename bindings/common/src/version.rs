//! The version symbol of the shared libraries, from which tools read the version of a library's file without running
//! it.

/// Version such as "0.1.0", as a C text that each of the three libraries exports under this name. It is one object of
/// this crate, so that a program can be linked with two of the static libraries.
#[unsafe(no_mangle)]
#[used]
#[allow(non_upper_case_globals, reason = "the name of the symbol")]
pub static tributary_version: [u8; TEXT.len()] = {
    let mut text = [0; TEXT.len()];
    text.copy_from_slice(TEXT.as_bytes());
    text
};

const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
